"""One hop by digests, rule by rule (docs/design.md §7.2), on gateway out → client received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bench.truth.build import Event, How, answer, summary
from streamwitness.blocks import Block
from streamwitness_analyzer.judge import judge

WORDS = answer(range(1, 31))
EQUAL = answer([7] * 10)


def hop(
    sent: Sequence[Event],
    got: Sequence[Event],
    *,
    end: str = "eof",
    cuts: Sequence[int] = (),
    lost: Sequence[tuple[str, int]] = (),
    level: str = "digests",
    no_closing: str = "",
) -> dict[str, Any]:
    """The verdict on one hop; `lost` are (point, index) of blocks that never came."""
    blocks = [
        *How("egress", expected=("wire",), level=level).blocks(sent, cuts),
        *How("wire", end=end, expected=("egress",), level=level).blocks(got, cuts),
    ]
    kept = [
        b for b in blocks if (b.point, b.index) not in set(lost) and not (b.final and b.point == no_closing)
    ]  # fmt: skip
    return judge(kept, settled=True)


def only(verdict: dict[str, Any]) -> dict[str, Any]:
    """The one finding there must be."""
    assert len(verdict["findings"]) == 1, verdict["findings"]
    return dict(verdict["findings"][0])


def told(verdict: dict[str, Any]) -> tuple[Any, ...]:
    """Kind, count, exactness, place and doubt of the one finding."""
    finding = only(verdict)
    return (finding["kind"], finding["count"], finding["exact"], tuple(finding["sequence"]), finding["about"])


def without(events: Sequence[Event], *places: int) -> list[Event]:
    """The events but these."""
    return [event for i, event in enumerate(events) if i not in places]


def test_equal_closings_are_intact_whatever_rows_are_lost() -> None:
    """Rule 1: counts and order sums of the closing blocks prove the hop."""
    verdict = hop(WORDS, WORDS, cuts=(5, 10, 20), lost=[("egress", 0), ("egress", 2), ("wire", 1)])
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])


def test_a_summary_proves_as_much_as_its_closing_block() -> None:
    """Rule 1, with the rows of both closing blocks lost and their summaries held."""
    blocks = [*How("egress", expected=("wire",)).blocks(WORDS), *How("wire").blocks(WORDS)]
    verdict = judge([summary(block) for block in blocks], settled=True)
    assert verdict["integrity"] == "intact"


def test_lost_event() -> None:
    """Rule 4: what B lacks is a multiset difference, its place exact."""
    assert told(hop(WORDS, without(WORDS, 12))) == ("gap", 1, True, (12, 12), False)


def test_lost_run() -> None:
    """Neighbours that are lost together are one finding."""
    assert told(hop(WORDS, without(WORDS, 12, 13, 14))) == ("gap", 3, True, (12, 14), False)


def test_two_lost_events_are_two_findings() -> None:
    """Each with its own place."""
    verdict = hop(WORDS, without(WORDS, 5, 20))
    assert [(f["kind"], f["sequence"]) for f in verdict["findings"]] == [("gap", [5, 5]), ("gap", [20, 20])]


def test_which_of_equal_neighbours_was_lost_is_not_claimed() -> None:
    """Rule 8: the range covers every explanation, and says so."""
    assert told(hop(EQUAL, without(EQUAL, 4))) == ("gap", 1, True, (1, 10), True)


def test_everything_after_an_event() -> None:
    """A prefix of A is a tail."""
    assert told(hop(WORDS, WORDS[:20], end="reset")) == ("tail", 12 + 1, True, (20, 32), False)


def test_swapped_neighbours() -> None:
    """Same multiset, other order."""
    swapped = [*WORDS[:6], WORDS[7], WORDS[6], *WORDS[8:]]
    assert told(hop(WORDS, swapped))[:4] == ("reorder", 1, True, (6, 7))


def test_doubled_event_is_placed_where_it_stood() -> None:
    """A surplus that A has is a duplicate."""
    assert told(hop(WORDS, [*WORDS[:9], WORDS[8], *WORDS[9:]])) == ("duplicate", 1, True, (8, 8), False)


def test_invented_event() -> None:
    """A surplus that A never had is fabricated."""
    finding = only(hop(WORDS, [*WORDS[:9], Event(999), *WORDS[9:]]))
    assert (finding["kind"], finding["count"], finding["exact"]) == ("fabricated", 1, True)


def test_changed_bytes_in_place() -> None:
    """One place that differs is corrupt, not lost and invented."""
    assert told(hop(WORDS, [*WORDS[:9], Event(999), *WORDS[10:]])) == ("corrupt", 1, True, (9, 9), False)


def test_rewriting_proxy_is_corrupt_everywhere() -> None:
    """A proxy that re-serialises every event changes each of them, and loses none."""
    rewritten = [Event(e.text, e.parts, payload=e.digest + 1) for e in WORDS]
    finding = only(hop(WORDS, rewritten))
    assert (finding["kind"], finding["count"]) == ("corrupt", len(WORDS))


def test_rewriting_proxy_before_a_cancel_is_corrupt_too() -> None:
    """The same where the client stopped by itself."""
    rewritten = [Event(e.text, e.parts, payload=e.digest + 1) for e in WORDS[:9]]
    finding = only(hop(WORDS, rewritten, end="cancelled"))
    assert (finding["kind"], finding["count"], finding["exact"]) == ("corrupt", 9, False)


def test_lost_rows_outside_the_window_do_not_matter() -> None:
    """Rule 3: an equal prefix and suffix are proven by sums, their rows are not needed."""
    verdict = hop(WORDS, without(WORDS, 12), cuts=(5, 10, 20), lost=[("egress", 0), ("wire", 0)])
    assert told(verdict) == ("gap", 1, True, (12, 12), False)


def test_lost_rows_in_the_window_leave_an_exact_count_of_one_run() -> None:
    """Prefix and suffix meet at B: exactly the rest of A was lost, though nobody saw its rows."""
    verdict = hop(WORDS, without(WORDS, *range(10, 20)), cuts=(10, 20), lost=[("egress", 1)])
    finding = only(verdict)
    assert (finding["kind"], finding["count"], finding["exact"]) == ("gap", 10, True)


def test_lost_rows_in_the_window_leave_a_bound() -> None:
    """Rule 5, without decoding: how many at least, and where about."""
    verdict = hop(WORDS, without(WORDS, 12, 17), cuts=(10, 20), lost=[("egress", 1), ("wire", 1)])
    finding = only(verdict)
    assert (finding["kind"], finding["count"], finding["exact"], finding["about"]) == ("gap", 2, False, True)
    assert finding["sequence"][0] <= 12 <= 17 <= finding["sequence"][1]


def test_equal_sums_of_a_lost_window_are_out_of_order() -> None:
    """Rule 5: S equal, O different."""
    swapped = [*WORDS[:12], WORDS[13], WORDS[12], *WORDS[14:]]
    verdict = hop(WORDS, swapped, cuts=(10, 20), lost=[("egress", 1), ("wire", 1)])
    assert (only(verdict)["kind"], only(verdict)["exact"]) == ("reorder", False)


def test_different_sums_of_a_lost_window_are_a_mismatch() -> None:
    """Rule 5: as many as before, but not the same."""
    changed = [*WORDS[:12], Event(999), *WORDS[13:]]
    verdict = hop(WORDS, changed, cuts=(10, 20), lost=[("egress", 1), ("wire", 1)])
    assert only(verdict)["kind"] == "mismatch"


@pytest.mark.parametrize("lost", ["egress", "wire"])
def test_no_closing_no_claim(lost: str) -> None:
    """Rule 2: without a closing block what is missing may still have come."""
    verdict = hop(WORDS, WORDS, cuts=(10, 20), no_closing=lost)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


def test_telemetry_loss_is_never_stream_loss() -> None:
    """Rule 2: B's last blocks are lost, and nobody is accused of losing the events in them."""
    verdict = hop(WORDS, WORDS, cuts=(10, 20), lost=[("wire", 1), ("wire", 2)])
    assert (verdict["integrity"], verdict["findings"], verdict["telemetry"]["missing_points"]) == ("unproven", [], [])


