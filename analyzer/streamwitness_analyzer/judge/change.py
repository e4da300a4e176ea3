"""What a judged hop says: its status, and each change as a kind, an exact count or a bound, and two ranges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from .view import Axis, View

LOSSES: Final = frozenset(("gap", "tail", "gap_or_late"))
"""Kinds by which B has less of what A had, and nothing else."""

Side = Literal["before", "after"]
Span = tuple[int, int]
"""First and last place, inclusive."""


CASES: Final = {
    "totals": "both points have closed, the later one was not stopped, and their counts or order sums differ",
    "order_at_known_place": "the order sums differ at a place that is known at both points",
    "more_than_sent": "the earlier point has closed, and the later one has more events",
    "fewer_than_sent": "the later point was not stopped, and has fewer events than the earlier one is known to have",
    "by_count": "no digests were recorded; the counts differ",
    "by_number": "the events came with numbers, which both points recorded",
    "by_name": "each row at the later point names the event that it is about",
    "by_content": "the digests of all content, or of its marked stretches, differ",
    "by_time": "the times of one process, by its own clock",
    "by_rows": "what single rows say of their events",
    "envelope": "the counts of terminators, finishes or errors differ",
}
"""What can prove a fault (docs/design.md §7.2 rule 2) → how."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Which case of `CASES` holds, and what was compared.

    With an `axis` two sequences of digests were: their first `prefix` and last `suffix` places are proven equal, and of
    those between `unheld` rows are not held, at the earlier and at the later point.
    """

    case: str = "by_rows"
    axis: Axis | None = None
    prefix: int = 0
    suffix: int = 0
    unheld: tuple[int, int] = (0, 0)


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
    proof: Proof = Proof()


@dataclass(frozen=True, slots=True)
class Hop:
    """What is proven about one hop. `prefix` places are proven equal; `unread` of A were never due at B."""

    status: Literal["intact", "faulty", "unproven"]
    changes: tuple[Change, ...] = ()
    prefix: int = 0
    unread: int = 0
    reason: str = ""


def faulty(changes: Iterable[Change], proof: Proof, *, prefix: int = 0, unread: int = 0) -> Hop:
    """A hop with these changes, all of which one proof is for."""
    return Hop("faulty", tuple(replace(change, proof=proof) for change in changes), prefix=prefix, unread=unread)


def merged(changes: list[Change], a: View) -> tuple[Change, ...]:
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
    return replace(
        one, count=count, exact=one.exact and two.exact, span=span, copies=copies, placed=placed, values=values
    )


def _tail_or_gap(change: Change, a: View) -> Change:
    if change.kind == "gap" and change.placed and change.span[1] == a.n - 1 and a.closed:
        return replace(change, kind="tail")
    return change
