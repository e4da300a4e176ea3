"""The public sums over row digests, which let two points be compared without opening a row.

A row digest is a keyed 32-bit number; `mix` spreads it over 61 bits without a key, so that the analyzer, which
never holds one, computes the same value from the row. Over the digests d(0), d(1), … of a point

    S = Σ mix(d(i))          mod P        the multiset: equal where the same events came, in any order
    O = Σ mix(d(i)) · R^i    mod P        the sequence: equal where the same events came in the same order

Both are cumulative and subtractable (a run's sum is the difference of its ends), and O can be shifted along the
stream by a power of R. P is the Mersenne prime 2^61 − 1: smaller moduli and linear weights let faults cancel out.
"""

from __future__ import annotations

from typing import Final

P: Final = (1 << 61) - 1
R: Final = 0x1B873593A5A5F1D7 % P

_MASK: Final = (1 << 64) - 1
_powers: list[int] = [1]


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
    while len(_powers) <= i:
        _powers.append(_powers[-1] * R % P)
    return _powers[i]
