"""Is who is accused guilty, and of what it is accused of?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bench.truth.labels import ACTS, JOINING, Passage, Trial
from streamwitness.semconv import Component

from .case import Case, known
from .difference import ADDED, CHANGED, LOST, Difference
from .rate import Rate
from .worth import Score


def accused(case: Case, out: Score) -> None:
    """Each finding: its suspects, its confidence, its kind."""
    for finding in case.findings:
        _blamed(case, finding, out)
        if finding["confidence"] == "certain" and case.trial.doubtful & set(finding["between"]):
            out.say("said", f"certain by a record that nobody vouches for: {finding['kind']}")
        _of_what(case, finding, out)


def _blamed(case: Case, finding: Mapping[str, Any], out: Score) -> None:
    """Certain suspects did it, and of several one did."""
    suspects, certain = frozenset(finding["suspects"]), finding["confidence"] == "certain"
    among = bool(suspects & case.guilty)
    right = suspects <= case.guilty if certain else among
    if certain:
        out.count("certain", right)
    if suspects:
        out.count("named", Rate.of(among))
    if suspects and not right:
        really = ", ".join(known(case.guilty)) or "nobody"
        out.say("blame", f"{finding['confidence']}: blames {', '.join(sorted(suspects))}, guilty: {really} "
                         f"({finding['kind']})")  # fmt: skip


def _of_what(case: Case, finding: Mapping[str, Any], out: Score) -> None:
    """A finding is of a kind that a guilty one among its suspects did, by its deeds or by what came of them."""
    guilty_ones = case.guilty & set(finding["suspects"])
    true = _true(case, finding, guilty_ones)
    if guilty_ones and finding["kind"] not in true and not any(map(case.blurred, guilty_ones)):
        who = ", ".join(known(guilty_ones))
        out.say("said", f"{who} is said to have done {finding['kind']}; really {', '.join(sorted(true))}")


def _true(case: Case, finding: Mapping[str, Any], who: frozenset[Component]) -> frozenset[str]:
    """Kinds that are true of what these did, told in the way of this finding.

    A text as a whole is another one whatever was done to a piece of it, and so is an event of which it became a part.
    """
    true, proof = _kinds(case.trial, who), finding["proof"]["case"]
    joins = case.trial.gateway in JOINING and "gateway" in who
    more = (
        ("malformed", proof == "by_itself" and true & LOST),  # without its beginning a part is unreadable
        ("altered", "mismatch" in true and (proof == "by_content" or joins)),
        ("altered", any(_lost_arguments(passage) for passage in case.trial.passages if passage.component in who)),
    )
    return true | {kind for kind, so in more if so}


def _lost_arguments(passage: Passage) -> bool:
    """Whether pieces of a call's arguments are gone: what closes a call without any says that they are empty."""
    return any("/args:" in token for token in Counter(passage.before) - Counter(passage.after))


def _kinds(trial: Trial, who: frozenset[Component]) -> frozenset[str]:
    """All kinds that tell what these did: a loss by one and an addition by another may look like a change.

    Where no record stands between the two, a copy by one of what the other loses looks displaced.
    """
    kinds = [ACTS[deed.act] for deed in trial.deeds if deed.component in who]
    kinds += [Difference.of(passage).kinds for passage in trial.passages if passage.component in who]
    if "fails closed" in trial.notes:  # what came wrong to an application that then takes nothing is lost to it
        kinds.append(LOST)
    every = frozenset[str]().union(*kinds)
    together = CHANGED | ({"reorder"} if len(who) > 1 else set())
    return every | together if every & LOST and every & ADDED else every
