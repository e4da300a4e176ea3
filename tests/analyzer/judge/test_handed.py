"""What a parser handed on, beside what it read: the same content in other pieces, and how it says that it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench.truth.build import DELIVERED_BY_SDK, FINISHED, Event, How, answer, handed_on
from streamwitness.semconv import (
    ASKED_AGAIN,
    FINISH,
    FINISH_REASONS_ATTRIBUTE,
    PART,
    PENDING_BYTES,
    SHARED_NUMBERS,
    TEXT,
    UNREAD,
)
from streamwitness_analyzer.judge.client.handed import judge_handed_on
from streamwitness_analyzer.judge.compare.change import Hop
from streamwitness_analyzer.judge.testimony.records import Record, collect

ANSWER = answer(range(1, 9))
SILENT = PART["other"]
CUT_ANEW = [*ANSWER[:3], Event(300), *ANSWER[5:-1]]
"""Two events of the answer as one."""
ALL, OTHER = ("0/text/0 aaaaaaaa 24",), ("0/text/0 bbbbbbbb 24",)


def record(how: How, events: Sequence[Event], lost: Sequence[int] = ()) -> Record:
    """What a point told; of these blocks the rows never came."""
    blocks = how.blocks(events, [4])
    (made,) = collect(replace(block, rows=None) if block.index in lost else block for block in blocks).records
    return made


def handed(
    parsed: Sequence[Event],
    *,
    slots: tuple[str, ...] = ALL,
    declared: bool = True,
    finish: str = "stop",
    lost: Sequence[int] = (),
) -> Hop:
    """The hop from what was received to these events."""
    before = How("wire", slots=ALL, extra=((FINISH_REASONS_ATTRIBUTE, ["stop"]),))
    delivers = DELIVERED_BY_SDK if declared else 0
    after = How("parsed", slots=slots, delivers=delivers, extra=((FINISH_REASONS_ATTRIBUTE, [finish]),))
    return judge_handed_on(record(before, ANSWER, lost), record(after, parsed), peer=True)


@pytest.mark.parametrize("declared", [True, False])
def test_the_same_content_in_other_pieces_is_intact(declared: bool) -> None:
    """The digest of all of it tells."""
    assert handed(CUT_ANEW, declared=declared).status == "intact"


def test_other_content_in_other_pieces_is_told_as_a_whole() -> None:
    """Of a parser that cuts anew no piece is lost or invented: the text is another one."""
    (change,) = handed(CUT_ANEW, slots=OTHER, declared=False).changes
    assert (change.kind, change.exact, change.proof.case) == ("altered", False, "by_content")


@pytest.mark.parametrize(("asked", "status"), [(True, "unproven"), (None, "faulty")])
def test_a_parser_that_asked_again_may_hand_on_another_answer(asked: bool | None, status: str) -> None:
    """What came more is then no invention; what is missing is missing all the same."""
    how = How("parsed", watched=True, slots=OTHER, extra=((ASKED_AGAIN, asked),))
    before = record(How("wire", slots=ALL, end="reset"), ANSWER[:6])
    assert judge_handed_on(before, record(how, [*ANSWER[:6], Event(99)]), peer=True).status == status
    assert judge_handed_on(before, record(how, [*ANSWER[:3], *ANSWER[4:6]]), peer=True).status == "faulty"


def test_content_that_broke_off_is_a_loss() -> None:
    """Its whole is another one, and nothing of it was changed."""
    before = record(How("egress", slots=ALL), ANSWER)
    after = record(How("parsed", end="reset", watched=True, slots=("0/text/0 bbbbbbbb 9",)), CUT_ANEW[:4])
    (change,) = judge_handed_on(before, after, peer=True).changes
    assert (change.kind, change.exact, change.proof.case) == ("gap", False, "by_content")


def test_of_a_parser_that_nobody_described_pieces_prove_nothing_without_the_whole() -> None:
    """It may have cut the content anew, and no digest of all of it says whether it is the same."""
    assert handed(CUT_ANEW, slots=(), declared=False).status == "unproven"


@pytest.mark.parametrize(("watched", "status"), [(True, "unproven"), (False, "faulty")])
@pytest.mark.parametrize("peer", [True, False])
def test_what_is_promised_of_a_watched_parser_proves_nothing(watched: bool, status: str, peer: bool) -> None:
    """Only of a hooked SDK's it is known that it hands on event by event; without the whole nothing else tells."""
    before = record(How("wire", slots=ALL), ANSWER)
    told = (ALL if not peer else (), "eof" if peer else "cancelled")
    how = How("parsed", slots=told[0], delivers=DELIVERED_BY_SDK, watched=watched, end=told[1])
    assert judge_handed_on(before, record(how, CUT_ANEW), peer=peer).status == status


