"""OpenAI Responses: the openai package's own objects and client, its event types, numbers, snapshots, cuts."""

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
from streamwitness.providers.openai_responses import DELTAS, ENDS, PARTS_ADDED, SNAPSHOTS, TOOL_DELTAS, OpenAIResponses
from tests.clientsdk.providers.spoiling import spoiled
from tests.clientsdk.providers.vectors import reading, state, streams

STREAMS = [pytest.param(stream, id=place) for name, place, stream in streams() if name == "openai_responses"]
WHOLE = {stream["name"]: stream for name, place, stream in streams() if "openai_responses/openai/" in place}
EVENTS = [json.loads(e["data"]) for s in WHOLE.values() for e in s["events"] if e["data"].startswith("{")]

NOT_UNDERSTOOD = (
    "response.audio.",
    "response.code_interpreter_call",
    "response.compaction.",
    "response.file_search_call.",
    "response.image_generation_call.",
    "response.mcp_call",
    "response.mcp_list_tools.",
    "response.output_text.annotation.",
    "response.shell_call",
    "response.web_search_call.",
)
"""Beginnings of event types whose content is not the answer: the doings of the provider's own tools, and audio."""

PROGRESS = frozenset(f"response.{what}" for what in ("created", "in_progress", "queued", "output_item.added"))


def _sdk_object(value: Any) -> Any:
    """What `openai` hands to the application for a decoded event."""
    models = import_module("openai._models")
    responses = import_module("openai.types.responses")
    return models.construct_type(type_=responses.ResponseStreamEvent, value=value)


def _body(stream: dict[str, Any]) -> bytes:
    events = [event for event in stream["events"] if "\n" not in event["data"]]
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event.get("name", "message").encode(), event["data"].encode()) for event in events
    )


@pytest.mark.parametrize("stream", STREAMS)
def test_an_sdk_object_reads_as_its_vector_says(stream: dict[str, Any]) -> None:
    """Each event as the package's own object gives the parts and pieces of the vector, and the same number."""
    profile = OpenAIResponses()
    for event in stream["events"]:
        try:
            value = json.loads(event["data"])
        except ValueError:
            continue
        read = profile.read_object(_sdk_object(value) if isinstance(value, dict) else value)
        assert (read, profile.sequence) == (reading(event), event.get("sequence"))


@pytest.mark.parametrize("stream", STREAMS)
def test_holes_at_the_source_are_counted_by_content(stream: dict[str, Any]) -> None:
    """A snapshot that differs from its deltas counts, whether or not numbers are missing; so does broken grammar."""
    profile = OpenAIResponses()
    for event in stream["events"]:
        profile.read(b"", event["data"].encode())

    counted = (profile.snapshot_mismatches, profile.grammar_breaks)
    assert counted == (stream.get("snapshot_mismatches", 0), stream.get("grammar_breaks", 0))


@pytest.mark.parametrize("name", ["text", "parallel-tools", "refusal", "reasoning", "server-tools", "done-appended"])
def test_the_sdk_itself_hands_on_what_was_on_the_wire(name: str) -> None:
    """Through the real client, each event that it yields reads as the one on the wire; [DONE] it keeps to itself."""
    openai, httpx2 = import_module("openai"), import_module("httpx2")
    stream = WHOLE[name]
    wire, parsed = OpenAIResponses(), OpenAIResponses()

    def answer(_: object) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=_body(stream))

    with (
        httpx2.Client(transport=httpx2.MockTransport(answer)) as http,
        openai.OpenAI(api_key="none", base_url="http://127.0.0.1", http_client=http) as client,
    ):
        readings = [parsed.read_object(event) for event in client.responses.create(model="m", input="", stream=True)]

    sent = [event for event in stream["events"] if event["data"] != "[DONE]"]
    assert readings == [wire.read(b"", event["data"].encode()) for event in sent]
    assert state(parsed) == state(wire)


@pytest.mark.parametrize("name", ["text", "parallel-tools", "refusal", "reasoning"])
def test_the_sdk_stream_helper_adds_fields_not_events(name: str) -> None:
    """`.stream()` yields the same events with snapshots in them, which read alike."""
    openai, httpx2 = import_module("openai"), import_module("httpx2")
    stream = WHOLE[name]
    profile = OpenAIResponses()

    def answer(_: object) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=_body(stream))

    with (
        httpx2.Client(transport=httpx2.MockTransport(answer)) as http,
        openai.OpenAI(api_key="none", base_url="http://127.0.0.1", http_client=http) as client,
        client.responses.stream(model="m", input="") as events,
    ):
        readings = [profile.read_object(event) for event in events]

    assert readings == [reading(event) for event in stream["events"]]


