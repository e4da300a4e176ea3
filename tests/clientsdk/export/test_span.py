"""Blocks as spans: nothing cut, nothing changed, nothing taken from the host's settings but its name."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from streamwitness import semconv as sc
from streamwitness.blocks import Block
from streamwitness.export.span import FAULTY_ENDS, SpanMaker
from tests.clientsdk.export.receiver import Request, closing, make_block


def sent(*spans: ReadableSpan) -> Request:
    return Request("", {}, encode_spans(spans))


@pytest.mark.parametrize("point", sc.POINTS)
def test_named_after_the_point(point: Any) -> None:
    """A block of every point has a name, the scope a collector routes by, and lasts from first to last event."""
    block = make_block(point=point)
    span = SpanMaker().span(block)
    assert span.name == f"stream {point}"
    assert span.instrumentation_scope is not None
    assert (span.instrumentation_scope.name, span.instrumentation_scope.version) == (sc.SCOPE, sc.VERSION)
    assert (span.start_time, span.end_time, span.kind) == (block.start_ns, block.end_ns, SpanKind.INTERNAL)


@pytest.mark.parametrize("make", [make_block, closing])
def test_arrives_as_it_was(make: Callable[..., Block]) -> None:
    """Encoded and read again, a block is equal to what was recorded, bytes included."""
    block = make(
        rows=bytes((1,)), row_count=0, totals=dict.fromkeys(sc.TOTALS, 2**62) | {"events": sc.MAX_EVENTS, "judged": 7},
        total_parts=tuple(range(15)),
        content_marks=bytes(range(256)) * 9, slot_digests=("0/text/0 12 34",), legs=("a" * 16,), leg=3, of="parsed",
        extra={sc.FINISH_REASONS_ATTRIBUTE: ("stop",), sc.USAGE_INPUT: 12, sc.RESPONSE_ID: "é" * 50},
    )  # fmt: skip
    assert sent(SpanMaker().span(block)).blocks() == [block]


def test_no_limit_of_the_host_cuts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attribute limits in the environment are for the host's spans; a block keeps all attributes whole."""
    for name in (
        "OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
        "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    ):  # fmt: skip
        monkeypatch.setenv(name, "4")
    block = make_block(rows=bytes((1,)) + bytes(8 << 10), extra={f"extra.{n}": "x" * 5000 for n in range(300)})
    span = SpanMaker().span(block)
    assert dict(span.attributes or {}) == block.attributes()
    assert span.dropped_attributes == 0


def test_child_of_the_active_span() -> None:
    """With a context the block joins that trace under that span; each block has a span id of its own."""
    maker = SpanMaker()
    spans = [maker.span(make_block(context=(0xABC, 0xDEF))) for _ in range(3)]
    for span in spans:
        assert span.context is not None
        assert span.parent is not None
        assert span.context.trace_id == span.parent.trace_id == 0xABC
        assert span.parent.span_id == 0xDEF
        assert span.context.is_valid
        assert span.context.trace_flags.sampled
    assert len({span.context.span_id for span in spans if span.context}) == 3


def test_without_context_the_stream_is_the_trace() -> None:
    """Without an active span the trace id is the stream id, and the span is a root."""
    span = SpanMaker().span(make_block(stream="00112233445566778899aabbccddeeff"))
    assert span.context is not None
    assert f"{span.context.trace_id:032x}" == "00112233445566778899aabbccddeeff"
    assert span.parent is None


@pytest.mark.parametrize("end", sorted({*sc.CLIENT_ENDS, *sc.EGRESS_ENDS}))
def test_status_is_error_for_faults_only(end: str) -> None:
    """Faults are errors; a deliberate stop, a client that left and an ordinary end stay unset."""
    faulty = end in ("reset", "protocol_error", "raised")
    status = SpanMaker().span(closing(end=end)).status
    assert status.status_code is (StatusCode.ERROR if faulty else StatusCode.UNSET)
    assert status.description == (end if faulty else None)


def test_faulty_ends_are_known_ends() -> None:
    """The table names no end that does not exist."""
    assert {*sc.CLIENT_ENDS, *sc.EGRESS_ENDS} >= FAULTY_ENDS


def test_observer_fault_is_an_error() -> None:
    """A block whose observer failed says so in its status, closing or not."""
    for block in (make_block(extra={sc.OBSERVER_FAULT: "KeyError"}), closing(extra={sc.OBSERVER_FAULT: "KeyError"})):
        status = SpanMaker().span(block).status
        assert (status.status_code, status.description) == (StatusCode.ERROR, "observer fault")


def test_resource_is_the_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service is what the host's variables say; an explicit name wins."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,service.version=1.2,team=a%20b")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    resource = sent(SpanMaker().span(make_block())).resource()
    assert (resource["service.name"], resource["service.version"], resource["team"]) == ("shop", "1.2", "a b")
    assert resource["telemetry.sdk.name"] == "opentelemetry"
    assert sent(SpanMaker("mine").span(make_block())).resource()["service.name"] == "mine"


def test_resource_runs_no_detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resource detectors chosen for the host (some ask the network) are not run for us."""
    monkeypatch.setenv("OTEL_EXPERIMENTAL_RESOURCE_DETECTORS", "process,os,nonexistent")
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.delenv("OTEL_RESOURCE_ATTRIBUTES", raising=False)
    resource = sent(SpanMaker().span(make_block())).resource()
    assert {key.partition(".")[0] for key in resource} == {"telemetry", "service"}


def test_one_resource_for_a_batch() -> None:
    """Blocks of one batch share one resource and one scope on the wire."""
    maker = SpanMaker()
    request = sent(*(maker.span(make_block(n)) for n in range(5)))
    assert [len(rs.scope_spans) for rs in request.message.resource_spans] == [1]
    assert len(request.spans()) == 5


def test_the_hosts_random_numbers_are_its_own() -> None:
    """Span ids are not drawn from `random`: a host that seeded it sees the same numbers with and without us."""
    random.seed(7)
    expected = [random.random() for _ in range(3)]
    random.seed(7)
    SpanMaker().span(make_block())
    assert [random.random() for _ in range(3)] == expected
