"""How many bytes a stream takes: in `stream.rows`, and in Kafka at all five points, beside a span an event.

Counted, not timed. The 60 events come within 1.2 s through the real observers, exporter's encoder and collector, with
what the hooks of an openai client, and of a gateway that asks by httpx, tell of them; only the clock is ours. What each
process exports in one request goes through the collector together, and the summaries of closing blocks in a later one,
as the worker sends them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import zstandard
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

from streamwitness import semconv as sc
from streamwitness.blocks import Block
from streamwitness.client.tap import Tap
from streamwitness.events import Reading
from streamwitness.export.span import SpanMaker
from streamwitness.providers import PROFILES, profile
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness
from streamwitness_collector.config import CollectorSettings
from streamwitness_collector.otlp import take

from . import ordinary
from .measure import Figure, Scale
from .recording import spans_of_stream

CODECS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "raw": lambda data: data,
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
_VECTORS: Final = Path(__file__).parent.parent / "tests" / "vectors"
_SAMPLE_EVENTS: Final = 4 * ordinary.STREAM_EVENTS
"""The samples are of answers with tools and thoughts, which are longer than an ordinary one."""
_SPOKEN: Final = sc.TEXT | sc.TOOL_ARGS | sc.REASONING | sc.OTHER
Sample = tuple[bytes, Reading]
"""An event's data field, and what the profile reads in it."""
_PEER = "OTel SDK, span an event"
_POINTS = ("ingress", "egress", "wire", "parsed", "applied")
_NOT_PARSED = sc.TERMINAL
_BODY: Final[dict[str, Any]] = {"path": "/v1/chat/completions", "content_type": "text/event-stream"}
_RESPONSE: Final = {sc.STATUS_CODE: 200, sc.SERVER_ADDRESS: "llm.example"}
"""What the hooks of HTTP clients tell of a response in its closing block."""
_PARSED: Final = {sc.READ_OUT: True, sc.FINISH_REASONS_ATTRIBUTE: ("stop",)}
"""What the hook of openai's parser tells, where that read to the terminator."""


def blocks(count: int = ordinary.STREAM_EVENTS, lost_before: sc.Point | None = None) -> tuple[list[Block], list[Block]]:
    """The blocks of one stream at all five points: the gateway's and the client's.

    It is healthy, or loses the event in its middle on the way to one of the points.
    """
    identity = Identity.new()
    gateway, client = MemorySink(), MemorySink()
    events = ordinary.stream(count)
    lacking = frozenset(sc.POINTS[sc.POINTS.index(lost_before) :] if lost_before is not None else ())
    _gateway(Witness(identity, gateway, expected=("ingress", "egress", "wire", "parsed")), events, lacking)
    _client(Witness(identity, client, expected=("wire", "parsed", "applied", "egress")), events, lacking)
    return gateway.blocks, client.blocks


def _gateway(witness: Witness, events: Sequence[ordinary.Event], lacking: frozenset[sc.Point]) -> None:
    clock = _Clock(len(events), seed=2)
    witness.clock = clock
    ingress = _tap(witness, "ingress", clock, client="httpx", leg=0)
    egress = witness.body("egress", **_BODY)
    egress.on_event = lambda _frame, _reading: (0, ingress.observer.events)
    for i, event in enumerate(events):
        ingress.passed(event.wire)
        ingress.look()
        if "egress" not in lacking or i != len(events) // 2:
            egress.feed(event.wire)
        ingress.asked()
        clock.step()
    ingress.finished()
    egress.close("eof", legs=(ingress.observer.recorder.id,))


def _client(witness: Witness, events: Sequence[ordinary.Event], lacking: frozenset[sc.Point]) -> None:
    clock = _Clock(len(events), seed=3)
    witness.clock = clock
    wire = _tap(witness, "wire", clock, client="openai")
    parsed = witness.recorder("parsed", delivers=sc.ALL_PARTS & ~_NOT_PARSED, client="openai")
    applied = witness.recorder("applied", of="parsed")
    for i, event in enumerate(events):
        gone = lacking if i == len(events) // 2 else frozenset()
        parts, pieces = event.reading
        if "wire" not in gone:
            wire.passed(event.wire)
        if not parts & _NOT_PARSED:
            of = parsed.events
            if "parsed" not in gone:
                parsed.event(clock(), 0, parts, pieces)
            if "applied" not in gone:
                applied.event(clock(), 0, parts, pieces, of=of, result=sc.RESULT["applied"])
            wire.asked()
        clock.step()
    wire.closed()
    parsed.close(clock(), "stopped_at_terminal", complete=True, extra=_PARSED)
    applied.close(clock(), "stopped_at_terminal")


def _tap(witness: Witness, point: sc.Point, clock: _Clock, **of: Any) -> Tap:
    """A body that is read here, with what its hook tells of the response."""
    tap = Tap(witness.body(point, **_BODY, **of), known=_RESPONSE, clock=clock)
    tap.asked()
    return tap


