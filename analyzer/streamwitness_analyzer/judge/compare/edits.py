"""Sequences of known values: fewest changes between two, and every place that any such explanation touches; runs.

Indel distance (insertions and deletions only) after Myers 1986, bounded. Equal neighbours make many explanations
equally short; an honest range is the union over all of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

BOUND: Final = 64
"""Changes beyond which no explanation is searched."""
CELLS: Final = 16_000
"""Size of the table beyond which no explanation is searched: two of them take some 30 ms, while rows are locked."""
_FAR: Final = 1 << 30
_Row = dict[int, int]


@dataclass(frozen=True, slots=True)
class Edits:
    """`removed` are the places of a, `added` those of b, that some explanation with `distance` changes touches."""

    distance: int
    removed: frozenset[int]
    added: frozenset[int]


def distance(a: Sequence[Hashable], b: Sequence[Hashable]) -> int | None:
    """Insertions and deletions that make b of a; None where the table that explains them is beyond the bounds."""
    n, m = len(a), len(b)
    most = min(BOUND, (CELLS // max(n, 1) - 1) // 2)
    if abs(n - m) > most:
        return None
    furthest = {1: 0}
    for d in range(min(n + m, most) + 1):
        for k in range(-d, d + 1, 2):
            x = _step(furthest, k, d)
            while x < n and x - k < m and a[x] == b[x - k]:
                x += 1
            furthest[k] = x
            if x >= n and x - k >= m:
                return d
    return None


def _step(furthest: dict[int, int], k: int, d: int) -> int:
    if k == -d or (k != d and furthest.get(k - 1, -1) < furthest.get(k + 1, -1)):
        return furthest[k + 1]
    return furthest[k - 1] + 1


def edits(a: Sequence[Hashable], b: Sequence[Hashable]) -> Edits | None:
    """All fewest-change explanations of b from a together; None beyond the bounds."""
    d = distance(a, b)
    if d is None:
        return None
    n, m = len(a), len(b)
    ahead = _costs(a, b, d)
    behind = _costs(a[::-1], b[::-1], d)
    removed: set[int] = set()
    added: set[int] = set()
    for i, row in enumerate(ahead):
        for j, cost in row.items():
            if i < n and cost + 1 + behind[n - i - 1].get(m - j, _FAR) == d:
                removed.add(i)
            if j < m and cost + 1 + behind[n - i].get(m - j - 1, _FAR) == d:
                added.add(j)
    return Edits(d, frozenset(removed), frozenset(added))


def matching(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]] | None:
    """One fewest-change explanation as the pairs of places that it keeps; None beyond the bounds."""
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    middle = _matching(a[head : len(a) - tail], b[head : len(b) - tail])
    if middle is None:
        return None
    ends = [(len(a) - i, len(b) - i) for i in range(tail, 0, -1)]
    return [*((i, i) for i in range(head)), *((head + i, head + j) for i, j in middle), *ends]


def _common(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Length of the common prefix."""
    shorter = min(len(a), len(b))
    return next((i for i in range(shorter) if a[i] != b[i]), shorter)


def _matching(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]] | None:
    d = distance(a, b)
    if d is None:
        return None
    ahead = _costs(a, b, d)
    i, j = len(a), len(b)
    pairs: list[tuple[int, int]] = []
    while i and j:
        cost = ahead[i][j]
        if a[i - 1] == b[j - 1] and ahead[i - 1].get(j - 1, _FAR) == cost:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif ahead[i - 1].get(j, _FAR) + 1 == cost:
            i -= 1
        else:
            j -= 1
    return pairs[::-1]


def _costs(a: Sequence[Hashable], b: Sequence[Hashable], d: int) -> list[_Row]:
    """For each i the cost of making b[:j] of a[:i], for every j within d of i whose cost is at most d."""
    rows: list[_Row] = []
    above: _Row = {}
    for i in range(len(a) + 1):
        row: _Row = {}
        for j in range(max(0, i - d), min(len(b), i + d) + 1):
            cost = 0 if i == j == 0 else min(above.get(j, _FAR), row.get(j - 1, _FAR)) + 1
            if i and j and a[i - 1] == b[j - 1]:
                cost = min(cost, above.get(j - 1, _FAR))
            if cost <= d:
                row[j] = cost
        rows.append(row)
        above = row
    return rows


def runs(missing: Sequence[int], candidates: Sequence[int]) -> list[list[int]]:
    """Missing positions grouped where no other candidate stands between two of them."""
    rank = {position: i for i, position in enumerate(candidates)}
    found: list[list[int]] = []
    for position in missing:
        if found and rank[position] == rank[found[-1][-1]] + 1:
            found[-1].append(position)
        else:
            found.append([position])
    return found


def longest_rising(order: Sequence[int]) -> frozenset[int]:
    """A longest rising subsequence (patience sorting)."""
    tops: list[int] = []
    piles: list[tuple[int, int]] = []
    for position in order:
        pile = bisect_left(tops, position)
        tops[pile : pile + 1] = [position]
        piles.append((pile, position))
    kept: list[int] = []
    want = len(tops) - 1
    for pile, position in reversed(piles):
        if pile == want and (not kept or position < kept[-1]):
            kept.append(position)
            want -= 1
    return frozenset(kept)


def inversions(order: Sequence[int]) -> int:
    """How many pairs stand the wrong way round (merge sort)."""
    found, width, rows = 0, 1, list(order)
    while width < len(rows):
        for low in range(0, len(rows), 2 * width):
            left, right = rows[low : low + width], rows[low + width : low + 2 * width]
            found += sum(len(left) - bisect_right(left, value) for value in right)
            rows[low : low + 2 * width] = sorted(left + right)
        width *= 2
    return found
