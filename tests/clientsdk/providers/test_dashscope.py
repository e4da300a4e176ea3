"""DashScope: whole texts or deltas as the request says, its frames, and what is never sniffed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamwitness.framing import SSEFramer
from streamwitness.providers import detect, profile
from streamwitness.providers.dashscope import DashScope, DashScopeDelta
from tests.clientsdk.providers.vectors import end, reading, state, streams

STREAMS = [pytest.param(name, stream, id=place) for name, place, stream in streams() if name.startswith("dashscope")]


def _body(stream: dict[str, Any]) -> bytes:
    """As the server frames it."""
    status = {"error": 400}
    return "".join(
        f"id:{n}\nevent:{event['name']}\n:HTTP_STATUS/{status.get(event['name'], 200)}\ndata:{event['data']}\n\n"
        for n, event in enumerate(stream["events"], 1)
    ).encode()


@pytest.mark.parametrize(("name", "stream"), STREAMS)
def test_a_response_as_the_server_frames_it(name: str, stream: dict[str, Any]) -> None:
    """`id:`, `event:` and the status in a comment are framing; what counts is the data."""
    made, framer = profile(name), SSEFramer()
    frames = framer.feed(_body(stream))

    assert [made.read(frame.name, frame.data) for frame in frames] == [reading(event) for event in stream["events"]]
    assert framer.comments == len(stream["events"])
    assert state(made) == end(stream)


def test_deltas_that_look_cumulative_stay_deltas() -> None:
    """Each text begins with the one before, and still each is new text: only the request can tell."""
    events = [json.dumps({"output": {"text": text}}).encode() for text in ("a", "aa", "aaa")]
    whole, delta = DashScope(), DashScopeDelta()

    assert [whole.read(b"result", data).pieces[0][:2] for data in events] == [("0/snapshot/0", "snapshot")] * 3
    assert [delta.read(b"result", data).pieces[0][:2] for data in events] == [("0/text/0", "text")] * 3


def test_the_delta_form_is_taken_by_name_only() -> None:
    """Detection cannot see the request's parameters."""
    first = b'{"output":{"text":"a","finish_reason":"null"},"request_id":"r"}'

    assert detect("/api/v1/services/aigc/text-generation/generation", "text/event-stream", first).name == "dashscope"
    assert profile("dashscope_delta").name == "dashscope_delta"


@pytest.mark.parametrize("made", [DashScope, DashScopeDelta])
def test_a_choice_without_a_finish_is_no_answer(made: type[DashScope]) -> None:
    """All choices seen must have ended, and an error undoes them."""
    one = made()
    for choice, complete in (("0", False), ("1", False)):
        one.read(b"", b'{"output":{"choices":[{"index":%s,"message":{"content":"a"}}]}}' % choice.encode())
        assert one.complete is complete
    for choice, complete in (("0", False), ("1", True)):
        one.read(b"", b'{"output":{"choices":[{"index":%s,"finish_reason":"stop"}]}}' % choice.encode())
        assert one.complete is complete
    one.read(b"error", b'{"code":"Throttling"}')
    assert not one.complete


@pytest.mark.parametrize("made", [DashScope, DashScopeDelta])
def test_memory_is_bounded_whatever_the_provider_numbers(made: type[DashScope]) -> None:
    """Endless choices and calls are read, but not told apart for ever; completion is then never claimed."""
    one = made()
    for i in range(2000):
        call = {"index": i, "function": {"name": "f", "arguments": "{}"}}
        choices = [{"index": i, "message": {"tool_calls": [call]}, "finish_reason": "stop"}]
        assert one.read(b"", json.dumps({"output": {"choices": choices}}).encode()).pieces

    assert len(one._seen) == len(one._calls) == len(one.finish_reasons) == 1024
    assert one.complete is False
