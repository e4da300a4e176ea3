"""Streams whose records cannot all be believed: hooks that miss events, forked recorders, keys that may not testify.

The streams are in order unless a fault is noted, so that whoever believes a false record blames an innocent. With
records lost nobody can know a false one, so these are judged with all of them only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from streamwitness import rows
from streamwitness.blocks import Block
from streamwitness.semconv import POINTS, Point

from .build import DELIVERED_BY_SDK, Event, How, answer, handed_on, path, random_cuts, used
from .labels import Deed, Ended, Passage, Trial
from .model import damaged, in_bytes, said, words

_POINTS: Final[tuple[Point, ...]] = ("ingress", "egress", "wire", "parsed", "applied")
_CLIENT: Final = frozenset(("wire", "parsed", "applied"))
_NOWHERE: Final = Ended(frozenset(), None)
_BUT_WIRE: Final = frozenset(_POINTS) - {"wire"}
_AGAIN: Final = "9" * 16
"""A second recorder of a process that has one."""


def _trial(
    name: str, sort: str, blocks: list[Block], *, deeds: Sequence[Deed] = (), passages: Sequence[Passage] = (),
    doubtful: frozenset[Point] = frozenset(),
) -> Trial:  # fmt: skip
    return Trial(
        name, "model", "pass-through", "model", tuple(deeds), tuple(passages), _NOWHERE, blocks, frozenset(_POINTS),
        frozenset(("lying", sort)), doubtful,
    )  # fmt: skip


def _start(rng: Random, least: int = 4) -> list[Event]:
    return answer(words(rng, rng.randint(least, 40)))


def _unlike(rng: Random) -> list[Event]:
    """An answer of which no two events are equal: else a false record may be as good as a true one."""
    return answer(range(2000, 2000 + rng.randint(8, 40)))


def _path(rng: Random, start: Sequence[Event], wire: Sequence[Event] | None = None) -> list[Block]:
    """A path on which all came through, but for what the client's hook says that it saw."""
    parsed = handed_on(start)
    return path(
        start, start, start if wire is None else wire, parsed, used(parsed), cuts=lambda n: random_cuts(rng, n)
    )  # fmt: skip


def lying(rng: Random, name: str) -> Trial:
    """The client's hook misses, doubles or misreads events that came out behind it all the same."""
    start = seen = _start(rng)
    while said(seen) == said(start):
        seen = damaged(rng, "transport", start, 1, [])
    return _trial(name, "a hook that errs", _path(rng, start, seen))


def twice(rng: Random, name: str) -> Trial:
    """A process got the answer twice, from a cache on the way, and left once: its records are not of one reading."""
    start = _start(rng)
    left = start[: rng.randint(1, len(start) - 2)]
    early = [How("wire", recorder=_AGAIN, end="cancelled"), How("parsed", recorder="8" * 16, end="cancelled")]
    pick = rng.choice((early[:1], early[1:], early))
    more = [how.blocks(left if how.point == "wire" else handed_on(left)) for how in pick]
    return _trial(name, "read twice", [*_path(rng, start), *(block for blocks in more for block in blocks)])


def roles(rng: Random, name: str) -> Trial:
    """Records that came without a role, or with a client's key and say what left the gateway."""
    start = _start(rng)
    if rng.random() < 0.5:
        return _forged(rng, name, start)
    point: Point = rng.choice(("egress", "wire"))
    deeds: list[Deed] = []
    came = damaged(rng, "transport", start, 1, deeds)
    parsed = handed_on(came)
    blocks = path(start, start, came, parsed, used(parsed), cuts=lambda n: random_cuts(rng, n))
    blocks = [replace(block, role=None) if block.point == point else block for block in blocks]
    passage = Passage("transport", in_bytes(start), in_bytes(came), by_event=True)
    return _trial(name, "without a role", blocks, deeds=deeds, passages=(passage,), doubtful=frozenset((point,)))


def _forged(rng: Random, name: str, start: list[Event]) -> Trial:
    """Whoever has a client's key tells of a gateway that it sent more or otherwise."""
    told = start
    while told == start:
        told = damaged(rng, "transport", start, rng.randint(1, 3), [])
    blocks = _path(rng, start)
    forged = [block for block in blocks if block.point in _CLIENT]
    forged += How("egress", role="client", legs=(), expected=_POINTS[1:]).blocks(told, random_cuts(rng, len(told)))
    return _trial(name, "forged", [replace(block, expected=0) for block in forged])


# --------------------------------------------------------------------------- witnesses that contradict themselves


