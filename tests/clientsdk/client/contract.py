"""What every client adapter is held to: a format that is spoken, and a client that reads it.

An adapter is one row in `adapters.ADAPTERS`; `test_contract.py` runs all of them through the same tests. A `Session`
wraps the real client so that sync and async, bytes and objects look alike; it must not hide what the client does.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from streamwitness.semconv import Point, Stamp
from tests.clientsdk.client.raw_server import CANARY, DONE, event


@dataclass(frozen=True)
class Format:
    """A provider's stream: the framed events of a whole answer; those that clients do not yield come last or not."""

    path: str
    """Where a client that reads bytes posts to."""
    profile: str
    events: tuple[bytes, ...]
    error: bytes
    """An error event in a 200 stream."""

    @property
    def body(self) -> bytes:
        """The answer."""
        return b"".join(self.events)


class Session(Protocol):
    """One client of one server. The methods are async for both kinds; a sync client simply blocks in them."""

    client: Any
    """What `instrument` takes."""

    async def ask(self) -> Any:
        """Send the request; the open stream."""

    def items(self, stream: Any) -> AsyncIterator[Any]:
        """What the application reads out of the stream, one at a time: pieces of bytes or objects."""

    async def stop(self, stream: Any) -> None:
        """Close the stream as an application does."""

    async def close(self) -> None:
        """Close the client."""

    def look(self, stream: Any) -> dict[str, Any]:
        """What else an application may look at, in values that can be compared (no times, no addresses)."""


@dataclass(frozen=True)
class Adapter:
    """A client of a library or SDK that a hook exists for."""

    name: str
    client: str
    """Value of `stream.client` in the records."""
    open: Callable[..., Session]
    """`open(url, timeout=None)`: a client that is not instrumented yet, for the server at this URL."""
    format: Format
    asynchronous: bool = False
    points: tuple[Point, ...] = ("wire",)
    """What is recorded without the application's help."""
    consumed: int = 0
    """Events of the format that the parser does not hand on, by design."""
    stamps: tuple[Stamp, ...] = ()
    """Numbers that the parser survives, as its hook declares; the first is asked for."""
    ends: dict[str, str] = field(default_factory=dict)
    """Ends that differ from those of `test_contract.ENDINGS`; `stop` is the end by the application's own close."""
    handles: frozenset[str] = frozenset(("proxy", "eager"))
    """`proxy`: honours the proxies of its environment; `eager`: asks its server when the stream is made, not when it is
    first read."""
    module: str = ""
    """The package that is patched when everything is instrumented, if not that of the client's name."""

    @property
    def parses(self) -> bool:
        """Whether it has a parser of its own."""
        return "parsed" in self.points


CHAT = Format(
    "/v1/chat/completions",
    "openai_chat",
    (*(event(text) for text in ("Die ", CANARY, "ja ", "ja ", " \u2028\u00e4\U0001f426.")), event(finish="stop"), DONE),
    b'data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n',
)


def _named(kind: str, **fields: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), json.dumps({"type": kind, **fields}).encode())


def _text(text: str) -> bytes:
    return _named("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


_MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [], "stop_reason": None,
    "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 1},
}  # fmt: skip

MESSAGES = Format(
    "/v1/messages",
    "anthropic",
    (
        _named("message_start", message=_MESSAGE),
        _named("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        _named("ping"),
        *(_text(text) for text in ("Die ", CANARY, "ja ", "ja ")),
        _named("content_block_stop", index=0),
        _named("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 5}),
        _named("message_stop"),
    ),
    _named("error", error={"type": "overloaded_error", "message": "Overloaded"}),
)


def _responses() -> tuple[bytes, ...]:
    """A Responses answer with one text item, numbered."""
    texts = ("Die ", CANARY, "ja ", "ja ")
    part = {"type": "output_text", "text": "", "annotations": []}
    full = part | {"text": "".join(texts)}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    done = item | {"status": "completed", "content": [full]}
    answer = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m-1", "status": "in_progress", "output": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": answer}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.content_part.added", {**where, "part": part}),
        *(("response.output_text.delta", {**where, "delta": text, "logprobs": []}) for text in texts),
        ("response.output_text.done", {**where, "text": full["text"], "logprobs": []}),
        ("response.content_part.done", {**where, "part": full}),
        ("response.output_item.done", {"output_index": 0, "item": done}),
        ("response.completed", {"response": answer | {"status": "completed", "output": [done]}}),
    ]
    return tuple(_named(kind, sequence_number=number, **fields) for number, (kind, fields) in enumerate(events))


RESPONSES = Format(
    "/v1/responses",
    "openai_responses",
    _responses(),
    _named("error", error={"type": "server_error", "code": "x", "message": "overloaded"}),
)


def _chunk(text: str, finish: str | None = None) -> bytes:
    """A chunk of Gemini's, as `alt=sse` sends it."""
    candidate: dict[str, Any] = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 8}
    chunk = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m-1", "responseId": "r-1"}
    return b"data: %b\r\n\r\n" % json.dumps(chunk).encode()


GEMINI = Format(
    "/v1beta/models/m:streamGenerateContent",
    "gemini",
    (*(_chunk(text) for text in ("Die ", CANARY, "ja ", "ja ", " \u2028\u00e4\U0001f426")), _chunk(".", "STOP")),
    b'data: {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}\r\n\r\n',
)