class _Clock:
    """Stands still between two events, but for a µs a look."""

    def __init__(self, count: int, seed: int) -> None:
        self._times = ordinary.arrivals(count + 1, seed)
        self._at = 0
        self._looks = 0

    def __call__(self) -> int:
        self._looks += 1
        return self._times[self._at] + 1000 * self._looks

    def step(self) -> None:
        self._at += 1


def in_kafka(parties: Iterable[Sequence[Block]]) -> list[bytes]:
    """The Kafka messages of these processes' blocks: closing blocks, then their summaries."""
    settings = CollectorSettings()
    maker = SpanMaker("bench")
    messages = []
    for party in parties:
        summaries = [replace(block, summary=True, rows=None) for block in party if block.final]
        for request in (party, summaries):
            body = encode_spans([maker.span(block) for block in request]).SerializeToString()
            intake = take(body, "any", settings)
            if intake.refused:
                raise ValueError(intake.explanation)
            messages += [message.body for message in intake.messages]
    return messages


class _Keep(SpanProcessor):
    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


def as_spans() -> list[bytes]:
    """The same stream as a span an event at five points: one request of the gateway, one of the client."""
    messages = []
    for points in (_POINTS[:2], _POINTS[2:]):
        kept = _Keep()
        provider = TracerProvider(resource=Resource.create({"service.name": "bench"}), shutdown_on_exit=False)
        provider.add_span_processor(kept)
        for point in points:
            spans_of_stream(provider.get_tracer("bench"), ordinary.STREAM_EVENTS, point)
        messages.append(encode_spans(kept.spans).SerializeToString())
    return messages


def samples() -> dict[str, list[Sample]]:
    """An ordinary stream of each provider: its vectors' longest healthy answer, each text in it said at length.

    A delta is followed by more of its kind, as providers send them, and each differs from the others.
    """
    out = {}
    for folder in sorted(_VECTORS.iterdir()):
        name = folder.name
        if name not in PROFILES or not (answers := list(_answers(folder))):
            continue
        reader = profile(name)
        read = [(data, reader.read(event_name, data)) for event_name, data in max(answers, key=len)]
        spoken = sum(bool(reading.parts & _SPOKEN) for _, reading in read)
        times = 1 + max(0, _SAMPLE_EVENTS - len(read)) // max(1, spoken)
        out[name] = [
            (data + b" " * (i % 9), _said(reading, i))
            for data, reading in read
            for i in range(times if reading.parts & _SPOKEN else 1)
        ]
    return out


def _answers(folder: Path) -> Iterator[list[tuple[bytes, bytes]]]:
    """Name and data of the events of each sample in a provider's vectors."""
    for path in sorted(folder.glob("*.json")):
        if path.stem == "broken":
            continue
        for sample in json.loads(path.read_text()):
            events = sample.get("events") if isinstance(sample, dict) else None
            if events and all(isinstance(event.get("data"), str) for event in events):
                yield [(event.get("name", "").encode(), event["data"].encode()) for event in events]


def _said(reading: Reading, number: int) -> Reading:
    pieces = tuple(piece._replace(content=piece.content + b"x" * (number % 7)) for piece in reading.pieces)
    return Reading(reading.parts, pieces)


def of_samples(level: sc.Level) -> dict[str, float]:
    """Bytes an event in `stream.rows` at wire, for each provider's ordinary stream."""
    found = {}
    for name, events in samples().items():
        sink = MemorySink()
        recorder = Witness(Identity.new(), sink, level=level).recorder("wire")
        times = ordinary.arrivals(len(events), seed=4)
        for now, (data, reading) in zip(times, events, strict=True):
            recorder.event(now, len(data) + 8, reading.parts, reading.pieces, data=data)
        recorder.close(times[-1], "eof")
        count = sum(block.row_count for block in sink.blocks)
        found[name] = sum(len(block.rows or b"") for block in sink.blocks) / count
    return found


def figures(scale: Scale) -> list[Figure]:
    """Bytes an event in `stream.rows`, and bytes of a whole stream in Kafka."""
    del scale
    gateway, client = blocks()
    out = []
    for block in (*gateway, *client):
        bytes_an_event = len(block.rows or b"") / block.row_count
        name = f"stream.rows, 60 events at {block.point}{' with legs' if block.point == 'egress' else ''}"
        out.append(Figure(name, bytes_an_event, "B an event", target=16.0, exact=True))
    levels: tuple[tuple[sc.Level, float], ...] = (("digests", 16.0), ("rows", 8.0))
    for level, most in levels:
        out += [
            Figure(f"rows of {provider}, level {level}", size, "B an event", target=most, exact=True)
            for provider, size in of_samples(level).items()
        ]
    ours, theirs = in_kafka((gateway, client)), as_spans()
    for codec, compress in CODECS.items():
        mine, peer = (float(sum(len(compress(message)) for message in side)) for side in (ours, theirs))
        out.append(
            Figure(f"60 events at five points in Kafka, {codec}", mine, "B", peer=_PEER, peer_figure=peer, exact=True)
        )
    return out
