"""bench/truth: the run that is kept is one of the gates that there are, and all of them hold; nothing is left out."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from bench.truth import results
from bench.truth.gates import GATES
from bench.truth.streams import SORTS

BENCH = Path(results.__file__).parent
LINES = (Path(results.__file__).with_name("RESULTS.md")).read_text().splitlines()


def test_the_run_that_is_kept_has_every_gate() -> None:
    """Each by the name that it has now, so that figures of another bench are not taken for this one's."""
    told = [line.split("  ", 1)[1] for line in LINES if line.startswith(("green  ", "RED    "))]
    assert [gate.name for gate in GATES if not any(line.strip().startswith(f"{gate.name}: ") for line in told)] == []


def test_in_the_run_that_is_kept_every_gate_holds() -> None:
    """None of them is red."""
    assert [line for line in LINES if line.startswith("RED")] == []


def test_every_file_and_every_sort_is_there() -> None:
    """A file that is not in the table is not found, and a sort that is not in the list is never drawn."""
    readme = (BENCH.parent / "README.md").read_text()
    names = sorted(path.name for path in BENCH.glob("[!_]*.py"))
    assert [name for name in names if f"`{name}`" not in readme] == []
    own = [(name, getattr(import_module(f"bench.truth.{name[:-3]}"), "SORTS", {})) for name in names]
    assert [(name, sort) for name, sorts in own for sort in sorts if sort not in SORTS] == []
