"""One hop A → B judged by digests (docs/design.md §7.2): what B lacks, has too often, or has elsewhere.

A hop is judged alone, from what both points are proven to have seen. The order of the questions is the rule, and each
rule of the section is one function:

| rule | | function |
|---|---|---|
| 1 | everything equal by count and order sum | `healthy` |
| 2 | no fault without a proof | `proof_of_difference` |
| 3 | equal beginnings and ends are unchanged | `window` |
| 4 | all rows known between | `known.all_known`; one run lost, `known.run_lost` |
| 5 | rows lost between: filled in, decoded, bounds | `fill.filled`, `decode.decode`, `lost_rows.bounds` |
| 6 | B stopped itself, or its closing block is lost | `open_ends.anchor` |
| 7 | A's closing block is lost: no additions | `open_ends.may_tell_additions` |
| 8 | places, over all explanations | `known.copies_of`, `known.slide`, `edits.edits` |
| 9 | numbers first | `numbered.judge_numbered` |
| 10 | around an unproven hop | `attribute.around_unproven` |
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from streamwitness_analyzer.judge.testimony.view import ContradictionError, View, same_run, share_sizes

from .change import Case, Change, Hop, Proof, faulty
from .fill import filled
from .known import all_known, run_lost
from .lost_rows import rows_lost
from .open_ends import judge_open

_IMPOSSIBLE: Final = "the same sums are told of another count of events, so one of the two points is wrong"


def compare(a: View, b: View, *, peer: bool) -> Hop:
    """Judge the hop. `peer`: B's end was made by its peer, so that all A handed on was due there."""
    if not a.record.blocks or not b.record.blocks:
        return Hop("unproven", reason="a record holds nothing that can be used")
    if not (a.digests and b.digests):
        return by_counts(a, b, peer=peer)
    if a.s == b.s and a.n != b.n:
        return _impossible(a, b)
    if healthy(a, b):
        return Hop("intact", prefix=a.n)
    return _by_order(a, b, peer and b.closed)


def healthy(a: View, b: View) -> bool:
    """Rule 1: both have closed and have the same, in the same order; no row is opened for it."""
    return a.closed and b.closed and (a.n, a.o) == (b.n, b.o)


def _impossible(a: View, b: View) -> Hop:
    """No digest weighs nothing: where both have one sum of other counts, the one whose rows do not bear it out lies."""
    doubtful = [view for view in (a, b) if not view.whole]
    if len(doubtful) == 1:
        raise ContradictionError(doubtful[0].record.witness)
    return Hop("unproven", reason=_IMPOSSIBLE)


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
    share_sizes(a, b)
    x, differs = equal_prefix(a, b)
    case = proof_of_difference(a, b, differs, peer)
    if case is None:
        return _without_proof(a, b, x, peer)
    if case != "totals":
        return faulty(judge_open(a, b, x, differs, peer=peer), _proof(case, a, b, x, 0), prefix=x)
    x, y = window(a, b, x)
    return faulty(_between(a, b, x, y), _proof(case, a, b, x, y), prefix=x)


def proof_of_difference(a: View, b: View, differs: int | None, peer: bool) -> Case | None:
    """Rule 2: the case that proves a difference; None where none does."""
    cases: dict[Case, bool] = {
        "totals": a.closed and peer,
        "order_at_known_place": differs is not None,
        "more_than_sent": a.closed and b.n > a.n,
        "fewer_than_sent": peer and a.n > b.n,
    }
    return next((case for case, holds in cases.items() if holds), None)


def _proof(case: Case, a: View, b: View, x: int, y: int) -> Proof:
    unheld = [view.values[x : view.n - y].count(None) for view in (a, b)]
    return Proof(case, a.axis, x, y, (unheld[0], unheld[1]))


def _without_proof(a: View, b: View, x: int, peer: bool) -> Hop:
    if b.closed and not peer and x == b.n:
        return Hop("intact", prefix=x, unread=a.n - b.n)
    reason = "the end of its record is missing" if not b.closed else "the end of the record before it is missing"
    return Hop("unproven", prefix=x, reason=reason if not (a.closed and b.closed) else "rows are lost on the way")


def _between(a: View, b: View, x: int, y: int) -> tuple[Change, ...]:
    """The changes in the window of two complete points: rules 4 and 5."""
    if x + y == b.n:
        return (run_lost(a, b, x),)
    if _known(a, b, x, y):
        return all_known(a, b, x, y)
    a, b = filled(a, b, x, y)
    x, y = window(a, b, equal_prefix(a, b)[0])
    if x + y == b.n or _known(a, b, x, y):
        return _between(a, b, x, y)
    return rows_lost(a, b, x, y)


def _known(a: View, b: View, x: int, y: int) -> bool:
    return a.known(x, a.n - y) and b.known(x, b.n - y)


# --------------------------------------------------------------------------- 3: the window


def window(a: View, b: View, x: int) -> tuple[int, int]:
    """Rule 3: how many places are unchanged at the beginning and at the end of two complete points."""
    return x, min(equal_suffix(a, b), a.n - x, b.n - x)


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
