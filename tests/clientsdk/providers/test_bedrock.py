"""Bedrock: messages through the real framer, as boto3 unwraps them, exceptions, models inside, cuts."""

from __future__ import annotations

import base64
import json
from importlib import import_module
from itertools import pairwise
from struct import pack
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamwitness import semconv as sc
from streamwitness.events import Piece, Reading
from streamwitness.framing import FRAMINGS
from streamwitness.providers.bedrock import EVENTS, FINISHES, Bedrock
from tests.clientsdk.providers.vectors import reading, state, streams

ALL = {place: stream for name, place, stream in streams() if name == "bedrock"}
NAMED = {place: s for place, s in ALL.items() if all(event.get("name") for event in s["events"])}

EXCEPTIONS = (
    "internalServerException",
    "modelStreamErrorException",
    "validationException",
    "throttlingException",
    "serviceUnavailableException",
    "modelTimeoutException",
)
"""Of ConverseStream and InvokeModelWithResponseStream."""


def _message(event: dict[str, Any]) -> bytes:
    """A message of the event stream, headers and checksums included."""
    name = event["name"]
    kind = {"error": "error"}.get(name, "exception" if name.endswith("Exception") else "event")
    of = {"error": ":error-code", "exception": ":exception-type", "event": ":event-type"}[kind]
    headers = b""
    for key, value in ((of, name), (":content-type", "application/json"), (":message-type", kind)):
        headers += pack(">B", len(key)) + key.encode() + pack(">BH", 7, len(value)) + value.encode()
    payload = event["data"].encode()
    head = pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = head + pack(">I", crc32(head)) + headers + payload
    return message + pack(">I", crc32(message))


@settings(deadline=None, max_examples=60)
@given(place=st.sampled_from(list(NAMED)), cuts=st.lists(st.integers(0, 3000), max_size=9))
def test_how_the_body_is_cut_never_shows(place: str, cuts: list[int]) -> None:
    """Framed and read in any split, a response gives the readings of its events."""
    body = b"".join(_message(event) for event in NAMED[place]["events"])
    framer, profile = FRAMINGS["eventstream"](), Bedrock()
    places = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    frames = [frame for a, b in pairwise(places) for frame in framer.feed(body[a:b])]

    assert [profile.read(frame.name, frame.data) for frame in frames] == [reading(e) for e in NAMED[place]["events"]]


@pytest.mark.parametrize("stream", [pytest.param(stream, id=place) for place, stream in ALL.items()])
def test_broken_grammar_is_counted(stream: dict[str, Any]) -> None:
    """Input for a call that never started is read as a new one, and counted."""
    profile = Bedrock()
    for event in stream["events"]:
        profile.read(event.get("name", "").encode(), event["data"].encode())

    assert profile.grammar_breaks == stream.get("grammar_breaks", 0)


@pytest.mark.parametrize("name", EXCEPTIONS)
@pytest.mark.parametrize("data", [b'{"message":"x"}', b"", b"oops", b"[]"])
def test_an_exception_is_an_error_whatever_it_holds(name: str, data: bytes) -> None:
    """Its name says it; no answer is whole after one."""
    profile = Bedrock()
    profile.read(b"messageStop", b'{"stopReason":"end_turn"}')
    assert profile.complete

    assert profile.read(name.encode(), data) == Reading(sc.ERROR)
    assert profile.complete is False


@pytest.mark.parametrize(("data", "parts"), [(b'{"x":1}', sc.OTHER), (b"", sc.MALFORMED), (b"[]", sc.MALFORMED)])
def test_an_event_that_is_not_known_is_other_if_it_is_one(data: bytes, parts: int) -> None:
    """A later event type disturbs nothing; what is no JSON object is malformed under any name."""
    assert Bedrock().read(b"futureEvent", data) == Reading(parts)


