"""The hop on which rows name their origin: client parsed → client applied (docs/design.md §7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import Event, How, answer, handed_on, path, used
from streamwitness.semconv import EARLIER_RECORD, MISSING, REASONING, SHARED_RECORD, USAGE
from streamwitness_analyzer.judge import judge

ANSWER = answer(range(1, 21))
PARSED = handed_on(ANSWER)
APPLIED = used(PARSED)


def reduce(
    applied: Sequence[Event], *, end: str = "eof", lost: Sequence[int] = (), cuts: Sequence[int] = ()
) -> dict[str, Any]:
    """The verdict when everything before the reducer is healthy."""
    blocks = path(ANSWER, ANSWER, ANSWER, PARSED)
    made = How("applied", end=end, of="parsed").blocks(applied, cuts)
    kept = [b for b in made if b.index not in lost]
    return judge([*blocks, *kept], settled=True)


def told(verdict: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Kind, suspects, count and place of each finding."""
    return [(f["kind"], f["suspects"], f["count"], tuple(f["sequence"])) for f in verdict["findings"]]


def changed(position: int, **what: Any) -> list[Event]:
    """The applied rows with one changed."""
    return [replace(e, **what) if e.of == position else e for e in APPLIED]


def test_healthy() -> None:
    """Everything applied."""
    verdict = reduce(APPLIED)
    assert (verdict["integrity"], verdict["counts"]) == ("intact", {"sent": 23, "used": 23})


def test_how_much_was_used_is_not_known_where_reports_name_no_event() -> None:
    """Copies of what was handed on say that something was applied, and not what: unknown, not none."""
    verdict = reduce([replace(e, of=MISSING) for e in APPLIED])
    assert (verdict["integrity"], verdict["counts"]["used"]) == ("unproven", None)


@pytest.mark.parametrize(("result", "kind"), [("raised", "gap"), ("overflow_dropped", "gap"), ("partial", "partial")])
def test_reported_losses_are_the_reducers(result: str, kind: str) -> None:
    """`raised`, `overflow_dropped` and `partial` are losses."""
    assert told(reduce(changed(9, result=result))) == [(kind, ["reducer"], 1, (9, 9))]


def test_reported_losses_in_a_row_are_one_finding() -> None:
    """A reducer that raises on three neighbours."""
    applied = [replace(e, result="raised") if 5 <= e.of <= 7 else e for e in APPLIED]
    assert told(reduce(applied)) == [("gap", ["reducer"], 3, (5, 7))]


def test_raised_and_then_applied_is_applied() -> None:
    """One row an event is the rule; the last one is what became of it."""
    applied = [*APPLIED[:9], replace(APPLIED[9], result="raised"), *APPLIED[9:]]
    assert told(reduce(applied)) == []


def test_ignored_is_a_note() -> None:
    """Left out on purpose is no fault."""
    verdict = reduce(changed(9, result="ignored"))
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])
    assert [(n["kind"], n["count"]) for n in verdict["notes"]] == [("ignored", 1)]


@pytest.mark.parametrize("result", ["raised", "overflow_dropped", "partial", "buffered", "gap"])
@pytest.mark.parametrize("lost", [1, 3], ids=["within", "the closing block"])
def test_what_was_refused_may_have_been_taken_in_a_lost_report(result: str, lost: int) -> None:
    """An application may try again: no refusal is the last word while a later report of old events may be lost."""
    again = [*changed(2, result=result)[:12], APPLIED[2], *APPLIED[12:]]
    assert told(reduce(again, cuts=(5, 15, 18))) == []
    late = [*changed(2, result=result), APPLIED[2]]
    blocks, place = (again, (5, 15, 18)) if lost == 1 else (late, (5, 15, 20))
    verdict = reduce(blocks, cuts=place, lost=(lost,))
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


def test_what_was_dropped_in_a_lost_report_is_not_displaced_where_it_is_taken_later() -> None:
    """It may have been dropped in its place, and fetched again from a store."""
    applied = [*changed(2, result="overflow_dropped"), APPLIED[2]]
    verdict = reduce(applied, cuts=(5, 15), lost=(0,))
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


