"""One verdict held against what really happened: each question of `scoring` asked of it.

A component is guilty where what came out of it is not what went in (a deed that changes nothing is invisible: nobody
can know it). What a finding claims must be true of the class of faults that look alike: a loss only where something is
missing, an order only where it differs, an exact count only if it is that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamwitness.semconv import Point

from .labels import Trial, ambiguous
from .scoring.accused import accused
from .scoring.case import Case
from .scoring.counted import counted
from .scoring.ended import ended
from .scoring.named import named
from .scoring.stronger import stronger
from .scoring.worth import FALSE, OUTCOMES, WEAKER, Score


def score(trial: Trial, verdict: Mapping[str, Any], *, whole: bool, unharmed: frozenset[Point] = frozenset()) -> Score:
    """Hold the verdict against the trial. `whole`: all that was recorded is held, so it must be complete, too.

    `unharmed`: where something was lost, the points of which nothing was.
    """
    case = Case(trial, verdict, whole, unharmed)
    out = Score(
        suspects=[len(finding["suspects"]) for finding in case.findings if finding["suspects"]],
        healthy=not trial.deeds,
        invisible=bool(trial.deeds) and not case.guilty,
        ambiguous=any(ambiguous(passage) for passage in trial.passages),
        blamed=any(finding["suspects"] for finding in case.findings),
    )
    for question in (accused, named, counted, ended):
        question(case, out)
    return out


def compared(trial: Trial, verdict: Mapping[str, Any], whole: Mapping[str, Any], out: Score) -> None:
    """Hold a verdict on a part of the records against that on all of them."""
    out.compared = True
    for sentence in stronger(trial, verdict, whole):
        out.say(WEAKER, sentence)


__all__ = ["FALSE", "OUTCOMES", "Score", "compared", "score"]
