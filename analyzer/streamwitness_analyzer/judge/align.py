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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .change import Change, Hop, Proof, Span, faulty, merged
from .edits import CELLS, Edits, distance, edits
from .open_ends import judge_open
from .view import View, same_run

_EDGE: Final = 8
"""Rows near the end of the known stretch in which an explanation may go on beyond it."""


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
    proof = Proof("by_count", a.axis)
    if a.n > b.n:
        span = (0, a.n - 1)
        return faulty([Change("gap", a.n - b.n, False, "before", span, span, note="by count alone")], proof)
    span = (0, b.n - 1)
    return faulty([Change("extra", b.n - a.n, False, "after", span, span, note="by count alone")], proof)


def _by_order(a: View, b: View, peer: bool) -> Hop:
    x, differs = equal_prefix(a, b)
    case = _case(a, b, differs, peer)
    if case is None:
        return _without_proof(a, b, x, peer)
    if case != "totals":
        return faulty(judge_open(a, b, x, differs, peer=peer), _proof(case, a, b, x, 0), prefix=x)
    y = min(equal_suffix(a, b), a.n - x, b.n - x)
    return faulty(_full(a, b, x, y), _proof(case, a, b, x, y), prefix=x)


def _case(a: View, b: View, differs: int | None, peer: bool) -> str | None:
    """Rule 2: which proof of a difference there is; None where there is none."""
    cases = {
        "totals": a.closed and peer,
        "order_at_known_place": differs is not None,
        "more_than_sent": a.closed and b.n > a.n,
        "fewer_than_sent": peer and a.n > b.n,
    }
    return next((case for case, holds in cases.items() if holds), None)


def _proof(case: str, a: View, b: View, x: int, y: int) -> Proof:
    unheld = [view.values[x : view.n - y].count(None) for view in (a, b)]
    return Proof(case, a.axis, x, y, (unheld[0], unheld[1]))


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
    known = [k for k in range(1, min(a.n, b.n) + 1) if a.prefix[a.n - k] is not None and b.prefix[b.n - k] is not None]
    at = bisect_left(known, True, key=lambda k: not same_run(a, a.n - k, b, b.n - k, k))
    return known[at - 1] if at else 0


# --------------------------------------------------------------------------- 4: both complete


def _full(a: View, b: View, x: int, y: int) -> tuple[Change, ...]:
    if x + y == b.n:
        return (_run_lost(a, b, x),)
    if a.known(x, a.n - y) and b.known(x, b.n - y):
        return _exactly(a, b, x, y)
    return _bounds(a, b, x, y)


def _run_lost(a: View, b: View, x: int) -> Change:
    """B is A without one run; where events repeat, the run slides to either side and still explains it."""
    count = a.n - b.n
    low, high, sure = _slide(_lent(a, b, x), x, count)
    values = a.values[x : x + count]
    known = Counter(v for v in values if v is not None)
    copies = _hull_of(a, set(known), unknown=True)
    kind = "tail" if x == b.n else "gap"
    placed = sure and low == high
    return Change(kind, count, True, "before", (low, high + count - 1), copies, placed, tuple(sorted(known.items())))


def _lent(a: View, b: View, x: int) -> list[int | None]:
    """A's rows, those lost before and behind the run taken from B, which is proven equal there."""
    count = a.n - b.n
    mirrored = [b.values[i if i < x else i - count] if not x <= i < x + count else None for i in range(a.n)]
    return [other if value is None else value for value, other in zip(a.values, mirrored, strict=True)]


def _slide(values: Sequence[int | None], x: int, count: int) -> tuple[int, int, bool]:
    """First and last place where a lost run may begin, and whether lost rows leave no doubt about it.

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


def _exactly(a: View, b: View, x: int, y: int) -> tuple[Change, ...]:
    """Everything in the window is known. It is widened as far as rows are known, for changes can slide out of it."""
    if replaced := _replaced(a, b, x, y):
        return (replaced,)
    left, right = _widened(a, b, x, y)
    av, bv = a.values[x - left : a.n - y + right], b.values[x - left : b.n - y + right]
    lost, added = Counter(av) - Counter(bv), Counter(bv) - Counter(av)
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


def _hull_of(view: View, values: set[int], unknown: bool) -> Span:
    places = [i for i, v in enumerate(view.values) if v in values or (unknown and v is None)]
    return (min(places), max(places)) if places else (0, max(0, view.n - 1))


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
