"""The collector on a real socket: what a real OpenTelemetry exporter and what a bad sender get."""

from __future__ import annotations

import gzip
import socket
import tracemalloc
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace.export import SpanExportResult
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from streamwitness import semconv as sc
from streamwitness_collector import body as body_module
from streamwitness_collector.app import create_app
from streamwitness_collector.config import CollectorSettings
from streamwitness_collector.metrics import OUTCOMES
from streamwitness_collector.otlp import REASONS
from streamwitness_collector.sink import SinkUnavailable
from tests.collector.server import RecordingSink, serving
from tests.collector.spans import block, body, span

PROTOBUF = {"content-type": "application/x-protobuf"}
SMALL = CollectorSettings(
    max_body_bytes=1 << 18,
    max_decoded_bytes=1 << 20,
    max_waiting_bytes=1 << 20,
    keys=("client:c", "gateway:g", "any:a"),
)


@dataclass
class Collector:
    """A served collector as its tests see it."""

    url: str
    sink: RecordingSink

    def post(self, content: Any, headers: dict[str, str] | None = None, *, key: str = "a") -> httpx.Response:
        """POST /v1/traces as protobuf with a key, unless the headers say otherwise."""
        sent = PROTOBUF | {"authorization": f"Bearer {key}"} | (headers or {})
        return httpx.post(f"{self.url}/v1/traces", content=content, headers=sent)

    def metric(self, name: str) -> dict[str, float]:
        """The samples of one metric, by its only label's value ("" without label)."""
        text = httpx.get(f"{self.url}/metrics").text
        samples = [item for family in text_string_to_metric_families(text) for item in family.samples]
        return {"".join(item.labels.values()): item.value for item in samples if item.name == name}

    def outcome(self, name: str) -> float:
        """How many requests ended so."""
        return self.metric("streamwitness_collector_requests_total")[name]

    def exporter(self, compression: Compression = Compression.Gzip) -> OTLPSpanExporter:
        """OpenTelemetry's own exporter, pointed here."""
        headers = {"authorization": "Bearer a"}
        return OTLPSpanExporter(f"{self.url}/v1/traces", headers=headers, compression=compression)


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector with small bounds and one key of each role."""
    sink = RecordingSink()
    with serving(create_app(SMALL, sink)) as url:
        yield Collector(url, sink)
    assert sink.closed


@pytest.mark.parametrize("compression", list(Compression))
def test_what_a_real_exporter_sends_reaches_the_sink(collector: Collector, compression: Compression) -> None:
    """OpenTelemetry's exporter, plain, gzip and deflate, is answered success once the sink holds its blocks."""
    sent = [block(1), block(2)]
    assert collector.exporter(compression).export([span(item) for item in sent]) is SpanExportResult.SUCCESS
    [batch] = collector.sink.batches
    assert [item.stream for item in batch.blocks] == [item.stream for item in sent]
    assert [item.rows for item in batch.blocks] == [item.rows for item in sent]
    assert batch.role == "any"
    assert batch.received_ns > 1_700_000_000_000_000_000
    assert collector.outcome("ok") == 1
    assert collector.metric("streamwitness_collector_spans_accepted_total") == {"": 2}


def test_a_good_request_is_answered_with_an_empty_response(collector: Collector) -> None:
    """Full success is an empty ExportTraceServiceResponse in protobuf."""
    answer = collector.post(body([span(block())]))
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, b"", PROTOBUF["content-type"])


def test_an_empty_request_is_fine(collector: Collector) -> None:
    """A request without spans is answered 200 and gives the sink nothing to do."""
    assert collector.post(b"").status_code == 200
    assert collector.sink.batches == []


def test_a_lying_span_is_refused_alone(collector: Collector) -> None:
    """The rest of the request is stored; the answer is a partial success that says why."""
    liar = span(block(2).attributes() | {sc.BLOCK_ROWS: 2})
    answer = collector.post(body([span(block(1)), liar]))
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, partial.rejected_spans) == (200, 1)
    assert "stream.rows" in partial.error_message
    assert [item.stream for item in collector.sink.batches[0].blocks] == [f"{1:032x}"]
    assert collector.outcome("partial") == 1
    assert collector.metric("streamwitness_collector_spans_refused_total")["block"] == 1


