"""One hop A → B judged by digests (docs/design.md §7.2): what B lacks, has too often, or has elsewhere.

A hop is judged alone, from what both points are proven to have seen. The order of the questions is the rule:

1. Everything equal, by count and order sum: intact, no row opened.
2. No proof of a difference: unproven, and nothing is said. Proof is one of
   (a) both closings held, B ended by its peer, and count or order differ;
   (b) the order differs at a place known at both;
   (c) A's closing held and B received more than A sent;
   (d) B ended by its peer with less than A is known to have sent.
3. The longest equal prefix and, in case (a), suffix are unchanged; the fault lies in the window between.
4. All known in the window: multiset differences are exact counts.
   Lost rows in the window: bounds only.
6. B stopped itself, or its closing is lost: only what B provably went past is in play.
7. B complete, A's closing lost: losses are certain, additions never.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, replace
from math import ceil, log
from typing import Final, Literal

from streamwitness.sums import P, power

from .edits import Edits, edits
from .view import View

Side = Literal["before", "after"]
Span = tuple[int, int]
"""First and last place, inclusive."""

_BUDGET: Final = 60_000
_SEARCH_DEPTH: Final = 8
_CHANCE: Final = 14.0
"""−ln of the chance that a run of B stands in A once by accident (one in a million)."""


@dataclass(frozen=True, slots=True)
class Change:
    """One fault on one hop. `span` are places on the axis of `side`: where every fewest-change explanation puts it.

    `copies` is the wider proof: every place with such a digest, or of unknown content. `placed` says that the span is
    certain, not only the shortest story. `values` are the digests concerned, as far as known.
    """

    kind: str
    count: int
    exact: bool
    side: Side
    span: Span
    copies: Span
    placed: bool = False
    values: tuple[tuple[int, int], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Hop:
    """What is proven about one hop. `prefix` places are proven equal; `unread` of A were never due at B."""

    status: Literal["intact", "faulty", "unproven"]
    changes: tuple[Change, ...] = ()
    prefix: int = 0
    unread: int = 0
    reason: str = ""


def compare(a: View, b: View, *, peer: bool) -> Hop:
    """Judge the hop. `peer`: B's end was made by its peer, so that all A handed on was due there."""
    if not a.record.blocks or not b.record.blocks:
        return Hop("unproven", reason="a record holds no usable block")
    if not (a.digests and b.digests):
        return by_counts(a, b, peer=peer)
    if a.closed and b.closed and (a.n, a.o) == (b.n, b.o):
        return Hop("intact", prefix=a.n)
    return _by_order(a, b, peer and b.closed)


def by_counts(a: View, b: View, *, peer: bool) -> Hop:
    """Without digests counts can prove a loss or a surplus, never its place, and equal counts prove nothing."""
    if not (a.closed and b.closed and peer) or a.n == b.n:
        return Hop("unproven", reason="no digests were recorded, and counts alone prove no equality")
    if a.n > b.n:
        span = (0, a.n - 1)
        return Hop("faulty", (Change("gap", a.n - b.n, False, "before", span, span, note="by count alone"),))
    span = (0, b.n - 1)
    return Hop("faulty", (Change("extra", b.n - a.n, False, "after", span, span, note="by count alone"),))


def _by_order(a: View, b: View, peer: bool) -> Hop:
    full = a.closed and peer
    x, differs = equal_prefix(a, b)
    beyond = a.closed and b.n > a.n
    short = peer and a.n > b.n
    if not (full or differs or beyond or short):
        return _without_proof(a, b, x, peer)
    changes = _full(a, b, x) if full else _partial(a, b, x, differs, peer)
    return Hop("faulty", changes, prefix=x, unread=0)


def _without_proof(a: View, b: View, x: int, peer: bool) -> Hop:
    if b.closed and not peer and x == b.n:
        return Hop("intact", prefix=x, unread=a.n - b.n)
    reason = "its closing block is not held" if not b.closed else "the closing block before it is not held"
    return Hop("unproven", prefix=x, reason=reason if not (a.closed and b.closed) else "rows are lost on the way")


# --------------------------------------------------------------------------- 3: the window


def equal_prefix(a: View, b: View) -> tuple[int, int | None]:
    """The longest prefix proven equal, and the next length known at both, which is proven different (or None)."""
    known = [k for k in range(min(a.n, b.n) + 1) if a.prefix[k] is not None and b.prefix[k] is not None]
    at = bisect_left(known, True, key=lambda k: a.prefix[k] != b.prefix[k])
    return known[at - 1], (known[at] if at < len(known) else None)


def equal_suffix(a: View, b: View) -> int:
    """The longest suffix proven equal; both must be closed."""
    known = [
        k for k in range(1, min(a.n, b.n) + 1) if a.prefix[a.n - k] is not None and b.prefix[b.n - k] is not None
    ]
    at = bisect_left(known, True, key=lambda k: not _same_run(a, a.n - k, b, b.n - k, k))
    return known[at - 1] if at else 0


