"""Cutting a request into spans gives the same as decoding it whole, and nothing else than our error on garbage."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from streamwitness_collector.wire import Walker, WireError
from tests.collector.spans import block, body, span

_FIELDS = 1000


def test_the_pieces_are_those_of_the_whole() -> None:
    """Resources, scopes and spans of several groups come out in order and equal to the decoded request's."""
    spans = [span(block(1)), span(block(2), scope="other"), span(block(3), resource={"service.name": "till"})]
    data = body(spans)
    whole = ExportTraceServiceRequest.FromString(data)
    expected = [(group.resource, [*scoped.spans]) for group in whole.resource_spans for scoped in group.scope_spans]
    actual = [
        (Resource.FromString(scoped.resource), [Span.FromString(piece) for piece in scoped.spans])
        for scoped in Walker(data, _FIELDS).scopes()
    ]
    assert actual == expected
    assert len(actual) == 3


def test_a_resource_sent_in_two_parts_is_merged() -> None:
    """A field that stands twice means the merged message, as protobuf says, wherever it stands."""
    first, second = Resource(), Resource()
    first.attributes.add(key="a").value.string_value = "1"
    second.attributes.add(key="b").value.string_value = "2"
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.scope_spans.add()
    inner = b"".join(b"\x0a" + bytes((part.ByteSize(),)) + part.SerializeToString() for part in (first, second))
    data = group.SerializeToString() + inner
    [scoped] = Walker(b"\x0a" + bytes((len(data),)) + data, _FIELDS).scopes()
    assert [item.key for item in Resource.FromString(scoped.resource).attributes] == ["a", "b"]


def test_more_fields_than_allowed_end_the_walk() -> None:
    """A body of empty two-byte messages ends after the allowed number of fields."""
    with pytest.raises(WireError, match="smaller batches"):
        list(Walker(b"\x0a\x00" * 50, 49).scopes())
    assert list(Walker(b"\x0a\x00" * 50, 50).scopes()) == []


def test_other_kinds_of_fields_are_stepped_over() -> None:
    """Varint and fixed fields that we do not know do not stop the walk."""
    unknown = b"\x10\x96\x01" + b"\x19" + bytes(8) + b"\x25" + bytes(4)
    assert len(list(Walker(unknown + body([span(block())]) + unknown, _FIELDS).scopes())) == 1


@pytest.mark.parametrize(
    "data", [b"\x0a", b"\x0a\x05abc", b"\x0b", b"\xff" * 11, b"\x19\x00", b"\x0a\x02\x12\x05", b"\x80"]
)
def test_what_is_cut_off_is_refused(data: bytes) -> None:
    """A length beyond the end, a group, an endless number: our error."""
    with pytest.raises(WireError):
        list(Walker(data, _FIELDS).scopes())


@given(st.binary(max_size=200))
def test_garbage_gives_pieces_or_our_error(data: bytes) -> None:
    """Whatever the bytes are, the walk ends with pieces or WireError."""
    with contextlib.suppress(WireError):
        list(Walker(data, _FIELDS).scopes())
