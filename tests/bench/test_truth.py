"""The bench of truth, reduced: the gates of soundness hold, and a judge that lies is caught by each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bench.truth import gates
from bench.truth.mutations import MUTATIONS, fallen_gates
from bench.truth.run import every, settled, some, tally
from bench.truth.streams import trial
from streamwitness.blocks import Block

STREAMS = 400
FEW = 60


def _fallen(judge_it: Callable[[Sequence[Block]], dict[str, Any]], count: int) -> set[str]:
    found = tally(map(trial, range(count)), every if count == FEW else some, judge_it)
    return {gate.name for gate in gates.gates(found) if not gate.holds}


def test_nothing_is_said_that_is_not_so() -> None:
    """Streams of every sort, whole and with telemetry loss of every sort: the gates that allow no exception."""
    found = tally(map(trial, range(STREAMS)), some)
    sound = [gate for gate in gates.gates(found) if gate.least == 1.0]
    assert len(sound) >= 4
    assert [gate for gate in sound if not gate.holds] == [], found.examples


def _accuses(verdict: dict[str, Any]) -> dict[str, Any]:
    blamed = {
        "kind": "gap", "suspects": ["transport"], "confidence": "certain", "count": 1, "exact": True, "about": False,
        "sequence": [0, 0], "proof": {"case": "totals"},
    }  # fmt: skip
    return verdict | {"findings": [*verdict["findings"], blamed], "integrity": "damaged"}


def _says_nothing(verdict: dict[str, Any]) -> dict[str, Any]:
    return verdict | {"findings": [], "integrity": "unproven"}


def _ends_otherwise(verdict: dict[str, Any]) -> dict[str, Any]:
    return verdict | {"ending": verdict["ending"] | {"class": "client_gone"}}


@pytest.mark.parametrize(
    ("lie", "caught"),
    [
        (_accuses, {"`certain` is right", "no innocent is blamed, and nothing is claimed that is not so"}),
        (_says_nothing, {"faults between two recorded points are found"}),
        (_ends_otherwise, {"endings are right"}),
    ],
    ids=["accuses an innocent", "finds nothing", "tells a wrong ending"],
)
def test_a_judge_that_lies_is_caught(lie: Callable[[dict[str, Any]], dict[str, Any]], caught: set[str]) -> None:
    """Each gate can fall."""
    assert caught <= _fallen(lambda blocks: lie(settled(blocks)), FEW)


@pytest.mark.parametrize("mutation", MUTATIONS[:2], ids=lambda mutation: mutation.rule)
def test_a_rule_that_is_switched_off_is_missed(mutation: Any) -> None:
    """Some gate falls; all rules are switched off by `python -m bench.truth --mutations`."""
    assert fallen_gates(mutation, 300) != []
