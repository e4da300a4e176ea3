"""A window in which every row is known (docs/design.md §7.2 rules 4 and 8): exact counts, and where each change is.

Differences of multisets are exact counts; what the shortest explanations need beyond them is displaced. Equal events
make many explanations equally short, so a place is the hull over all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from streamwitness_analyzer.judge.testimony.view import View

from .change import MOST, Change, Side, Span, merged
from .edits import CELLS, Edits, distance, edits

Net = Counter[int]
"""Digest → how many more copies A has; negative where B has more."""
_EDGE: Final = 8
"""Rows near the end of the known stretch in which an explanation may go on beyond it."""


def run_lost(a: View, b: View, x: int) -> Change:
    """B is A without one run; where events repeat, others than that run explain it as well."""
    count = a.n - b.n
    rows = _lent(a, b, x)
    low, high, sure = slide(rows, x, count)
    first, last = left_over(rows, x, count)
    span = (min(low, first), max(high + count - 1, last))
    values = a.values[x : x + count]
    known = Counter(v for v in values if v is not None and v in a.content)
    copies = copies_of(a, {v for v in values if v is not None})
    kind = "tail" if x == b.n else "gap"
    placed = sure and span == (x, x + count - 1)
    return Change(kind, count, True, "before", span, copies, placed, tuple(sorted(known.items())))


def _lent(a: View, b: View, x: int) -> list[int | None]:
    """A's rows, those lost before and behind the run taken from B, which is proven equal there."""
    count = a.n - b.n
    mirrored = [b.values[i if i < x else i - count] if not x <= i < x + count else None for i in range(a.n)]
    return [other if value is None else value for value, other in zip(a.values, mirrored, strict=True)]


def left_over(values: Sequence[int | None], x: int, count: int) -> Span:
    """Rule 8: first and last place that may be lost, over all ways to lose so many and keep the same rest.

    The rest, found in A as early as can be, leaves over what stands last; found as late as can be, what stands first.
    What is not known may be equal to anything.
    """
    rest = [*values[:x], *values[x + count :]]
    return len(values) - 1 - _last_left_over(values[::-1], rest[::-1]), _last_left_over(values, rest)


def _last_left_over(rows: Sequence[int | None], rest: Sequence[int | None]) -> int:
    found, last = 0, -1
    for place, row in enumerate(rows):
        if found < len(rest) and _may_equal(rest[found], row):
            found += 1
        else:
            last = place
    return last


def slide(values: Sequence[int | None], x: int, count: int) -> tuple[int, int, bool]:
    """Rule 8: first and last place where a lost run may begin, and whether lost rows leave no doubt about it.

    The run may begin one place earlier where the event before it equals its last one; what is not known may be equal.
    """
    sure = True
    low = high = x
    while low > 0 and _may_equal(values[low - 1], values[low - 1 + count]):
        low -= 1
        sure = sure and values[low] is not None and values[low + count] is not None
    while high + count < len(values) and _may_equal(values[high], values[high + count]):
        sure = sure and values[high] is not None and values[high + count] is not None
        high += 1
    return low, high, sure


def _may_equal(a: int | None, b: int | None) -> bool:
    return a is None or b is None or a == b


def all_known(a: View, b: View, x: int, y: int) -> tuple[Change, ...]:
    """Rule 4: everything in the window is known. It is widened as far as can be, for changes can slide out of it."""
    if replaced := _replaced(a, b, x, y):
        return (replaced,)
    left, right = _widened(a, b, x, y)
    av, bv = a.values[x - left : a.n - y + right], b.values[x - left : b.n - y + right]
    lost, added = Counter(av) - Counter(bv), Counter(bv) - Counter(av)
    if len(lost) + len(added) > MOST:
        return by_values(a, b, x, y, _net(lost, added))
    script = edits(av, bv)
    window = _Window(a, b, x - left, x - left + len(av), x - left + len(bv), script)
    changes = [window.lost(v, count) for v, count in lost.items() if v is not None]
    changes += [window.added(v, count) for v, count in added.items() if v is not None]
    moved = 0 if script is None else (script.distance - lost.total() - added.total()) // 2
    if moved or not changes:
        changes.append(window.moved(max(1, moved), lost, alone=not changes))
    return merged(changes, a)


