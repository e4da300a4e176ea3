"""Gateways that cut an answer anew: they hold some of it back, and nothing of what was said is lost by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .harm import reworded
from .mediator import Scene
from .said import UNNUMBERED
from .sockets.acts import Act, Event
from .sockets.readers import acts_of
from .sockets.scenario import written
from .ways import sorts

_HELD: Final = 3
"""Characters that are held back, because a word may begin there at which the gateway stops."""


def _cuts_later(one: Scene) -> None:
    """Each text goes out without its last characters, which come with the next one; in some a word is another one."""
    one.answer = written(one.provider, [Act("role"), *_texts(one), Act("finish", "stop"), Act("terminal")])
    one.leg(one.answer)
    said = list(one.answer)
    if one.rng.random() < 0.3:
        at = one.rng.choice([i for i, event in enumerate(said) if one.has(event, "text") and one.tokens([event])])
        said[at] = reworded(one.provider, said[at], lambda text: text[:-1] + "~") or said[at]
        one.guilty("alter", at)
    one.send(_later(one, said))
    one.before, one.after = one.tokens(one.answer), one.tokens(said)
    one.notes = frozenset(("recut",))


def _texts(one: Scene) -> list[Act]:
    """A dozen texts, each longer than what is held back but the first, so that as many events come as went in."""
    return [Act("text", "a "), *(Act("text", f"word{i} {one.rng.randrange(1000)} ") for i in range(11))]


def _later(one: Scene, events: Sequence[Event]) -> list[Event]:
    """The same text, each piece later by what is held back."""
    out: list[Event] = []
    held, last = "", None
    for event in events:
        said = "".join(act.text for act in acts_of(one.provider, event.data) if act.kind == "text")
        if said:
            text, last = held + said, event
            held = text[-_HELD:]
            out += [_saying(one, event, text[:-_HELD])] if len(text) > _HELD else []
            continue
        if one.has(event, "finish") and last is not None:
            out.append(_saying(one, last, held))
            last = None
        out.append(event)
    return out


def _saying(one: Scene, event: Event, text: str) -> Event:
    """The event with this text."""
    return reworded(one.provider, event, lambda _: text) or event


SORTS: Final = sorts("recutting", 1, (_cuts_later,), lambda rng: Scene(rng, rng.choice(UNNUMBERED)))
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
