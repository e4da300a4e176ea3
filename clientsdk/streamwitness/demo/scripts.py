"""What the demo's provider says, script by script: OpenAI Chat Completions chunks as SSE bytes, and pauses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final

Step = bytes | float
"""Bytes to send, or seconds to wait before the next."""

_WORDS: Final = (
    "The harbour ", "was quiet ", "when the first ", "boat came ", "in with ", "no lights, ", "and nobody ",
    "on the pier ", "could say ", "who had ", "called it ", "home.",
)  # fmt: skip
CANARIES: Final = ("harbour", "no lights", "on the pier", "called it", "that night", "Who called the boat home?")
"""Texts from the answers and the prompt that no telemetry may hold."""
_DONE: Final = b"data: [DONE]\n\n"
_PACE: Final = 0.01
_IDLE: Final = 0.15
_STALL: Final = 5.0


def steps(script: str) -> Iterator[Step]:
    """The steps of a script, `name` or `name:n`; any other name is a model that answers in the plain way."""
    name, _, n = script.partition(":")
    return _SCRIPTS.get(name, _plain)(int(n) if n.isdigit() else 0)


def _plain(_: int, words: tuple[str, ...] = _WORDS) -> Iterator[Step]:
    yield chunk({"role": "assistant", "content": ""})
    for word in words:
        yield _PACE
        yield chunk({"content": word})
    yield chunk({}, finish="stop")
    yield _DONE


def _cut(n: int) -> Iterator[Step]:
    """`n` events, then a clean end of the body."""
    return _events(_plain(0), n)


def _error(n: int) -> Iterator[Step]:
    """`n` events, then an error inside the 200 response."""
    yield from _events(_plain(0), n)
    yield b'data: {"error":{"message":"upstream overloaded","type":"overloaded_error","code":502},"choices":[]}\n\n'


def _stall(n: int) -> Iterator[Step]:
    """`n` events, then nothing for longer than any reader of the demo waits, then the rest."""
    sent = 0
    for step in _plain(0):
        if isinstance(step, bytes) and sent == n:
            yield _STALL
        sent += isinstance(step, bytes)
        yield step


def _separator(n: int) -> Iterator[Step]:
    """Text event `n` holds U+2028, which ends no line in SSE, but does for `str.splitlines`."""
    words = list(_WORDS)
    at = min(max(n, 1), len(words)) - 1
    words[at] = words[at] + "\N{LINE SEPARATOR}that night"
    return _plain(0, tuple(words))


def _keep_alive(_: int) -> Iterator[Step]:
    for count, step in enumerate(_plain(0)):
        if count in (5, 9):
            for _ in range(2):
                yield b": keep-alive\n\n"
                yield _IDLE
        yield step


def _equal(_: int) -> Iterator[Step]:
    return _plain(0, ("ha ",) * len(_WORDS))


def _usage(_: int) -> Iterator[Step]:
    *body, done = _plain(0)
    yield from body
    yield _frame({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 31, "total_tokens": 40}})
    yield done


def _long(_: int) -> Iterator[Step]:
    return _plain(0, _WORDS * 20)


_SCRIPTS: Final[dict[str, Callable[[int], Iterator[Step]]]] = {
    "plain": _plain,
    "cut": _cut,
    "error": _error,
    "stall": _stall,
    "separator": _separator,
    "keep_alive": _keep_alive,
    "equal": _equal,
    "usage": _usage,
    "long": _long,
}


def chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    """A `chat.completion.chunk` as one SSE event."""
    return _frame({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _frame(body: dict[str, object]) -> bytes:
    whole = {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 1, "model": "demo-1", **body}
    return b"data: " + json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def _events(script: Iterator[Step], n: int) -> Iterator[Step]:
    for step in script:
        if isinstance(step, bytes):
            if not n:
                return
            n -= 1
        yield step
