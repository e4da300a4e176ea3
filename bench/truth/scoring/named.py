"""What became of each component: found, narrowed, unknown or wrong, and where no record can tell, that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.truth.labels import Passage, Trial, known_to_feed

from .case import AROUND, EXCUSED, Case, known
from .difference import Difference, missing
from .worth import Score

TIMES: Final = frozenset(("delayed", "upstream_kept_running"))
"""Kinds of finding that leave the sequence as it was."""


def named(case: Case, out: Score) -> None:
    """The outcome of each component that something passed, and of the source where something is recorded of it."""
    for passage in case.trial.passages:
        out.outcomes[passage.component] = _outcome(case, passage, out)
    if "ingress" in case.trial.points:
        out.outcomes["source"] = _source(case)
    out.unharmed = frozenset(who for who, points in AROUND.items() if who in out.outcomes and points <= case.unharmed)
    _confused(case, out)


def _outcome(case: Case, passage: Passage, out: Score) -> str:
    who = passage.component
    sole = case.against(who)
    among = [finding for finding in case.findings if who in finding["suspects"]]
    if who not in case.guilty:
        return "wrong" if sole else "suspected" if among else "cleared"
    if not passage.visible or not AROUND[who] <= case.trial.points - case.trial.doubtful:
        return "beside"
    if not case.blurred(who) and (false := _not_so(case, passage, sole)):
        out.say("said", f"{who} is said to have done {', '.join(false)}; what came of it: {Difference.of(passage)}")
        return "wrong"
    if any(finding["confidence"] == "certain" for finding in sole):
        return "found"
    if among:
        return "unknowable" if "one of two" in case.trial.notes or _may_have_put_right(case, among) else "narrowed"
    return "unknown" if distinguishable(case.trial, passage) and not _was_told(case, passage) else "unknowable"


def _not_so(case: Case, passage: Passage, sole: Sequence[Mapping[str, Any]]) -> list[str]:
    """Kinds of damage that are told of it and did not come of it: a loss only where something is missing, and so on."""
    difference, stopped = Difference.of(passage), passage.stopped or not case.whole
    kinds = [finding["kind"] for finding in sole if finding["kind"] not in TIMES]
    moved = any(deed.component == passage.component and deed.act == "move" for deed in case.trial.deeds)
    numbered = moved and any(note.startswith("stamped") for note in case.trial.notes)  # known though it was changed
    return [k for k in kinds if not difference.allows(k, stopped=stopped) and not (k == "reorder" and numbered)]


def _may_have_put_right(case: Case, among: Sequence[Mapping[str, Any]]) -> bool:
    """Whether only an application's order is told of, and no record tells in which the provider sent it."""
    known = "ingress" in case.trial.points and (case.whole or "ingress" in case.unharmed)
    return not known and {finding["kind"] for finding in among} <= {"reorder"}


def _was_told(case: Case, passage: Passage) -> bool:
    """Whether what tells it stood in records that are lost: of an order, in which the events came before."""
    if case.whole or passage.component != "reducer":
        return False
    return "one of two" in case.trial.notes or (Difference.of(passage).moved and not case.unharmed >= case.trial.points)


def _source(case: Case) -> str:
    """The source is known by what its own stream gives away only; a stop of its own is an ending, and no finding."""
    among = [finding for finding in case.findings if "source" in finding["suspects"]]
    sole = case.against("source")
    if "source" in case.guilty:
        return "found" if sole else "narrowed" if among else "unknown"
    if sole:
        return "wrong"
    if any(deed.component == "source" for deed in case.trial.deeds):
        return "unknowable"
    return "suspected" if among else "cleared"


def _confused(case: Case, out: Score) -> None:
    """Who did it beside who was named, for the matrix."""
    for component, outcome in out.outcomes.items():
        if outcome in ("found", "narrowed", "unknown"):
            out.confused[component, {"found": component, "unknown": "nobody"}.get(outcome, outcome)] += 1
    innocent = {f["suspects"][0] for f in case.findings if len(f["suspects"]) == 1} - case.guilty
    for accused in innocent:
        out.confused[next(iter(known(case.guilty)), "nobody"), accused] += 1
    if not case.guilty and not innocent:
        out.confused["nobody", "narrowed" if out.blamed else "nobody"] += 1


# --------------------------------------------------------------------------- what can be known


def distinguishable(trial: Trial, passage: Passage) -> bool:
    """Whether the records can tell this fault from something else.

    Not where an answer made of several upstream ones explains it, where nothing of the answer came out (it may be
    another one), where a side stopped so early that all that is missing may have been on its way, or where another
    component took back what this one did: a point that lacks what the points around it have contradicts them.
    """
    if any(passage.component in EXCUSED.get(note, ()) for note in trial.notes):
        return False
    if passage.component == "gateway" and not known_to_feed(trial.gateway, trial.provider, passage):
        return False
    if passage.stopped and not _was_due(passage):
        return False
    return not any(_undone(passage, other) for other in trial.passages if other is not passage)


def _was_due(passage: Passage) -> bool:
    """Whether something is missing that its reader went past before it stopped: that cannot have been on its way."""
    return bool(passage.due) and missing(passage.before[: passage.due], passage.after) > 0


def _undone(one: Passage, other: Passage) -> bool:
    """Whether something that one lost the other added, or both moved events."""
    lost, added = _net(one)
    lost_there, added_there = _net(other)
    moved = Difference.of(one).moved and Difference.of(other).moved
    return bool(lost & added_there or added & lost_there or moved)


def _net(passage: Passage) -> tuple[Counter[str], Counter[str]]:
    """What it lost and what it added, by what the events say."""
    before, after = (Counter(token.split(" ")[0] for token in side) for side in (passage.before, passage.after))
    return before - after, after - before
