"""How many events the collector takes in in a second of CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from streamwitness.export.span import SpanMaker
from streamwitness.semconv import MAX_BLOCK_ROWS
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness
from streamwitness_collector.config import CollectorSettings
from streamwitness_collector.otlp import take

from . import ordinary
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


def figures(scale: Scale) -> list[Figure]:
    """Events a CPU second: taking requests apart, without HTTP and Kafka."""
    times = max(1, scale.events // 200)
    runs: dict[str, Callable[[], int]] = {}
    for name, (rows, blocks) in _REQUESTS.items():
        runs[name] = partial(_take, _request(rows, blocks), times, rows * blocks)
    spent = cpu(runs, scale.rounds)
    return [Figure(f"collector: {name}", 1e6 / spent[name], "events / CPU s") for name in _REQUESTS]