def contradicting(rng: Random, name: str) -> Trial:
    """A process that was forked in the midst of an answer, or that counts wrongly: what it tells cannot all be true."""
    return rng.choice((_falls, _goes_on, _two_contents, _whole, _rows))(rng, name)


def _shared(
    rng: Random, start: Sequence[Event], point: Point, missed: int | None = None
) -> tuple[list[Block], list[Block]]:
    """What parent and child tell under one recorder's name: all, and what the child saw of it."""
    cuts = random_cuts(rng, len(start), 2, 5)
    missed = rng.randrange(1, max(2, len(start) - 1)) if missed is None else missed
    how = How(point, expected=_POINTS, delivers=DELIVERED_BY_SDK if point == "parsed" else How("wire").delivers)
    return how.blocks(start, cuts), how.blocks([*start[:missed], *start[missed + 1 :]], cuts)


def _falls(rng: Random, name: str) -> Trial:
    """Its last block counts less than those before it."""
    start = _unlike(rng)
    blocks, child = _shared(rng, start, "wire", 1)
    last = replace(child[-1], index=blocks[-1].index)
    return _contradiction(rng, name, start, [*blocks[:-1], last])


def _goes_on(rng: Random, name: str) -> Trial:
    """Behind its closing block stands another one, that counts on."""
    start = _unlike(rng)
    blocks = How("wire", expected=_POINTS).blocks(start, random_cuts(rng, len(start), 2, 5))
    more = How("wire", expected=_POINTS).blocks([*start, *start[2:4]], [len(start)])[-1]
    return _contradiction(rng, name, start, [*blocks, replace(more, index=blocks[-1].index + 1)])


def _two_contents(rng: Random, name: str) -> Trial:
    """One block has two contents."""
    start = _unlike(rng)
    blocks, child = _shared(rng, start, "wire")
    return _contradiction(rng, name, start, [*child, *blocks] if rng.random() < 0.7 else [*blocks, *child])


def _whole(rng: Random, name: str) -> Trial:
    """Its one record contradicts itself; of the other only the child's half is there, which does not."""
    start = _unlike(rng)
    blocks, child = _shared(rng, start, "wire")
    _, parsed = _shared(rng, handed_on(start), "parsed")
    others = [block for block in _path(rng, start) if block.point not in ("wire", "parsed", "applied")]
    return _trial(name, "forked", [*others, *child, *blocks, *parsed])


def _rows(rng: Random, name: str) -> Trial:
    """Rows are not those that its sums are of. Something was lost as well, so that they are looked at."""
    start = _unlike(rng)
    at = rng.randrange(1, len(start) - 2)
    came = [*start[:at], *start[at + 1 :]]
    blocks = How("wire", expected=_POINTS).blocks(came, random_cuts(rng, len(came), 2, 3))
    false = How("wire", expected=_POINTS).blocks([*came[:-3], Event(77_001), Event(77_002), came[-1]])[0]
    columns = rows.decode(false.rows or b"", false.row_count)
    for i, block in enumerate(blocks):
        here = {key: list(value)[block.position : block.position + block.row_count] for key, value in columns.items()}
        if block.rows is not None:
            blocks[i] = replace(block, rows=rows.encode(here, block.row_count))
    deed = Deed("transport", "drop", (at,))
    passage = Passage("transport", in_bytes(start), in_bytes(came), by_event=True)
    others = [block for block in _path(rng, came) if block.point not in ("ingress", "egress", "wire")]
    others += [block for block in _path(rng, start) if block.point in ("ingress", "egress")]
    return _trial(
        name, "rows of its own", [*others, *blocks], deeds=(deed,), passages=(passage,), doubtful=frozenset(("wire",))
    )


def _contradiction(rng: Random, name: str, start: Sequence[Event], blocks: Sequence[Block]) -> Trial:
    last = rng.random() < 0.5
    others = [block for block in _path(rng, start) if block.point in (("ingress", "egress") if last else _BUT_WIRE)]
    points = frozenset(_POINTS[:3] if last else _POINTS)
    expected = sum(1 << POINTS.index(point) for point in points)
    every = [replace(block, expected=expected) for block in (*others, *blocks)]
    return replace(_trial(name, "forked", every), points=points)


SORTS: Final[dict[str, tuple[Callable[[Random, str], Trial], int]]] = {
    "lying": (lying, 1),
    "twice": (twice, 1),
    "roles": (roles, 1),
    "contradicting": (contradicting, 1),
}
"""Name → what makes such a stream, and how often beside the others."""
