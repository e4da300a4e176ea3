"""Who is cleared: only whom both points around him clear, wherever the stream led through him."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.truth.build import answer, handed_on, path, used
from streamwitness.blocks import Block
from streamwitness_analyzer.judge import judge

ANSWER = answer(range(1, 9))
HANDED = handed_on(ANSWER)
WHOLE = path(ANSWER, ANSWER, ANSWER, HANDED, used(HANDED))
BEHIND = ["parser", "reducer"]


def _cleared(blocks: list[Block]) -> list[str]:
    cleared: list[str] = judge(blocks, settled=True)["why"]["cleared"]
    return cleared


def test_each_component_between_two_points_that_agree_is_cleared() -> None:
    """All but the source, of which nobody sees what it lost inside."""
    assert _cleared(WHOLE) == ["gateway", "transport", *BEHIND]


@pytest.mark.parametrize(
    ("lost", "cleared"),
    [("ingress", ["transport", *BEHIND]), ("egress", BEHIND), ("wire", ["gateway", "reducer"]),
     ("parsed", ["gateway", "transport"]), ("applied", ["gateway", "transport", "parser"])],
)  # fmt: skip
def test_a_missing_record_clears_nobody(lost: str, cleared: list[str]) -> None:
    """Its neighbours may have the same output, and it would have told more than that."""
    assert _cleared([block for block in WHOLE if block.point != lost]) == cleared


def test_a_second_process_of_which_a_record_is_missing_clears_nobody_there() -> None:
    """What the network did to one client, the record of another does not tell."""
    other = [
        replace(b, witness="9" * 16, recorder=b.recorder[:-1] + "9") for b in WHOLE if b.point in ("wire", "parsed")
    ]
    assert _cleared([*WHOLE, *other]) == ["gateway", "transport", "parser"]
    assert _cleared([*WHOLE, *(block for block in other if block.point == "parsed")]) == ["gateway"]


@pytest.mark.parametrize(("broken", "integrity"), [(0, "intact"), (1, "unproven")])
def test_broken_events_of_which_no_row_tells_are_not_in_order(broken: int, integrity: str) -> None:
    """The closing blocks count one that nobody can read: with its row it would be a fault of the source."""
    blocks = path(ANSWER, ANSWER, ANSWER)
    told = [replace(block, totals=block.totals | {"malformed": broken}, rows=None, summary=True) for block in blocks]
    verdict = judge(told, settled=True)
    assert (verdict["integrity"], verdict["findings"]) == (integrity, [])
