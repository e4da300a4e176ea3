"""How many events the collector takes in and the judge looks at in a second of CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from streamwitness.blocks import Block
from streamwitness.export.span import SpanMaker
from streamwitness.recorder import new_id
from streamwitness.semconv import MAX_BLOCK_ROWS
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness
from streamwitness_analyzer.judge import judge
from streamwitness_collector.config import CollectorSettings
from streamwitness_collector.otlp import take

from . import ordinary, sizes
from .measure import Figure, Scale, cpu

_REQUESTS: Final = {
    "a block of 60 a request": (ordinary.STREAM_EVENTS, 1),
    "16 blocks of 60 a request": (ordinary.STREAM_EVENTS, 16),
    "16 blocks of 512 a request": (MAX_BLOCK_ROWS, 16),
}
"""Name → rows a block, blocks a request."""


def _request(rows: int, blocks: int) -> bytes:
    """An OTLP request with one block of each of `blocks` streams."""
    sink = MemorySink()
    for number in range(blocks):
        recorder = Witness(Identity.new(), sink).recorder("wire")
        times = ordinary.arrivals(rows, number, mean_ns=2_000_000)
        for now, event in zip(times, ordinary.stream(rows), strict=True):
            recorder.event(now, len(event.wire), event.reading.parts, event.reading.pieces, data=event.data)
        recorder.close(times[-1], "eof", complete=True)
    maker = SpanMaker("bench")
    return bytes(encode_spans([maker.span(block) for block in sink.blocks]).SerializeToString())


def _take(body: bytes, times: int, events: int) -> int:
    settings = CollectorSettings()
    for _ in range(times):
        if take(body, "any", settings).refused:
            raise ValueError("the collector refused a block")
    return times * events


def _healthy(streams: int) -> list[list[Block]]:
    """Blocks of healthy streams at all five points."""
    gateway, client = sizes.blocks()
    return [[replace(block, stream=new_id() * 2) for block in (*gateway, *client)] for _ in range(streams)]


def _judge(streams: Sequence[Sequence[Block]]) -> int:
    """Judge healthy streams; the number of events looked at, at all points."""
    events = 0
    for blocks in streams:
        verdict = judge(blocks, settled=True)
        if verdict["integrity"] != "intact":
            raise ValueError(verdict["headline"])
        events += sum(block.row_count for block in blocks)
    return events


def figures(scale: Scale) -> list[Figure]:
    """Events a CPU second: taking requests apart (without HTTP and Kafka), and judging healthy streams."""
    times = max(1, scale.events // 200)
    streams = _healthy(max(1, scale.events // 100))
    runs: dict[str, Callable[[], int]] = {"judge": partial(_judge, streams)}
    for name, (rows, blocks) in _REQUESTS.items():
        runs[name] = partial(_take, _request(rows, blocks), times, rows * blocks)
    spent = cpu(runs, scale.rounds)
    out = [Figure(f"collector: {name}", 1e6 / spent[name], "events / CPU s") for name in _REQUESTS]
    out.append(Figure("judging healthy streams of 60", 1e6 / spent["judge"], "events × points / CPU s"))
    return out
