"""bench/truth/RESULTS.md: the run that is kept is one of the gates that there are, and all of them hold in it."""

from __future__ import annotations

from pathlib import Path

from bench.truth import results
from bench.truth.gates import GATES

LINES = (Path(results.__file__).with_name("RESULTS.md")).read_text().splitlines()


def test_the_run_that_is_kept_has_every_gate() -> None:
    """Each by the name that it has now, so that figures of another bench are not taken for this one's."""
    told = [line.split("  ", 1)[1] for line in LINES if line.startswith(("green  ", "RED    "))]
    assert [gate.name for gate in GATES if not any(line.strip().startswith(f"{gate.name}: ") for line in told)] == []


def test_in_the_run_that_is_kept_every_gate_holds() -> None:
    """None of them is red."""
    assert [line for line in LINES if line.startswith("RED")] == []
