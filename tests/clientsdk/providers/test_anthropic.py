"""Anthropic Messages: the anthropic package's own objects and client, its event types, broken grammar, cuts."""

from __future__ import annotations

import json
import typing
from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamwitness import semconv as sc
from streamwitness.events import Piece, Reading
from streamwitness.framing import SSEFramer
from streamwitness.providers.anthropic import FINISHES, KINDS, TYPES, Anthropic
from tests.clientsdk.providers.spoiling import spoiled
from tests.clientsdk.providers.vectors import reading, state, streams

STREAMS = [pytest.param(stream, id=place) for name, place, stream in streams() if name == "anthropic"]
WHOLE = {stream["name"]: stream for name, place, stream in streams() if "anthropic/anthropic/" in place}
EVENTS = [json.loads(e["data"]) for s in WHOLE.values() for e in s["events"] if e["data"].startswith("{")]
NAMES = ["text", "ping-without-data", "parallel-tools", "interleaved-blocks", "thinking", "citations", "server-tools"]


def _sdk_object(value: Any) -> Any:
    """What `anthropic` hands to the application for a decoded event."""
    models = import_module("anthropic._models")
    beta = import_module("anthropic.types.beta")
    return models.construct_type(type_=beta.BetaRawMessageStreamEvent, value=value)


def _body(stream: dict[str, Any]) -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["name"].encode(), event["data"].encode()) for event in stream["events"]
    )


def _client(stream: dict[str, Any]) -> Any:
    """A real client that is answered with this stream."""
    anthropic, httpx2 = import_module("anthropic"), import_module("httpx2")

    def answer(_: object) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=_body(stream))

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    return anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1", http_client=http)


@pytest.mark.parametrize("stream", STREAMS)
def test_an_sdk_object_reads_as_its_vector_says(stream: dict[str, Any]) -> None:
    """Each event as the package's own object gives the parts and pieces of the vector."""
    profile = Anthropic()
    for event in stream["events"]:
        try:
            value = json.loads(event["data"])
        except ValueError:
            profile.read(event.get("name", "").encode(), event["data"].encode())
            continue
        read = profile.read_object(_sdk_object(value) if isinstance(value, dict) else value)
        assert read == reading(event)


@pytest.mark.parametrize("stream", STREAMS)
def test_broken_grammar_is_counted(stream: dict[str, Any]) -> None:
    """Deltas and stops of a block that is not open, or of another kind, are read, and counted."""
    profile = Anthropic()
    for event in stream["events"]:
        profile.read(event.get("name", "").encode(), event["data"].encode())

    assert profile.grammar_breaks == stream.get("grammar_breaks", 0)


@pytest.mark.parametrize("name", NAMES)
def test_the_sdk_itself_hands_on_what_was_on_the_wire(name: str) -> None:
    """Through the real client, each event that it yields reads as the one on the wire; pings it keeps to itself."""
    stream = WHOLE[name]
    wire, parsed = Anthropic(), Anthropic()

    with _client(stream) as client:
        events = client.messages.create(model="m", max_tokens=9, messages=[], stream=True)
        readings = [parsed.read_object(event) for event in events]

    sent = [event for event in stream["events"] if event["name"] != "ping"]
    assert readings == [wire.read(event["name"].encode(), event["data"].encode()) for event in sent]
    assert state(parsed) == state(wire)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_sdk_stream_helper_adds_is_other(name: str) -> None:
    """`.stream()` yields the provider's events and repeats them in others of its own, which carry no content."""
    stream = WHOLE[name]
    profile = Anthropic()

    with _client(stream) as client, client.messages.stream(model="m", max_tokens=9, messages=[]) as events:
        seen = [(event.type, profile.read_object(event)) for event in events]

    provided = [read for kind, read in seen if kind in TYPES]
    assert provided == [reading(event) for event in stream["events"] if event["name"] != "ping"]
    assert {read for kind, read in seen if kind not in TYPES} <= {Reading(sc.OTHER)}
    assert profile.complete


def test_every_event_type_of_the_package_is_known() -> None:
    """A new one must be decided about."""
    beta = import_module("anthropic.types.beta")
    union = typing.get_args(typing.get_args(beta.BetaRawMessageStreamEvent)[0])

    types = {typing.get_args(event.model_fields["type"].annotation)[0] for event in union}
    assert types | {"ping", "error"} == TYPES


def test_every_stop_reason_of_the_package_is_decided_about() -> None:
    """Those that the table lacks are meant to be `other`."""
    beta = import_module("anthropic.types.beta")
    reasons = set(typing.get_args(beta.BetaStopReason))

    assert reasons - FINISHES.keys() == {"pause_turn", "compaction"}
    assert set(FINISHES.values()) <= set(sc.FINISH_REASONS)


