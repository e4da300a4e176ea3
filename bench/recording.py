"""What recording an event costs beside OpenTelemetry's SDK making a span of it, both from the call to OTLP protobuf.

The peer is the SDK as people set it up: a TracerProvider, a BatchSpanProcessor, and an exporter that encodes what it is
given. A span holds what a row and its block say of an event, because it must be judged alone: whose it is, where it was
seen, and the same two digests. Ours is a recorder, the export worker and the same encoder; closing blocks, encoding
rows and repeating the closing block as a summary are in it. On both sides the bytes go nowhere.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Tracer

from streamwitness.blocks import Block
from streamwitness.digests import Digester
from streamwitness.export.span import SpanMaker
from streamwitness.export.worker import Worker
from streamwitness.semconv import MAX_BLOCK_ROWS
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness

from . import ordinary
from .measure import Figure, Scale, cpu

_PATIENCE = 600.0
_IN_TIME_NS = 3_000_000
"""So far apart, 512 events come within the two seconds that a block is open."""
PEER = "OTel SDK, span an event"


class EncodeSpans(SpanExporter):
    """The peer's exporter: encodes and forgets."""

    def __init__(self) -> None:
        self.bytes = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Encode one batch."""
        self.bytes += len(encode_spans(spans).SerializeToString())
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing is open."""


class EncodeBlocks:
    """Our exporter: what export/otlp.py does up to the bytes."""

    def __init__(self) -> None:
        self._maker = SpanMaker("bench")
        self.bytes = 0

    def export(self, blocks: Sequence[Block]) -> bool:
        """Encode one batch."""
        self.bytes += len(encode_spans([self._maker.span(block) for block in blocks]).SerializeToString())
        return True

    def shutdown(self) -> None:
        """Nothing is open."""


def _record_stream(sink: MemorySink | Worker, events: Sequence[ordinary.Event]) -> None:
    recorder = Witness(Identity.new(), sink).recorder("wire")
    now = time.monotonic_ns()
    for i, event in enumerate(events):
        reading = event.reading
        now = time.monotonic_ns() + i * _IN_TIME_NS
        recorder.event(now, len(event.wire), reading.parts, reading.pieces, data=event.data)
    recorder.close(now, "eof", complete=True)


def record(length: int, total: int) -> int:
    """Streams of `length` events, made and encoded."""
    worker = Worker(EncodeBlocks)
    for _ in range(total // length):
        _record_stream(worker, ordinary.stream(length))
    if not worker.shutdown(_PATIENCE):
        raise RuntimeError("the worker did not deliver")
    return total // length * length


def record_only(total: int) -> int:
    """One recorder without an end: rows are packed and blocks closed, nothing is encoded as protobuf."""
    recorder = Witness(Identity.new(), MemorySink()).recorder("wire")
    events = ordinary.stream(MAX_BLOCK_ROWS)
    for i in range(total):
        event = events[i % MAX_BLOCK_ROWS]
        now = time.monotonic_ns() + i * _IN_TIME_NS
        recorder.event(now, len(event.wire), event.reading.parts, event.reading.pieces, data=event.data)
    return total


def append_only(total: int) -> int:
    """The floor: a row's ten numbers appended to arrays."""
    columns = tuple(array("I") for _ in range(10))
    for i in range(total):
        for column in columns:
            column.append(i)
    return total


def make_spans(total: int) -> int:
    """A span an event, made and encoded."""
    processor = BatchSpanProcessor(EncodeSpans(), max_queue_size=total + 512)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    spans_of_stream(provider.get_tracer("bench"), total)
    provider.shutdown()
    return total


def spans_of_stream(tracer: Tracer, total: int, point: str = "wire") -> None:
    """The spans of one stream at one point, ended."""
    identity = Identity.new()
    digester = Digester(identity.key)
    events = ordinary.stream(min(total, MAX_BLOCK_ROWS))
    for i in range(total):
        event = events[i % len(events)]
        reading = event.reading
        attributes: dict[str, str | int] = {
            "stream.id": identity.stream,
            "stream.exchange": identity.exchange,
            "stream.recorder": identity.exchange,
            "stream.point": point,
            "stream.event.sequence": i,
            "stream.event.parts": reading.parts,
            "stream.event.bytes": len(event.wire),
            "stream.event.content": sum(len(piece.content) for piece in reading.pieces),
            "stream.event.payload": digester.payload(b"", event.data),
            "stream.event.semantic": digester.semantic(reading.pieces),
        }
        with tracer.start_as_current_span("stream event", attributes=attributes):
            pass


def figures(scale: Scale) -> list[Figure]:
    """Recording, made and encoded, in long streams and in ordinary ones; recording alone; the floor."""
    total = scale.events
    long, short = min(total, 8 * MAX_BLOCK_ROWS), ordinary.STREAM_EVENTS
    for length in (long, short, MAX_BLOCK_ROWS):
        ordinary.stream(length)
    runs = {
        "long": lambda: record(long, total),
        "short": lambda: record(short, total),
        "only": lambda: record_only(total),
        "floor": lambda: append_only(total),
        "peer": lambda: make_spans(total),
    }
    spent = cpu(runs, scale.rounds)
    lines = (
        ("long", "record an event: made and encoded, blocks of 512", 20.0),
        ("short", "record an event: made and encoded, streams of 60", None),
        ("only", "record an event: rows and blocks, not encoded", None),
        ("floor", "floor: ten numbers appended to arrays", None),
    )
    return [Figure(label, spent[key], "µs CPU", PEER, spent["peer"], target) for key, label, target in lines]
