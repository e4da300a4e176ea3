"""What a gateway puts around an answer: which finishes and terminators it may make up, change or leave out (§7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import FINISHED, LEG, Event, How, answer, path
from streamwitness.blocks import Block
from streamwitness.semconv import ERROR, FINISH, FINISH_REASONS_ATTRIBUTE, PROVIDER_NAME, RESPONSE_ID, TERMINAL
from streamwitness_analyzer.judge import judge

WORDS = answer(range(1, 9), finish=False, done=False)
ANSWER = answer(range(1, 9))
FINISHING = Event(FINISHED, FINISH)
OTHER = Event(FINISHED + 1, FINISH)
DONE = Event(parts=TERMINAL)


def blocks(
    read: Sequence[Event],
    sent: Sequence[Event],
    ends: tuple[str, str] = ("eof", "eof"),
    said: tuple[str, str] = ("stop", "stop"),
    provider: str = "p",
) -> list[Block]:
    """A gateway alone: what it read and what it sent, how both ended and in which words they finished."""
    leg, out = (
        ((FINISH_REASONS_ATTRIBUTE, [word]), (PROVIDER_NAME, name))
        for word, name in zip(said, ("p", provider), strict=True)
    )
    slots = tuple(f"0/text/0 {'a' * 8} {sum(e.content for e in events)}" for events in (read, sent))
    ingress = How("ingress", leg=0, end=ends[0], extra=leg, slots=slots[:1])
    egress = How(
        "egress",
        legs=(LEG,),
        end=ends[1],
        extra=out,
        slots=slots[1:],
    )
    return path(read, sent, None, ingress=ingress, egress=egress, cuts=lambda n: [n // 2])


def told(held: Sequence[Block]) -> tuple[str, list[tuple[str, list[str]]]]:
    """The integrity, and the kind and suspects of each finding."""
    verdict: dict[str, Any] = judge(held, settled=True)
    return verdict["integrity"], [(f["kind"], f["suspects"]) for f in verdict["findings"]]


@pytest.mark.parametrize("end", [[OTHER, DONE], [OTHER]], ids=["with a terminator", "without one"])
def test_an_answer_that_is_shorter_than_what_was_read_is_not_intact(end: list[Event]) -> None:
    """The gateway let go of its upstream, and what it had read last it kept: by its own word, however it ended."""
    sent = [*WORDS[:5], *end]
    assert told(blocks(WORDS, sent, ("cancelled", "eof"), ("", "length"))) == ("unproven", [])
    assert told(blocks(WORDS[:5], sent, ("cancelled", "eof"), ("", "length"))) == ("intact", [])


def test_what_was_read_when_the_client_had_gone_was_due_to_nobody() -> None:
    """Nothing was kept back: there was nobody to send it to."""
    assert told(blocks(WORDS, WORDS[:5], ("cancelled", "disconnected"), ("", "")))[0] == "intact"


def test_a_finish_of_ones_own_before_any_other_proves_no_answer_whole() -> None:
    """The gateway let go of its upstream, and says `stop`."""
    assert told(blocks(WORDS, [*WORDS, FINISHING, DONE], ("cancelled", "eof"), ("", "stop"))) == ("unproven", [])


def test_another_word_in_an_answer_that_is_else_as_it_was_written_is_a_change() -> None:
    """`length` became `stop`."""
    held = blocks([*WORDS, FINISHING, DONE], [*WORDS, OTHER, DONE], said=("length", "stop"))
    assert told(held) == ("damaged", [("altered", ["gateway"])])


@pytest.mark.parametrize("lost", ["ingress", "egress"])
def test_another_word_is_unproven_where_lost_rows_hide_how_the_rest_is_written(lost: str) -> None:
    """Who writes an answer anew has other words for its end, and nobody knows whether this one did."""
    for provider, integrity in (("p", "unproven"), ("q", "intact")):
        held = blocks([*WORDS, FINISHING, DONE], [*WORDS, OTHER, DONE], said=("length", "stop"), provider=provider)
        held = [replace(block, rows=None) if block.point == lost else block for block in held]
        assert told(held) == (integrity, [])


def test_a_terminator_of_ones_own_hides_that_the_upstream_broke() -> None:
    """They are invented, but for an answer that says itself that it failed."""
    made_up = told(blocks(WORDS, [*WORDS, FINISHING, DONE], ("reset", "eof"), ("", "stop")))
    assert made_up[0] == "damaged"
    assert {(kind, *suspects) for kind, suspects in made_up[1]} == {("fabricated", "gateway")}
    assert told(blocks(WORDS, [*WORDS, Event(parts=ERROR), DONE], ("reset", "eof"), ("", "")))[1] == []


def test_a_finish_that_was_left_out_is_lost() -> None:
    """All content came, and nobody is told that the answer is over."""
    assert told(blocks(ANSWER, [*WORDS, DONE])) == ("damaged", [("gap", ["gateway"])])


def test_an_error_in_place_of_the_end_must_be_handed_on() -> None:
    """The answer goes out as if it were whole."""
    held = blocks([*WORDS, Event(parts=ERROR)], WORDS, said=("", ""))
    assert told(held) == ("damaged", [("gap", ["gateway"])])


def test_a_finish_that_may_be_a_copy_leaves_the_number_of_copies_open() -> None:
    """A text and the finish come twice; where lost rows hide what was read, the finish may be new."""
    twice = [*ANSWER[:-2], ANSWER[-3], ANSWER[-2], ANSWER[-2], ANSWER[-1]]
    named = ((RESPONSE_ID, "one"),)
    how = {"ingress": How("ingress", leg=0, extra=named), "egress": How("egress", extra=named, legs=(LEG,))}
    cuts = {len(ANSWER): (1, 9), len(twice): (1, 10)}
    blocks = path(ANSWER, twice, None, cuts=lambda n: cuts[n], **how)
    held = [block for block in blocks if block.index != 1]
    assert [(f["count"], f["exact"]) for f in judge(blocks, settled=True)["findings"]] == [(2, True)]
    assert [(f["count"], f["exact"]) for f in judge(held, settled=True)["findings"]] == [(1, False)]


def test_who_stopped_at_an_error_had_nothing_to_finish() -> None:
    """It did not choose to stop: the finish and the terminator that it made up hide the error."""
    failed = [*WORDS, Event(parts=ERROR)]
    found = told(blocks(failed, [*WORDS, FINISHING, DONE], ("stopped_at_terminal", "eof"), ("", "stop")))
    assert found[0] == "damaged"
    assert {kind for kind, _ in found[1]} == {"gap", "fabricated"}


def test_a_finish_behind_an_error_that_is_left_out_leaves_the_answer_unproven() -> None:
    """The upstream told of an error and went on; where the finish stood before the error, it is worth nothing."""
    error = Event(parts=ERROR)
    sent = [*WORDS, error]
    for read_, integrity in (([*WORDS, error, FINISHING, DONE], "unproven"), ([*WORDS, FINISHING, error], "intact")):
        failed = [replace(block, complete=False) for block in blocks(read_, sent)]
        assert told(failed)[0] == integrity
