"""What a gateway sends behind the end of its answer: a finish once more, or output that nobody will read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from streamwitness.blocks import Block
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge.chat import OLLAMA, Leg, anew, ends, gateway, piece, said, without_rows

TEXT = said("The ", "quick ", "brown ", "fox ", "jumps ", "over ", "dogs.")
FINISH, DONE = ends()
ANSWER = [*TEXT, FINISH, DONE]
ROLE = piece({"role": "assistant"})


def line(**told: Any) -> bytes:
    """A line of Ollama's."""
    return json.dumps({"model": "m", **told}).encode() + b"\n"


WORDS = [line(message={"role": "assistant", "content": f"word {n} "}, done=False) for n in range(9)]
OVER = line(message={"role": "assistant", "content": ""}, done=True, done_reason="stop")
"""It finishes the answer, and ends it."""


def told(blocks: Sequence[Block]) -> tuple[str, list[tuple[Any, ...]]]:
    """Integrity, and kind, suspects, count and place of each finding."""
    verdict = judge(blocks, settled=True)
    found = [(f["kind"], f["suspects"], f["count"], tuple(f["sequence"])) for f in verdict["findings"]]
    return verdict["integrity"], found


@pytest.mark.parametrize("write", [list, anew], ids=["in the same bytes", "written anew"])
def test_the_event_that_ends_the_answer_came_twice(write: Any) -> None:
    """No reader looks at the second one, but it was sent."""
    blocks = gateway(write([*WORDS, OVER, OVER]), Leg([*WORDS, OVER]), kind=OLLAMA)
    assert told(blocks) == ("damaged", [("duplicate", ["gateway"], 1, (10, 10))])


def test_numbers_within_the_events_do_not_hide_it() -> None:
    """Without them it is of the same kinds and size."""
    blocks = gateway([*WORDS, OVER, OVER], Leg([*WORDS, OVER]), kind=OLLAMA, stamp=True)
    assert told(blocks) == ("damaged", [("duplicate", ["gateway"], 1, (10, 10))])


@pytest.mark.parametrize(
    ("sent", "count"), [
        ([*ANSWER, *said("More.")], 1), ([*TEXT[:5], DONE, *TEXT[5:], FINISH], 3), ([*TEXT, DONE, FINISH], 1)
    ],
    ids=["one more", "the end too early", "before the finish"],
)  # fmt: skip
def test_output_behind_the_end(sent: list[bytes], count: int) -> None:
    """It is told once, and not as a loss before the end besides."""
    place = (len(sent) - count, len(sent) - 1)
    assert told(gateway(sent, Leg(ANSWER))) == ("damaged", [("after_terminal", ["gateway"], count, place)])


@pytest.mark.parametrize(
    ("sent", "legs"),
    [
        ([*ANSWER, DONE], [ANSWER]),
        ([*ANSWER, *said("")], [ANSWER]),
        ([*ANSWER, *said("More.")], [[*ANSWER, *said("More.")]]),
        ([*ANSWER, *said("More.", "Twice.")], [[*ANSWER, *said("More.")]]),
        ([*ANSWER, ROLE, *said("More.")], [ANSWER]),
        ([*ANSWER, *said("More."), FINISH, DONE], [ANSWER, [*said("More."), FINISH, DONE]]),
        ([*ANSWER, *said("More.")], [said("More."), ANSWER]),
    ],
    ids=[
        "a terminator", "no content", "so it was read", "more than was read", "another answer begins",
        "another response's", "another attempt's",
    ],
)  # fmt: skip
def test_what_stands_behind_the_end_and_accuses_nobody(sent: list[bytes], legs: list[list[bytes]]) -> None:
    """It says nothing, it was so upstream, or it may be another answer's."""
    assert [found for found in told(gateway(sent, *map(Leg, legs)))[1] if "gateway" in found[1]] == []


@pytest.mark.parametrize("more", [OVER, WORDS[0]], ids=["a finish", "output"])
@pytest.mark.parametrize("point", ["egress", "ingress"])
def test_rows_that_are_lost_hide_it(point: str, more: bytes) -> None:
    """The counts say that something came once more: that is not intact, and nobody is accused."""
    blocks = gateway([*WORDS, OVER, more], Leg([*WORDS, OVER]), kind=OLLAMA)
    assert told(without_rows(blocks, point)) == ("unproven", [])


def test_a_finish_behind_the_end_of_which_rows_are_lost() -> None:
    """All content came, in the same bytes; but fewer events were before the end."""
    blocks = without_rows(gateway([*TEXT, DONE, FINISH], Leg(ANSWER)), "egress")
    assert told(blocks) == ("unproven", [])


@pytest.mark.parametrize("end", ["finish", "terminator"])
def test_an_end_that_cannot_be_read_is_not_made_up(end: str) -> None:
    """The provider broke an event, and the gateway, which may have read it all the same, sends it whole."""
    half = FINISH[:-20] + b"\n\n"
    read, sent = ([*TEXT, half, DONE], ANSWER) if end == "finish" else ([*TEXT, half], [*TEXT, DONE])
    assert [found for found in told(gateway(sent, Leg(read)))[1] if "gateway" in found[1]] == []