def test_bytes_from_boto3_are_the_chunk_itself() -> None:
    """On the wire a chunk is base64, boto3 has decoded it."""
    inner = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}'
    wire = Bedrock().read(b"chunk", json.dumps({"bytes": base64.b64encode(inner).decode()}).encode())

    assert Bedrock().read_object({"chunk": {"bytes": inner}}) == wire
    assert wire == Reading(sc.TEXT, (Piece("0/text/0", "text", b"Hi"),))


def test_events_that_the_anthropic_package_has_unwrapped_read_as_their_chunks() -> None:
    """Its Bedrock client hands on the model's own events, as its objects; a gateway may send them on as JSON."""
    models, beta = import_module("anthropic._models"), import_module("anthropic.types.beta")
    wire, parsed, bare = Bedrock(), Bedrock(), Bedrock()
    for event in ALL["bedrock/invoke/anthropic"]["events"]:
        inner = base64.b64decode(json.loads(event["data"])["bytes"])
        made = models.construct_type(type_=beta.BetaRawMessageStreamEvent, value=json.loads(inner))
        assert parsed.read_object(made) == bare.read(b"", inner) == wire.read(b"chunk", event["data"].encode())

    assert state(parsed) == state(bare) == state(wire)
    assert wire.complete


@pytest.mark.parametrize("data", [b'{"type":[]}', b'{"type":{}}', b'{"type":5}'])
def test_a_type_of_the_wrong_type_is_none(data: bytes) -> None:
    """What cannot be looked up in a table is passed over."""
    chunk = json.dumps({"bytes": base64.b64encode(data).decode()}).encode()

    assert Bedrock().read(b"", data) == Bedrock().read_object(json.loads(data)) == Reading(sc.OTHER)
    assert Bedrock().read(b"chunk", chunk) == Reading(sc.OTHER)
    assert not Bedrock.matches("/x", "", data)


@pytest.mark.parametrize("word", [*FINISHES, "new"])
def test_every_stop_reason_has_a_canonical_one(word: str) -> None:
    """A word that the table lacks is `other`; an error is no completion."""
    profile = Bedrock()
    finish = FINISHES.get(word, "other")
    read = profile.read(b"messageStop", json.dumps({"stopReason": word}).encode())

    assert finish in sc.FINISH_REASONS
    assert read == Reading(
        sc.FINISH | (sc.ERROR if finish == "error" else 0), (Piece("0/finish/0", "finish", b"", finish),)
    )
    assert profile.complete is (finish != "error")


FIELDS = ("text", "toolUse", "input", "name", "delta", "start", "reasoningContent", "usage", "inputTokens", "bytes")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=6,
)
TOP = ("contentBlockIndex", "delta", "start", "stopReason", "usage", "role", "bytes")
PAYLOADS = st.fixed_dictionaries({}, optional=dict.fromkeys(TOP, VALUES))


@settings(deadline=None)
@given(events=st.lists(st.tuples(st.sampled_from(sorted(EVENTS)), PAYLOADS), max_size=5))
def test_fields_of_any_type_read_alike_named_and_unwrapped(events: list[tuple[str, dict[str, Any]]]) -> None:
    """Whatever a payload holds, the message and what boto3 makes of it read alike, and never raise."""
    wire, parsed, joined = Bedrock(), Bedrock(), Bedrock()
    for name, payload in events:
        expected = wire.read(name.encode(), json.dumps(payload).encode())
        assert parsed.read_object({name: payload}) == expected
        assert joined.read(b"", json.dumps({name: payload}).encode()) == expected

    assert state(wire) == state(parsed) == state(joined)


def test_endless_calls_are_read_and_not_told_apart_for_ever() -> None:
    """The ordinal of a call, and what is kept of calls, is bounded."""
    profile = Bedrock()
    for n in range(3000):
        start = {"contentBlockIndex": n, "start": {"toolUse": {"name": "f"}}}
        read = profile.read(b"contentBlockStart", json.dumps(start).encode())

    assert {piece.slot for piece in read.pieces} == {"0/tool/1024"}
    assert len(profile._tools) == 1024
