"""One verdict held against what really happened: each question of `scoring` asked of it.

A component is guilty where what came out of it is not what went in (a deed that changes nothing is invisible: nobody
can know it). What a finding claims must be true of the class of faults that look alike: a loss only where something is
missing, an order only where it differs, an exact count only if it is that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .labels import Trial, ambiguous
from .scoring.accused import accused
from .scoring.case import Case
from .scoring.counted import counted
from .scoring.ended import ended
from .scoring.named import named
from .scoring.worth import FALSE, OUTCOMES, Score


def score(trial: Trial, verdict: Mapping[str, Any], *, whole: bool) -> Score:
    """Hold the verdict against the trial. `whole`: all that was recorded is held, so it must be complete, too."""
    case = Case(trial, verdict, whole)
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


__all__ = ["FALSE", "OUTCOMES", "Score", "score"]