def _widened(a: View, b: View, x: int, y: int) -> tuple[int, int]:
    """How far known, proven equal rows reach to both sides of the window, as far as a search can afford."""
    changes = distance(a.values[x : a.n - y], b.values[x : b.n - y])
    most = 0 if changes is None else (CELLS // (2 * changes + 1) - (a.n - y - x)) // 2
    left = right = 0
    while left < min(x, most) and a.values[x - left - 1] is not None and b.values[x - left - 1] is not None:
        left += 1
    while right < min(y, most) and a.values[a.n - y + right] is not None and b.values[b.n - y + right] is not None:
        right += 1
    return left, right


def _replaced(a: View, b: View, x: int, y: int) -> Change | None:
    """Digests changed in place: one place whatever it holds, or a run of which B's digests are all new."""
    count = a.n - y - x
    if count == 0 or count != b.n - y - x:
        return None
    before, after = a.values[x : x + count], b.values[x : x + count]
    if count > 1 and (set(after) & set(a.values) or not a.whole):
        return None
    kind = "corrupt" if a.axis == "payload" else "altered"
    known = tuple(sorted(Counter(v for v in before if v is not None and v in a.content).items()))
    return Change(kind, count, True, "before", (x, x + count - 1), (x, x + count - 1), True, known)


@dataclass(frozen=True, slots=True)
class _Window:
    """The known stretch that two sequences differ in, and the fewest-change explanations of it."""

    a: View
    b: View
    start: int
    a_stop: int
    b_stop: int
    script: Edits | None

    def lost(self, value: int, count: int) -> Change:
        """`count` fewer copies of a digest at B."""
        removed = self.script.removed if self.script else frozenset()
        places = [self.start + i for i in removed if self.a.values[self.start + i] == value]
        span, copies = self._range(self.a, value, places, self.a_stop)
        return Change(
            "gap", count, True, "before", span, copies, self._placed(span, copies, count), self._values(value, count)
        )

    def added(self, value: int, count: int) -> Change:
        """`count` more copies of a digest at B: a duplicate if A has it, `extra` if A's lost rows could hold it."""
        kind = surplus_kind(self.a, self.b, value, count)
        new = self.script.added if self.script else frozenset()
        places = [self.start + j for j in new if self.b.values[self.start + j] == value]
        span, copies = self._range(self.b, value, places, self.b_stop)
        return Change(
            kind, count, True, "after", span, copies, self._placed(span, copies, count), self._values(value, count)
        )

    def _values(self, value: int, count: int) -> tuple[tuple[int, int], ...]:
        """What is told of the digest: nothing where only the sums know it, for nobody can say what it carried."""
        return ((value, count),) if value in self.a.content else ()

    def moved(self, count: int, lost: Counter[int | None], alone: bool) -> Change:
        """Digests that both have, displaced by at least `count` single moves."""
        removed = self.script.removed if self.script else frozenset()
        places = [self.start + i for i in removed if not lost[self.a.values[self.start + i]]]
        span = (min(places), max(places)) if places else (self.start, max(self.start, self.a_stop - 1))
        exact = alone and count == 1 and bool(places)
        return Change("reorder", count, exact, "before", span, (0, self.a.n - 1))

    def _range(self, view: View, value: int, places: list[int], stop: int) -> tuple[Span, Span]:
        copies = copies_of(view, (value,))
        if not places:
            return copies, copies
        low, high = min(places), max(places)
        edge = 2 * (self.script.distance if self.script else 0) + _EDGE
        if self.start > 0 and low <= self.start + edge:
            low = min(low, copies[0])
        if stop < view.n and high >= stop - 1 - edge:
            high = max(high, copies[1])
        return (low, high), copies

    def _placed(self, span: Span, copies: Span, count: int) -> bool:
        """Certain: no other place has it, or it is the only change and has only one place to be in."""
        exactly = span[1] - span[0] + 1 == count
        alone = self.script is not None and self.script.distance == count
        return exactly and (alone or copies == span)


def by_values(a: View, b: View, x: int, y: int, net: Net, note: str = "") -> tuple[Change, ...]:
    """Only the difference of the multisets is known: exact counts of what is missing and of what came more."""
    groups: dict[tuple[Side, str], Net] = {}
    for value, more in net.items():
        side: Side = "before" if more > 0 else "after"
        kind = "gap" if more > 0 else surplus_kind(a, b, value, -more)
        groups.setdefault((side, kind), Counter())[value] = abs(more)
    changes = []
    for (side, kind), values in groups.items():
        view = a if side == "before" else b
        span, copies, count = _span(view, x, y, values), copies_of(view, values), values.total()
        placed = span == copies and span[1] - span[0] + 1 == count
        told = tuple(sorted(values.items())) if values.keys() <= view.content.keys() else ()
        changes.append(Change(kind, count, True, side, span, copies, placed, told, note))
    return merged(changes, a)


def _span(view: View, x: int, y: int, values: Net) -> Span:
    """The places of the window that have such a digest or may have it, and their like beside the window.

    A change slides out of the window through events that are equal to its own, and through no others.
    """
    may_be = [value is None or value in values for value in view.values]
    places = [i for i in range(x, view.n - y) if may_be[i]]
    if not places:
        return copies_of(view, values)
    low, high = places[0], places[-1]
    while low > 0 and may_be[low - 1]:
        low -= 1
    while high + 1 < view.n and may_be[high + 1]:
        high += 1
    return low, high


def copies_of(view: View, values: Collection[int]) -> Span:
    """Rule 8: first and last place that has one of these digests, or may have it."""
    hulls = [view.hulls[value] for value in (*values, None) if value in view.hulls]
    if not hulls:
        return (0, max(0, view.n - 1))
    return min(first for first, _ in hulls), max(last for _, last in hulls)


def _net(lost: Counter[int | None], added: Counter[int | None]) -> Net:
    copies = Counter({value: count for value, count in lost.items() if value is not None})
    copies.subtract({value: count for value, count in added.items() if value is not None})
    return copies


def surplus_kind(a: View, b: View, value: int, more: int) -> str:
    """What `more` copies at B are: of something that A has, that it never had, or, with rows lost at A, one of both."""
    if a.counts[value] or (b.whole and b.counts[value] > more):
        return "duplicate"
    return "fabricated" if a.whole or b.whole else "extra"
