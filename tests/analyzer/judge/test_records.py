"""What is done with blocks before anything is judged: repetition, order, contradiction, roles, closing."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from bench.truth.build import LEG, Event, How, answer, handed_on, path, summary, used
from streamwitness import rows
from streamwitness.blocks import Block
from streamwitness.semconv import ROLES
from streamwitness_analyzer.judge import all_closed, judge
from streamwitness_analyzer.judge.testimony.records import collect
from streamwitness_analyzer.judge.testimony.view import View

ANSWER = answer(range(1, 13))
PARSED = handed_on(ANSWER)


def whole() -> list[Block]:
    """A healthy path, every point cut into three blocks."""
    return path(ANSWER, ANSWER, ANSWER, PARSED, used(PARSED), cuts=lambda n: [n // 3, 2 * n // 3])


def broken() -> list[Block]:
    """The same with an event lost by the parser and a block lost by telemetry."""
    parsed = handed_on([*ANSWER[:5], *ANSWER[6:]])
    blocks = path(ANSWER, ANSWER, ANSWER, parsed, used(parsed), cuts=lambda n: [n // 3, 2 * n // 3])
    return [b for b in blocks if (b.point, b.index) != ("egress", 1)]


@pytest.mark.parametrize("make", [whole, broken])
def test_order_and_repetition_change_nothing(make: object) -> None:
    """Any order of arrival, copies and summaries included, gives the same document."""
    blocks: list[Block] = make()  # type: ignore[operator]
    expected = judge(blocks, settled=True)
    rng = Random(3)
    for _ in range(30):
        mixed = [*blocks, *rng.sample(blocks, 5), *(summary(b) for b in blocks if b.final)]
        rng.shuffle(mixed)
        assert judge(mixed, settled=True) == expected


def test_a_block_that_came_twice_with_different_content_discredits_its_witness() -> None:
    """§7.1: nothing of that process is used, and the conflict is counted."""
    blocks = whole()
    twin = replace(next(b for b in blocks if b.point == "wire" and b.index == 1), payload_s=1)
    verdict = judge([*blocks, twin], settled=True)
    assert verdict["telemetry"]["conflicts"] == 1
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])
    assert {p["point"] for p in verdict["points"] if p["held"] == "none"} == {"wire", "parsed", "applied"}


@pytest.mark.parametrize(
    "change",
    [{"end": "reset"}, {"complete": False}, {"row_count": 1}],
    ids=["end", "complete", "rows"],
)
def test_a_summary_that_disagrees_with_its_block_is_a_conflict(change: dict[str, object]) -> None:
    """The later copy must say the same."""
    blocks = whole()
    closing = next(b for b in blocks if b.point == "wire" and b.final)
    verdict = judge([*blocks, replace(summary(closing), **change)], settled=True)  # type: ignore[arg-type]
    assert verdict["telemetry"]["conflicts"] == 1


def test_a_block_behind_the_closing_block_is_a_conflict() -> None:
    """Nothing follows an end."""
    blocks = whole()
    closing = next(b for b in blocks if b.point == "wire" and b.final)
    later = replace(closing, index=closing.index + 1, position=closing.totals["events"], row_count=0, rows=None)
    assert judge([*blocks, later], settled=True)["telemetry"]["conflicts"] == 1


def test_a_position_that_is_not_the_total_before_is_a_conflict() -> None:
    """Blocks of one recorder follow each other without a gap or an overlap."""
    blocks = [replace(b, position=b.position + 1) if (b.point, b.index) == ("wire", 1) else b for b in whole()]
    assert judge(blocks, settled=True)["telemetry"]["conflicts"] == 1


def test_rows_that_do_not_add_up_to_their_sums_are_a_conflict() -> None:
    """A record whose rows and sums differ proves nothing, though no two blocks contradict each other by their head."""
    blocks = path(ANSWER, ANSWER, ANSWER, PARSED, used(PARSED))
    other = How("wire").blocks([*ANSWER[:3], Event(77), *ANSWER[4:]])[0]
    blocks = [replace(b, rows=other.rows, payload_o=(b.payload_o or 0) + 1) if b.point == "wire" else b for b in blocks]
    verdict = judge(blocks, settled=True)
    assert (verdict["telemetry"]["conflicts"], verdict["findings"]) == (1, [])


def test_a_client_key_cannot_testify_for_the_gateway() -> None:
    """§10: such a block is refused and counted, the rest is judged."""
    blocks = [replace(b, role="client") for b in whole()]
    verdict = judge(blocks, settled=True)
    assert verdict["telemetry"]["refused_blocks"] == 6
    assert {p["point"] for p in verdict["points"] if p["held"] != "none"} == {"wire", "parsed", "applied"}


def test_without_a_role_nothing_is_certain() -> None:
    """§7.5: a message whose sender is not known narrows, it does not prove."""
    blocks = [replace(b, role=None) for b in broken()]
    verdict = judge(blocks, settled=True)
    assert [(f["suspects"], f["confidence"]) for f in verdict["findings"]] == [(["parser"], "narrowed")]


def test_all_closed_wants_every_block_of_every_expected_point() -> None:
    """Each single block is needed; with all of them nothing is waited for."""
    blocks = whole()
    assert all_closed(blocks)
    for missing in range(len(blocks)):
        assert not all_closed([*blocks[:missing], *blocks[missing + 1 :]])


def test_all_closed_wants_expected_points_and_listed_legs() -> None:
    """A point that was announced, and an upstream attempt that was listed, are waited for."""
    gateway = path(ANSWER, ANSWER, None)
    assert all_closed(gateway)
    assert not all_closed(path(ANSWER, ANSWER, None, expected=("ingress", "egress", "wire")))
    listed = path(ANSWER, ANSWER, None, egress=How("egress", legs=(LEG, "9" * 16)))
    assert not all_closed(listed)


def test_a_summary_stands_for_a_closing_block_without_rows_only() -> None:
    """Rows that are still to come are waited for."""
    blocks = path(ANSWER, ANSWER, None)
    assert not all_closed([summary(b) for b in blocks])
    empty = path([], [], None)
    assert all_closed([summary(b) for b in empty])


def test_nothing_is_closed_where_nothing_came() -> None:
    """No blocks, no end."""
    assert not all_closed([])


@pytest.mark.parametrize("role", [*ROLES, None, "root"])
def test_whoever_has_a_role_vouches(role: str | None) -> None:
    """Every role that a key can have; a block that came without one, or with another, is nobody's word."""
    how = How("egress" if role == "gateway" else "wire")
    [record] = collect([replace(block, role=role) for block in how.blocks(answer([1, 2]))]).records
    assert record.vouched == (role in ROLES)


def test_a_column_that_is_not_there_is_not_zero() -> None:
    """What rows do not tell of the content of an event is unknown: no view takes the event for an empty one."""
    (block,) = How("egress").blocks([Event(1), Event(2)])
    names = [name for name in rows.COLUMNS if name != "content"]
    bare = replace(block, rows=rows.encode(dict(block.columns(*names)), block.row_count))
    for one, sizes in ((block, {3}), (bare, set())):
        (record,) = collect([one]).records
        assert set(View(record, "semantic").content.values()) == sizes