def test_order_that_differs_at_a_known_place_is_proof_without_closings() -> None:
    """Rule 2 (b), rule 6: the component is certain; lost or late is not known."""
    verdict = hop(WORDS, without(WORDS, 5), cuts=(10, 20), no_closing="wire")
    assert told(verdict)[:4] == ("gap_or_late", 1, False, (5, 5))


def test_more_than_was_sent_is_proof() -> None:
    """Rule 2 (c): B has more than A, whose closing is held."""
    verdict = hop(WORDS[:12], WORDS[:15], cuts=(10, 14), no_closing="wire")
    finding = only(verdict)
    assert (finding["kind"], finding["exact"]) == ("fabricated", False)


def test_less_than_is_known_to_be_sent_is_proof() -> None:
    """Rule 2 (d): B was ended by its peer with less than A is known to have handed on."""
    verdict = hop(WORDS, WORDS[:12], end="reset", cuts=(10, 20), no_closing="egress")
    assert told(verdict)[:4] == ("tail", 8, False, (12, 19))


def test_without_the_closing_before_losses_are_certain_additions_never() -> None:
    """Rule 7."""
    gap = hop(WORDS, without(WORDS, 5), cuts=(10, 20), no_closing="egress")
    assert told(gap)[:4] == ("gap", 1, False, (5, 5))
    more = hop(WORDS, [*WORDS[:5], Event(999), *WORDS[5:]], cuts=(10, 20), no_closing="egress")
    assert {f["kind"] for f in more["findings"]} <= {"mismatch"}


