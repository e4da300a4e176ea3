"""TGI's own API: as the server writes it, and as its clients hand it on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from streamwitness import semconv as sc
from streamwitness.events import Piece, Reading
from streamwitness.framing import SSEFramer
from streamwitness.providers.tgi_raw import TgiRaw
from tests.clientsdk.providers.vectors import reading, streams

STREAMS = {place: stream for name, place, stream in streams() if name == "tgi_raw"}


def test_events_without_a_space_and_keep_alives_read_as_their_vectors() -> None:
    """`data:{` and comments are what the server's framework writes."""
    for stream in STREAMS.values():
        body = b":\n\n" + b"\n\n:\n\n".join(b"data:" + event["data"].encode() for event in stream["events"]) + b"\n\n"
        profile = TgiRaw()

        assert [profile.read(frame.name, frame.data) for frame in SSEFramer().feed(body)] == [
            reading(event) for event in stream["events"]
        ]
        assert profile.complete is stream["complete"]


@dataclass
class _Token:
    text: str
    special: bool


@dataclass
class _Output:
    """As the clients' objects are: attributes named like the fields."""

    index: int
    token: _Token
    generated_text: str | None
    details: Any


def test_an_object_with_the_fields_reads_as_the_event() -> None:
    """What a client makes of an event, without being any one client."""
    made = _Output(2, _Token("b", False), "ab", {"finish_reason": "length", "generated_tokens": 2})
    data = '{"index":2,"token":{"text":"b","special":false},"generated_text":"ab","details":%s}'

    assert TgiRaw().read_object(made) == TgiRaw().read(b"", (data % json.dumps(made.details)).encode())


def test_a_special_token_is_no_text_wherever_it_stands() -> None:
    """Its client leaves it out of the text, and so does `generated_text`."""
    data = b'{"token":{"text":"<|x|>","special":true},"generated_text":null}'

    assert TgiRaw().read(b"", data) == Reading(sc.OTHER)


def test_the_whole_text_at_the_end_is_no_second_answer() -> None:
    """It repeats what the tokens said: counted once more, a translation of it would look like a loss."""
    data = b'{"token":{"text":"b"},"generated_text":"ab"}'

    assert TgiRaw().read(b"", data).pieces == (Piece("0/text/0", "text", b"b"),)