def test_a_key_speaks_only_for_its_points(collector: Collector) -> None:
    """A client's key cannot testify for the gateway; the batch carries the role of its key."""
    spans = body([span(block(1)), span(block(2, point="egress"))])
    assert ExportTraceServiceResponse.FromString(collector.post(spans, key="c").content).partial_success.rejected_spans
    assert ExportTraceServiceResponse.FromString(collector.post(spans, key="g").content).partial_success.rejected_spans
    stored = [(batch.role, item.point) for batch in collector.sink.batches for item in batch.blocks]
    assert stored == [("client", "wire"), ("gateway", "egress")]


_BOMB = gzip.compress(bytes(64 << 20))
_BAD: dict[str, tuple[Any, dict[str, str], int, str, str]] = {
    "no protobuf": (b"hello", {}, 400, "undecodable", "ExportTraceServiceRequest"),
    "no gzip": (b"hello", {"content-encoding": "gzip"}, 400, "undecodable", "gzip"),
    "cut off gzip": (gzip.compress(b"x" * 99)[:-4], {"content-encoding": "gzip"}, 400, "undecodable", "cut off"),
    "no key": (b"", {"authorization": ""}, 401, "unauthorized", "Bearer"),
    "an unknown key": (b"", {"authorization": "Bearer x"}, 401, "unauthorized", "unknown"),
    "another way of authorization": (b"", {"authorization": "Basic YQ=="}, 401, "unauthorized", "Bearer"),
    "oversize": (bytes((1 << 18) + 1), {}, 413, "too_large", "smaller batches"),
    "oversize in chunks": (iter([bytes(1 << 17)] * 3), {}, 413, "too_large", "smaller batches"),
    "zip bomb": (_BOMB, {"content-encoding": "gzip"}, 413, "too_large", "smaller batches"),
    "zlib bomb": (zlib.compress(bytes(64 << 20)), {"content-encoding": "deflate"}, 413, "too_large", "smaller batches"),
    "plain text": (b"", {"content-type": "text/plain"}, 415, "content_type", "application/x-protobuf"),
    "no content type": (b"", {"content-type": ""}, 415, "content_type", "application/x-protobuf"),
    "brotli": (b"", {"content-encoding": "br"}, 415, "encoding", "gzip"),
}