def test_every_event_type_of_the_package_is_known() -> None:
    """Each is in a table of the profile, or stands here as not understood: a new one must be decided about."""
    responses = import_module("openai.types.responses")
    union = typing.get_args(typing.get_args(responses.ResponseStreamEvent)[0])
    types = {typing.get_args(event.model_fields["type"].annotation)[0] for event in union}
    known = DELTAS.keys() | TOOL_DELTAS | SNAPSHOTS.keys() | ENDS.keys() | PARTS_ADDED | PROGRESS | {"error"}

    assert len(types) > 50
    assert sorted(kind for kind in types - known if not kind.startswith(NOT_UNDERSTOOD)) == []


@pytest.mark.parametrize("kind", [f"{beginning}delta" for beginning in NOT_UNDERSTOOD])
def test_what_is_not_understood_is_other(kind: str) -> None:
    """An event type that nobody here knows, whatever its fields, carries no content and fails nothing."""
    profile = OpenAIResponses()
    data = json.dumps({"type": kind, "delta": "x", "text": "y", "output_index": 0, "sequence_number": 3})

    assert profile.read(b"", data.encode()) == Reading(sc.OTHER)
    assert profile.sequence == 3


def test_the_number_is_that_of_the_event_read_last() -> None:
    """Zeros and holes are handed on as they are; an event without a number, or with a negative one, has none."""
    profile = OpenAIResponses()
    numbers = []
    for number in (0, 0, 7, None, -1, "3", 9.0):
        profile.read(b"", json.dumps({"type": "response.in_progress", "sequence_number": number}).encode())
        numbers.append(profile.sequence)
    profile.read(b"", b"oops")

    assert (*numbers, profile.sequence) == (0, 0, 7, None, None, None, 9, None)


def test_the_call_asked_for_is_seen_in_the_end_itself() -> None:
    """The end event decides by the output that it repeats, even where the call's own events were lost."""
    end = {"type": "response.completed", "response": {"output": [{"type": "function_call"}]}}
    searched = {"type": "response.completed", "response": {"output": [{"type": "web_search_call"}]}}

    finishes = [OpenAIResponses().read(b"", json.dumps(event).encode()).pieces[0].finish for event in (end, searched)]
    assert finishes == ["tool_calls", "stop"]


def test_memory_is_bounded_and_then_no_snapshot_is_judged() -> None:
    """Places without end are read, but no longer compared with their snapshots."""
    profile = OpenAIResponses()
    profile.read(b"", b'{"type":"response.created","response":{}}')
    delta = '{"type":"response.output_text.delta","output_index":%d,"delta":"a"}'
    for n in range(3000):
        profile.read(b"", (delta % n).encode())
        call = {"type": "response.function_call_arguments.delta", "output_index": n, "delta": "{"}
        profile.read(b"", json.dumps(call).encode())
    profile.read(b"", b'{"type":"response.output_text.done","output_index":0,"text":"b"}')

    assert profile.snapshot_mismatches == 0
    assert len(profile._sums) <= 1024
    assert len(profile._calls) == 1024


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])  # it is the SDK that is
@given(event=st.sampled_from(EVENTS), data=st.data())
def test_sdk_objects_with_odd_fields_read_as_their_bytes(event: dict[str, Any], data: st.DataObject) -> None:
    """The package makes its objects of anything: what a server sends in a wrong type reads alike on both sides."""
    value = spoiled(data, event)
    if isinstance(value, dict):
        expected = OpenAIResponses().read(b"", json.dumps(value).encode())
        assert OpenAIResponses().read_object(_sdk_object(value)) == expected


@settings(deadline=None, max_examples=60)
@given(stream=st.sampled_from(list(WHOLE.values())), cuts=st.lists(st.integers(0, 6000), max_size=9))
def test_how_the_body_is_cut_never_shows(stream: dict[str, Any], cuts: list[int]) -> None:
    """Framed and read in any split, a response gives the readings of its events."""
    body = _body(stream)
    framer, profile = SSEFramer(), OpenAIResponses()
    places = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    frames = [frame for a, b in pairwise(places) for frame in framer.feed(body[a:b])]

    assert [profile.read(frame.name, frame.data) for frame in frames] == [reading(event) for event in stream["events"]]


def test_an_ordinary_delta_is_one_piece() -> None:
    """The example of the first lines."""
    data = b'{"type":"response.output_text.delta","sequence_number":4,"output_index":0,"content_index":0,"delta":"hi"}'

    assert OpenAIResponses().read(b"", data) == Reading(sc.TEXT, (Piece("0/text/0", "text", b"hi"),))
