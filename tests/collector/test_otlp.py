"""What is accepted of a request, what is refused alone, and what is never passed on."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from streamwitness import rows
from streamwitness import semconv as sc
from streamwitness.blocks import Block
from streamwitness_collector import otlp
from streamwitness_collector.config import CollectorSettings
from streamwitness_collector.otlp import Intake, UndecodableError, take
from streamwitness_collector.sink import Message
from tests.collector.spans import START, block, body, span

SETTINGS = CollectorSettings()


def _take(*spans: Any, role: Any = "any", settings: CollectorSettings = SETTINGS) -> Intake:
    return take(body(spans), role, settings)


def _spans(message: Message) -> list[Any]:
    request = ExportTraceServiceRequest.FromString(message.body)
    return [item for group in request.resource_spans for scoped in group.scope_spans for item in scoped.spans]


def test_a_message_holds_exactly_its_blocks() -> None:
    """Read again, the message's bytes give the blocks that it names, resource and times included."""
    [message] = _take(span(block())).messages
    [item] = _spans(message)
    values = otlp._values(item.attributes)
    again = Block.parse(values, start_ns=item.start_time_unix_nano, end_ns=item.end_time_unix_nano,
                        resource={"service.name": "shop"}, role="any")  # fmt: skip
    assert (again,) == message.blocks
    assert again.start_ns == START


def test_one_message_a_stream() -> None:
    """The blocks of one stream travel together, in order, whichever resource they came under."""
    intake = _take(
        span(block(1)),
        span(block(2)),
        span(block(1, recorder="f" * 16), resource={"service.name": "till"}),
    )
    assert [message.stream for message in intake.messages] == [f"{1:032x}", f"{2:032x}"]
    assert [item.recorder for item in intake.messages[0].blocks] == [f"{3:016x}", "f" * 16]
    assert [item.resource["service.name"] for item in intake.messages[0].blocks] == ["shop", "till"]
    assert intake.accepted == 3


def test_a_stream_too_large_for_one_message_takes_several() -> None:
    """No message is larger than allowed, and no block gets lost on the way."""
    settings = CollectorSettings(max_message_bytes=8000, max_span_bytes=4000)
    sent = [block(1, recorder=f"{n:016x}") for n in range(50)]
    intake = _take(*map(span, sent), settings=settings)
    assert len(intake.messages) > 1
    assert max(len(message.body) for message in intake.messages) <= 8000
    assert [item.recorder for message in intake.messages for item in message.blocks] == [b.recorder for b in sent]


def test_spans_of_others_are_refused_and_the_rest_is_kept() -> None:
    """A span of another scope is refused with a reason; ours beside it is accepted."""
    intake = _take(span(block(1)), span(block(2), scope="shop.checkout"))
    assert (intake.accepted, dict(intake.refused)) == (1, {"scope": 1})
    assert "refused 1 of 2 spans" in intake.explanation
    assert "'streamwitness'" in intake.explanation


_LIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "rows of another length": ({sc.BLOCK_ROWS: 2}, "block", "stream.rows"),
    "rows of another version": ({sc.ROWS: b"\x02"}, "block", "version"),
    "rows cut off": ({sc.ROWS: b"\x01\x02\x01\xff"}, "block", "cut off"),
    "an impossible position": ({sc.BLOCK_POSITION: 7}, "block", "go beyond"),
    "a negative index": ({sc.BLOCK_INDEX: -1}, "block", "negative"),
    "no stream": ({sc.ID: "nobody"}, "block", sc.ID),
    "an unknown point": ({sc.POINT: "moon"}, "block", sc.POINT),
    "an end of another point": ({sc.END: "disconnected"}, "block", sc.END),
    "an attempt beyond all bounds": ({sc.ATTEMPT: 1 << 40}, "block", "attempt"),
    "a text with NUL": ({sc.END_DETAIL: "a\x00b"}, "attribute", "NUL"),
    "an overlong text": ({sc.END_DETAIL: "a" * 1025}, "attribute", sc.END_DETAIL),
    "no number": ({sc.TIME_TO_FIRST_CHUNK: float("nan")}, "attribute", "nan"),
    "an endless list": ({sc.SLOT_DIGESTS: ["x"] * 1025}, "attribute", sc.SLOT_DIGESTS),
}


@pytest.mark.parametrize("lie", _LIES)
def test_a_lying_span_is_refused_alone(lie: str) -> None:
    """Whatever a span lies about, it alone is refused, with the attribute named; its neighbours are kept."""
    changes, reason, named = _LIES[lie]
    liar = span(block(2).attributes() | changes)
    intake = _take(span(block(1)), liar, span(block(3)))
    assert [message.stream for message in intake.messages] == [f"{1:032x}", f"{3:032x}"]
    assert dict(intake.refused) == {reason: 1}
    assert named in intake.explanation


@pytest.mark.parametrize("times", [(START, START - 1), (START, 1 << 63)])
def test_impossible_times_are_refused(times: tuple[int, int]) -> None:
    """A span that ends before it begins, or beyond what can be stored, is refused."""
    assert dict(_take(span(block(), times=times)).refused) == {"time": 1}


def test_a_repeated_attribute_is_refused() -> None:
    """Two readers could see two different blocks, so a key may stand only once."""
    request = ExportTraceServiceRequest.FromString(body([span(block(1)), span(block(2))]))
    first = request.resource_spans[0].scope_spans[0].spans[0]
    first.attributes.add(key=sc.POINT).value.string_value = "egress"
    intake = take(request.SerializeToString(), "any", SETTINGS)
    assert (intake.accepted, dict(intake.refused)) == (1, {"attribute": 1})
    assert f"{sc.POINT} stands twice" in intake.explanation


