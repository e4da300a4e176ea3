"""The same content in other events: a gateway may merge and split, and only the whole of a slot compares (§7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench.truth.build import FINISHED, LEG, Event, How, answer, path
from streamwitness.semconv import FINISH, SNAPSHOT, TERMINAL, TEXT, TOOL_ARGS
from streamwitness_analyzer.judge import judge
from streamwitness_analyzer.judge.gateway.crossing import Crossing
from streamwitness_analyzer.judge.gateway.excuses import judge_leg
from streamwitness_analyzer.judge.gateway.recut import (
    CHANGED_TURNS,
    NO_DIGEST,
    altered,
    changed_turns,
    same_content,
)
from streamwitness_analyzer.judge.testimony.finishes import OTHER_CHOICES
from streamwitness_analyzer.judge.testimony.records import Record, collect

ANSWER = answer(range(1, 13))
JOINED = [ANSWER[0], *(Event(100 + i) for i in range(6)), *ANSWER[-2:]]
"""Two events each as one."""
REPLACED = [*ANSWER[:5], Event(900), Event(901), *ANSWER[7:]]
ALL, OTHER = ("0/text/0 aaaaaaaa 36",), ("0/text/0 bbbbbbbb 36",)
CALLS = ("0/text/0 aaaaaaaa 18", "0/tool/0 bbbbbbbb 18")


def record(how: How, events: Sequence[Event]) -> Record:
    """What a point told."""
    return collect(how.blocks(events)).records[0]


def crossing(
    sent: Sequence[Event],
    slots: tuple[tuple[str, ...], tuple[str, ...]] = (ALL, ALL),
    end: str = "eof",
    read: Sequence[Event] = ANSWER,
) -> Crossing:
    """A gateway that read the answer and sent these events."""
    leg = record(How("ingress", leg=0, end=end, slots=slots[0]), read)
    return Crossing(leg, record(How("egress", legs=(LEG,), slots=slots[1]), sent), only=True)


def test_joined_events_of_the_same_content_are_intact() -> None:
    """Not one event is the same, and nothing was lost."""
    made = same_content(crossing(JOINED))
    assert made is not None
    assert (made.hop.status, made.recut) == ("intact", True)


def test_joined_events_of_other_content_are_altered_and_never_counted() -> None:
    """The digest of the whole tells that something is another, not how many events."""
    (change,) = judge_leg(crossing([*ANSWER[:7], *JOINED[4:]], (ALL, OTHER))).hop.changes
    assert (change.kind, change.exact, change.proof.case) == ("altered", False, "by_content")


def test_which_choice_ended_for_which_reason_is_not_told_by_the_content() -> None:
    """Two choices with a finish each, and one of them says another thing: it may be the other one's."""
    two = ("0/text/0 aaaaaaaa 18", "1/text/0 bbbbbbbb 18")
    read = [*ANSWER[:-2], Event(FINISHED, FINISH), Event(FINISHED + 1, FINISH), ANSWER[-1]]
    other = [*ANSWER[:-2], Event(FINISHED + 2, FINISH), Event(FINISHED + 3, FINISH), ANSWER[-1]]
    made, same, one = (
        judge_leg(crossing(sent, (slots, slots), read=read)).hop
        for sent, slots in ((other, two), (read, two), (other, ALL))
    )
    assert (made.status, made.reason) == ("unproven", OTHER_CHOICES)
    assert (same.status, one.status) == ("intact", "intact")


def test_without_a_digest_of_the_whole_another_cut_proves_nothing() -> None:
    """What seems lost may stand in an event that joins it to another."""
    for slots in ((), ()), (ALL, ()), ((), ALL):
        for sent in (REPLACED, JOINED):  # halves of a character are of another size than the whole of it
            assert altered(crossing(sent, slots)).hop.reason == NO_DIGEST
        assert judge_leg(crossing(REPLACED, slots)).hop.reason == NO_DIGEST


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (JOINED[:-2] + JOINED[-1:], "gap"),
        ([*JOINED[:-1], Event(FINISHED + 1, FINISH), Event(parts=TERMINAL)], ""),
    ],
    ids=["a finish is gone", "one more than was read"],
)
def test_how_the_same_content_ended_is_asked_all_the_same(sent: list[Event], kind: str) -> None:
    """A lost finish is a loss; one too many is explained by no other cut, and by nothing that is known."""
    made = same_content(crossing(sent))
    assert made is not None
    assert [change.kind for change in made.hop.changes] == ([kind] if kind else [])
    assert made.hop.status == ("faulty" if kind else "unproven")


