"""A hop with an open end (docs/design.md §7.2 rules 6 and 7): B stopped itself, or a closing block is not held.

What is lost and what only comes later cannot be told apart here, so only what B provably went past is in play, and
additions are claimed only against the whole of A.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from math import ceil, log
from typing import Final

from streamwitness.sums import P, power
from streamwitness_analyzer.judge.testimony.view import View, run_sum

from .change import Change, Span, merged

_CHANCE: Final = 14.0
"""−ln of the chance that a run of B stands in A once by accident (one in a million)."""


def judge_open(a: View, b: View, x: int, differs: int | None, *, peer: bool) -> tuple[Change, ...]:
    """The changes of a hop that provably differs. `x` places are equal; `differs`: a prefix length proven different."""
    if peer and x == b.n:
        span = (x, a.n - 1)
        return (Change("tail", a.n - b.n, False, "before", span, span, True, note="at least; more may have been sent"),)
    changes = [*_missing(a, b, x, peer), *_surplus(a, b, x)]
    if not changes and peer and a.n > b.n:
        span = (x, a.n - 1)
        changes.append(Change("gap", a.n - b.n, False, "before", span, (0, a.n - 1), note="at least, by count"))
    if not changes and may_tell_additions(a) and b.n > a.n:
        span = (min(x, b.n - 1), b.n - 1)
        changes.append(Change("extra", b.n - a.n, False, "after", span, (0, b.n - 1), note="at least, by count"))
    if not changes:
        stop = differs if differs is not None else max(a.n, b.n)
        span = (x, max(x, stop - 1))
        changes.append(Change("mismatch", 1, False, "before", span, span, note="one end is open"))
    return merged(changes, a)


def _missing(a: View, b: View, x: int, peer: bool) -> list[Change]:
    """Digests of which B has fewer copies than A, among those that were due at B."""
    unknown = b.n - b.counts.total()
    kind = "gap" if peer else "gap_or_late"
    out = []
    for value, places in _places(a.values[: a.n if peer else anchor(a, b)]).items():
        missing = len(places) - b.counts[value] - unknown
        if missing > 0:
            span, hull = _behind(places, x), (places[0], places[-1])
            placed = len(places) == missing and hull == span
            out.append(Change(kind, missing, False, "before", span, hull, placed, ((value, missing),)))
    return out


def _surplus(a: View, b: View, x: int) -> list[Change]:
    """Digests of which B has more copies than the whole of A can hold."""
    if not may_tell_additions(a):
        return []
    unknown = a.n - a.counts.total()
    out = []
    for value, places in _places(b.values).items():
        more = len(places) - a.counts[value] - unknown
        if more > 0:
            kind = "duplicate" if a.counts[value] else "extra" if unknown else _new(a, b, places[-1], more)
            hull = (places[0], places[-1])
            out.append(Change(kind, more, False, "after", _behind(places, x), hull, False, ((value, more),)))
    return out


def _new(a: View, b: View, place: int, more: int) -> str:
    """Whether what A never had came besides all that was due up to there, or may be one of A's that was changed."""
    if b.closed or not a.counts - b.counts:
        return "fabricated"
    gone = Counter(value for value in a.values[: b.n - more] if value is not None) - b.counts
    besides = place < b.n - 1 and gone.total() <= b.n - b.counts.total()
    return "fabricated" if besides else "mismatch"


def may_tell_additions(a: View) -> bool:
    """Rule 7: what A had is known to the end only where its closing block is held; else more may have come from it."""
    return a.closed


def _places(values: Sequence[int | None]) -> dict[int, list[int]]:
    """Digest → where it stands, in order."""
    found: dict[int, list[int]] = {}
    for place, value in enumerate(values):
        if value is not None:
            found.setdefault(value, []).append(place)
    return found


def _behind(places: Sequence[int], x: int) -> Span:
    """The places that are not proven equal; the last one if all are."""
    first = bisect_left(places, min(x, places[-1]))
    return places[first], places[-1]


def anchor(a: View, b: View) -> int:
    """How much of A provably was due at B: the end of the furthest run of B that stands in A exactly once.

    Such a run is three neighbours that are unique at both points, or one too long to be there by chance.
    """
    if not a.whole or a.n < 3:
        return 0
    return max(_unique_neighbours(a, b), _long_run(a, b))


def _unique_neighbours(a: View, b: View) -> int:
    here, there = Counter(a.values), Counter(v for v in b.values if v is not None)
    place = {v: j for j, v in enumerate(b.values) if v is not None and there[v] == 1 == here[v]}
    for k in range(a.n - 1, 1, -1):
        at = [place.get(v) for v in a.values[k - 2 : k + 1] if v is not None]
        first = at[0]
        if first is not None and at == [first, first + 1, first + 2]:
            return k + 1
    return 0


def _long_run(a: View, b: View) -> int:
    """Up to the first event of a run that is too long to be there by chance; what follows may be a copy that fits."""
    share = sum(k * k for k in Counter(a.values).values()) / a.n / a.n
    if share >= 1:
        return 0
    length = max(3, ceil((log(a.n) + _CHANCE) / -log(share)))
    if length > min(a.n, b.n):
        return 0
    ends: dict[int, list[int]] = {}
    for i in range(a.n - length + 1):
        ends.setdefault(_shifted(a, i, length), []).append(i + length)
    for j in range(b.n - length, -1, -1):
        if b.known(j, j + length) and len(found := ends.get(_shifted(b, j, length, a.n), [])) == 1:
            return found[0] - length + 1
    return 0


def _shifted(view: View, start: int, length: int, to: int | None = None) -> int:
    """A run's order sum moved to a common weight, so that runs at different places compare."""
    to = view.n if to is None else to
    run = run_sum(view, start, length)
    if run is None or start > to:
        return -1
    return run * power(to - start) % P
