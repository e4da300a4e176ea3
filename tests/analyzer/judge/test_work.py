"""A verdict costs as much as its stream is long, however hard the stream is: rows are locked while it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pytest

from bench.truth.build import Event, answer, handed_on, path, used
from bench.truth.streams import trial
from streamwitness.blocks import Block
from streamwitness_analyzer.judge import judge
from streamwitness_analyzer.judge.gateway import upstream
from streamwitness_analyzer.judge.testimony.records import Record
from tests.analyzer.judge.work import lines

BLOCKS: Final = 6
ROWS: Final = 20
TIMES: Final = 4
SLACK: Final = 1.25
"""Sorting and halving may cost a little more than in proportion; what grows with the square is four times that."""
WORDS: Final[dict[str, Callable[[int], Sequence[int]]]] = {
    "all different": lambda n: range(1, n + 1),
    "all equal": lambda n: [1] * n,
    "two in turn": lambda n: [1 + i % 2 for i in range(n)],
}
POINTS: Final = ("egress", "wire", "parsed", "applied")


def _stream(words: Sequence[int], rows: int, lost: str | None = None, thinned: bool = False) -> list[Block]:
    """The blocks of so many rows of an answer, which loses the event in its middle on the way to a point.

    `thinned`: every third block of each point is lost besides, but for the closing ones.
    """
    sent = answer(words)
    came = [*sent[: len(sent) // 2], *sent[len(sent) // 2 + 1 :]]
    behind = [came if lost is not None and POINTS.index(lost) <= i else sent for i in range(len(POINTS))]
    egress, wire, parsed, applied = behind
    built = _used(handed_on(parsed), handed_on(applied))
    blocks = path(sent, egress, wire, handed_on(parsed), built, cuts=lambda n: range(rows, n, rows))
    return [block for block in blocks if block.final or not thinned or block.index % 3 != 1]


def _used(handed: Sequence[Event], taken: Sequence[Event]) -> list[Event]:
    """What the application reports of the events that it took."""
    reports = used(handed)
    middle = len(reports) // 2
    return reports if len(handed) == len(taken) else [*reports[:middle], *reports[middle + 1 :]]


def _work(stream: Sequence[Block]) -> int:
    """What a verdict on it costs; asked twice, so that what is made once for all streams is there."""
    judge(stream, settled=True)
    return lines(lambda: judge(stream, settled=True))


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("thinned", [False, True], ids=["all blocks", "a third of the blocks lost"])
@pytest.mark.parametrize("lost", [None, *POINTS], ids=lambda lost: f"lost before {lost}" if lost else "healthy")
def test_a_verdict_costs_in_proportion_to_the_length_of_its_stream(words: str, thinned: bool, lost: str | None) -> None:
    """Four times as many blocks cost four times as much, and no more: of a healthy stream, and of the hardest ones."""
    short, long = (
        _work(_stream(WORDS[words](count * ROWS), ROWS, lost, thinned)) for count in (BLOCKS, TIMES * BLOCKS)
    )
    assert long <= SLACK * TIMES * short


@pytest.mark.parametrize("lost", [None, *POINTS], ids=lambda lost: f"lost before {lost}" if lost else "healthy")
def test_cutting_a_stream_into_more_blocks_costs_in_proportion_to_them(lost: str | None) -> None:
    """The same events in four times as many blocks cost at most four times as much."""
    words = WORDS["two in turn"](BLOCKS * ROWS)
    few, many = (_work(_stream(words, rows, lost)) for rows in (ROWS, ROWS // TIMES))
    assert many <= TIMES * few


def test_a_healthy_stream_is_judged_without_a_look_at_its_single_events() -> None:
    """Four times the events in as many blocks cost the same: closing blocks are compared, and no row is opened."""
    few, many = (_work(_stream(WORDS["all different"](BLOCKS * rows), rows)) for rows in (ROWS, TIMES * ROWS))
    assert many <= SLACK * few


def test_what_went_out_byte_for_byte_as_it_came_owes_no_further_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of streams of the model, faulty ones among them, the verdict is the same where everything is looked at."""
    streams = [trial(seed).blocks for seed in range(160)]
    short, is_taken = [judge(blocks, settled=True) for blocks in streams], upstream._as_it_came
    taken: list[bool] = []

    def never(leg: Record, egress: Record) -> bool:
        taken.append(is_taken(leg, egress))
        return False

    monkeypatch.setattr(upstream, "_as_it_came", never)
    assert [judge(blocks, settled=True) for blocks in streams] == short
    assert sum(taken) > 30