@pytest.mark.parametrize("lost", [(), (0,)])
def test_what_is_refused_after_it_was_taken_is_in_the_answer(lost: Sequence[int]) -> None:
    """A copy that a reducer refuses, of an event that it has, or may have."""
    applied = [*APPLIED, replace(APPLIED[2], result="duplicate")]
    verdict = reduce(applied, cuts=(5, 15), lost=lost)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven" if lost else "intact", [])


def test_what_an_application_held_back_when_it_stopped_was_in_its_hand() -> None:
    """It had the rest of its time for that; only one that read to the end has refused what it still holds."""
    held = [replace(e, result="buffered") for e in APPLIED[:12]]
    assert reduce(held, end="cancelled")["findings"] == []
    assert [f["kind"] for f in reduce(held, end="eof")["findings"]] == ["gap", "tail"]


def test_an_event_that_was_passed_over_is_lost() -> None:
    """Ownership: the block in which the maximum passes it does not have it."""
    assert told(reduce([e for e in APPLIED if e.of != 9])) == [("gap", ["reducer"], 1, (9, 9))]


def test_events_without_model_output_may_be_left_out() -> None:
    """An application that looks at text only has lost nothing."""
    verdict = reduce([e for e in APPLIED if e.content])
    assert (verdict["integrity"], verdict["findings"], verdict["counts"]["used"]) == ("intact", [], 23)


def test_everything_from_an_event_on() -> None:
    """The iterator was read to its end, the rest was never applied."""
    assert told(reduce(APPLIED[:15])) == [("tail", ["reducer"], 6, (15, 20))]


def test_an_application_that_stopped_owes_nothing_further() -> None:
    """Own stop: what comes later is unread."""
    verdict = reduce(APPLIED[:15], end="cancelled")
    assert verdict["findings"] == []


def test_applied_twice_is_a_duplicate() -> None:
    """The reducer took the same event in again."""
    assert told(reduce([*APPLIED[:9], APPLIED[8], *APPLIED[9:]])) == [("duplicate", ["reducer"], 1, (8, 8))]


def test_applied_out_of_order() -> None:
    """The fewest events that must move."""
    moved = [*APPLIED[:5], *APPLIED[6:12], APPLIED[5], *APPLIED[12:]]
    assert told(reduce(moved)) == [("reorder", ["reducer"], 1, (5, 5))]


def test_a_row_without_a_name_proves_no_absence() -> None:
    """An object that was not handed on may have been any event."""
    applied = [replace(e, of=MISSING) if e.of == 9 else e for e in APPLIED]
    verdict = reduce(applied)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


def test_a_lost_block_owns_what_it_passed() -> None:
    """Its events are unknown; those of held blocks are still judged."""
    assert reduce(APPLIED, cuts=(5, 10, 15), lost=(1,))["findings"] == []
    applied = [e for e in APPLIED if e.of != 12]
    assert told(reduce(applied, cuts=(5, 10, 15), lost=(1,))) == [("gap", ["reducer"], 1, (12, 12))]


@pytest.mark.parametrize("result", ["raised", None])
def test_a_count_beside_lost_reports_is_a_bound(result: str | None) -> None:
    """More may have gone the same way in the block that is lost."""
    applied = [replace(e, result=result or e.result) for e in APPLIED if e.of != 12 or result]
    applied = [e if e.of == 12 else replace(e, result="applied") for e in applied]
    finding = reduce(applied, cuts=(5, 10, 15), lost=(1,))["findings"][0]
    assert (finding["count"], finding["exact"]) == (1, False)
    assert reduce(applied, cuts=(5, 10, 15))["findings"][0]["exact"]


