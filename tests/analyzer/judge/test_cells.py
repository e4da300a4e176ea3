"""The picture: a mark is a finding, and what is no finding has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from bench.truth.build import LEG, Event, How, answer, handed_on, path, used, usual
from bench.truth.streams import trial
from streamwitness.blocks import Block
from streamwitness.semconv import ERROR, REASONING, ROLE
from streamwitness_analyzer.judge import judge
from streamwitness_analyzer.judge.attribute import Step
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.telling import cells as picture
from streamwitness_analyzer.judge.testimony.records import Record

WORDS = answer(range(1, 9))


def drawn(blocks: list[Block]) -> dict[str, str]:
    """Point → its cells."""
    return {row["point"]: row["cells"] for row in judge(blocks, settled=True)["points"]}


def test_what_says_nothing_may_come_by_design() -> None:
    """A gateway that translates begins with events of its own: they stand in the picture, and are no extra ones."""
    sent = [Event(parts=ROLE), *WORDS]
    cells = drawn(path(WORDS, sent, sent))
    assert (cells["ingress"].count(" "), cells["egress"]) == (1, cells["wire"])
    assert "+" not in cells["egress"]


def test_an_error_that_reached_no_application_went_no_further() -> None:
    """It was told by an exception."""
    events = [*WORDS[:5], Event(parts=ERROR)]
    stopped = {point: How(point, end="stopped_at_terminal") for point in ("wire", "parsed")}
    applied = How("applied", end="stopped_at_terminal", of="parsed")
    assert (
        drawn(path(events, events, events, events, used(events[:5]), applied=applied, **stopped))["applied"] == "ooooou"
    )


def test_what_a_gateway_had_read_and_not_sent_went_no_further() -> None:
    """It ended its answer itself."""
    ingress = How("ingress", leg=0, end="cancelled", complete=False)
    assert drawn(path(WORDS[:7], WORDS[:5], WORDS[:5], ingress=ingress))["egress"] == "ooooouu"


def test_what_a_whole_record_does_not_have_did_not_come_that_far() -> None:
    """The gateway never closed what it read; what it sent is known, and that it did not send the rest."""
    read, sent = WORDS[:7], WORDS[:4]
    egress = How("egress", legs=(LEG,), end="disconnected", complete=False)
    blocks = path(read, sent, None, egress=egress, ingress=How("ingress", leg=0, size=3))
    cells = drawn([block for block in blocks if not (block.point == "ingress" and block.final)])
    assert (cells["ingress"], cells["egress"]) == ("oooooo", "oooouu")


def test_an_event_applied_twice_and_one_applied_in_part_are_marked() -> None:
    """In their own columns, for the count alone does not show where."""
    parsed = handed_on(WORDS)
    rows = used(parsed)
    twice = drawn(path(WORDS, WORDS, WORDS, parsed, [*rows[:4], rows[3], *rows[4:]]))["applied"]
    part = drawn(path(WORDS, WORDS, WORDS, parsed, [replace(e, result="partial") if e.of == 3 else e for e in rows]))
    assert (twice[3], part["applied"][3]) == ("+", "~")


def test_an_end_of_a_record_that_is_missing_is_not_known() -> None:
    """Not that nobody read it."""
    blocks = [b for b in path(None, WORDS, WORDS, cuts=cut_at(6)) if not (b.point == "wire" and b.final)]
    assert drawn(blocks)["wire"][-1] == "?"


def test_points_without_rows_hide_nothing_but_their_own() -> None:
    """The application's rows are lost; where the parser lost something is seen all the same."""
    parsed = handed_on([*WORDS[:4], *WORDS[5:]])
    blocks = path(None, WORDS, WORDS, parsed, used(parsed))
    cells = drawn([replace(b, rows=None, summary=True) if b.point == "applied" else b for b in blocks])
    assert (cells["parsed"][4], set(cells["applied"])) == ("x", {"?"})


