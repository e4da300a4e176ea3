"""Ollama: lines through the real framer and the real client, and what ends an answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

import pytest

from streamwitness import semconv as sc
from streamwitness.events import Piece, Reading
from streamwitness.framing import FRAMINGS
from streamwitness.providers.ollama import Ollama
from tests.clientsdk.providers.vectors import state, streams

STREAMS = {place: stream for name, place, stream in streams() if name == "ollama"}
BODY = b"".join(
    event["data"].encode() + b"\n" for place in ("plain", "thinking", "tool-calls") for event in
    STREAMS[f"ollama/chat/{place}"]["events"]
)  # fmt: skip


class _Answer(BaseHTTPRequestHandler):
    """Any chat is answered with the same lines."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """Address of a server that answers any chat."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()
        thread.join()


def test_the_client_itself_hands_on_what_was_on_the_wire(server: str) -> None:
    """Through the real `ollama` client, each object that it yields reads as the line it was made from."""
    ollama = import_module("ollama")
    wire, parsed = Ollama(), Ollama()
    framer = FRAMINGS["ndjson"]()
    frames = framer.feed(BODY) + framer.finish()[0]
    client = ollama.Client(server, trust_env=False)

    readings = [parsed.read_object(chunk) for chunk in client.chat("m1", stream=True)]
    client._client.close()

    assert readings == [wire.read(frame.name, frame.data) for frame in frames]
    assert len(readings) == len(BODY.splitlines())
    assert state(parsed) == state(wire)


def test_a_clean_end_after_done_false_is_truncation() -> None:
    """Nothing but `done: true` makes an answer whole, and an error unmakes it."""
    profile = Ollama()
    seen = []
    for line in ({"done": False}, {"done": True, "done_reason": "stop"}, {"error": "x"}):
        profile.read(b"", json.dumps({"model": "m", "response": "a", **line}).encode())
        seen.append(profile.complete)

    assert seen == [False, True, False]


def test_arguments_count_in_one_spelling() -> None:
    """However the object is spelled, the call reads the same; a string is taken as it is."""
    line = '{"model":"m","message":{"tool_calls":[{"function":{"name":"f","arguments":%s}}]},"done":false}'
    readings = [Ollama().read(b"", (line % text).encode()) for text in ('{"b":1, "a":2}', '{"a":2,"b":1.0e0}')]
    text = Ollama().read(b"", (line % '"{\\"a\\": 2}"').encode())

    assert readings[0].pieces[1] == Piece("0/tool/0", "tool_args", b'{"a":2,"b":1}')
    assert text == Reading(
        sc.TOOL_START | sc.TOOL_ARGS,
        (Piece("0/tool/0", "tool_start", b"f"), Piece("0/tool/0", "tool_args", b'{"a": 2}')),
    )


def test_endless_calls_are_read_and_not_told_apart_for_ever() -> None:
    """The ordinal of a call is bounded."""
    profile, line = Ollama(), {"message": {"tool_calls": [{"function": {"name": "f"}}] * 3}}
    for _ in range(1000):
        reading = profile.read(b"", json.dumps(line).encode())

    assert {piece.slot for piece in reading.pieces} == {"0/tool/1024"}