@pytest.mark.parametrize("bad", _BAD)
def test_bad_input_gets_a_reason_and_is_counted(collector: Collector, bad: str) -> None:
    """4xx with a google.rpc.Status that says what to do, one more on its counter, and the next request works."""
    content, headers, status, outcome, said = _BAD[bad]
    if not isinstance(content, bytes):
        content = iter([bytes(1 << 17)] * 3)
    answer = collector.post(content, headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == PROTOBUF["content-type"]
    assert said in Status.FromString(answer.content).message
    assert Status.FromString(answer.content).code > 0
    assert collector.outcome(outcome) == 1
    assert collector.sink.batches == []
    assert collector.post(body([span(block())])).status_code == 200


def test_a_401_says_which_way_to_authorize(collector: Collector) -> None:
    """HTTP wants a challenge beside 401."""
    assert collector.post(b"", key="x").headers["www-authenticate"] == "Bearer"


def test_json_is_refused_in_json(collector: Collector) -> None:
    """A sender of OTLP/JSON can read why it is refused."""
    answer = collector.post(b"{}", {"content-type": "application/json; charset=utf-8"})
    assert answer.status_code == 415
    assert "application/x-protobuf" in answer.json()["message"]


def test_bombs_do_not_cost_memory(collector: Collector) -> None:
    """Bombs, of zeros and of two-byte spans, cost no more memory than the bound of decoded bodies allows."""
    inner = b"\x12\x00" * (1 << 18)
    scoped = b"\x12" + _varint(len(inner)) + inner
    tiny = gzip.compress(b"\x0a" + _varint(len(scoped)) + scoped)
    collector.post(b"")
    tracemalloc.start()
    try:
        statuses = {collector.post(bad, {"content-encoding": "gzip"}).status_code for bad in (_BOMB, tiny) * 2}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert statuses == {413, 400}
    assert peak < 32 << 20


def test_a_sink_that_cannot_store_makes_the_sender_come_back(collector: Collector) -> None:
    """Unavailable is 503, full is 429, both with Retry-After; a batch that never will be taken is 500."""
    collector.sink.failures = [
        SinkUnavailable("the disk is away", retry_after=7),
        SinkUnavailable("much to do", full=True),
        SinkUnavailable("never", retryable=False),
    ]
    answers = [collector.post(body([span(block())])) for _ in range(4)]
    assert [item.status_code for item in answers] == [503, 429, 500, 200]
    assert [item.headers.get("retry-after") for item in answers] == ["7", "1", None, None]
    assert "the disk is away" in Status.FromString(answers[0].content).message
    assert [collector.outcome(name) for name in ("unavailable", "full", "failed", "ok")] == [1, 1, 1, 1]
    assert collector.metric("streamwitness_collector_spans_accepted_total") == {"": 1}


@pytest.mark.parametrize("full", [False, True])
def test_the_senders_retry_is_the_queue(collector: Collector, full: bool) -> None:
    """A real exporter sends again after 503 and 429, and nothing is lost."""
    collector.sink.failures = [SinkUnavailable("away", full=full, retry_after=0)]
    assert collector.exporter().export([span(block())]) is SpanExportResult.SUCCESS
    assert [batch.blocks[0].stream for batch in collector.sink.batches] == [f"{1:032x}"]


def test_a_defect_in_the_sink_is_a_500_and_counted(collector: Collector) -> None:
    """An exception that nobody foresaw answers 500 and leaves the process alive."""
    collector.sink.failures = [ZeroDivisionError()]
    assert collector.post(body([span(block())])).status_code == 500
    assert collector.outcome("failed") == 1
    assert collector.post(body([span(block())])).status_code == 200


def test_more_under_way_than_allowed_is_429() -> None:
    """While the bytes under way are at their bound, further requests are told to come back."""
    settings = CollectorSettings(
        max_body_bytes=1000, max_decoded_bytes=1000, max_span_bytes=1000, max_waiting_bytes=1000
    )
    sink = RecordingSink()
    with serving(create_app(settings, sink)) as url:
        collector = Collector(url, sink)
        with _half_a_request(url, 900) as sender:
            _until(lambda: collector.metric("streamwitness_collector_waiting_bytes")[""] >= 900)
            answer = collector.post(bytes(200))
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
            sender.close()
            _until(lambda: collector.outcome("disconnected") == 1)
        _until(lambda: collector.metric("streamwitness_collector_waiting_bytes")[""] == 0)


def test_a_body_that_drips_is_ended(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender that does not finish its body is answered 408 and holds nothing any more."""
    monkeypatch.setattr(body_module, "READ_SECONDS", 0.05)
    with _half_a_request(collector.url, 10) as sender:
        assert sender.recv(100).startswith(b"HTTP/1.1 408")
    assert collector.outcome("slow") == 1


def test_every_label_exists_from_the_start(collector: Collector) -> None:
    """A rate over a counter that appears with its first event misses that event: all start with 0."""
    assert collector.metric("streamwitness_collector_requests_total") == dict.fromkeys(OUTCOMES, 0)
    assert collector.metric("streamwitness_collector_spans_refused_total") == dict.fromkeys(REASONS, 0)


def test_it_says_that_it_lives_and_what_it_takes(collector: Collector) -> None:
    """/healthz answers; other OTLP signals and methods are told where to go."""
    assert httpx.get(f"{collector.url}/healthz").text == "ok\n"
    other = httpx.post(f"{collector.url}/v1/metrics")
    assert (other.status_code, other.text) == (404, "only traces are taken here: POST /v1/traces\n")
    assert httpx.get(f"{collector.url}/v1/traces").status_code == 405


def test_another_part_may_bring_routes_and_roles() -> None:
    """An all-in-one gives its own routes, which come first, and its own way to tell roles."""
    sink = RecordingSink()
    mine = Route("/metrics", lambda request: PlainTextResponse("mine"))
    app = create_app(SMALL, sink, role_of=lambda key: "gateway" if key == "k" else None, routes=[mine])
    with serving(app) as url:
        collector = Collector(url, sink)
        assert httpx.get(f"{url}/metrics").text == "mine"
        assert collector.post(body([span(block(point="egress"))]), key="k").status_code == 200
        assert collector.post(b"", key="a").status_code == 401
    assert sink.batches[0].role == "gateway"


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _half_a_request(url: str, sent: int) -> socket.socket:
    """A connection whose request announces one byte of body more than it has sent."""
    host, port = url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    head = (
        f"POST /v1/traces HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/x-protobuf\r\n"
        f"authorization: Bearer a\r\ncontent-length: {sent + 1}\r\n\r\n"
    )
    connection.sendall(head.encode() + bytes(sent))
    return connection


def _until(holds: Any) -> None:
    """Ask again and again over HTTP, so the server works on between; the test's own timeout ends it."""
    for _ in range(2000):
        if holds():
            return
    pytest.fail("the condition never held")