def _same_run(a: View, i: int, b: View, j: int, length: int) -> bool:
    """Whether two runs with known ends hold the same digests in the same order."""
    da, db = _run_sum(a, i, length), _run_sum(b, j, length)
    return da is not None and db is not None and da * power(max(0, j - i)) % P == db * power(max(0, i - j)) % P


def _run_sum(view: View, start: int, length: int) -> int | None:
    low, high = view.prefix[start], view.prefix[start + length]
    return None if low is None or high is None else (high - low) % P


# --------------------------------------------------------------------------- 4: both complete


def _full(a: View, b: View, x: int) -> tuple[Change, ...]:
    y = min(equal_suffix(a, b), a.n - x, b.n - x)
    if x + y == b.n:
        return (_run_lost(a, b, x),)
    if a.known(x, a.n - y) and b.known(x, b.n - y):
        return _exactly(a, b, x, y)
    return _bounds(a, b, x, y)


def _run_lost(a: View, b: View, x: int) -> Change:
    """B is A without one run; where events repeat, the run slides to either side and still explains it."""
    count = a.n - b.n
    low, high, sure = _slide(a, x, count)
    values = a.values[x : x + count]
    known = Counter(v for v in values if v is not None)
    copies = _hull_of(a, set(known), unknown=True)
    kind = "tail" if x == b.n else "gap"
    placed = sure and low == high
    return Change(kind, count, True, "before", (low, high + count - 1), copies, placed, tuple(sorted(known.items())))


def _slide(a: View, x: int, count: int) -> tuple[int, int, bool]:
    """First and last place where a lost run may begin, and whether lost rows leave no doubt about it."""
    low = high = x
    while low > 0 and a.values[low - 1] is not None and a.values[low - 1] == a.values[low - 1 + count]:
        low -= 1
    while high + count < a.n and a.values[high] is not None and a.values[high] == a.values[high + count]:
        high += 1
    edges = [a.values[i] for i in (low - 1, low - 1 + count, high, high + count) if 0 <= i < a.n]
    return low, high, None not in edges


def _exactly(a: View, b: View, x: int, y: int) -> tuple[Change, ...]:
    """Everything in the window is known. It is widened as far as rows are known, for changes can slide out of it."""
    left, right = _widened(a, b, x, y)
    av, bv = a.values[x - left : a.n - y + right], b.values[x - left : b.n - y + right]
    if replaced := _replaced(a, b, x, y):
        return (replaced,)
    lost, added = Counter(av) - Counter(bv), Counter(bv) - Counter(av)
    script = edits(av, bv)
    window = _Window(a, b, x - left, x - left + len(av), x - left + len(bv), script)
    changes = [window.lost(v, count) for v, count in lost.items() if v is not None]
    changes += [window.added(v, count) for v, count in added.items() if v is not None]
    moved = 0 if script is None else (script.distance - lost.total() - added.total()) // 2
    if moved or not changes:
        changes.append(window.moved(max(1, moved), lost, alone=not changes))
    return _merged(changes, a)


def _widened(a: View, b: View, x: int, y: int) -> tuple[int, int]:
    """How far known, proven equal rows reach to both sides of the window, within a budget."""
    most = _BUDGET // (2 * _SEARCH_DEPTH)
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
    known = tuple(sorted(Counter(v for v in before if v is not None).items()))
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
        return Change("gap", count, True, "before", span, copies, self._placed(span, copies, count), ((value, count),))

    def added(self, value: int, count: int) -> Change:
        """`count` more copies of a digest at B: a duplicate if A has it, `extra` if A's lost rows could hold it."""
        kind = "duplicate" if value in self.a.content else "fabricated" if self.a.whole else "extra"
        new = self.script.added if self.script else frozenset()
        places = [self.start + j for j in new if self.b.values[self.start + j] == value]
        span, copies = self._range(self.b, value, places, self.b_stop)
        return Change(kind, count, True, "after", span, copies, self._placed(span, copies, count), ((value, count),))

    def moved(self, count: int, lost: Counter[int | None], alone: bool) -> Change:
        """Digests that both have, displaced by at least `count` single moves."""
        removed = self.script.removed if self.script else frozenset()
        places = [self.start + i for i in removed if not lost[self.a.values[self.start + i]]]
        span = (min(places), max(places)) if places else (self.start, max(self.start, self.a_stop - 1))
        exact = alone and count == 1 and bool(places)
        return Change("reorder", count, exact, "before", span, (0, self.a.n - 1))

    def _range(self, view: View, value: int, places: list[int], stop: int) -> tuple[Span, Span]:
        copies = _hull_of(view, {value}, unknown=True)
        if not places:
            return copies, copies
        low, high = min(places), max(places)
        edge = 2 * (self.script.distance if self.script else 0) + _SEARCH_DEPTH
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


def _hull_of(view: View, values: set[int], unknown: bool) -> Span:
    places = [i for i, v in enumerate(view.values) if v in values or (unknown and v is None)]
    return (min(places), max(places)) if places else (0, max(0, view.n - 1))


