"""Every case through the real framers, profiles, recorders, hooks and judge."""

from __future__ import annotations

import pytest

from .case import load, names
from .pipeline import Stream
from .table import SPECS, TWO_STREAMS, Verdict


def test_every_case_is_in_the_table() -> None:
    """None is left out, and each is there once."""
    assert sorted([*SPECS, *TWO_STREAMS]) == names()


@pytest.mark.parametrize("name", SPECS)
def test_case(name: str) -> None:
    """The verdict is the one that is due."""
    spec = SPECS[name]
    assert Verdict.of(Stream().play(spec.play(load(name)))) == spec.due


@pytest.mark.parametrize("name", SPECS)
def test_nobody_innocent_is_accused(name: str) -> None:
    """A finding names the component that the report names, or there is none."""
    spec, case = SPECS[name], load(name)
    accused = {who for _, suspects in Verdict.of(Stream().play(spec.play(case))).findings for who in suspects}
    assert accused <= {case.document["component"]}


@pytest.mark.parametrize("name", TWO_STREAMS)
def test_two_streams_that_are_both_in_order(name: str) -> None:
    """Neither accuses anybody."""
    case = load(name)
    found = [Verdict.of(Stream().play(play(case))) for play, _ in TWO_STREAMS[name]]
    assert found == [due for _, due in TWO_STREAMS[name]]
