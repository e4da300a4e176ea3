"""bench.truth.scoring: what of an ending, of numbers and of half a path may be said, and what may not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.truth.labels import STOOD_STILL, Deed, Ended, Passage, Trial
from bench.truth.score import score
from bench.truth.scoring.difference import Difference
from bench.truth.scoring.rate import Rate
from bench.truth.scoring.worth import Score

POINTS = ("ingress", "egress", "wire", "parsed", "applied")


def trial(passage: Passage | None = None, ended: Ended | None = None, notes: frozenset[str] = frozenset()) -> Trial:
    """A stream without blocks, of which this is known."""
    return Trial(
        "one", "openai_chat", "pass", "httpx", (), (passage,) if passage is not None else (),
        ended or Ended(frozenset(), None), [], frozenset(POINTS), notes,
    )  # fmt: skip


def verdict(
    *findings: dict[str, Any], integrity: str = "unproven", ending: str = "completed", by: str | None = None
) -> dict[str, Any]:
    """What a judge might say of it."""
    points = [{"exchange": "e", "point": point, "held": "all", "witness": "w"} for point in POINTS]
    return {"findings": findings, "integrity": integrity, "ending": {"class": ending, "by": by}, "points": points}


def false(of: Trial, told: Any, *, whole: bool = False) -> set[str]:
    """Of what it says falsely."""
    return {what for what, _ in score(of, told, whole=whole).false}


@pytest.mark.parametrize(
    ("ending", "by", "wrong"),
    [
        ("network_lost", "transport", False),
        ("upstream_error", "source", False),
        ("upstream_truncated", "source", True),
        ("client_gone", "client", False),
        ("client_cancelled", "client", True),
        ("unwitnessed", None, False),
    ],
)
def test_an_end_is_put_down_to_its_maker_or_to_one_that_ended_a_part_before(ending: str, by: str, wrong: bool) -> None:
    """The source that had failed before the network broke off made an end, too; nobody else did."""
    ended = Ended(frozenset(("network_lost",)), "transport", before=frozenset((("upstream_error", "source"),)))
    assert false(trial(ended=ended), verdict(ending=ending, by=by)) == ({"maker"} if wrong else set())


def test_an_end_that_not_all_have_seen_need_not_be_told_but_never_falsely() -> None:
    """It counts for no rate of endings, and against the one gate all the same."""
    ended = Ended(frozenset(("gateway_error",)), "gateway", seen=False)
    assert score(trial(ended=ended), verdict(ending="network_lost"), whole=True).ending is None
    assert false(trial(ended=ended), verdict(ending="network_lost", by="transport")) == {"maker"}


def test_a_stream_whose_numbers_alone_are_in_disorder_is_known_by_its_rows() -> None:
    """Equal events: without the rows, which were lost, it is in order for all that anybody can know."""
    moved = trial(Passage("transport", ("1 a", "2 a"), ("2 a", "1 a")), notes=frozenset(("numbers alone",)))
    intact = verdict(integrity="intact")
    assert false(moved, intact, whole=False) == set()
    assert false(moved, intact, whole=True) == {"called"}
    assert false(replace(moved, notes=frozenset()), intact, whole=False) == {"called"}


def test_blame_and_what_is_said_of_the_guilty_are_apart() -> None:
    """Who did nothing is blamed; who lost something did not double it."""
    lost = trial(Passage("transport", ("a", "b", "c"), ("a", "c")))
    lost = replace(lost, deeds=(Deed("transport", "drop", (1,)),))
    finding = {"kind": "gap", "confidence": "certain", "count": 1, "exact": True, "sequence": (1, 1), "about": False,
               "between": ("egress", "wire"), "proof": {"case": "one_run"}}  # fmt: skip
    said = {
        "transport": (finding | {"suspects": ["transport"]}, set()),
        "parser": (finding | {"suspects": ["parser"]}, {"blame"}),
        "another kind": (finding | {"suspects": ["transport"], "kind": "duplicate"}, {"said"}),
        "another count": (finding | {"suspects": ["transport"], "count": 2}, {"said"}),
    }
    told = {name: false(lost, verdict(one, integrity="damaged"), whole=True) for name, (one, _) in said.items()}
    assert told == {name: wrong for name, (_, wrong) in said.items()}


def test_nobody_held_back_what_came_late_on_a_machine_that_stood_still() -> None:
    """On any other it is blame."""
    late = {"kind": "delayed", "confidence": "certain", "count": 1, "exact": True, "sequence": (1, 1), "about": False,
            "between": ("ingress", "egress"), "proof": {"case": "times"}, "suspects": ["gateway"]}  # fmt: skip
    assert false(trial(), verdict(late)) == {"blame"}
    assert false(trial(notes=frozenset((STOOD_STILL,))), verdict(late)) == set()


def test_a_difference_is_told_in_words() -> None:
    """As it stands below a red gate."""
    assert str(Difference.of(Passage("parser", ("a", "b"), ("b", "b", "c")))) == "1 lost, 2 more (some of them new)"
    assert str(Difference.of(Passage("parser", ("a", "b"), ("b", "a")))) == "another order"
    assert str(Difference.of(Passage("parser", ("a",), ("a",)))) == "nothing"


def test_rates_add_up() -> None:
    """Of nothing none is missed."""
    assert sum((Rate.of(True), Rate.of(False), Rate(3, 4)), Rate()) == Rate(4, 6)
    assert (Rate(4, 6).missed, Rate(3, 4).percent, Rate().missed, Rate().percent) == (2, 75.0, 0, 0.0)


def test_what_a_gate_has_against_a_verdict_is_said() -> None:
    """Each gate only what it looks at."""
    worth = Score(outcomes={"gateway": "unknown", "parser": "found"}, ending=("stalled", "completed"))
    worth.say("blame", "so")
    worth.say("said", "else")
    assert [worth.why(figure) for figure in ("blame", "said", "found", "ended", "sure")] == [
        "so", "else", "gateway unknown", "really stalled, told completed", "",
    ]  # fmt: skip
