"""Lost rows filled in from the other point: each guess where it is right, and nothing where none is."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from bench.truth.build import Event
from bench.truth.model import damaged
from streamwitness_analyzer.judge.compare.align import equal_prefix, window
from streamwitness_analyzer.judge.compare.fill import filled
from streamwitness_analyzer.judge.testimony.view import View
from tests.analyzer.judge.views import digests, view

WORDS = list(range(1, 41))
CUTS = (10, 20, 30)


def fill(a: View, b: View) -> tuple[View, View]:
    """Both views, filled as the judge does it."""
    return filled(a, b, *window(a, b, equal_prefix(a, b)[0]))


@pytest.mark.parametrize(
    "after",
    [
        [word for word in WORDS if not 14 <= word <= 16],
        [*WORDS[:14], 900, *WORDS[14:]],
        [*WORDS[:14], 900, *WORDS[15:]],
        [*WORDS[:17], *WORDS[14:]],
        [*WORDS[:4], *WORDS[5:36], *WORDS[37:]],
    ],
    ids=["run missing", "one more", "one changed", "run repeated", "unchanged between two losses"],
)
def test_a_lost_block_is_filled_in(after: list[int]) -> None:
    """Each guess, with the second block of B lost."""
    _, b = fill(view("egress", WORDS, CUTS), view("wire", after, CUTS, (1,)))
    assert b.values == digests(after)


def test_what_was_lost_at_the_first_point_is_filled_in_from_the_second() -> None:
    """The event that B lacks stood in A's lost block: S tells its digest, O its place."""
    after = [word for word in WORDS if word != 15]
    a, _ = fill(view("egress", WORDS, CUTS, (1,)), view("wire", after, CUTS))
    assert a.values == digests(WORDS)


def test_equal_count_fills_nothing_in() -> None:
    """Two events of a lost block are other ones: the count alone proves nothing."""
    after = [900 if word == 13 else 901 if word == 17 else word for word in WORDS]
    _, b = fill(view("egress", WORDS, CUTS), view("wire", after, CUTS, (1,)))
    assert not b.whole


@pytest.mark.parametrize("seed", range(20))
def test_what_is_filled_in_is_the_truth(seed: int) -> None:
    """Random small alphabets, faults and lost blocks at both points; a good part of them is filled in."""
    rng = Random(seed)
    some = 0
    for _ in range(25):
        alphabet = rng.choice((1, 2, 3, 6, 1000))
        before = [rng.randint(1, alphabet) for _ in range(rng.randint(4, 40))]
        after = [
            event.text for event in damaged(rng, "transport", [Event(word) for word in before], rng.randint(1, 4), [])
        ]
        cuts = list(range(3, 60, rng.randint(3, 9)))
        a, b = _lossy(rng, "egress", before, cuts), _lossy(rng, "wire", after, cuts)
        if (a.n, a.o) == (b.n, b.o):
            continue
        for found, was, words in zip(fill(a, b), (a, b), (before, after), strict=True):
            assert all(value in (None, true) for value, true in zip(found.values, digests(words), strict=True))
            some += found.values != was.values
    assert some


def _lossy(rng: Random, point: str, words: Sequence[int], cuts: Sequence[int]) -> View:
    last = sum(cut < len(words) for cut in cuts)
    return view(point, words, cuts, {i for i in range(last) if rng.random() < 0.3})  # type: ignore[arg-type]