@pytest.mark.parametrize("end", ["cancelled", "timeout", "abandoned", "raised", "unknown"])
def test_what_the_client_did_not_read_is_not_lost(end: str) -> None:
    """Accountability: an own stop leaves the rest unread, with a note."""
    verdict = hop(WORDS, WORDS[:9], end=end)
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])
    assert [(n["kind"], n["count"]) for n in verdict["notes"]] == [("undelivered", len(WORDS) - 9)]


def test_a_loss_before_an_own_stop_is_seen() -> None:
    """Rule 6: three unique neighbours behind it prove that B went past."""
    verdict = hop(WORDS, without(WORDS, 5)[:20], end="cancelled")
    assert told(verdict)[:4] == ("gap_or_late", 1, False, (5, 5))


def test_a_difference_before_an_own_stop_without_an_anchor_has_no_kind() -> None:
    """Rule 6: two words repeated at random prove a difference, not what it is."""
    words = answer([1, 2, 1, 1, 2, 2, 1, 2, 1, 1])
    got = answer([1, 2, 1, 2, 2, 1])[:-2]
    assert only(hop(words, got, end="cancelled"))["kind"] == "mismatch"


def test_a_stop_at_the_terminator_counts_as_the_peers_end() -> None:
    """§5 rule 7: at `wire` when the last event at gateway out is known to be that terminal."""
    assert told(hop(WORDS, without(WORDS, 12), end="stopped_at_terminal"))[0] == "gap"


def test_a_stop_at_a_terminator_that_was_not_the_last_event_leaves_the_tail_open() -> None:
    """§5 rule 7: what the gateway sent behind the terminator was never due."""
    verdict = hop([*WORDS, Event(5)], WORDS, end="stopped_at_terminal")
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])


@pytest.mark.parametrize("level", ["counters", "rows"])
def test_without_digests_equal_counts_prove_nothing(level: str) -> None:
    """Counts can prove a loss, never its absence."""
    verdict = hop(WORDS, WORDS, level=level)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