def test_a_terminator_before_other_content_ends_the_answer_for_whoever_stops_there() -> None:
    """All of it left, and nobody reads the rest."""
    early = [*ANSWER[:6], ANSWER[-1], *ANSWER[6:-1]]
    made = same_content(crossing(early))
    assert made is not None
    assert made.hop.status != "intact"


def test_several_things_that_change_turns_are_in_order_each_by_itself() -> None:
    """Nobody is accused, and it is not intact."""
    turned = [*ANSWER[:3], ANSWER[4], ANSWER[3], *ANSWER[5:]]
    made = same_content(crossing(turned, (CALLS, CALLS)))
    assert made is not None
    assert (made.hop.status, made.hop.reason) == ("unproven", CHANGED_TURNS)
    assert not changed_turns(crossing(JOINED, (CALLS, CALLS)))


@pytest.mark.parametrize(("lost", "status"), [(False, "intact"), (True, "unproven")])
def test_where_rows_are_lost_nobody_knows_which_of_two_finishes_is_left(lost: bool, status: str) -> None:
    """One of them stood in the midst of the answer, and whoever stops there has not had the rest."""
    twice = [*ANSWER[:5], Event(FINISHED, FINISH), *ANSWER[5:]]
    one = crossing(JOINED, read=twice)
    (block,) = one.egress.blocks
    egress = collect([replace(block, rows=None)]).records[0] if lost else one.egress
    made = same_content(Crossing(one.leg, egress, only=True))
    assert made is not None
    assert made.hop.status == status


def test_a_finish_that_is_lost_may_stand_behind_all_that_seems_to_come_behind_the_finish() -> None:
    """Two choices, handed on one after the other as they were written; a block with the second finish is lost."""
    two = ("0/text/0 aaaaaaaa 12", "1/text/0 bbbbbbbb 12")
    words, ends = [Event(word) for word in range(1, 9)], [Event(FINISHED, FINISH), Event(FINISHED + 1, FINISH)]
    read = [*words, *ends, Event(parts=TERMINAL)]
    sent = [*words[::2], ends[0], *words[1::2], ends[1], Event(parts=TERMINAL)]
    blocks = path(read, sent, None, ingress=How("ingress", leg=0, slots=two),
                  egress=How("egress", legs=(LEG,), slots=two), cuts=lambda n: (7, n - 1))  # fmt: skip
    for gone in ((), ("egress", 1), ("ingress", 1)):
        held = [block for block in blocks if (block.point, block.index) != gone]
        verdict = judge(held, settled=True)
        assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


class _Longer(Event):
    """An event that says more than the others."""

    @property
    def content(self) -> int:
        return 7


def test_without_a_digest_of_the_whole_one_event_of_another_size_is_altered() -> None:
    """All others being equal, it says something else; where it is as long, or a call, it may say the same."""

    def made(event: Event, read: Sequence[Event] = ANSWER) -> list[str]:
        sent = [*read[:5], event, *read[6:]]
        return [change.kind for change in judge_leg(crossing(sent, ((), ()), read=read)).hop.changes]

    anew = [replace(event, payload=7_000 + i) for i, event in enumerate(ANSWER)]
    calls = [replace(event, parts=TOOL_ARGS) if event.parts == TEXT else event for event in ANSWER]
    assert made(_Longer(900)) == ["altered"]
    assert [made(Event(900)), made(_Longer(900, TOOL_ARGS), calls), made(_Longer(900, SNAPSHOT), anew)] == [[], [], []]
