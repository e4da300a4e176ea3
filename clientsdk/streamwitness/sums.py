"""The public sums over row digests, which let two points be compared without opening a row.

A row digest is a keyed 32-bit number; `mix` spreads it over 61 bits without a key, so that the analyzer, which
never holds one, computes the same value from the row. Over the digests d(0), d(1), … of a point

    S = Σ mix(d(i))          mod P        the multiset: equal where the same events came, in any order
    O = Σ mix(d(i)) · R^i    mod P        the sequence: equal where the same events came in the same order

Both are cumulative and subtractable (a run's sum is the difference of its ends), and O can be shifted along the
stream by a power of R. P is the Mersenne prime 2^61 − 1: smaller moduli and linear weights let faults cancel out.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from operator import mul
from typing import Final

P: Final = (1 << 61) - 1
R: Final = 0x1B873593A5A5F1D7 % P

_MASK: Final = (1 << 64) - 1
_STEP: Final = 512
"""Digests that `Sums` takes at once: as many as a block has rows at most."""
_powers: list[int] = [1]
_growing: Final = threading.Lock()


def mix(digest: int) -> int:
    """Spread a 32-bit digest over 1 … P−1 (SplitMix64's finaliser, reduced)."""
    z = (digest * 0x9E3779B97F4A7C15 + 0x1234567) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return (z ^ (z >> 31)) % P or 1


def power(i: int) -> int:
    """R^i mod P for i ≥ 0; cached up to the longest stream seen, at most a million entries."""
    if i > 1_000_000:
        return pow(R, i, P)
    if i >= len(_powers):
        with _growing:
            while len(_powers) <= i:
                _powers.append(_powers[-1] * R % P)
    return _powers[i]


class Sums:
    """S and O of digests that come run by run."""

    __slots__ = ("_weight", "o", "s")

    def __init__(self) -> None:
        self.s = 0
        self.o = 0
        self._weight = 1

    def extend(self, digests: Sequence[int]) -> None:
        """Add the next digests in their order.

        Together they cost less than half of what they cost one by one: R^i is then a table's entry.
        """
        for start in range(0, len(digests), _STEP):
            mixed = [mix(digest) for digest in digests[start : start + _STEP]]
            run = sum(map(mul, mixed, _FIRST_POWERS)) % P
            self.s = (self.s + sum(mixed)) % P
            self.o = (self.o + self._weight * run) % P
            self._weight = self._weight * power(len(mixed)) % P


_FIRST_POWERS: Final = tuple(power(i) for i in range(_STEP))
