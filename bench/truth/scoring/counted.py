"""Counts and places: no count is above the real one, an exact one is it, and a place told surely is where it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.truth.labels import Deed, Passage, lost_run

from .case import Case
from .difference import ADDED, CHANGED, LOST, Difference, missing
from .named import TIMES
from .worth import Score

_UNCOUNTED: Final = frozenset(("recut", "a process dies"))
"""Notes of streams in which a number of events is none of what was lost.

Where the content was cut anew, an event is another one behind than before; and of a process that died nobody knows how
much it had sent.
"""
_COPIES_WITHIN: Final = 5
"""Places behind an event, or a run of them, in which the model puts the copy."""
_Findings = Sequence[Mapping[str, Any]]


def counted(case: Case, out: Score) -> None:
    """How many are told to be lost or too many, of each component, and where."""
    told = [finding for finding in case.findings if finding["kind"] in LOST | ADDED]
    out.told = sum(finding["count"] for finding in case.findings if finding["kind"] in LOST | ADDED | CHANGED)
    for finding in told:
        out.count("exact", bool(finding["exact"]))
    for passage in case.trial.passages:
        _counts(case, passage, out)
        _places(case, passage, out)
        _lost_run(case, passage, out)


# --------------------------------------------------------------------------- how many


def _counts(case: Case, passage: Passage, out: Score) -> None:
    if not case.between_points(passage) or case.trial.notes & _UNCOUNTED:
        return
    told = [finding for finding in case.against(passage.component) if finding["kind"] not in TIMES]
    if passage.stopped:
        if case.whole:  # else what is told to be late may have come behind the last row that is held
            _due(case, passage, told, out)
        return
    difference = Difference.of(passage)
    moved = difference.moved and not passage.again  # what came once more stands behind what came before
    if moved or any(finding["proof"]["case"] in ("envelope", "by_rows") for finding in told):
        return
    here = [finding for finding in told if finding["kind"] in LOST | ADDED]
    if case.whole and here:
        out.count("counted", all(finding["exact"] for finding in here))
    for kinds, real in ((LOST, difference.lost), (ADDED, difference.added)):
        _count(case, passage, told, kinds, real, out)


def _count(case: Case, passage: Passage, told: _Findings, kinds: frozenset[str], real: int, out: Score) -> None:
    """A change is a loss and a surplus. What came when it was sent once more may be told to be lost before, or not."""
    here = [finding for finding in told if finding["kind"] in kinds]
    count = _sum(here) + _sum([finding for finding in told if finding["kind"] in CHANGED])
    if here and count > real:
        out.say("said", f"{passage.component}: {count} told, {real} real")
    least = real - passage.again if kinds is LOST else real
    if here and _all_told(case, passage) and all(finding["exact"] for finding in here) and not least <= count <= real:
        out.say("said", f"{passage.component}: exactly {count} told, {real} real")


def _all_told(case: Case, passage: Passage) -> bool:
    """Whether a count is that of all that was done.

    Not of the one answer, of several, that is known to feed the gateway's; nor where more was told in records that are
    lost: by name of what an application took up, by numbers of equal events, or by another exchange.
    """
    if passage.component == "gateway" and "several answers" in case.trial.notes:
        return False
    if case.blurred(passage.component) or _finished_twice(passage):
        return False
    return case.whole or (passage.component != "reducer" and "resumed" not in case.trial.notes)


def _finished_twice(passage: Passage) -> bool:
    """Whether a parser handed on its finish again: where that is the end, nobody counts what comes behind it."""
    again = Counter(passage.after) - Counter(passage.before)
    return passage.component == "parser" and any("/finish:" in token for token in again)


def _due(case: Case, passage: Passage, told: _Findings, out: Score) -> None:
    """Of what had to come before its reader stopped, no more is told lost than is missing; what was moved came late."""
    if passage.due is None:
        return
    late = any(deed.act == "move" and deed.component == passage.component for deed in case.trial.deeds)
    kinds = LOST - {"gap_or_late"} if late else LOST
    count = _sum([f for f in told if f["kind"] in kinds])
    real = missing(passage.before[: passage.due], passage.after) - passage.late
    if count > real:
        out.say("said", f"{passage.component}: {count} told, {real} were due and did not come")


def _sum(findings: _Findings) -> int:
    return sum(finding["count"] for finding in findings)


# --------------------------------------------------------------------------- where


def _lost_run(case: Case, passage: Passage, out: Score) -> None:
    """Where one run was lost and no other place explains it, no place that is told surely leaves it out.

    With all records there, it is told exactly.
    """
    run = lost_run(passage) if passage.by_event else None
    told = [finding for finding in case.against(passage.component) if finding["kind"] in LOST]
    if run is None or not told:
        return
    reach = (min(finding["sequence"][0] for finding in told), max(finding["sequence"][1] for finding in told))
    if reach != run and all(finding["exact"] and not finding["about"] for finding in told):
        out.say("said", f"lost {run[0]}-{run[1]}, told surely {reach[0]}-{reach[1]}")
    if case.whole:
        out.count("placed", reach == run)


def _places(case: Case, passage: Passage, out: Score) -> None:
    """A place that is told surely is one where all was lost, and not something that looks like it elsewhere.

    A single deed is a shortest explanation, so with all rows there its place is within what is told, surely or not. Of
    several deeds a shorter explanation may be told; of those beside others only what has no other place is sure.
    """
    if passage.stopped or passage.lost is None:
        return
    told = [finding for finding in case.against(passage.component) if finding["exact"]]
    left = [token for at, token in enumerate(passage.before) if at not in passage.lost]
    only_lost = left == [*passage.after] and not Difference.of(passage).moved
    if only_lost or len(told) > 1:
        for low, high in [f["sequence"] for f in told if f["kind"] in ("gap", "tail") and not f["about"]]:
            out.count("sure", passage.lost.issuperset(range(low, high + 1)))
    deeds = [deed for deed in case.trial.deeds if deed.component == passage.component]
    if case.whole and len(deeds) == len(told) == 1 and (only_lost or told[0]["kind"] in ("reorder", "duplicate")):
        _one_deed(deeds[0], told[0], out)


def _one_deed(deed: Deed, finding: Mapping[str, Any], out: Score) -> None:
    (low, high), first = finding["sequence"], deed.at[0]
    last = {"double": deed.at[-1] + _COPIES_WITHIN, "drop": first, "cut": first, "move": first}.get(deed.act)
    if last is not None and (deed.act != "move" or finding["count"] == 1):
        out.count("sure", low <= last and first <= high)