@pytest.mark.parametrize("watched", [True, False])
def test_a_plain_loss_is_one_of_every_parser(watched: bool) -> None:
    """Nothing came out that did not come in, so nothing was cut anew."""
    how = How("parsed", slots=(), delivers=DELIVERED_BY_SDK, watched=watched)
    after = record(how, [*handed_on(ANSWER)[:3], *handed_on(ANSWER)[4:]])
    (change,) = judge_handed_on(record(How("wire", slots=ALL), ANSWER), after, peer=True).changes
    assert (change.kind, change.count, change.span) == ("gap", 1, (3, 3))


@pytest.mark.parametrize(("read", "out", "status"), [(0, 1, "unproven"), (1, 1, "intact"), (2, 1, "intact")])
@pytest.mark.parametrize("parsed", [handed_on(ANSWER), CUT_ANEW], ids=["as it came", "cut anew"])
def test_calls_that_came_out_under_one_number(read: int, out: int, status: str, parsed: list[Event]) -> None:
    """Their events are the same, for some servers number all of them 0; who joins by number would make one of two."""
    before = record(How("wire", slots=ALL, extra=((SHARED_NUMBERS, read),)), ANSWER)
    after = record(How("parsed", slots=ALL, watched=True, extra=((SHARED_NUMBERS, out),)), parsed)
    assert judge_handed_on(before, after, peer=True).status == status


@pytest.mark.parametrize(("told", "status"), [(["stop", "length"], "intact"), (["stop"], "faulty"), (None, "unproven")])
def test_two_choices_may_finish_in_one_event(told: list[str] | None, status: str) -> None:
    """Who joins the events of choices joins their ends as well: what counts is how many finished."""
    slots = ("0/text/0 aaaaaaaa 12", "1/text/0 bbbbbbbb 12")
    sent = [*answer(range(1, 9), finish=False, done=False), Event(FINISHED, FINISH), Event(FINISHED + 1, FINISH)]
    out = [*CUT_ANEW[:-1], Event(FINISHED + 2, FINISH)]
    before = How("wire", slots=slots, extra=((FINISH_REASONS_ATTRIBUTE, ["stop", "length"]),))
    after = How("parsed", slots=slots, watched=True, extra=((FINISH_REASONS_ATTRIBUTE, told),))
    assert judge_handed_on(record(before, sent), record(after, out), peer=True).status == status


def test_a_finish_that_came_out_twice_is_of_one_choice() -> None:
    """More events than choices that finished: one of them too many."""
    twice = [*handed_on(ANSWER), handed_on(ANSWER)[-1]]
    (change,) = handed(twice, declared=False).changes
    assert (change.kind, change.count) == ("duplicate", 1)


def test_a_loss_of_a_parser_that_hands_on_event_by_event_has_its_place() -> None:
    """It says what it delivers."""
    (change,) = handed([*handed_on(ANSWER)[:3], *handed_on(ANSWER)[4:]], slots=OTHER).changes
    assert (change.kind, change.count, change.span) == ("gap", 1, (3, 3))


def test_a_finish_that_came_out_behind_nothing_else_must_come_out_last() -> None:
    """Whoever stops at the finish has not had what stands behind it."""
    early = [*ANSWER[:5], ANSWER[-2], *ANSWER[5:-2]]
    assert handed(early, declared=False).status == "unproven"


@pytest.mark.parametrize(("lost", "status"), [((), "faulty"), ((0,), "faulty"), ((1,), "unproven")])
def test_another_reason_to_finish_is_a_change_of_it(lost: Sequence[int], status: str) -> None:
    """Unless the last row is lost, so that more may have stood behind the end that was read."""
    hop = handed(handed_on(ANSWER), finish="length", lost=lost)
    assert (hop.status, [change.kind for change in hop.changes]) == (status, ["altered"] if status == "faulty" else [])