@pytest.mark.parametrize("level", ["counters", "rows"])
def test_without_digests_a_lower_count_is_a_loss_somewhere(level: str) -> None:
    """At least so many, anywhere."""
    assert told(hop(WORDS, without(WORDS, 12), level=level)) == ("gap", 1, False, (0, len(WORDS) - 1), True)


def test_an_observer_fault_makes_the_rest_of_the_point_unknown() -> None:
    """§5 rule 1: from the marked block on nothing is held against anybody."""
    blocks: list[Block] = How("egress", expected=("wire",)).blocks(WORDS, (10,))
    faulty = How("wire", extra=(("stream.observer_fault", "ValueError"),)).blocks(WORDS[:5])
    verdict = judge([*blocks, *faulty], settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])
    assert verdict["telemetry"]["observer_faults"] == 1


def test_an_observer_fault_later_on_claims_no_loss_of_what_follows() -> None:
    """What came before the marked block is still held; a peer's end behind it proves nothing."""
    blocks: list[Block] = How("egress", expected=("wire",)).blocks(WORDS, (10,))
    wire = How("wire").blocks(WORDS[:20], (10,))
    wire[1].extra["stream.observer_fault"] = "ValueError"
    verdict = judge([*blocks, *wire], settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


def test_what_a_faulty_observer_recorded_is_not_held_against_anybody() -> None:
    """The marked block may hold anything."""
    blocks: list[Block] = How("egress", expected=("wire",)).blocks(WORDS, (10,))
    wire = How("wire").blocks([*WORDS[:10], Event(999), *WORDS[11:]], (10,))
    wire[1].extra["stream.observer_fault"] = "ValueError"
    assert judge([*blocks, *wire], settled=True)["findings"] == []


def test_beyond_the_bound_counts_stay_exact() -> None:
    """Rule 4: too many changes for a search leave exact counts and a coarse range."""
    sent = answer(range(1, 400))
    got = without(sent, *range(3, 390, 2))
    verdict = hop(sent, got)
    assert sum(f["count"] for f in verdict["findings"]) == len(sent) - len(got)
    assert all(f["exact"] and f["kind"] == "gap" for f in verdict["findings"])


def test_a_run_that_repeats_in_part_has_no_sure_place() -> None:
    """What is left may be left by losing other events than one run: the place is the hull over all ways."""
    sent = answer([7] * 8)
    assert told(hop(sent, sent[:6])) == ("tail", 5, True, (1, 10), True)


def test_what_is_not_known_of_a_lost_end_may_be_what_came() -> None:
    """Rows that are lost at A may be equal to those that B has: then others than the end may be lost."""
    sent = answer([7] * 10)
    blocks = [block for block in How("egress", expected=("wire",)).blocks(sent, (7, 11)) if block.index != 1]
    verdict = judge([*blocks, *How("wire").blocks(sent[:7])], settled=True)
    assert [(f["kind"], f["count"], f["about"]) for f in verdict["findings"]] == [("tail", 6, True)]


def test_a_run_that_no_other_explains_has_a_sure_place() -> None:
    """Repeated texts elsewhere do not matter."""
    sent = answer([7, 7, 7, 1, 2, 3, 7, 7])
    assert told(hop(sent, without(sent, 4, 5))) == ("gap", 2, True, (4, 5), False)


@pytest.mark.parametrize("after", [0, 1, 4])
def test_an_event_changed_in_its_place_is_no_invention_where_the_end_is_lost(after: int) -> None:
    """One of A's is missing at that very place, or may be: so many are known behind it."""
    got = [*WORDS[:12], Event(700), *WORDS[13:]]
    verdict = hop(WORDS, got, cuts=(13 + after,), no_closing="wire")
    assert {finding["kind"] for finding in verdict["findings"]} - {"gap_or_late"} == {"mismatch"}


def test_an_event_between_two_that_both_came_is_an_invention() -> None:
    """Nothing of A is missing before it, though the end of B is lost."""
    got = [*WORDS[:12], Event(700), *WORDS[12:]]
    assert only(hop(WORDS, got, cuts=(17,), no_closing="wire"))["kind"] == "fabricated"
