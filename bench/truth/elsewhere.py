"""Gateways whose answer is not made of what they read, or tells some of it where nobody looks.

All are in order but the one that loses output that nobody reads: of that one nobody can know, and so it is not intact.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from .harm import reworded
from .labels import Trial
from .mediator import Scene
from .sockets.acts import Act, Event
from .sockets.scenario import written

_PROVIDER: Final = "openai_chat"
_UNPROVABLE: Final = frozenset(("unprovable",))


def _renews_its_store(rng: Random) -> Scene:
    """A stored answer is played, while the upstream is read for the next time: it says nearly the same."""
    one = Scene(rng, _PROVIDER)
    while not _reworded(one.answer):
        one.answer = one.say(rng)
    at, other = rng.choice(list(_reworded(one.answer).items()))
    stored = [*one.answer[:at], other, *one.answer[at + 1 :]]
    one.leg(one.answer)
    one.send([_in_json(event, lambda told: told.update(id="stored", created=7)) for event in stored])
    return one


def _reworded(events: list[Event]) -> dict[int, Event]:
    """Place → the event with other words, of those that have any."""
    other = {i: reworded(_PROVIDER, event, lambda text: f"{text}, as it was") for i, event in enumerate(events)}
    return {i: event for i, event in other.items() if event is not None}


def _tells_elsewhere(rng: Random) -> Scene:
    """Reasoning goes out in a field that nobody here knows."""
    one = Scene(rng, _PROVIDER)
    begin, *said = written(_PROVIDER, [Act("role"), *(Act("text", f"word {i} {rng.random()} ") for i in range(8)),
                                       Act("finish", "stop"), Act("terminal")])  # fmt: skip
    thought = [_in_json(begin, _thinking(f"thought {i} {rng.random()} ")) for i in range(rng.randint(1, 4))]
    one.answer = [begin, *thought, *said]
    one.leg(one.answer)
    one.send([_in_json(event, _renamed) for event in one.answer])
    return one


def _takes_turns(rng: Random) -> Scene:
    """Some choices, or more than have a digest each, and they go out one after the other."""
    return _in_turns(rng, [Act("text", f"word {i} {rng.random()} ") for i in range(rng.choice((2, 3)))])


def _ends_in_turns(rng: Random) -> Scene:
    """Choices that only end, and say nothing."""
    return _in_turns(rng, [])


def _in_turns(rng: Random, texts: list[Act]) -> Scene:
    one, choices = Scene(rng, _PROVIDER), range(rng.choice((rng.randint(2, 7), 7, rng.randint(17, 20))))
    begin, *said = written(_PROVIDER, [Act("role"), *texts, Act("finish", "stop"), Act("terminal")])
    read = [[_in_json(event, _of_choice(i)) for i in choices] for event in (begin, *said[:-1])]
    one.answer = [*(event for turn in read for event in turn), said[-1]]
    one.leg(one.answer)
    one.send([*(turn[i] for i in (choices if texts else reversed(choices)) for turn in read), said[-1]])
    return one


def _of_choice(index: int) -> Callable[[dict[str, Any]], None]:
    def change(told: dict[str, Any]) -> None:
        told["choices"][0]["index"] = index

    return change


def _thinking(text: str) -> Callable[[dict[str, Any]], None]:
    def change(told: dict[str, Any]) -> None:
        told["choices"][0]["delta"] = {"reasoning_content": text}

    return change


def _renamed(told: dict[str, Any]) -> None:
    for choice in told["choices"]:
        if thought := choice["delta"].pop("reasoning_content", ""):
            choice["delta"]["reasoning_details"] = [{"type": "reasoning.text", "text": thought}]


def _loses_pictures(rng: Random) -> Scene:
    """What no profile reads is shown to a person all the same, and does not come out again."""
    one = Scene(rng, _PROVIDER)
    begin, *said = one.say(rng)
    texts = [i for i, event in enumerate(said) if one.has(event, "text")]
    if texts and rng.random() < 0.5:
        at = rng.choice(texts)
        shown = [_in_json(said[at], _showing(f"picture {rng.random()}", alone=False))]
        one.answer = [begin, *said[:at], *shown, *said[at + 1 :]]
    else:
        shown = [_in_json(begin, _showing(f"picture {i} {rng.random()}", alone=True)) for i in range(rng.randint(1, 3))]
        one.answer = [begin, *shown, *said]
    one.leg(one.answer)
    one.send([begin, *said])
    one.before = (*(f"0/picture:{i}" for i in range(len(shown))), *one.after)
    one.guilty("drop", 1)
    return one


def _showing(picture: str, *, alone: bool) -> Callable[[dict[str, Any]], None]:
    """In an event of its own, or beside the text of one."""

    def change(told: dict[str, Any]) -> None:
        delta = told["choices"][0]["delta"]
        if alone:
            delta.clear()
        delta["images"] = [{"type": "image_url", "image_url": {"url": picture}}]

    return change


def _in_json(event: Event, change: Callable[[dict[str, Any]], None]) -> Event:
    """The event with something changed in its object; what is none stays."""
    try:
        told = json.loads(event.data)
    except ValueError:
        return event
    change(told)
    return event._replace(data=json.dumps(told))


def _made(make: Callable[[Random], Scene], what: str) -> Callable[[Random, str], Trial]:
    def stream(rng: Random, name: str) -> Trial:
        one = make(rng)
        one.notes = _UNPROVABLE
        if not one.deeds:
            one.before = one.after
        return one.trial(name, what)

    return stream


SORTS: Final[dict[str, tuple[Callable[[Random, str], Trial], int]]] = {
    "renews_its_store": (_made(_renews_its_store, "renews its store"), 1),
    "tells_elsewhere": (_made(_tells_elsewhere, "tells elsewhere"), 1),
    "loses_pictures": (_made(_loses_pictures, "loses pictures"), 1),
    "takes_turns": (_made(_takes_turns, "takes turns"), 1),
    "ends_in_turns": (_made(_ends_in_turns, "ends in turns"), 1),
}
"""Name → what makes such a stream, and how often beside the others."""
