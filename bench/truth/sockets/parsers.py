"""The clients' parsers: a proper one, and hand-written ones with the defects that such code really has.

A parser takes the pieces of a body as the HTTP library hands them on, and yields decoded events.
"""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

from bench.truth.labels import Deed
from streamwitness.semconv import PARTS

from .acts import DONE, Event
from .bodies import FRAMING, Splitter
from .faults import Injector, generic
from .readers import object_tokens
from .scenario import Notebook, place
from .upstream import altered
from .works import honest, invented

Pieces = AsyncIterator[bytes]

DELIVERS: Final = tuple(part for part in PARTS if part != "malformed")
"""What these parsers hand on."""


async def proper(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """Cuts events where they end, and only there; what cannot be read raises."""
    async for event in _events(notes, pieces):
        yield _decoded(event.data)


async def _events(notes: Notebook, pieces: Pieces) -> AsyncIterator[Event]:
    """The events of the body, comments left out."""
    splitter = Splitter(FRAMING[notes.scenario.out])
    async for piece in pieces:
        for event in splitter.feed(piece):
            if not event.comment:
                yield event


async def skips_unreadable(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """Takes what it cannot decode for a keep-alive."""
    async for event in _events(notes, pieces):
        try:
            yield _decoded(event.data)
        except ValueError:
            continue


async def forgets_last(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """Hands an event on when the next one begins, and forgets the one that it holds at the end."""
    held: Event | None = None
    position = -1
    async for event in _events(notes, pieces):
        if held is not None:
            yield _decoded(held.data)
        held, position = event, position + 1
    if held is not None:
        _did(notes, "drop", position)


async def first_line_only(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """Reads the first `data` line of an event, and skips what that does not make whole."""
    position = -1
    async for event in _events(notes, pieces):
        position += 1
        try:
            yield _decoded(event.data.partition("\n")[0])
        except ValueError:
            _did(notes, "drop", position)


async def dedupes(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """Takes an event that equals the one before for one that was sent again."""
    last, position = "", -1
    async for event in _events(notes, pieces):
        position += 1
        if event.data == last:
            _did(notes, "drop", position)
            continue
        last = event.data
        yield _decoded(event.data)


async def read_is_event(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """Takes what one read brought for one event, and drops what is none."""
    splitter = Splitter(FRAMING[notes.scenario.out])
    position, held = 0, 0
    async for piece in pieces:
        whole = [event for event in splitter.feed(piece) if not event.comment]
        lucky = len(whole) == 1 and not held and whole[0].raw == piece
        if lucky:
            yield _decoded(whole[0].data)
        else:
            for offset in range(len(whole)):
                _did(notes, "drop", position + offset)
        position, held = position + len(whole), len(splitter.rest)


async def splits_lines(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """Splits with `str.splitlines`, which ends lines where the standard does not, and skips what that breaks."""
    position = -1
    async for event in _events(notes, pieces):
        position += 1
        lines = [line for line in event.data.splitlines() if line]
        try:
            yield _decoded(lines[0] if len(lines) == 1 else "\n".join(lines))
        except ValueError:
            _did(notes, "drop", position)


async def wants_a_space(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """Knows `data: ` with its space, and no `data:` without."""
    position = -1
    async for event in _events(notes, pieces):
        position += 1
        if b"data: " not in event.raw:
            _did(notes, "drop", position)
            continue
        yield _decoded(event.data)


async def limits_size(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """Has a buffer that is too small for some events, and drops those."""
    position, limit = -1, _limit(notes)
    async for event in _events(notes, pieces):
        position += 1
        if len(event.data) > limit:
            _did(notes, "drop", position)
            continue
        yield _decoded(event.data)


async def raises(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """Raises in the midst of an answer, at an event that it did not expect."""
    position, at = -1, _at(notes, "first") + 1
    async for event in _events(notes, pieces):
        position += 1
        if position == at:
            notes.ends.add("parser.raise")
            raise KeyError("this parser did not expect that event")
        yield _decoded(event.data)


PARSERS: Final[dict[str, Callable[[Notebook, Pieces], AsyncIterator[Any]]]] = {
    "": proper,
    "skips_unreadable": skips_unreadable,
    "forgets_last": forgets_last,
    "first_line_only": first_line_only,
    "dedupes": dedupes,
    "read_is_event": read_is_event,
    "splits_lines": splits_lines,
    "wants_a_space": wants_a_space,
    "limits_size": limits_size,
    "raises": raises,
}
"""Name → parser."""


def injector(notes: Notebook, *, alter: Callable[[Any], Any], invent: Callable[[Any], Any]) -> Injector[Any] | None:
    """The fault that the scenario puts into the client's parser."""
    scenario = notes.scenario
    fault = scenario.fault("parser")
    if fault is None or not generic(fault):
        return None
    return Injector(fault, _at(notes, fault.where), notes.did, alter=alter, invent=invent)


async def parsed(notes: Notebook, pieces: Pieces) -> AsyncIterator[Any]:
    """The events that the client's own parser hands on, its fault included; notes what goes in and what comes out."""
    out = notes.scenario.out
    fault = injector(notes, alter=lambda value: _other(out, value, altered), invent=lambda value: _invented(out, value))
    body = PARSERS[notes.scenario.parser](notes, _noting(notes, pieces))
    async for value in body:
        for made in _apart(fault.feed(value)) if fault is not None else [value]:
            notes.went("parser", object_tokens(out, made))
            yield made
        if fault is not None and fault.over:
            async for _ in body:  # the rest is read, and nobody gets it
                pass
            return
    for made in fault.finish() if fault is not None else []:
        notes.went("parser", object_tokens(out, made))
        yield made


def _apart(made: list[Any]) -> Iterator[Any]:
    """Objects that are not one and the same: what is decoded twice is two."""
    for number, value in enumerate(made):
        yield copy.deepcopy(value) if number else value


async def _noting(notes: Notebook, pieces: Pieces) -> AsyncIterator[bytes]:
    splitter = Splitter(FRAMING[notes.scenario.out])
    async for piece in pieces:
        for event in splitter.feed(piece):
            notes.came("parser", _tokens(notes.scenario.out, event))
        yield piece


def _tokens(provider: str, event: Event) -> list[str]:
    try:
        return [] if event.comment else object_tokens(provider, _decoded(event.data))
    except ValueError:
        return []


def _decoded(data: str) -> Any:
    return data if data == DONE else json.loads(data)


def _other(provider: str, value: Any, change: Callable[[str, Event], Event]) -> Any:
    if value == DONE:
        return value
    return json.loads(change(provider, Event("", json.dumps(value, ensure_ascii=False))).data)


def _invented(provider: str, value: Any) -> Iterator[Any]:
    if value != DONE:
        made = invented(provider, Event("", json.dumps(value, ensure_ascii=False)))
        yield from (json.loads(event.data) for event in made)


def _limit(notes: Notebook) -> int:
    """A little less than the size of the event in the middle."""
    whole = [event for event in _sent(notes) if not event.comment]
    return len(whole[_at(notes, "middle")].data) - 1


def _at(notes: Notebook, where: str) -> int:
    return place(notes.scenario.out, _sent(notes), where)


def _sent(notes: Notebook) -> tuple[Event, ...]:
    scenario = notes.scenario
    return honest(scenario)


def _did(notes: Notebook, act: str, position: int) -> None:
    notes.did(Deed("parser", act, (position,)))
