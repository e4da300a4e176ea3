"""Every conversation of every provider at all points: in order where it is, and the right one where it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import pytest

from streamwitness.client.applying import Applied
from streamwitness.framing import FRAMINGS

from .conversations import PATHS, Conversation, Event, conversations
from .pipeline import Parser, Play, Stream, told
from .table import CONTENT_TYPES

ALL = {conversation.id: conversation for conversation in conversations()}


def _no_object(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return data.startswith(b"{")
    return False


CONTRADICTS = {
    "openai_responses-broken-lost-delta-sse": "gap",
    "openai_responses-broken-unannounced-call-sse": None,
    "anthropic-broken-delta-without-start-sse": "malformed",
    "bedrock-broken-unannounced-call-eventstream": "malformed",
}
"""Conversations that say something against themselves, and whether that is proof."""
BROKEN = {
    name for name, c in ALL.items() if any("malformed" in event.parts and _no_object(event.data) for event in c.events)
}
"""Conversations with the beginning of an object that is none."""
WORDS = {
    name
    for name in BROKEN
    if ALL[name].framing != "json_array"  # which is cut into objects, and has no words between them
    if not any(event.parts - {"malformed"} for event in ALL[name].events)
}
"""Of these, conversations of words without one event of the format: nobody knows of which one they are."""
WHOLE = {
    name: c
    for name, c in ALL.items()
    if name not in CONTRADICTS
    if c.complete is not False and not any(event.parts & {"error", "malformed"} for event in c.events)
}
"""Conversations in which nothing is wrong."""
LOSABLE = {name: at for name, c in WHOLE.items() if (at := [i for i, e in enumerate(c.events) if e.content])[2:]}
"""Conversations of three events with content or more, and where these are."""


SURE: Final = 6
"""From so many of them on an answer is known to be made of its upstream response, also without an id in it."""


@dataclass(frozen=True)
class ServerSentEvent:
    """What SSE libraries hand on."""

    event: str
    data: str


def hands_on(framing: str, without: int | None = None) -> Parser:
    """The reference framing; `without` an event."""

    def parse(pieces: Iterator[bytes]) -> Iterator[Any]:
        framer, position = FRAMINGS[framing](), 0
        for frames in chain(map(framer.feed, pieces), (framer.finish()[0] for _ in range(1))):
            for frame in frames:
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


def few(conversation: Conversation) -> bool:
    """Whether it has no id, and too few events for a gateway to be sure of."""
    return not conversation.identified and len(LOSABLE[conversation.id]) < SURE


def cumulative(conversation: Conversation) -> bool:
    """Whether its texts are repeated whole: a gateway may leave one out."""
    return any(event.content and "snapshot" in event.parts for event in conversation.events)


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


ONLY_SUMMARIES = {"openai_responses-broken-all-deltas-lost-sse"}
"""Conversations whose only texts are repetitions of what never came, which are not compared."""


@pytest.mark.parametrize("name", WHOLE)
def test_healthy(name: str) -> None:
    """Completed, intact, nobody accused."""
    verdict = Stream().play(played(WHOLE[name])).verdict()
    integrity = "unproven" if name in ONLY_SUMMARIES else "intact"
    assert (verdict["ending"]["class"], verdict["integrity"], told(verdict)) == ("completed", integrity, [])


QUIET = ("snapshot", "ping", "usage", "role")
"""Kinds of event without output that proxies leave out."""


@pytest.mark.parametrize("name", WHOLE)
def test_what_a_proxy_before_the_gateway_leaves_out_is_no_fault(name: str) -> None:
    """Filtered, and written anew: holes in the provider's numbers are a note, and no source is accused."""
    events = WHOLE[name].events
    for kind in QUIET:
        kept = tuple(e for e in events if kind not in e.parts or e.parts & {"finish", "terminal"} or e.content)
        written = tuple(replace(event, data=_written_anew(event.data)) for event in kept)
        body = WHOLE[name].body(written)
        assert told(Stream().play(played(WHOLE[name], upstream=body, sent=body, received=body)).verdict()) == []


def _written_anew(data: bytes) -> bytes:
    try:
        return json.dumps(json.loads(data), separators=(",", ":")).encode()
    except ValueError:
        return data


@pytest.mark.parametrize("name", sorted(ALL.keys() - WHOLE.keys()))
def test_what_the_provider_ended_is_nobody_elses(name: str) -> None:
    """An error, an answer that is not whole, an event that cannot be read: told as the source's, as it came."""
    verdict = Stream().play(played(ALL[name])).verdict()
    kind = "malformed" if name in BROKEN - WORDS else CONTRADICTS.get(name)
    assert told(verdict) == ([(kind, ("source",))] if kind else [])
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
    if component == "gateway" and (cumulative(conversation) or few(conversation)):
        assert accused <= {(component,)}
    else:
        assert accused == {(component,)}


def cut_short(name: str) -> list[bytes]:
    """The beginning of a conversation, with two events with content."""
    return WHOLE[name].body(WHOLE[name].events[: LOSABLE[name][2]])


CUT = [n for n, at in LOSABLE.items() if not any(e.parts & {"finish", "terminal"} for e in WHOLE[n].events[: at[2]])]
"""Conversations whose beginning is not a whole answer."""


@pytest.mark.parametrize("component", ["gateway", "transport"])
@pytest.mark.parametrize("name", CUT)
def test_a_lost_end(name: str, component: str) -> None:
    """Cut there, with a clean end of the body: not called completed where it is known, and nobody else is blamed."""
    conversation, cut = WHOLE[name], cut_short(name)
    changes: dict[str, Any] = {"received": cut} | ({"sent": cut} if component == "gateway" else {})
    verdict = Stream().play(played(conversation, **changes)).verdict()
    accused = {suspects for _, suspects in told(verdict)}
    assert accused <= {(component,)}
    assert accused or (component == "gateway" and not conversation.identified)
    if accused:
        assert verdict["ending"]["class"] == {"gateway": "gateway_truncated", "transport": "network_lost"}[component]


@pytest.mark.parametrize("end", ["reset", "protocol_error"])
@pytest.mark.parametrize("name", CUT)
def test_a_connection_that_breaks(name: str, end: str) -> None:
    """All had left the gateway: the transport lost the rest, and the ending is the network's."""
    verdict = Stream().play(played(WHOLE[name], received=cut_short(name), received_end=end)).verdict()
    assert {suspects for _, suspects in told(verdict)} == {("transport",)}
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("network_lost", "transport")


@pytest.mark.parametrize("name", CUT)
def test_an_upstream_that_breaks(name: str) -> None:
    """Everybody saw the same beginning: the source's, and nothing was lost on the way."""
    cut = cut_short(name)
    more = {"upstream_end": "reset", "sent_end": "raised", "received_end": "protocol_error"}
    verdict = Stream().play(played(WHOLE[name], upstream=cut, sent=cut, received=cut, **more)).verdict()
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("upstream_truncated", "source")
    assert told(verdict) == []
