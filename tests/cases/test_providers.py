"""Every conversation of every provider at all points: in order where it is, and the right one where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from streamwitness.client.applying import Applied
from streamwitness.framing import FRAMINGS

from .conversations import PATHS, Conversation, Event, conversations
from .pipeline import Parser, Play, Stream, told
from .table import CONTENT_TYPES

ALL = {conversation.id: conversation for conversation in conversations()}
WHOLE = {
    name: c
    for name, c in ALL.items()
    if c.complete is not False and not any(event.parts & {"error", "malformed"} for event in c.events)
}
"""Conversations in which nothing is wrong."""
LOSABLE = {name: at for name, c in WHOLE.items() if (at := [i for i, e in enumerate(c.events) if e.content])[2:]}
"""Conversations of three events with content or more, and where these are: the one in the middle is lost."""


SURE: Final = 6
"""From so many further events on an answer is known to be made of its upstream response, also without an id in it."""


@dataclass(frozen=True)
class ServerSentEvent:
    """What SSE libraries hand on."""

    event: str
    data: str


def hands_on(framing: str, without: int | None = None) -> Parser:
    """The reference framing; `without` an event."""

    def parse(pieces: Iterator[bytes]) -> Iterator[Any]:
        framer, position = FRAMINGS[framing](), 0
        for piece in (*pieces, None):
            for frame in framer.finish()[0] if piece is None else framer.feed(piece):
                if position != without:
                    yield ServerSentEvent(frame.name.decode(), frame.data.decode())
                position += 1

    return parse


def skips(at: int) -> Any:
    """A reducer that raises at one event, and goes on."""

    def reduce(events: Iterator[Any], answer: Applied) -> None:
        for position, event in enumerate(events):
            answer.report(event, "raised" if position == at else "applied")

    return reduce


def played(conversation: Conversation, **changes: Any) -> Play:
    """The conversation as it should be, with changes."""
    body = conversation.body()
    usual = Play(
        received=body,
        sent=body,
        upstream=body,
        parser=hands_on(conversation.framing),
        path=PATHS.get(conversation.framing, "/unheard-of"),
        content_type=CONTENT_TYPES[conversation.framing],
        profile=conversation.profile,
    )
    return replace(usual, **changes)


@pytest.mark.parametrize("name", WHOLE)
def test_healthy(name: str) -> None:
    """Completed, intact, nobody accused."""
    verdict = Stream().play(played(WHOLE[name])).verdict()
    assert (verdict["ending"]["class"], verdict["integrity"], told(verdict)) == ("completed", "intact", [])


@pytest.mark.parametrize("name", sorted(ALL.keys() - WHOLE.keys()))
def test_what_the_provider_ended_is_nobody_elses(name: str) -> None:
    """An error, an answer that is not whole, an event that cannot be read: told as the source's, as it came."""
    verdict = Stream().play(played(ALL[name])).verdict()
    assert told(verdict) == []
    assert verdict["ending"]["by"] == "source"


def lost(conversation: Conversation) -> tuple[int, tuple[Event, ...]]:
    """The event in the middle of those with content, and the conversation without it."""
    places = LOSABLE[conversation.id]
    at = places[len(places) // 2]
    return at, conversation.events[:at] + conversation.events[at + 1 :]


HOPS = ("gateway", "transport", "parser", "reducer")


@pytest.mark.parametrize("component", HOPS)
@pytest.mark.parametrize("name", LOSABLE)
def test_a_lost_event(name: str, component: str) -> None:
    """The component that lost it, and nobody else."""
    conversation = WHOLE[name]
    at, rest = lost(conversation)
    shorter = conversation.body(rest)
    changes: dict[str, dict[str, Any]] = {
        "gateway": {"sent": shorter, "received": shorter},
        "transport": {"received": shorter},
        "parser": {"parser": hands_on(conversation.framing, at)},
        "reducer": {"reducer": skips(at)},
    }
    verdict = Stream().play(played(conversation, **changes[component])).verdict()
    accused = {suspects for _, suspects in told(verdict)}
    if component == "gateway" and not conversation.identified and len(LOSABLE[name]) < SURE:
        assert accused <= {(component,)}
    else:
        assert accused == {(component,)}
