"""What a judged hop says: its status, and each change as a kind, an exact count or a bound, and two ranges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

from streamwitness_analyzer.judge.testimony.parts import MISREAD
from streamwitness_analyzer.judge.testimony.view import Axis, View

LOSSES: Final = frozenset(("gap", "tail", "gap_or_late"))
"""Kinds by which B has less of what A had, and nothing else."""
SURPLUS: Final = frozenset(("duplicate", "fabricated", "extra"))
"""Kinds by which B has more than A had, and nothing else."""
NEW: Final = frozenset(("fabricated", "extra", "mismatch"))
"""Kinds by which B may have what A never had, beside it or in its place."""

Side = Literal["before", "after"]
Span = tuple[int, int]
"""First and last place, inclusive."""

MOST: Final = 64
"""Changes of one hop that are told one by one."""
Case = Literal[
    "totals", "order_at_known_place", "more_than_sent", "fewer_than_sent", "by_count", "by_number", "by_name",
    "by_content", "by_itself", "by_time", "by_rows", "by_attempts", "envelope",
]  # fmt: skip
CASES: Final[dict[Case, str]] = {
    "totals": "both points have closed, the later one was not stopped, and their counts or order sums differ",
    "order_at_known_place": "the order sums differ at a place that is known at both points",
    "more_than_sent": "the earlier point has closed, and the later one has more events",
    "fewer_than_sent": "the later point was not stopped, and has fewer events than the earlier one is known to have",
    "by_count": "no digests were recorded; the counts differ",
    "by_number": "the events came with numbers, which both points recorded",
    "by_name": "each row at the later point names the event that it is about",
    "by_content": "the digests of all content, or of its marked stretches, differ",
    "by_time": "how much later than others some events came, each process's times by its own clock",
    "by_itself": "what one point read contradicts itself, whatever others saw",
    "by_rows": "what single rows say of their events",
    "by_attempts": "behind what was sent of an upstream response that broke the next one was sent, and begins the same",
    "envelope": "the counts of terminators, finishes or errors differ, or what a finish says",
}
"""What can prove a fault (docs/design.md §7.2 rule 2) → how."""


class Reason(StrEnum):
    """Why a hop is unproven, as far as anybody asks for it: the name is for code, the value is what people read.

    All other reasons are for people only, and no more than their words.
    """

    IN_PASSING = "whether the gateway would still have sent what it had read last"
    LEFT_OUT = "whether what the gateway had read last belonged into the answer, which it finished itself"
    OWN_WORD = "whether the answer was whole when the gateway stopped reading and finished it in a word of its own"
    FILTERS = "the gateway says that it leaves events out on purpose, and the rest is not proven to be what it read"
    REWRITES = "the gateway says that it changes content on purpose, and what it meant to change nobody knows"
    ANOTHERS = "the answer is not made of this upstream response, as far as digests show"
    PUT_RIGHT = "what came again or too late by its own number may have been put right"
    FILLED_IN = "its whole text has more than its pieces, and what was missing may have been filled in"
    MISREAD = MISREAD


OWN_ENDS: Final = frozenset((Reason.LEFT_OUT, Reason.OWN_WORD))
"""The gateway ended it by itself: the answer is made of this leg all the same."""
MENDED: Final = frozenset((Reason.PUT_RIGHT, Reason.FILLED_IN))
"""What differs may be what somebody did well: another one had done it wrong."""
ITS_LEG: Final = OWN_ENDS | MENDED | {Reason.FILTERS, Reason.REWRITES}
"""It is, too, where the gateway says that it edits, or put right what was wrong with it."""
LEFT_OPEN: Final = OWN_ENDS | {Reason.IN_PASSING}
"""What became of the rest is a fact, and only whether it was due is not known."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Which case of `CASES` holds, and what was compared.

    With an `axis` two sequences of digests were: their first `prefix` and last `suffix` places are proven equal, and of
    those between `unheld` rows are not held, at the earlier and at the later point.
    """

    case: Case = "by_rows"
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
    """What else people read of it; nothing hangs on its words."""
    proof: Proof = Proof()
    results: tuple[str, ...] = ()
    """What the application reports of these events, where it is its reports that tell of them."""
    error: bool = False
    """Whether it is an error that never came."""
    late: bool = False
    """Whether it is of what stands behind the end of the answer."""


@dataclass(slots=True)
class Hop:
    """What is proven about one hop. `prefix` places are proven equal; `unread` of A were never due at B.

    Never changed, as a `Record` is not.
    """

    status: Literal["intact", "faulty", "unproven"]
    changes: tuple[Change, ...] = ()
    prefix: int = 0
    unread: int = 0
    reason: str = ""


def faulty(changes: Iterable[Change], proof: Proof, *, prefix: int = 0, unread: int = 0) -> Hop:
    """A hop with these changes, all of which one proof is for."""
    return Hop("faulty", tuple(replace(change, proof=proof) for change in changes), prefix=prefix, unread=unread)


def merged(changes: Sequence[Change], a: View) -> tuple[Change, ...]:
    """Neighbouring changes of one kind as one: a run of lost events is one fault, told once.

    Of very many, all of a kind are told as one: a stream that was garbled throughout is no list of events.
    """
    runs: list[list[Change]] = []
    end = 0
    for change in sorted(changes, key=lambda c: (c.side, c.kind, c.span, c.values)):
        last = runs[-1][-1] if runs else None
        alike = last is not None and (last.kind, last.side) == (change.kind, change.side)
        if alike and (len(changes) > MOST or change.span[0] <= end + 1):
            runs[-1].append(change)
            end = max(end, change.span[1])
        else:
            runs.append([change])
            end = change.span[1]
    return tuple(_tail_or_gap(_joined(run), a) for run in runs)


def _joined(run: Sequence[Change]) -> Change:
    if len(run) == 1:
        return run[0]
    span, copies = _hull([change.span for change in run]), _hull([change.copies for change in run])
    values: Counter[int] = Counter()
    for change in run:
        values.update(dict(change.values))
    count = sum(change.count for change in run)
    placed = all(change.placed for change in run) and span[1] - span[0] + 1 == count
    exact = all(change.exact for change in run)
    return replace(
        run[0], count=count, exact=exact, span=span, copies=copies, placed=placed, values=tuple(sorted(values.items()))
    )


def _hull(spans: Sequence[Span]) -> Span:
    return min(low for low, _ in spans), max(high for _, high in spans)


def _tail_or_gap(change: Change, a: View) -> Change:
    if change.kind == "gap" and change.placed and change.span[1] == a.n - 1 and a.closed:
        return replace(change, kind="tail")
    return change
