"""The difference of two points, told by the difference of their sums: never wrong, and bounded in what it tries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from bench.truth.build import Event
from bench.truth.model import damaged
from streamwitness.sums import P, mix
from streamwitness_analyzer.judge.compare import decode as module
from streamwitness_analyzer.judge.compare.decode import COMBINATIONS, SHAPES, TRIES, decode
from tests.analyzer.judge.views import digests, view

WORDS = list(range(1, 31))
CUTS = (10, 20)


def net(before: Sequence[int], after: Sequence[int]) -> dict[int, int]:
    """The truth: digest → how many more copies A has."""
    there, here = Counter(digests(before)), Counter(digests(after))
    return {v: there[v] - here[v] for v in there.keys() | here.keys() if there[v] != here[v]}


def decoded(before: Sequence[int], after: Sequence[int], lost: tuple[int, ...] = (1,)) -> dict[int, int] | None:
    """What is decoded where A is whole and these blocks of B are lost."""
    found = decode(view("egress", before, CUTS), view("wire", after, CUTS, lost), (0, 0))
    return None if found is None else dict(found)


def edited(*, without: tuple[int, ...] = (), again: tuple[int, ...] = (), new: tuple[int, ...] = ()) -> list[int]:
    """The words, without some, with some of them a second time in the middle, and with new ones there."""
    kept = [word for word in WORDS if word not in without]
    return [*kept[:12], *again, *new, *kept[12:]]


@pytest.mark.parametrize(
    "after",
    [
        edited(without=(13,)),
        edited(again=(25,)),
        edited(without=(13,), again=(25,)),
        edited(without=(13, 17)),
        edited(again=(3, 25)),
        edited(without=(13, 17), again=(3,)),
        edited(without=(13,), again=(3, 25)),
        edited(without=(12, 15, 17)),
        edited(again=(1, 3, 25)),
    ],
)
def test_at_most_three_single_events_are_told(after: list[int]) -> None:
    """Each shape of answer, from digests that either point knows."""
    assert decoded(WORDS, after) == net(WORDS, after)


def test_one_run_is_told_however_long() -> None:
    """Neighbours of the point that has more, at either side."""
    fewer = [word for word in WORDS if not 12 <= word <= 18]
    assert decoded(WORDS, fewer) == net(WORDS, fewer)
    other_way = decode(view("egress", fewer, CUTS, (1,)), view("wire", WORDS, CUTS), (0, 0))
    assert other_way == net(fewer, WORDS)


def test_a_run_and_a_replaced_event_are_told_together() -> None:
    """A run of five is lost, and of the rest one event was replaced by the copy of another."""
    after = [5 if word == 28 else word for word in WORDS if not 12 <= word <= 16]
    assert decoded(WORDS, after) == net(WORDS, after)


def test_what_nobody_knows_is_not_guessed() -> None:
    """An event that stands in lost rows only has no answer."""
    after = edited(new=(900,))
    assert decoded(WORDS, after) is None


def test_a_loss_and_a_copy_of_the_same_cancel_out() -> None:
    """What cannot be seen in the sums is not in the answer: that of another loss stays exact all the same."""
    after = [*(word for word in WORDS if word not in (13, 17)), 13]
    assert decoded(WORDS, after) == {Event(17).digest: 1}


@pytest.mark.parametrize("seed", range(30))
def test_an_answer_is_the_truth(seed: int) -> None:
    """Random small alphabets, faults and losses at both points: what is told is what a look at all rows tells."""
    rng = Random(seed)
    answers = 0
    for _ in range(40):
        alphabet = rng.choice((1, 2, 3, 6, 1000))
        before = [rng.randint(1, alphabet) for _ in range(rng.randint(4, 40))]
        after = [
            event.text for event in damaged(rng, "transport", [Event(word) for word in before], rng.randint(1, 5), [])
        ]
        cuts = list(range(3, 60, rng.randint(3, 6)))
        lost = [{i for i in range(12) if rng.random() < 0.4} for _ in range(2)]
        a, b = (_view(p, w, cuts, gone) for p, w, gone in zip(("egress", "wire"), (before, after), lost, strict=True))
        found = decode(a, b, (0, 0))
        answers += bool(found)
        assert found is None or found == net(before, after), (before, after, lost)
    assert answers > 3


def _view(point: Any, words: Sequence[int], cuts: Sequence[int], lost: set[int]) -> Any:
    last = sum(cut < len(words) for cut in cuts)
    return view(point, words, cuts, lost - {last})


class _Counted(dict[int, int]):
    """Known mixes that count how often they are asked for one."""

    asked = 0

    def __contains__(self, key: object) -> bool:
        self.asked += 1
        return super().__contains__(key)


@pytest.mark.parametrize("known", [1, 30, 200, 400, 4200, 30_000])
@pytest.mark.parametrize("count", SHAPES)
def test_what_is_tried_is_bounded(known: int, count: int) -> None:
    """However many digests are known, neither the look-ups nor the combinations they cover pass their bounds."""
    table = _Counted((mix(i), i) for i in range(known))
    module.single_events(module._Equation(12345, count, table))
    assert table.asked <= TRIES * len(SHAPES[count])
    assert table.asked * known <= COMBINATIONS * len(SHAPES[count])


def test_an_accident_is_rarer_than_one_in_a_thousand_million() -> None:
    """All combinations that one decoding may cover, beside the values that a sum can have."""
    most = max(len(shapes) for shapes in SHAPES.values()) + 2  # a run, and a run with an event replaced
    assert most * COMBINATIONS < P * 1e-9