def test_only_the_callers_tools_are_calls() -> None:
    """Every kind of block that the package knows is text, thinking, a call for the caller, or silent."""
    start = import_module("anthropic.types.beta.beta_raw_content_block_start_event")
    blocks = typing.get_args(typing.get_args(start.ContentBlock)[0])
    types = {typing.get_args(block.model_fields["type"].annotation)[0] for block in blocks}

    assert types >= KINDS.keys()
    for kind in types - KINDS.keys():
        block = {"type": kind, "text": "x", "thinking": "x", "name": "x", "input": {"x": 1}}
        data = json.dumps({"type": "content_block_start", "index": 0, "content_block": block})
        assert Anthropic().read(b"", data.encode()) == Reading(sc.OTHER)


def test_a_ping_is_a_ping_whatever_it_holds() -> None:
    """By its event name or by its type, with or without data."""
    readings = [Anthropic().read(b"ping", data) for data in (b"", b"{}", b"oops", b'{"type":"ping"}')]

    assert [*readings, Anthropic().read(b"", b'{"type":"ping"}')] == [Reading(sc.PING)] * 5


@pytest.mark.parametrize(
    ("path", "first", "found"),
    [
        ("/v1/messages", b"", True),
        ("/anthropic/v1/messages", b'{"type":"ping"}', True),
        ("/v1/messages", b'{"error":{"type":"x"}}', True),
        ("/v1/messages", b"upstream gone", True),
        ("/v1/messages", b'{"role":"user"}', False),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict", b"", True),
        ("/v1/projects/p/locations/l/publishers/mistralai/models/m:streamRawPredict", b"", False),
        ("/ask", b'{"type":"message_start","message":{}}', True),
        ("/ask", b'{"type":"message_start","message":"x"}', False),
        ("/ask", b'{"type":"ping"}', False),
    ],
)
def test_a_response_is_known_by_path_or_first_event(path: str, first: bytes, found: bool) -> None:
    """Other services have a path `/v1/messages`, too, and Vertex serves other publishers at its own."""
    assert Anthropic.matches(path, "text/event-stream", first) is found


def test_an_error_unmakes_a_whole_answer() -> None:
    """Nothing is complete that ends with one."""
    profile = Anthropic()
    for event in WHOLE["text"]["events"]:
        profile.read(b"", event["data"].encode())
    assert profile.complete

    profile.read(b"", b'{"type":"error","error":{"type":"overloaded_error"}}')
    assert not profile.complete


def test_input_is_the_sum_of_what_was_read_and_cached() -> None:
    """Each number stands until it is sent again; a null, or none, changes nothing."""
    profile = Anthropic()
    seen = []
    for usage in ({"output_tokens": 1}, {"input_tokens": 5, "cache_read_input_tokens": 2}, {"input_tokens": None}, {}):
        profile.read(b"", json.dumps({"type": "message_delta", "usage": usage}).encode())
        seen.append(profile.usage)

    assert seen == [(None, 1), (7, 1), (7, 1), (7, 1)]


def test_memory_is_bounded_and_then_completion_is_not_claimed() -> None:
    """Blocks without end are read, but not told apart for ever."""
    profile = Anthropic()
    profile.read(b"", b'{"type":"message_start","message":{}}')
    for n in range(3000):
        block = {"type": "content_block_start", "index": n, "content_block": {"type": "tool_use", "name": "f"}}
        profile.read(b"", json.dumps(block).encode())
    for n in range(3000):
        profile.read(b"", json.dumps({"type": "content_block_stop", "index": n}).encode())
    profile.read(b"", b'{"type":"message_delta","delta":{"stop_reason":"tool_use"}}')
    profile.read(b"", b'{"type":"message_stop"}')

    assert (profile.finish_reasons, profile.complete) == (("tool_calls",), False)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])  # it is the SDK that is
@given(event=st.sampled_from(EVENTS), data=st.data())
def test_sdk_objects_with_odd_fields_read_as_their_bytes(event: dict[str, Any], data: st.DataObject) -> None:
    """The package makes its objects of anything: what a server sends in a wrong type reads alike on both sides."""
    value = spoiled(data, event)
    if isinstance(value, dict):
        expected = Anthropic().read(b"", json.dumps(value).encode())
        assert Anthropic().read_object(_sdk_object(value)) == expected


@settings(deadline=None, max_examples=60)
@given(stream=st.sampled_from(list(WHOLE.values())), cuts=st.lists(st.integers(0, 4000), max_size=9))
def test_how_the_body_is_cut_never_shows(stream: dict[str, Any], cuts: list[int]) -> None:
    """Framed and read in any split, a response gives the readings of its events."""
    events = [event for event in stream["events"] if event["data"]]  # SSE dispatches no event without data
    body = _body({"events": events})
    framer, profile = SSEFramer(), Anthropic()
    places = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    frames = [frame for a, b in pairwise(places) for frame in framer.feed(body[a:b])]

    assert [profile.read(frame.name, frame.data) for frame in frames] == [reading(event) for event in events]


def test_an_ordinary_delta_is_one_piece() -> None:
    """The padding that the API puts behind the object says nothing."""
    profile = Anthropic()
    profile.read(b"", b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}')
    data = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}           }'

    assert profile.read(b"", data) == Reading(sc.TEXT, (Piece("0/text/0", "text", b"hi"),))
