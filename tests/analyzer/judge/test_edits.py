"""The fewest-change comparison against brute force."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from streamwitness_analyzer.judge.compare.edits import distance, edits, matching


def brute(a: list[int], b: list[int]) -> tuple[int, set[int], set[int]]:
    """Distance, and the places that any longest common subsequence leaves out."""
    for size in range(min(len(a), len(b)), -1, -1):
        kept = [
            (left, right)
            for left in combinations(range(len(a)), size)
            for right in combinations(range(len(b)), size)
            if [a[i] for i in left] == [b[j] for j in right]
        ]
        if kept:
            removed = {i for left, _ in kept for i in range(len(a)) if i not in left}
            added = {j for _, right in kept for j in range(len(b)) if j not in right}
            return len(a) + len(b) - 2 * size, removed, added
    raise AssertionError("the empty subsequence is always common")


def test_edits_are_the_union_of_all_shortest_explanations() -> None:
    """On short random sequences distance and both hulls are those of exhaustive search."""
    rng = Random(1)
    for _ in range(300):
        a = [rng.randrange(3) for _ in range(rng.randrange(7))]
        b = [rng.randrange(3) for _ in range(rng.randrange(7))]
        found = edits(a, b)
        assert found is not None
        assert (found.distance, set(found.removed), set(found.added)) == brute(a, b), (a, b)


def test_matching_keeps_as_much_as_possible() -> None:
    """One explanation keeps exactly what the distance leaves, in order, and only equal items."""
    rng = Random(2)
    for _ in range(300):
        a = [rng.randrange(4) for _ in range(rng.randrange(9))]
        b = [rng.randrange(4) for _ in range(rng.randrange(9))]
        pairs = matching(a, b)
        assert pairs is not None
        assert all(a[i] == b[j] for i, j in pairs)
        assert pairs == sorted(pairs)
        assert len(a) + len(b) - 2 * len(pairs) == distance(a, b)


def test_beyond_the_bound_nothing_is_searched() -> None:
    """Two sequences with nothing in common are given up, not compared for minutes."""
    assert edits(list(range(5000)), list(range(5000, 10000))) is None


class Counted(int):
    """An item that counts how often items are compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


@pytest.mark.parametrize("length", [190, 600, 2_000, 8_000, 24_000, 60_000])
@pytest.mark.parametrize("lost", [1, 5, 20, 64, 65])
def test_no_search_takes_long(length: int, lost: int) -> None:
    """Rows are locked meanwhile: however long and alike the sequences are, found or given up, it is soon."""
    a = [Counted(i % 2) for i in range(length)]
    Counted.compared = 0
    edits(a, a[: -2 * lost] + [Counted(0)] * lost)
    assert Counted.compared < 100_000
