"""The public sums over row digests, which let two points be compared without opening a row.

A row digest is a keyed 32-bit number; `mix` spreads it over 61 bits without a key, so that the analyzer, which
never holds one, computes the same value from the row. Over the digests d(0), d(1), … of a point

    S = Σ mix(d(i))          mod P        the multiset: equal where the same events came, in any order
    O = Σ mix(d(i)) · R^i    mod P        the sequence: equal where the same events came in the same order

Both are cumulative and subtractable (a run's sum is the difference of its ends), and O can be shifted along the
stream by a power of R. P is the Mersenne prime 2^61 − 1: smaller moduli and linear weights let faults cancel out.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from operator import mul
from typing import Final

P: Final = (1 << 61) - 1
R: Final = 0x1B873593A5A5F1D7 % P

_FACTORS: Final = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_INVERSES: Final = tuple(pow(factor, -1, 1 << 64) for factor in _FACTORS)
_OFFSET: Final = 0x1234567
_MASK: Final = (1 << 64) - 1
_LANE: Final = struct.Struct("<Q8x")
"""A 64-bit number with room for its product with another one."""
_STEP: Final = 512
"""Digests that `Sums` takes at once: as many as a block has rows at most."""
_powers: list[int] = [1]
_growing: Final = threading.Lock()


def mix(digest: int) -> int:
    """Spread a 32-bit digest over 1 … P−1 (SplitMix64's finaliser, reduced)."""
    first, second, third = _FACTORS
    z = (digest * first + _OFFSET) & _MASK
    z = ((z ^ (z >> 30)) * second) & _MASK
    z = ((z ^ (z >> 27)) * third) & _MASK
    return (z ^ (z >> 31)) % P or 1


def unmix(mixed: int) -> int | None:
    """The 32-bit digest that is mixed to this (taken mod P); None where none is."""
    for z in range(mixed % P, _MASK + 1, P):
        z = _unshifted(z, 31) * _INVERSES[2] & _MASK
        z = _unshifted(z, 27) * _INVERSES[1] & _MASK
        digest = (_unshifted(z, 30) - _OFFSET) * _INVERSES[0] & _MASK
        if digest >> 32 == 0:
            return digest
    return None


def _unshifted(z: int, by: int) -> int:
    """What z ^ (z >> by) was made of, for 64 bits and 22 ≤ by."""
    return z ^ (z >> by) ^ (z >> 2 * by)


def mixes(digests: Sequence[int]) -> list[int]:
    """`mix` of each digest, at half the price: all of them side by side in one long integer.

    A product stays in its lane, and what a shift brings in from the next lane is masked out.
    """
    first, second, third = _FACTORS
    ones = int.from_bytes(_LANE.pack(1) * len(digests), "little")
    mask = ones * _MASK
    z = int.from_bytes(b"".join(map(_LANE.pack, digests)), "little")
    z = (z * first + ones * _OFFSET) & mask
    z = (((z ^ (z >> 30)) & mask) * second) & mask
    z = (((z ^ (z >> 27)) & mask) * third) & mask
    z = (z ^ (z >> 31)) & mask
    return [lane % P or 1 for (lane,) in _LANE.iter_unpack(z.to_bytes(_LANE.size * len(digests), "little"))]


def power(i: int) -> int:
    """R^i mod P for i ≥ 0; cached up to the longest stream seen, at most a million entries."""
    if i > 1_000_000:
        return pow(R, i, P)
    if i >= len(_powers):
        with _growing:
            while len(_powers) <= i:
                _powers.append(_powers[-1] * R % P)
    return _powers[i]


def powers(start: int, stop: int) -> list[int]:
    """R^start … R^(stop − 1) mod P."""
    if stop > 1_000_000:
        return [power(i) for i in range(start, stop)]
    power(stop)
    return _powers[start:stop]


class Sums:
    """S and O of digests that come run by run."""

    __slots__ = ("_weight", "o", "s")

    def __init__(self) -> None:
        self.s = 0
        self.o = 0
        self._weight = 1

    def extend(self, digests: Sequence[int]) -> None:
        """Add the next digests in their order; together they cost a quarter of what they cost one by one."""
        for start in range(0, len(digests), _STEP):
            mixed = mixes(digests[start : start + _STEP])
            run = sum(map(mul, mixed, _FIRST_POWERS)) % P
            self.s = (self.s + sum(mixed)) % P
            self.o = (self.o + self._weight * run) % P
            self._weight = self._weight * power(len(mixed)) % P


_FIRST_POWERS: Final = tuple(power(i) for i in range(_STEP))
