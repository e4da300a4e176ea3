"""Random faults done to events on their way, each noted as a deed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from streamwitness.semconv import Component, Point

from .labels import Deed
from .model import End
from .said import Events
from .sockets.acts import DONE, Event
from .sockets.readers import acts_of, tokens


@dataclass
class Course:
    """What one stream came to at each point, as events; `deeds` is written by who does them."""

    provider: str
    out: str
    end: End
    deeds: list[Deed] = field(default_factory=list)
    seen: dict[Point, Events] = field(default_factory=dict)
    honest: Events = field(default_factory=list)
    """What an honest gateway would have sent."""
    verbatim: bool = False
    """Whether the gateway hands on events as they were written: then it may lose or double any of them and be known."""
    rows: list[tuple[int, str]] = field(default_factory=list)
    """What the application reports: position at parsed, result."""
    origins: dict[int, Event] = field(default_factory=dict)
    """id of an event whose words were changed → the event that it was."""


_ENDED_BY_FINISH: Final = ("ollama", "openai_responses")
"""Formats whose finish is the terminator, too."""
_Where = Callable[[str, Event], bool]


def anywhere(_provider: str, _event: Event) -> bool:
    """At any event."""
    return True


def that_says_something(provider: str, event: Event) -> bool:
    """At events that can be told by what they say."""
    return bool(tokens(provider, [event]))


def of_the_answer(provider: str, event: Event) -> bool:
    """At what a gateway has to hand on as it is: not errors, nor calls, which are JSON and may be printed anew."""
    return that_says_something(provider, event) and not kinds_of(provider, event) & {"error", "args", "tool"}


def but_errors(provider: str, event: Event) -> bool:
    """At all that a gateway has to hand on which passes events as written; it may tell of an error otherwise."""
    return bool(tokens(provider, [event])) and "error" not in kinds_of(provider, event)


def kinds_of(provider: str, event: Event) -> set[str]:
    """What an event says, as kinds of act."""
    return {act.kind for act in acts_of(provider, event.data)}


def _alike(who: Component, provider: str, one: Event, other: Event) -> bool:
    """Whether two neighbours have an order: a gateway may put different texts in any, a terminator ends all."""
    if other.comment or {"terminal", "tool"} & (kinds_of(provider, one) | kinds_of(provider, other)):
        return False
    if who == "parser":
        return that_says_something(provider, other)
    return who != "gateway" or kinds_of(provider, one) == kinds_of(provider, other)


def harm(rng: Random, who: Component, items: Events, course: Course, count: int, where: _Where) -> Events:
    """The events with so many faults at events where there may be some, each noted."""
    out = list(items)
    for _ in range(count):
        places = [i for i, event in enumerate(out) if not event.comment and where(course.out, event)]
        places = [i for i in places if i or course.out != "gemini_array"]  # the first one opens the array
        if places:
            _harm(rng, who, out, rng.choice(places), course)
    return out


def _harm(rng: Random, who: Component, out: Events, at: int, course: Course) -> None:
    provider = course.out
    how = rng.choice(("drop", "drop", "double", "move", "alter", "invent"))
    if who == "gateway" and not course.verbatim and how != "drop" and kinds_of(provider, out[at]) & {"finish", "tool"}:
        return  # one that writes anew may say a finish twice and earlier, for it is provisional
    if who == "parser" and how == "double" and provider in _ENDED_BY_FINISH and "finish" in kinds_of(provider, out[at]):
        return  # what stands behind the end nobody counts
    if how == "drop":
        del out[at]
    elif how == "double":
        out.insert(at + 1, out[at])
    elif how == "move":
        if at + 1 >= len(out) or not _alike(who, provider, out[at], out[at + 1]):
            return
        out[at], out[at + 1] = out[at + 1], out[at]
    elif how == "alter":
        changed = reworded(provider, out[at], lambda text: text + "~")
        if changed is None:
            return
        course.origins[id(changed)] = out[at]
        out[at] = changed
    else:
        made = reworded(provider, out[at], lambda _: f"mistletoe {rng.randrange(1000)} ")
        if made is None:
            return
        out.insert(at, made)
    course.deeds.append(Deed(who, how, (at,)))


def reworded(provider: str, event: Event, other: Callable[[str], str]) -> Event | None:
    """The event with other words in it; None where it has none of its own."""
    if event.data == DONE:
        return None
    acts = [act for act in acts_of(provider, event.data) if act.kind in ("text", "reason", "refusal") and act.text]
    if not acts:
        return None
    return event._replace(data=json.dumps(_with(json.loads(event.data), acts[0].text, other), ensure_ascii=False))


def _with(value: Any, text: str, other: Callable[[str], str]) -> Any:
    """The JSON value with other words wherever these stood."""
    if isinstance(value, dict):
        return {key: _with(inner, text, other) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with(inner, text, other) for inner in value]
    return other(text) if value == text else value