def test_content_that_was_cut_anew_is_not_marked_as_lost() -> None:
    """That it is another content is proven; which events are missing is not."""
    slots = ("0/text/0 00c0ffee 24", "0/text/0 00decade 21")
    sent = [WORDS[0], Event(77), *WORDS[4:]]
    blocks = path(
        WORDS, sent, sent,
        ingress=How("ingress", leg=0, slots=slots[:1]), egress=How("egress", legs=(LEG,), slots=slots[1:]),
    )  # fmt: skip
    cells = drawn(blocks)["egress"]
    assert not set(cells) & {"x", "+"}


def test_a_response_that_is_not_laid_beside_the_answer_shows_its_own_end() -> None:
    """A cache answered; the picture does not say that the provider did not finish."""
    others = answer(range(101, 104))
    cells = drawn(path(WORDS, others, others))
    assert (cells["ingress"][-1], cells["egress"][-1]) == ("F", "F")


def cut_at(place: int) -> Callable[[int], list[int]]:
    """Blocks of so many events, and the rest."""
    return lambda _: [place]


def test_the_short_way_to_a_healthy_picture_draws_what_the_long_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of streams of the model, healthy and not, every row is the same where each event is drawn by itself."""
    streams = [trial(seed).blocks for seed in range(160)]
    short, is_taken = [rows_drawn(blocks) for blocks in streams], picture._nothing_is_odd
    taken: list[bool] = []

    def never(path: Path, steps: Sequence[Step], first: Record) -> bool:
        taken.append(is_taken(path, steps, first))
        return False

    monkeypatch.setattr(picture, "_nothing_is_odd", never)
    assert [rows_drawn(blocks) for blocks in streams] == short
    assert sum(taken) > 30


def rows_drawn(blocks: list[Block]) -> list[str]:
    """The cells of every record."""
    return [row["cells"] for row in judge(blocks, settled=True)["points"]]


def test_what_is_no_finding_has_no_mark_beside_one_that_is() -> None:
    """An application takes up one kind of output, and loses an event of it: the other kind is not known to be lost."""
    events = [*WORDS[:3], *(replace(e, parts=REASONING) for e in WORDS[3:6]), *WORDS[6:]]
    parsed = handed_on(events)
    rows = [e for e in used(parsed) if e.of not in (3, 4, 5, 7)]
    cells = drawn(path(events, events, events, parsed, rows))["applied"]
    assert (cells[7], set(cells[3:6])) == ("x", {"?"})


def test_an_end_that_was_made_up_is_marked_as_a_whole() -> None:
    """Its finish as well as its terminator."""
    broken = How("ingress", leg=0, end="reset", complete=False)
    sent = [*WORDS[:5], *WORDS[-2:]]
    assert drawn(path(WORDS[:5], sent, sent, ingress=broken))["egress"] == "ooooo++"


def test_a_terminator_behind_a_lost_end_is_not_said_to_be_there() -> None:
    """Nobody kept it back by design: it never left."""
    sent = WORDS[:5]
    cells = drawn(path(WORDS, sent, sent))
    assert (set(cells["egress"][5:]) <= {"x", "u"}, cells["egress"].count("F")) == (True, 0)


def test_an_event_in_place_of_one_without_output_is_another_one_on_the_network() -> None:
    """There every byte counts: a role that came as something else is no role in other words."""
    cancelled = How("wire", end="cancelled")
    cells = drawn(path(None, WORDS, [Event(77)], wire=cancelled))
    assert cells["wire"][0] == "+"


def test_behind_a_loss_that_only_counts_tell_no_event_has_a_column() -> None:
    """Without digests it may be any of them: no cross stands under one, and no finish in another's place."""
    got = [*WORDS[:4], *WORDS[5:]]
    hows = {p: replace(usual(p), level="rows") for p in ("wire", "parsed", "applied")}
    cells = drawn(path(WORDS, WORDS, got, handed_on(got), used(handed_on(got)), **hows))
    assert [cells[p] for p in ("wire", "parsed", "applied")] == ["?" * len(got)] * 3
    assert set(cells["egress"]) == {"o", "F"}
