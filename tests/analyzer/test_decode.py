"""Messages → blocks: both kinds of message, and everything that a message can get wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from streamwitness import semconv as sc
from streamwitness_analyzer.decode import Headers, Message, UndecodableMessage, decode
from tests.analyzer.kit import START, block, otlp


def message(value: bytes, headers: Headers = (), timestamp: int = 0) -> Message:
    return Message("t", 0, 0, value, headers, timestamp)


def test_a_block_survives_the_way_through_otlp() -> None:
    """Every attribute comes back with its type, bytes included."""
    sent = block(1, "wire", final=True, role=None, content_marks=b"\x00\xff", slot_digests=("0 1 2",), complete=True)
    assert decode(message(otlp([sent]))).blocks == [sent]


def test_a_mixture_is_split() -> None:
    """One unkeyed message of a stock collector holds several streams, and other people's spans: those are left."""
    value = otlp([block(1), block(2)]) + otlp([block(3)], scope="somebody.else") + otlp([block(4)])
    assert [item.stream[-1] for item in decode(message(value)).blocks] == ["1", "2", "4"]


def test_a_message_of_others_alone_is_no_fault() -> None:
    """Nothing of ours in it: nothing comes of it."""
    assert decode(message(otlp([block(1)], scope="somebody.else"))).blocks == []


@pytest.mark.parametrize(
    ("headers", "default", "expected"),
    [
        ((), "", None),
        ((), "gateway", "gateway"),
        ([(sc.KAFKA_ROLE_HEADER, b"any")], "client", "any"),
        ([(sc.KAFKA_ROLE_HEADER, b"gateway")], "", "gateway"),
    ],
)
def test_the_role_is_the_headers_else_the_configured(headers: Headers, default: str, expected: str | None) -> None:
    """Without either the block has none, and is never certain."""
    assert decode(message(otlp([block(1, "egress")]), headers), default).blocks[0].role == expected


@pytest.mark.parametrize(
    ("header", "timestamp", "expected"),
    [
        (str(START).encode(), 5, START),
        (None, 5, 5_000_000),
        (b"yesterday", 5, 5_000_000),
        (b"\xff", 5, 5_000_000),
        (b"-7", 5, 5_000_000),
        (b"9" * 30, 5, 5_000_000),
        ("²".encode(), 5, 5_000_000),
        (None, -1, 0),
    ],
)
def test_received_is_the_headers_else_the_brokers_time(header: bytes | None, timestamp: int, expected: int) -> None:
    """A header that is no time is as good as none."""
    headers = [(sc.KAFKA_RECEIVED_HEADER, header)] if header is not None else []
    assert decode(message(otlp([block(1)]), headers, timestamp)).received_ns == expected


@pytest.mark.parametrize(
    ("value", "headers", "reason"),
    [
        (b"\xff\xff", (), "no OTLP trace request"),
        (otlp([block(1)]), [(sc.KAFKA_VERSION_HEADER, b"9")], "sw-version is '9'"),
        (otlp([block(1)]), [(sc.KAFKA_ROLE_HEADER, b"root")], "sw-role is 'root'"),
        (otlp([replace(block(1), stream="nonsense")]), (), "stream.id is not of the form"),
        (otlp([block(1, "wire")]), [(sc.KAFKA_ROLE_HEADER, b"gateway")], "a gateway key may not testify"),
        (otlp([block(1, end_ns=1 << 63)]), (), "beyond what can be stored"),
    ],
)
def test_what_cannot_be_used_says_why(value: bytes, headers: Headers, reason: str) -> None:
    """The reason goes to the log and to the dead topic."""
    with pytest.raises(UndecodableMessage, match=reason):
        decode(message(value, headers))


def test_a_lying_span_is_refused_alone() -> None:
    """Its neighbour is kept, and the reason is told."""
    decoded = decode(message(otlp([block(1), replace(block(2), position=9)])))
    assert [item.stream[-1] for item in decoded.blocks] == ["1"]
    assert decoded.refused[0].startswith("stream.block.position 9")


def test_a_repeated_attribute_is_refused() -> None:
    """Two readers could take it for two different blocks."""
    request = ExportTraceServiceRequest.FromString(otlp([block(1)]))
    attributes = request.resource_spans[0].scope_spans[0].spans[0].attributes
    attributes.add(key=sc.POINT).value.string_value = "wire"
    with pytest.raises(UndecodableMessage, match=r"stream\.point stands twice"):
        decode(message(request.SerializeToString()))


@given(st.binary(max_size=200))
def test_garbage_is_our_error_or_nothing(value: bytes) -> None:
    """Whatever the bytes: blocks, or UndecodableMessage."""
    try:
        decode(message(value))
    except UndecodableMessage:
        return


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_flipped_byte_is_our_error_or_nothing(at: int, value: int) -> None:
    """The same for a message that is almost right."""
    good = bytearray(otlp([block(1, final=True)]))
    good[at % len(good)] = value
    try:
        decode(message(bytes(good)))
    except UndecodableMessage:
        return