@pytest.mark.parametrize(("role", "refused"), [("client", ["egress"]), ("gateway", ["wire"]), ("any", [])])
def test_a_key_may_testify_only_for_its_points(role: Any, refused: list[str]) -> None:
    """A client's key cannot speak for the gateway, nor the gateway's for a client; blocks carry the role."""
    sent = [block(1), block(2, point="egress")]
    intake = _take(*map(span, sent), role=role)
    kept = [item.point for message in intake.messages for item in message.blocks]
    assert kept == [item.point for item in sent if item.point not in refused]
    assert intake.refused["role"] == len(refused)
    assert {item.role for message in intake.messages for item in message.blocks} == {role}


def test_a_span_that_is_no_span_is_refused_alone() -> None:
    """Bytes that are no span do not take the request with them."""
    request = ExportTraceServiceRequest.FromString(body([span(block(1))]))
    scoped = request.resource_spans[0].scope_spans[0].SerializeToString() + b"\x12\x02\x0a\x7f"
    group = b"\x12" + _varint(len(scoped)) + scoped
    intake = take(b"\x0a" + _varint(len(group)) + group, "any", SETTINGS)
    assert (intake.accepted, dict(intake.refused)) == (1, {"undecodable": 1})


def test_a_span_that_is_too_large_is_refused_alone() -> None:
    """The largest span is bounded, the rest of the request is kept."""
    big = block(1, row_count=512, rows=rows.encode({"payload": [n * n * 7919 for n in range(512)]}, 512),
                totals=dict.fromkeys(sc.TOTALS, 0) | {"events": 512})  # fmt: skip
    intake = _take(span(big), span(block(2)), settings=CollectorSettings(max_span_bytes=2000))
    assert (intake.accepted, dict(intake.refused)) == (1, {"too_large": 1})


def test_spans_beyond_the_bound_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request may hold so many spans; those after it are refused, the first are kept."""
    monkeypatch.setattr(otlp, "MAX_SPANS", 2)
    intake = _take(*(span(block(n)) for n in range(1, 6)))
    assert (intake.accepted, dict(intake.refused)) == (2, {"too_many": 3})


def test_the_explanation_is_bounded() -> None:
    """However many different lies a request tells, the answer lists a few and counts the rest."""
    intake = _take(*(span(block(1).attributes() | {sc.POINT: f"p{n}" * 500}) for n in range(40)))
    assert intake.refused.total() == 40
    assert len(intake.explained) == otlp.MAX_EXPLAINED
    assert len(intake.explanation) < 4000
    assert "32 × other reasons" in intake.explanation


def test_nothing_but_allowed_attributes_is_passed_on() -> None:
    """Whatever could be content (other attributes, events, links, names, status texts) does not pass the collector."""
    canary = "the secret answer"
    source = span(
        block(1).attributes() | {"gen_ai.prompt": canary, "stream.answer": canary, "server.address": "shop"},
        resource={"service.name": "shop", "process.command_args": canary},
    )
    request = ExportTraceServiceRequest.FromString(body([source]))
    item = request.resource_spans[0].scope_spans[0].spans[0]
    item.name = item.trace_state = item.status.message = canary
    item.events.add(name=canary)
    item.links.add(trace_state=canary)
    request.resource_spans[0].scope_spans[0].scope.version = canary
    intake = take(request.SerializeToString(), "any", SETTINGS)
    [message] = intake.messages
    assert canary.encode() not in message.body
    assert canary not in repr(message.blocks)
    assert message.blocks[0].extra == {"server.address": "shop"}
    assert intake.dropped_attributes == 3


def test_fields_that_otlp_does_not_know_are_not_passed_on() -> None:
    """Protobuf would carry them along unseen: here a length-delimited field 500 in a span."""
    request = ExportTraceServiceRequest.FromString(body([span(block(1))]))
    canary = b"the secret answer"
    request.resource_spans[0].scope_spans[0].spans[0].MergeFromString(b"\xa2\x1f" + bytes([len(canary)]) + canary)
    sent = request.SerializeToString()
    assert canary in sent
    [message] = take(sent, "any", SETTINGS).messages
    assert canary not in message.body


def test_a_resource_is_bounded() -> None:
    """A resource is repeated in every stream's message, so what goes beyond its bound is dropped and counted."""
    resource = {"service.name": "shop"} | {f"service.x{n:03}": "v" * 100 for n in range(100)}
    intake = _take(span(block(1), resource=resource))
    assert intake.dropped_attributes > 0
    assert len(intake.messages[0].body) < otlp.MAX_RESOURCE_BYTES + 2000


@given(st.binary(max_size=300))
def test_garbage_is_undecodable_or_refused(data: bytes) -> None:
    """Whatever the bytes are, nothing is accepted and nothing but our error is raised."""
    with contextlib.suppress(UndecodableError):
        assert take(data, "any", SETTINGS).accepted == 0


@given(st.integers(0, 10_000), st.integers(0, 255))
def test_one_changed_byte_never_raises_anything_else(place: int, value: int) -> None:
    """A valid request with one byte changed is accepted, refused in part, or undecodable; never anything else."""
    data = bytearray(body([span(block(1)), span(block(2))]))
    data[place % len(data)] = value
    with contextlib.suppress(UndecodableError):
        take(bytes(data), "any", SETTINGS)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))
