"""bench.truth.scoring.stronger: lost records make a verdict weaker, and never let it claim more."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from bench.truth import exhaustive
from bench.truth.labels import Ended, Trial
from bench.truth.loss import WHOLE, with_summaries
from bench.truth.run import Judged, settled, thinned, unharmed
from bench.truth.scoring.stronger import stronger
from bench.truth.streams import of_sort, trial
from streamwitness.semconv import POINTS

Verdict = dict[str, Any]


def verdict(
    *findings: tuple[str, list[str]], integrity: str = "damaged", ending: str = "completed", by: str | None = None,
    cleared: tuple[str, ...] = (), note: str = "", points: tuple[str, ...] = ("egress", "wire"),
) -> Verdict:  # fmt: skip
    """What a judge might say: findings as (confidence, suspects)."""
    return {
        "findings": [
            {"kind": "gap", "confidence": how, "suspects": who, "between": ["egress", "wire"]} for how, who in findings
        ],
        "integrity": integrity,
        "ending": {"class": ending, "by": by},
        "why": {"cleared": [*cleared]},
        "notes": [{"kind": note}] if note else [],
        "points": [{"exchange": "e", "witness": "w", "point": point, "held": "all", "attempt": 0} for point in points],
    }


ONE = Trial("one", "openai_chat", "pass", "httpx", (), (), Ended(frozenset(), None), [], frozenset(POINTS))
LOST = verdict(("certain", ["transport"]))
CUT = verdict(("certain", ["gateway"]), ending="gateway_truncated", by="gateway", points=("egress",))


@pytest.mark.parametrize(
    ("weak", "whole", "claims"),
    [
        (LOST, LOST, 0),
        (verdict(("certain", ["parser"])), LOST, 1),
        (verdict(("narrowed", ["transport", "parser"])), LOST, 0),
        (verdict(("narrowed", ["reducer", "parser"])), LOST, 1),
        (verdict(), LOST, 0),
        (LOST, verdict(("narrowed", ["transport", "parser"])), 0),
        (LOST, verdict(("inconsistent", [])), 0),
        (verdict(("certain", ["parser"])), verdict(("inconsistent", [])), 1),
        (LOST, verdict(note="recovered"), 1),
        (LOST, verdict(note="recovered", integrity="intact"), 2),
        (verdict(("certain", ["transport"]), integrity="unproven"), verdict(note="recovered", integrity="intact"), 0),
        (verdict(("certain", ["parser"])), verdict(note="recovered"), 1),
        (verdict(integrity="intact"), verdict(integrity="unproven"), 1),
        (verdict(integrity="unproven"), verdict(integrity="intact"), 0),
        (LOST, verdict(("certain", ["transport"]), integrity="unproven"), 1),
        (verdict(cleared=("transport",)), LOST, 1),
        (verdict(cleared=("transport",)), verdict(("narrowed", ["transport", "parser"])), 0),
        (LOST, verdict(("inconsistent", []), integrity="unproven"), 0),
        (CUT, verdict(("certain", ["gateway"]), ending="client_abandoned", by="client"), 0),
        (CUT, verdict(("certain", ["gateway"]), ending="client_abandoned", by="client", integrity="unproven"), 1),
        (CUT, verdict(("narrowed", ["gateway", "transport"]), ending="client_abandoned", by="client"), 1),
        (
            verdict(("certain", ["gateway"]), ending="gateway_truncated", by="gateway"),
            verdict(("certain", ["gateway"]), ending="client_abandoned", by="client"),
            1,
        ),
        (verdict(ending="network_lost", by="transport"), verdict(by="source"), 1),
        (verdict(ending="client_gone"), verdict(ending="client_cancelled", by="client"), 0),
        (verdict(ending="client_timeout", by="client"), verdict(ending="stalled", by="gateway"), 0),
        (verdict(by="source"), verdict(ending="client_cancelled", by="client"), 1),
        (verdict(by="source"), verdict(by=None), 0),
        (verdict(by="source", points=("egress",)), verdict(ending="client_cancelled", by="client"), 0),
    ],
)
def test_what_is_claimed_on_fewer_records_is_claimed_on_all_of_them(weak: Verdict, whole: Verdict, claims: int) -> None:
    """Who is accused, what is cleared and who made the end; nobody, and one of several that there were, is weaker."""
    assert len([*stronger(ONE, weak, whole)]) == claims


def test_nothing_is_said_of_a_process_of_which_no_record_is_left() -> None:
    """Whoever knows nothing of a second tab calls what is left intact; but of one that sent anything it is known."""
    one = trial(3)
    weak = verdict(integrity="intact", cleared=("transport",))
    assert not [*stronger(one, weak, LOST)]
    weak["points"] = [
        {"exchange": block.exchange, "witness": block.witness, "point": block.point, "held": "all", "attempt": 0}
        for block in one.blocks
    ]
    assert len([*stronger(one, weak, LOST)]) == 2


def test_a_judge_that_accuses_for_want_of_records_is_noticed() -> None:
    """A run compares each verdict under a loss with that on everything."""

    def forgetful(blocks: Any) -> Verdict:
        told = deepcopy(settled(blocks))
        told["why"]["cleared"] = ["gateway", "transport", "parser", "reducer"]
        return told | {"integrity": "intact" if told["telemetry"]["lost_blocks"] else told["integrity"]}

    of_these = [Judged(one, forgetful) for one in map(trial, range(40)) if one.honest]
    rates = [
        judged.under(loss)[1].figures(whole=loss in WHOLE).get("weaker")
        for judged in of_these
        for loss in ("none", "30 %")
    ]
    assert not any(rates[::2])
    assert any(rate is not None and rate.missed for rate in rates[1::2])


def test_a_point_is_unharmed_where_all_came_as_it_was() -> None:
    """A block without its rows is not what was recorded."""
    one = trial(3)
    assert unharmed(one.blocks, thinned(one, "disordered")) == {block.point for block in one.blocks}
    assert unharmed(one.blocks, one.blocks[1:]) == {b.point for b in one.blocks} - {one.blocks[0].point}
    assert unharmed(one.blocks, []) == frozenset()


def test_a_loss_can_name_the_blocks() -> None:
    """As they are counted when all are sent; with `r` it is the rows alone that are lost."""
    one = trial(3)
    sent = with_summaries(one.blocks)
    left = thinned(one, "without 0 1r")
    assert left[1:] == sent[2:]
    assert (left[0].index, left[0].rows) == (sent[1].index, None)
    with pytest.raises(KeyError):
        thinned(one, "without everything")


def test_every_block_and_every_two_are_lost_in_turn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what a judge then says falsely is printed as it is to be called."""
    one = of_sort("hop", 3)
    names = exhaustive.losses(one)
    blocks = with_summaries(one.blocks)
    assert names[: len(blocks)] == [f"without {at}" for at in range(len(blocks))]
    assert "without 0 1" in names
    assert len(set(names)) == len(names)
    assert exhaustive.main(1, first=3, sort="hop") == 0

    def accusing(came: Any) -> Verdict:
        told = settled(came)
        return told if len(came) == len(blocks) else told | {"ending": {"class": "gateway_shutdown", "by": "gateway"}}

    monkeypatch.setattr(exhaustive, "Judged", lambda it: Judged(it, accusing))
    assert exhaustive.main(1, first=3, sort="hop") == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("1 streams, ")
    assert printed[0].endswith(": 0 with something false")
    assert printed[1].startswith("--only model/hop/3 --loss 'without ")
    with pytest.raises(SystemExit, match="no sort is called 'hops'"):
        exhaustive.main(1, sort="hops")