@pytest.mark.parametrize(
    "applied",
    [
        [e for e in APPLIED if e.of != 7],
        [*APPLIED[:7], *APPLIED[6:]],
        [*APPLIED[:6], APPLIED[7], APPLIED[6], *APPLIED[8:]],
    ],
    ids=["one left out", "one twice", "two exchanged"],
)
def test_what_only_follows_from_reports_is_unproven_while_a_result_may_be_shown(applied: list[Event]) -> None:
    """The closing block tells it, and one that is equal to what was given clears all."""
    blocks = path(ANSWER, ANSWER, ANSWER, PARSED)
    made = How("applied", of="parsed").blocks(applied, (12,))
    verdict = judge([*blocks, made[0]], settled=True)
    assert (verdict["findings"], verdict["integrity"]) == ([], "unproven")


@pytest.mark.parametrize("shown", [True, False])
def test_a_result_that_could_not_be_compared_leaves_what_was_not_reported_unproven(shown: bool) -> None:
    """Who stopped by itself has read too little; what it reports as lost is lost all the same."""
    slots = ("0/text/0 00000001 9",) if shown else ()
    blocks = path(ANSWER, ANSWER, ANSWER, PARSED)
    applied = [replace(e, result="raised") if e.of == 4 else e for e in APPLIED[:12] if e.of != 7]
    made = How("applied", of="parsed", end="cancelled", slots=slots).blocks(applied)
    kinds = [f["kind"] for f in judge([*blocks, *made], settled=True)["findings"]]
    assert sorted(kinds) == (["gap"] if shown else ["gap", "gap_or_late"])
    silent = How("applied", of="parsed", end="cancelled", slots=slots).blocks([e for e in APPLIED[:12] if e.of != 7])
    assert judge([*blocks, *silent], settled=True)["integrity"] == ("unproven" if shown else "damaged")


def test_a_result_beside_content_that_is_not_told_leaves_it_unproven() -> None:
    """The digests of what was given did not come, so that nobody knows whether it is equal."""
    made = How("applied", of="parsed", slots=("0/text/0 00000001 60",)).blocks([e for e in APPLIED if e.of != 7])
    verdict = judge([*path(ANSWER, ANSWER, ANSWER, PARSED, parsed=How("parsed", slots=())), *made], settled=True)
    assert (verdict["findings"], verdict["integrity"]) == ([], "unproven")


def test_the_counters_of_a_lost_block_prove_what_it_skipped() -> None:
    """How many positions it passed over is known, which ones is not."""
    applied = [e for e in APPLIED if e.of != 7]
    finding = reduce(applied, cuts=(5, 10, 15), lost=(1,))["findings"][0]
    assert (finding["kind"], finding["suspects"], finding["count"], finding["exact"]) == ("gap", ["reducer"], 1, False)
    assert finding["sequence"][0] <= 7 <= finding["sequence"][1]


