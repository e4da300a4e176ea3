"""Kinds of output, each in an order of its own: an application may take up calls before the text that came before them.

Kinds are as independent as choices. A finish stands behind all of them; what says nothing stands nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from streamwitness.semconv import FINISH, PART
from streamwitness_analyzer.judge.compare.edits import longest_rising
from streamwitness_analyzer.judge.testimony.parts import CONTENT, parts_of
from streamwitness_analyzer.judge.testimony.records import Record

_KIND: Final = {"tool_start": "tool", "tool_args": "tool"}
Kinds = Callable[[int], frozenset[str]]
"""Which kinds of output the event at a position belongs to."""


def kind_of(part: str) -> str:
    """The kind of output that a part is of."""
    return _KIND.get(part, part)


def kinds_of(a: Record, b: Record) -> Kinds | None:
    """How the events of A are told apart by kind; None where all output at A and B is of one kind."""
    every = frozenset(kind_of(name) for name in CONTENT if a.part(name) or b.part(name))
    if len(every) < 2:
        return None
    masks = parts_of(a)

    def of(position: int) -> frozenset[str]:
        mask = masks.get(position, 0)
        return every if mask & FINISH else frozenset(kind_of(name) for name in CONTENT if mask & PART[name])

    return of


def displaced(order: Sequence[int], kinds: Kinds | None) -> frozenset[int]:
    """The fewest positions that must move so that those of each kind are in order."""
    if kinds is None:
        return frozenset(order) - longest_rising(order)
    every = frozenset[str]().union(*map(kinds, order))
    groups = [[position for position in order if kind in kinds(position)] for kind in sorted(every)]
    return frozenset[int]().union(*(frozenset(group) - longest_rising(group) for group in groups))


def passed(named: Iterable[int], kinds: Kinds, position: int) -> bool:
    """Whether a later event of each of its kinds was named, so that what is not there is missing, or late."""
    later = [kinds(other) for other in named if other > position]
    return kinds(position) <= frozenset[str]().union(*later)