def _merged(changes: list[Change], a: View) -> tuple[Change, ...]:
    """Neighbouring changes of one kind as one: a run of lost events is one fault, told once."""
    out: list[Change] = []
    for change in sorted(changes, key=lambda c: (c.side, c.kind, c.span, c.values)):
        last = out[-1] if out else None
        if last and (last.kind, last.side) == (change.kind, change.side) and change.span[0] <= last.span[1] + 1:
            out[-1] = _joined(last, change)
        else:
            out.append(change)
    return tuple(_tail_or_gap(change, a) for change in out)


def _joined(one: Change, two: Change) -> Change:
    span = (one.span[0], max(one.span[1], two.span[1]))
    values = tuple(sorted((Counter(dict(one.values)) + Counter(dict(two.values))).items()))
    copies = (min(one.copies[0], two.copies[0]), max(one.copies[1], two.copies[1]))
    count = one.count + two.count
    placed = one.placed and two.placed and span[1] - span[0] + 1 == count
    return replace(one, count=count, exact=one.exact and two.exact, span=span, copies=copies, placed=placed, values=values)


def _tail_or_gap(change: Change, a: View) -> Change:
    if change.kind == "gap" and change.placed and change.span[1] == a.n - 1 and a.closed:
        return replace(change, kind="tail")
    return change


def _bounds(a: View, b: View, x: int, y: int) -> tuple[Change, ...]:
    """Rows are lost in the window: what the counts and the sums still prove."""
    surplus = b.n - a.n
    before, after = (x, max(x, a.n - 1 - y)), (x, max(x, b.n - 1 - y))
    if surplus < 0:
        return (Change("gap", -surplus, False, "before", before, before, note="a lost block hides the rest"),)
    if surplus > 0:
        exact = x + y == a.n
        return (Change("extra", surplus, exact, "after", after, after, note="a lost block hides the rest"),)
    if a.s == b.s:
        return (Change("reorder", 1, False, "before", before, before, note="same events in another order"),)
    return (Change("mismatch", 1, False, "before", before, before, note="at least one lost and one added"),)


# --------------------------------------------------------------------------- 6, 7: one end is open


def _partial(a: View, b: View, x: int, differs: int | None, peer: bool) -> tuple[Change, ...]:
    """B stopped itself, or one closing block is not held."""
    if peer and x == b.n:
        span = (x, a.n - 1)
        return (Change("tail", a.n - b.n, False, "before", span, span, True, note="at least; more may have been sent"),)
    changes = [*_missing(a, b, x, peer), *_surplus(a, b, x)]
    if not changes and peer and a.n > b.n:
        span = (x, a.n - 1)
        changes.append(Change("gap", a.n - b.n, False, "before", span, (0, a.n - 1), note="at least, by count"))
    if not changes and a.closed and b.n > a.n:
        span = (min(x, b.n - 1), b.n - 1)
        changes.append(Change("extra", b.n - a.n, False, "after", span, (0, b.n - 1), note="at least, by count"))
    if not changes:
        stop = differs if differs is not None else max(a.n, b.n)
        span = (x, max(x, stop - 1))
        changes.append(Change("mismatch", 1, False, "before", span, span, note="one end is open"))
    return _merged(changes, a)


def _missing(a: View, b: View, x: int, peer: bool) -> list[Change]:
    """Digests of which B has fewer copies than A, among those that were due at B."""
    due = a.n if peer else _anchor(a, b)
    here = Counter(v for v in b.values if v is not None)
    unknown = b.n - here.total()
    out = []
    for value, count in Counter(v for v in a.values[:due] if v is not None).items():
        missing = count - here[value] - unknown
        if missing > 0:
            copies = _places(a, value, 0, due)
            span = (min(p for p in copies if p >= min(x, copies[-1])), copies[-1])
            hull = (copies[0], copies[-1])
            kind = "gap" if peer else "gap_or_late"
            placed = len(copies) == missing and hull == span
            out.append(Change(kind, missing, False, "before", span, hull, placed, ((value, missing),)))
    return out


def _surplus(a: View, b: View, x: int) -> list[Change]:
    """Digests of which B has more copies than the whole of A can hold."""
    if not a.closed:
        return []
    there = Counter(v for v in a.values if v is not None)
    unknown = a.n - there.total()
    out = []
    for value, count in Counter(v for v in b.values if v is not None).items():
        more = count - there[value] - unknown
        if more > 0:
            copies = _places(b, value, 0, b.n)
            span = (min(p for p in copies if p >= min(x, copies[-1])), copies[-1])
            kind = "duplicate" if value in there else "extra" if unknown else "fabricated"
            out.append(Change(kind, more, False, "after", span, (copies[0], copies[-1]), False, ((value, more),)))
    return out


def _places(view: View, value: int, start: int, stop: int) -> list[int]:
    return [i for i in range(start, stop) if view.values[i] == value]


def _anchor(a: View, b: View) -> int:
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
            return found[0]
    return 0


def _shifted(view: View, start: int, length: int, to: int | None = None) -> int:
    """A run's order sum moved to a common weight, so that runs at different places compare."""
    to = view.n if to is None else to
    run = _run_sum(view, start, length)
    if run is None or start > to:
        return -1
    return run * power(to - start) % P