def test_a_lost_block_may_skip_events_without_output() -> None:
    """Usage in mid-stream that the application leaves out is not lost in a lost block either."""
    events = [*ANSWER[:7], Event(parts=USAGE), *ANSWER[7:]]
    parsed = handed_on(events)
    applied = [e for e in used(parsed) if e.of != 7]
    made = How("applied", of="parsed").blocks(applied, (5, 10, 15))
    verdict = judge([*path(events, events, events, parsed), *(b for b in made if b.index != 1)], settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


@pytest.mark.parametrize("end", ["eof", "cancelled"])
def test_an_event_left_out_whose_row_is_lost_before_leaves_the_hop_unproven(end: str) -> None:
    """It may have carried text."""
    how = {"parsed": How("parsed", end=end), "applied": How("applied", end=end, of="parsed")}
    blocks = path(None, None, ANSWER, PARSED, [e for e in APPLIED if e.of != 9], cuts=lambda n: [8, 12], **how)
    verdict = judge([b for b in blocks if (b.point, b.index) != ("parsed", 1)], settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


def test_a_lost_block_that_holds_stragglers_makes_every_gap_a_maybe() -> None:
    """Regressions in it may be the very events that seem to be missing."""
    moved = [*APPLIED[:3], *APPLIED[4:8], APPLIED[3], *APPLIED[8:]]
    kinds = {f["kind"] for f in reduce(moved, cuts=(5, 10, 15), lost=(1,))["findings"]}
    assert kinds <= {"gap_or_late"}


def test_names_that_cannot_be_prove_nothing() -> None:
    """More positions than the parser ever handed on."""
    verdict = reduce([*APPLIED, replace(APPLIED[-1], of=500)])
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


def test_a_rejection_after_an_earlier_fault_points_back() -> None:
    """A fail-closed reducer does not frame itself."""
    wire = [*ANSWER[:5], *ANSWER[6:]]
    parsed = handed_on(wire)
    applied = [replace(e, result="gap" if e.of >= 5 else "applied") for e in used(parsed)]
    verdict = judge(path(ANSWER, ANSWER, wire, parsed, applied), settled=True)
    assert told(verdict) == [("gap", ["transport"], 1, (5, 5))]
    assert "rejected" in {n["kind"] for n in verdict["notes"]}


def test_a_rejection_on_an_intact_path_answers_to_the_reducer_or_the_source() -> None:
    """Where every hop is intact, either the reducer is wrong, or the provider's own stream was."""
    verdict = reduce(changed(9, result="duplicate"))
    finding = verdict["findings"][0]
    assert (finding["suspects"], finding["confidence"]) == (["source", "reducer"], "narrowed")


def test_rows_that_name_the_wire_judge_parser_and_reducer_together() -> None:
    """Without a record of the parser the two cannot be told apart."""
    applied = [replace(e, of=e.of) for e in used(ANSWER) if e.of != 9]
    blocks = path(ANSWER, ANSWER, ANSWER)
    verdict = judge([*blocks, *How("applied", of="wire").blocks(applied)], settled=True)
    finding = verdict["findings"][0]
    assert (finding["suspects"], finding["confidence"]) == (["parser", "reducer"], "narrowed")


MIXED = [Event(1), Event(2, REASONING), Event(3), Event(4, REASONING), Event(5), Event(6, REASONING), *PARSED[-1:]]


def taken(
    order: Sequence[int], *, cuts: Sequence[int] = (), lost: Sequence[int] = (), end: str = "eof"
) -> dict[str, Any]:
    """The verdict where an application took up text and reasoning in this order."""
    events = [*MIXED, ANSWER[-1]]
    made = How("applied", end=end, of="parsed").blocks([used(MIXED)[position] for position in order], cuts)
    return judge([*path(events, events, events, MIXED), *(b for b in made if b.index not in lost)], settled=True)


def test_one_kind_of_output_after_another() -> None:
    """Each in its own order: nothing is displaced, and it is not the order in which it came."""
    verdict = taken([1, 3, 5, 0, 2, 4, 6])
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])
    assert taken(range(7))["integrity"] == "intact"


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([1, 3, 5, 2, 4, 0, 6], [("reorder", ["reducer"], 1, (0, 0))]),
        ([1, 3, 5, 0, 4, 6], [("gap", ["reducer"], 1, (2, 2))]),
        ([6, 1, 3, 5, 0, 2, 4], [("reorder", ["reducer"], 1, (6, 6))]),
        ([1, 3, 5, 0, 2, 2, 4, 6], [("duplicate", ["reducer"], 1, (2, 2))]),
    ],
    ids=["within a kind", "one that is missing", "the finish before all", "one twice"],
)
def test_what_is_wrong_within_one_kind(order: list[int], expected: list[tuple[Any, ...]]) -> None:
    """Is told, whatever stands between."""
    found = [(kind.removesuffix("_or_late"), *rest) for kind, *rest in told(taken(order))]
    assert found == expected


@pytest.mark.parametrize("lost", [(0,), (1,), (2,), (0, 1), (1, 2)], ids=str)
def test_lost_reports_of_one_kind_after_another(lost: tuple[int, ...]) -> None:
    """What is not in the reports that came may be in those that were lost, late and in its own order."""
    assert taken([1, 3, 5, 0, 2, 4, 6], cuts=(3, 5), lost=lost)["findings"] == []


