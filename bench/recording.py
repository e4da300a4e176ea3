"""What an event costs, from its bytes to OTLP protobuf, beside OpenTelemetry's SDK making a span of it.

The peer is the SDK as people set it up: a TracerProvider, a BatchSpanProcessor, and an exporter that encodes what it is
given. A span holds what a row and its block say of an event, because it must be judged alone: whose it is, where it was
seen, and the same two digests; it is spared the framing and the reading. Ours is an observer, the export worker and the
same encoder; closing blocks, encoding rows and repeating the closing block as a summary are in it. On both sides the
bytes go nowhere.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from hashlib import blake2s

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Tracer

from streamwitness.backlog import MOST
from streamwitness.blocks import Block
from streamwitness.digests import Digester
from streamwitness.export.span import SpanMaker
from streamwitness.export.worker import Worker
from streamwitness.framing import SSEFramer
from streamwitness.providers.openai_chunk import CHUNK
from streamwitness.semconv import MAX_BLOCK_ROWS, Level
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


def _record_stream(sink: MemorySink | Worker, events: Sequence[ordinary.Event], level: Level) -> None:
    recorder = Witness(Identity.new(), sink, level=level).recorder("wire")
    now = time.monotonic_ns()
    for i, event in enumerate(events):
        reading = event.reading
        now = time.monotonic_ns() + i * _IN_TIME_NS
        recorder.event(now, len(event.wire), reading.parts, reading.pieces, data=event.data)
    recorder.close(now, "eof", complete=True)


def _observe_stream(sink: MemorySink | Worker, events: Sequence[ordinary.Event], level: Level) -> None:
    """The same from the bytes on: framing, profile and recording, so many reads at once as the hooks let wait."""
    clock = _Clock()
    witness = Witness(Identity.new(), sink, level=level, clock=clock)
    observer = witness.body("wire", path="/v1/chat/completions", content_type="text/event-stream")
    for number, event in enumerate(events, 1):
        clock.now += _IN_TIME_NS
        observer.look(event.wire, clock.now)
        if number % MOST == 0:
            observer.flush()
    observer.close("eof")


class _Clock:
    """Stands still between two events."""

    def __init__(self) -> None:
        self.now = time.monotonic_ns()

    def __call__(self) -> int:
        return self.now


def record(length: int, total: int, level: Level = "digests", *, framed: bool = False) -> int:
    """Streams of `length` events, made and encoded; `framed` with framing and profile before."""
    stream = _observe_stream if framed else _record_stream
    worker = Worker(EncodeBlocks)
    for _ in range(total // length):
        stream(worker, ordinary.stream(length), level)
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


def hash_only(total: int) -> int:
    """The floor of digests: both hashes of an event, each over one string, keyed by a copied state."""
    new_state = blake2s(key=Identity.new().key, digest_size=4).copy
    events = ordinary.stream(MAX_BLOCK_ROWS)
    for i in range(total):
        event = events[i % MAX_BLOCK_ROWS]
        for content in (event.data, event.data[:48]):
            state = new_state()
            state.update(content)
            state.digest()
    return total


def decode_only(total: int) -> int:
    """The floor of reading: the SSE framer and msgspec's decoder into the fields of a chunk."""
    framer, decode = SSEFramer(), CHUNK.decode
    events = ordinary.stream(MAX_BLOCK_ROWS)
    for i in range(total):
        for frame in framer.feed(events[i % (MAX_BLOCK_ROWS - 1)].wire):
            decode(frame.data)
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
        "digests": lambda: record(long, total, framed=True),
        "rows": lambda: record(long, total, "rows", framed=True),
        "counters": lambda: record(long, total, "counters", framed=True),
        "recorded": lambda: record(long, total),
        "recorded rows": lambda: record(long, total, "rows"),
        "short": lambda: record(short, total, framed=True),
        "only": lambda: record_only(total),
        "hashes": lambda: hash_only(total),
        "decoded": lambda: decode_only(total),
        "arrays": lambda: append_only(total),
        "peer": lambda: make_spans(total),
    }
    spent = cpu(runs, scale.rounds)
    lines = (
        ("digests", "frame, read, record an event: digests", 25.0),
        ("rows", "frame, read, record an event: rows", 50.0),
        ("counters", "frame, read, record an event: counters", None),
        ("short", "frame, read, record an event: streams of 60", None),
        ("recorded", "record an event: made and encoded, digests", None),
        ("recorded rows", "record an event: made and encoded, rows", None),
        ("only", "record an event: digests, not encoded", None),
        ("hashes", "floor: the two hashes of an event", None),
        ("decoded", "floor: framing and msgspec's decoding", None),
        ("arrays", "floor: ten numbers appended to arrays", None),
    )
    out = [Figure(label, spent[key], "µs CPU", PEER, spent["peer"], target) for key, label, target in lines]
    bounds = (("digests", 8.0), ("rows", 4.0))
    return out + [Figure(f"the same by itself: {key}", spent[key], "µs CPU", target=most) for key, most in bounds]