@pytest.mark.parametrize(
    ("taken", "kinds"),
    [
        ([*ANSWER[:6], Event(99)], []),
        ([*ANSWER[:3], *ANSWER[2:6]], ["duplicate"]),
        ([*ANSWER[:3], *ANSWER[2:6], Event(99)], ["duplicate"]),
        ([*ANSWER[:3], *ANSWER[4:6], Event(99)], ["gap"]),
        ([*ANSWER[:6], ANSWER[5]], []),
    ],
    ids=["it read on", "it doubled", "it doubled and read on", "it lost one and read on", "it may have read on"],
)
def test_a_body_that_broke_off_within_an_event(taken: list[Event], kinds: list[str]) -> None:
    """What comes out last may be that event; what was done long before is told as ever."""
    before = record(How("wire", end="reset", extra=((PENDING_BYTES, 30),)), ANSWER[:6])
    after = record(How("parsed", end="reset", delivers=DELIVERED_BY_SDK), taken)
    hop = judge_handed_on(before, after, peer=True)
    assert ([change.kind for change in hop.changes], hop.status == "faulty") == (kinds, bool(kinds))


def test_what_came_behind_the_terminator_may_be_handed_on() -> None:
    """Nobody has to read on there, and who does has invented nothing; what it lost before is lost all the same."""
    more, less = [*handed_on(ANSWER), Event(901), Event(902)], handed_on([*ANSWER[:4], *ANSWER[5:]])
    goes_on = record(How("wire"), [*ANSWER, Event(parts=TEXT), Event(parts=TEXT)])
    ends = record(How("wire"), ANSWER)

    def kinds(before: Record, events: Sequence[Event]) -> tuple[str, list[str]]:
        hop = judge_handed_on(before, record(How("parsed", delivers=DELIVERED_BY_SDK), events), peer=True)
        return hop.status, [change.kind for change in hop.changes]

    assert kinds(goes_on, more) == ("unproven", [])
    assert kinds(ends, more) == ("faulty", ["fabricated"])
    assert kinds(goes_on, less) == kinds(ends, less) == ("faulty", ["gap"])


@pytest.mark.parametrize("declared", [True, False])
def test_finishes_that_two_choices_exchanged_are_not_intact(declared: bool) -> None:
    """Their content is the same and so are the reasons; which choice ended for which, only the events say."""
    slots = ("0/text/0 aaaaaaaa 12", "1/text/0 bbbbbbbb 12")
    sent = [*answer(range(1, 9), finish=False, done=False), Event(FINISHED, FINISH), Event(FINISHED + 1, FINISH)]
    exchanged = [*sent[:-2], Event(FINISHED + 2, FINISH), Event(FINISHED + 3, FINISH)]
    cut_anew = [*sent[:2], Event(300), *sent[4:]]
    told = ((FINISH_REASONS_ATTRIBUTE, ["stop", "length"]),)
    before = record(How("wire", slots=slots, extra=told), sent)
    after = How("parsed", slots=slots, delivers=DELIVERED_BY_SDK if declared else 0, extra=told)
    assert judge_handed_on(before, record(after, exchanged), peer=True).status == "unproven"
    assert judge_handed_on(before, record(after, cut_anew), peer=True).status == "intact"


@pytest.mark.parametrize(("delivers", "fewer", "status"), [
    (DELIVERED_BY_SDK, False, "intact"), (DELIVERED_BY_SDK, True, "unproven"), (0, False, "unproven"),
])  # fmt: skip
def test_output_that_nobody_reads_may_not_have_been_handed_on(delivers: int, fewer: bool, status: str) -> None:
    """Pictures stand in events that say nothing here: an SDK hands on each, and of another parser nobody knows."""
    pictures = [Event(parts=SILENT), Event(parts=SILENT)]
    read = [*ANSWER[:3], *pictures, *ANSWER[3:]]
    handed = handed_on([*ANSWER[:3], *pictures[: 1 if fewer else 2], *ANSWER[3:]])
    before = record(How("wire", extra=((UNREAD, 2),)), read)
    after = record(How("parsed", delivers=delivers and delivers | SILENT), handed)
    assert judge_handed_on(before, after, peer=True).status == status


def test_a_finish_too_many_is_more_than_was_read() -> None:
    """Of a parser that cuts the same content anew, too: two in the place of one are no other reason to finish."""
    after = record(How("parsed", slots=ALL, delivers=0), [*CUT_ANEW, CUT_ANEW[-1]])
    (change,) = judge_handed_on(record(How("wire", slots=ALL), ANSWER), after, peer=True).changes
    assert (change.kind, change.side, change.exact) == ("extra", "after", False)