def test_who_stops_before_the_last_of_a_kind() -> None:
    """What was passed over may have been left for later, or lost: neither intact nor a fault."""
    for order, integrity in (([0, 1, 2, 4], "unproven"), ([0, 1, 2, 3], "intact"), ([0, 2, 3, 5], "damaged")):
        assert taken(order, end="cancelled")["integrity"] == integrity


def test_reports_of_which_the_rows_were_cut_off_prove_nothing() -> None:
    """Their counters are held: how many events were named, in order; not what became of each."""
    handed = handed_on(ANSWER)
    refused = [replace(event, result="duplicate") if n == 4 else event for n, event in enumerate(used(handed))]
    blocks = path(ANSWER, ANSWER, ANSWER, handed, refused)
    cut = [replace(block, rows=None) if block.point == "applied" else block for block in blocks]
    assert judge(cut, settled=True)["integrity"] == "unproven"


@pytest.mark.parametrize(("end", "integrity"), [("cancelled", "intact"), ("eof", "unproven")])
def test_kinds_that_an_own_stop_never_came_to_were_not_left_out(end: str, integrity: str) -> None:
    """Who stopped before the first text has not shown that it has no use for texts."""
    assert reduce(APPLIED[:1], end=end)["integrity"] == integrity


@pytest.mark.parametrize("raised", [False, True])
def test_a_record_behind_another_one_accuses_nobody(raised: bool) -> None:
    """Another record of the application was closed before this one began, and is lost: it may hold what is not here."""
    applied = [replace(e, result="raised" if raised and e.of == 20 else e.result) for e in APPLIED if e.of > 8]
    blocks = path(ANSWER, ANSWER, ANSWER, PARSED)
    made = How("applied", of="parsed", extra=((EARLIER_RECORD, True),)).blocks(applied, [4])
    for kept in (made, made[:1], made[1:]):
        verdict = judge([*blocks, *kept], settled=True)
        assert (told(verdict), verdict["integrity"]) == ([], "unproven")


@pytest.mark.parametrize("results", [("partial", "applied"), ("applied", "partial")])
def test_a_part_beside_the_whole_is_no_copy(results: tuple[str, str]) -> None:
    """A reducer may take an event up in parts, and report each of them."""
    twice = [replace(e, result=r) for e in APPLIED for r in (results if e.of == 9 else ("applied",))]
    assert "duplicate" not in {kind for kind, *_ in told(reduce(twice))}


def shared(applied: Sequence[Event], **how: Any) -> dict[str, Any]:
    """The verdict where several parts of the application report to one record."""
    made = How("applied", of="parsed", extra=((SHARED_RECORD, True),), **how).blocks(applied)
    return judge([*path(ANSWER, ANSWER, ANSWER, PARSED), *made], settled=True)


@pytest.mark.parametrize(
    "applied",
    [
        [e for e in APPLIED for _ in range(2)],
        [*APPLIED[::2], *APPLIED[1::2]],
        [*(replace(e, result="raised") if e.of == 5 else e for e in APPLIED), *APPLIED[3:8]],
        [*APPLIED, replace(APPLIED[4], result="raised")],
    ],
    ids=["both take up all", "one after the other", "one raised before", "one raised after"],
)
def test_several_that_report_to_one_record_have_an_order_each(applied: list[Event]) -> None:
    """How often and in which order events are named proves nothing, and what one took up is in the answer."""
    verdict = shared(applied)
    assert (verdict["findings"], verdict["integrity"]) == ([], "unproven")


def test_what_none_of_several_takes_up_is_lost() -> None:
    """And where all was taken up once, nothing is."""
    assert told(shared([e for e in APPLIED if e.of != 7])) == [("gap", ["reducer"], 1, (7, 7))]
    assert told(shared(changed(7, result="raised"))) == [("gap", ["reducer"], 1, (7, 7))]
    assert shared(APPLIED)["integrity"] == "intact"
    assert told(shared([e for e in APPLIED[:15] if e.of != 7], end="cancelled")) == []
