"""Kinds of output, each in an order of its own: an application may take up calls before the text that came before them.

Kinds are as independent as choices. A finish stands behind all of them; what says nothing stands nowhere. So are calls,
and no row tells of which call a piece is: where there are several, pieces of calls have no order but before the finish.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from streamwitness.semconv import FINISH, PART
from streamwitness_analyzer.judge.compare.edits import longest_rising
from streamwitness_analyzer.judge.testimony.parts import CONTENT, parts_of
from streamwitness_analyzer.judge.testimony.records import Record

_KIND: Final = {"tool_start": "tool", "tool_args": "tool"}
_TOOL: Final = "tool"


@dataclass(frozen=True, slots=True)
class Kinds:
    """Which kinds of output the event at a position belongs to; `several`: there may be more than one call."""

    every: frozenset[str]
    masks: Mapping[int, int]
    several: bool

    def __call__(self, position: int) -> frozenset[str]:
        """The kinds of this event: all of them, where it ends the answer."""
        mask = self.masks.get(position, 0)
        return self.every if mask & FINISH else frozenset(kind_of(name) for name in CONTENT if mask & PART[name])

    def ends(self, position: int) -> bool:
        """Whether the event ends the answer."""
        return bool(self.masks.get(position, 0) & FINISH)


def kind_of(part: str) -> str:
    """The kind of output that a part is of."""
    return _KIND.get(part, part)


def kinds_of(a: Record, b: Record) -> Kinds | None:
    """How the events of A are told apart by kind; None where all output at A and B is of one kind, or of one call."""
    every = frozenset(kind_of(name) for name in CONTENT if a.part(name) or b.part(name))
    several = _TOOL in every and (a.part("tool_start") > 1 or not a.closed)
    return Kinds(every, parts_of(a), several) if len(every) > 1 or several else None


def displaced(order: Sequence[int], kinds: Kinds | None) -> frozenset[int]:
    """The fewest positions that must move so that those of each kind are in order."""
    if kinds is None:
        return frozenset(order) - longest_rising(order)
    every = frozenset[str]().union(*map(kinds, order))
    groups = {kind: [position for position in order if kind in kinds(position)] for kind in sorted(every)}
    if kinds.several and _TOOL in groups:
        groups[_TOOL] = _in_any_order(groups[_TOOL], kinds)
    return frozenset[int]().union(*(frozenset(group) - longest_rising(group) for group in groups.values()))


def _in_any_order(order: Sequence[int], kinds: Kinds) -> list[int]:
    """The same, with what stands between two ends put in order."""
    out: list[int] = []
    for _, group in groupby(order, kinds.ends):
        between = list(group)
        out += between if kinds.ends(between[0]) else sorted(between)
    return out


def passed(named: Iterable[int], kinds: Kinds, position: int) -> bool:
    """Whether a later event of each of its kinds was named, so that what is not there is missing, or late."""
    behind = [other for other in named if other > position]
    if kinds.several and _TOOL in kinds(position):
        return any(map(kinds.ends, behind))
    later = map(kinds, behind)
    return kinds(position) <= frozenset[str]().union(*later)
