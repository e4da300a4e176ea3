"""Gemini: the google-genai package's own client and objects, both framings, finish reasons, candidates, cuts."""

from __future__ import annotations

import json
import warnings
from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamwitness import semconv as sc
from streamwitness.events import Frame, Piece, Reading
from streamwitness.framing import FRAMINGS
from streamwitness.providers import Unreadable
from streamwitness.providers.gemini import FINISHES, NO_FINISH, Gemini
from tests.clientsdk.providers.vectors import reading, state, streams

ALL = {place: stream for name, place, stream in streams() if name == "gemini"}
STREAMS = [pytest.param(stream, id=place) for place, stream in ALL.items()]
CHUNKS = [
    pytest.param(stream, id=place)
    for place, stream in ALL.items()
    if not place.endswith(("/malformed", "/wrong-types", "/error", "/error-first"))
]
"""Those that the SDK parses: it raises for an error and for what is no chunk."""


def _sse(stream: dict[str, Any], end: str = "\r\n") -> bytes:
    return "".join(f"data: {event['data']}{end}{end}" for event in stream["events"]).encode()


def _array(stream: dict[str, Any]) -> bytes:
    """As without `alt=sse`: one array, pretty-printed over lines."""
    return (
        "[" + "\n,\r\n".join(json.dumps(json.loads(e["data"]), indent=2) for e in stream["events"]) + "\n]\n"
    ).encode()


def _yielded(stream: dict[str, Any], *, vertex: bool) -> list[Any]:
    """What the real client hands to the application for this stream."""
    genai, httpx2 = import_module("google.genai"), import_module("httpx2")

    def answer(_: object) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=_sse(stream))

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        options = genai.types.HttpOptions(base_url="http://127.0.0.1", httpx_client=http)
        client = genai.Client(api_key="none", vertexai=vertex, http_options=options)
        return list(client.models.generate_content_stream(model="m", contents="x"))


@pytest.mark.parametrize("vertex", [False, True], ids=["gemini", "vertex"])
@pytest.mark.parametrize("stream", CHUNKS)
def test_the_sdk_itself_hands_on_what_was_on_the_wire(stream: dict[str, Any], vertex: bool) -> None:
    """Through the real client, each chunk that it yields reads as the event on the wire, enums and bytes included."""
    wire, parsed = Gemini(), Gemini()

    readings = [parsed.read_object(chunk) for chunk in _yielded(stream, vertex=vertex)]

    assert readings == [wire.read(b"", event["data"].encode()) for event in stream["events"]]
    assert state(parsed) == state(wire)


def test_a_dict_is_read_by_the_names_on_the_wire() -> None:
    """An attribute's name in a dict is a field that nobody knows; an object's are the SDK's."""
    chunk = {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finish_reason": "STOP"}]}

    assert Gemini().read_object(chunk) == Gemini().read(b"", json.dumps(chunk).encode())
    assert Gemini().read_object(chunk).parts == sc.TEXT


@pytest.mark.parametrize("reason", ["STOP", "stop", "Max_Tokens", "NEW_REASON", "FINISH_REASON_UNSPECIFIED"])
def test_a_finish_reads_alike_in_any_letters(reason: str) -> None:
    """The SDK makes an enum of it that knows no case, and takes words that it does not know."""
    types = import_module("google.genai.types")
    chunk = {"candidates": [{"index": 0, "finishReason": reason}]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the SDK warns of words that it does not know
        made = types.GenerateContentResponse.model_validate(chunk)

    assert Gemini().read_object(made) == Gemini().read(b"", json.dumps(chunk).encode())


def test_every_finish_reason_of_the_package_is_decided_about() -> None:
    """Those that the table lacks are meant to be `other`."""
    types = import_module("google.genai.types")
    reasons = {reason.value for reason in types.FinishReason}

    assert reasons - FINISHES.keys() - NO_FINISH == {
        "LANGUAGE",
        "OTHER",
        "TOO_MANY_TOOL_CALLS",
        "IMAGE_OTHER",
        "NO_IMAGE",
    }
    assert set(FINISHES.values()) <= set(sc.FINISH_REASONS)


def test_a_candidate_that_stops_after_a_call_wants_its_tool() -> None:
    """Only its own call counts, and only for STOP."""
    profile = Gemini()
    call = {"content": {"parts": [{"functionCall": {"name": "f", "args": {}}}]}, "index": 1}
    profile.read_object({"candidates": [call]})
    ends = [{"index": 0, "finishReason": "STOP"}, {"index": 1, "finishReason": "STOP"}]
    profile.read_object({"candidates": ends})
    assert profile.finish_reasons == ("stop", "tool_calls")

    profile.read_object({"candidates": [{"index": 1, "finishReason": "MAX_TOKENS"}]})
    assert profile.finish_reasons == ("stop", "length")


def test_memory_is_bounded_and_then_completion_is_not_claimed() -> None:
    """Candidates without end are read, but not told apart for ever."""
    profile = Gemini()
    for n in range(3000):
        call = {"content": {"parts": [{"functionCall": {"name": "f"}}]}, "index": n, "finishReason": "STOP"}
        assert profile.read_object({"candidates": [call]}).pieces

    assert len(profile._candidates) == len(profile.finish_reasons) == 1024
    assert not profile.complete


def test_an_object_of_another_kind_is_refused() -> None:
    """A part or a candidate alone is no event."""
    types = import_module("google.genai.types")

    with pytest.raises(Unreadable):
        Gemini().read_object(types.Part(text="a"))


def _frames(framing: str, body: bytes, places: list[int]) -> list[Frame]:
    framer = FRAMINGS[framing]()
    frames = [frame for a, b in pairwise(places) for frame in framer.feed(body[a:b])]
    return frames + framer.finish()[0]


@settings(deadline=None, max_examples=60)
@given(
    stream=st.sampled_from([parameter.values[0] for parameter in CHUNKS]),
    framing=st.sampled_from(["sse", "json_array"]),
    cuts=st.lists(st.integers(0, 4000), max_size=9),
)
def test_how_the_body_is_cut_never_shows(stream: dict[str, Any], framing: str, cuts: list[int]) -> None:
    """As SSE and as an array, in any split, a response gives the readings of its events."""
    body = _sse(stream) if framing == "sse" else _array(stream)
    places = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    profile = Gemini()

    readings = [profile.read(frame.name, frame.data) for frame in _frames(framing, body, places)]
    assert readings == [reading(event) for event in stream["events"]]


def test_an_ordinary_chunk_is_one_piece() -> None:
    """Text, with the role that stands in every chunk."""
    data = b'{"candidates":[{"content":{"parts":[{"text":"hi"}],"role":"model"},"index":0}]}'

    assert Gemini().read(b"", data) == Reading(sc.ROLE | sc.TEXT, (Piece("0/text/0", "text", b"hi"),))
