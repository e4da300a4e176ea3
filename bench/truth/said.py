"""Random answers as acts, what honest gateways make of their events, and the tokens that tell events apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, Final

from .sockets.acts import Act, Event, token
from .sockets.readers import acts_of
from .sockets.scenario import TRANSLATED, WRITERS, written
from .sockets.works import Pass, Reprint, Translate

SSE: Final = ("openai_chat", "openai_responses", "anthropic", "gemini")
"""Providers that send server-sent events."""
UNNUMBERED: Final = ("openai_chat", "anthropic", "gemini")
"""Those among them whose events have no numbers of their own: what is taken out or put in leaves no hole in those."""

_WORDS: Final = (
    "the ",
    "of ",
    "a",
    "é",
    "日本",
    "👩‍👩‍👧",
    "\n",
    "  ",
    "\u2028",
    '"q"',
    "\\n",
    "<b>",
    "0",
    "data: x",
    "",
)
_OBJECTS: Final[tuple[dict[str, Any], ...]] = (
    {"city": "Paris"}, {"x": 1.5, "y": [1, 2, {"z": None}]}, {"s": 'é"\\'}, {"b": 1, "a": True},
)  # fmt: skip


# --------------------------------------------------------------------------- what is said


def spoken(rng: Random, most: int = 30) -> list[Act]:
    """A random answer: reasoning, text over a small or an unbounded alphabet, calls, a refusal, or nothing at all."""
    new = iter(range(1000, 2000))
    words = rng.sample(_WORDS, rng.choice((1, 2, 4, len(_WORDS)))) if rng.random() < 0.6 else None

    def word() -> str:
        return rng.choice(words) if words is not None else f"w{next(new)} "

    acts = [Act("role")]
    acts += [Act("reason", word()) for _ in range(rng.choice((0, 0, 0, rng.randint(1, 5))))]
    acts += [Act("text", word()) for _ in range(rng.choice((0, 1, 3, 8, rng.randint(0, most))))]
    calls = rng.choice((0, 0, 0, 1, 2))
    acts += [act for _ in range(calls) for act in _call(rng)]
    acts.append(Act("finish", "tool_calls" if calls else rng.choice(("stop", "stop", "length", "content_filter"))))
    acts += [Act("usage")] if rng.random() < 0.3 else []
    return [*acts, Act("terminal")]


def _call(rng: Random) -> Iterator[Act]:
    yield Act("tool", f"look_up_{rng.randrange(3)}")
    rest = json.dumps(rng.choice(_OBJECTS), ensure_ascii=rng.random() < 0.5)
    while rest:
        size = rng.randint(2, 9)
        yield Act("args", rest[:size])
        rest = rest[size:]


# --------------------------------------------------------------------------- what gateways make of it

Events = list[Event]


def _handed_on(_rng: Random, _provider: str, events: Events) -> Events:
    return [made for event in events for made in Pass().feed(event)]


def _printed_anew(_rng: Random, _provider: str, events: Events) -> Events:
    return [made for event in events for made in Reprint().feed(event)]


def _translated(_rng: Random, provider: str, events: Events) -> Events:
    work = Translate(provider, TRANSLATED[provider])
    return [made for event in events for made in work.feed(event)]


def _joined(rng: Random, provider: str, events: Events) -> Events:
    """Neighbouring texts of a kind in one event."""
    acts: list[Act] = []
    for act in (act for event in events if not event.comment for act in acts_of(provider, event.data)):
        joins = acts and acts[-1].kind == act.kind in ("text", "reason", "args") and rng.random() < 0.5
        if joins:
            acts[-1] = acts[-1]._replace(text=acts[-1].text + act.text)
        else:
            acts.append(act)
    end = [Act("ping")] if provider in ("gemini", "ollama") else []  # before it they write a call that is still held
    return written(provider, [*acts, *end])


GATEWAYS: Final[dict[str, tuple[Callable[[Random, str, Events], Events], tuple[str, ...]]]] = {
    "pass": (_handed_on, tuple(WRITERS)),
    "reprint": (_printed_anew, tuple(WRITERS)),
    "translate": (_translated, tuple(TRANSLATED)),
    "join": (_joined, ("openai_chat", "anthropic", "gemini", "ollama")),
}
"""Gateway → its honest work, and the providers that it knows."""


# --------------------------------------------------------------------------- what can be told apart


def told_by(provider: str, events: Events, *, done: bool = True) -> Iterator[str]:
    """What is told by what it says."""
    for event in (event for event in events if not event.comment):
        said = []
        for act in acts_of(provider, event.data):
            said.append(token(act))
            if act.kind == "terminal" and done:
                said.append("0/terminal")
        if any(said):
            yield " ".join(filter(None, said))


def tokens_of(provider: str, events: Iterable[Event]) -> tuple[str, ...]:
    """What these events say, a token each."""
    return tuple(told_by(provider, list(events)))
