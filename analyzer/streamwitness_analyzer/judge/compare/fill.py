"""Lost rows filled in from the other point (docs/design.md §7.2 rule 5): by guesses that count, S and O all confirm.

The blocks around a lost run tell how many events it had, and their S and O. A guess says what happened there: nothing,
a run was lost, an event came more, was changed, or a run came twice. It makes a sequence of what the other point has
there, and is believed only if that has the same three numbers. A sum of 61 bits agrees by accident once in 10^18
guesses, so it does not matter how a guess was come by. Nothing is ever filled in by count alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Final

from streamwitness.sums import P, mixes, power, powers, unmix
from streamwitness_analyzer.judge.testimony.view import View

OFFSETS: Final = 8
"""How far apart equal events may stand at the two points for a guess to be made from them."""
TRIES: Final = 40_000
"""Places at which guesses are tried, for one lost run."""
ROUNDS: Final = 2
"""What is filled in at one point can help at the other."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What is known of a lost run: its length, S, and O as if it stood at the beginning."""

    length: int
    s: int
    o: int


class Source:
    """What the other point has there: digests, and the sums before each of them and behind the last."""

    def __init__(self, digests: Sequence[int]) -> None:
        self.digests = list(digests)
        mixed = mixes(self.digests)
        self.s = list(accumulate(mixed, initial=0))
        self.o = list(accumulate(map(mul, mixed, powers(0, len(mixed))), initial=0))


Guess = Callable[[Source, Lost], list[int] | None]


def unchanged(source: Source, lost: Lost) -> list[int] | None:
    """Nothing happened here."""
    same = (source.s[-1] - lost.s) % P == 0 == (source.o[-1] - lost.o) % P
    return source.digests if same and len(source.digests) == lost.length else None


def run_missing(source: Source, lost: Lost) -> list[int] | None:
    """The other point has one run more."""
    count = len(source.digests) - lost.length
    excess = source.s[-1] - lost.s
    back = power(max(0, count))
    for i in range(lost.length + 1) if count > 0 else ():
        if (source.s[i + count] - source.s[i] - excess) % P == 0:
            behind = source.o[-1] - source.o[i + count]
            if ((source.o[i] - lost.o) * back + behind) % P == 0:
                return source.digests[:i] + source.digests[i + count :]
    return None


def one_more(source: Source, lost: Lost) -> list[int] | None:
    """One event is here that the other point lacks; S tells its digest, O its place."""
    if len(source.digests) != lost.length - 1 or (digest := unmix(lost.s - source.s[-1])) is None:
        return None
    more, second, behind = lost.s - source.s[-1], power(1), source.o[-1]
    for i, before in enumerate(source.o):
        if (before + more * power(i) + (behind - before) * second - lost.o) % P == 0:
            return [*source.digests[:i], digest, *source.digests[i:]]
    return None


def one_changed(source: Source, lost: Lost) -> list[int] | None:
    """One event is another one here."""
    if len(source.digests) != lost.length:
        return None
    by, moved = lost.s - source.s[-1], lost.o - source.o[-1]
    for i in range(lost.length):
        if (by * power(i) - moved) % P == 0:
            digest = unmix(source.s[i + 1] - source.s[i] + by)
            return None if digest is None else [*source.digests[:i], digest, *source.digests[i + 1 :]]
    return None


def run_repeated(source: Source, lost: Lost) -> list[int] | None:
    """A run of the other point stands here twice, one behind the other."""
    count = lost.length - len(source.digests)
    more = lost.s - source.s[-1]
    forward = power(max(0, count))
    for i in range(len(source.digests) - count + 1) if count > 0 else ():
        if (source.s[i + count] - source.s[i] - more) % P == 0:
            behind = source.o[-1] - source.o[i]
            if (source.o[i + count] + behind * forward - lost.o) % P == 0:
                return source.digests[: i + count] + source.digests[i:]
    return None


GUESSES: Final[tuple[Guess, ...]] = (unchanged, run_missing, one_more, one_changed, run_repeated)
"""What may have happened between the points, in the order in which it is tried."""


def filled(a: View, b: View, x: int, y: int) -> tuple[View, View]:
    """Both views, with the lost rows of the window known that a guess explains; `x`, `y` are its equal neighbours."""
    for _ in range(ROUNDS):
        before = a, b
        a = _from(b, a, x, y)
        b = _from(a, b, x, y)
        if (a, b) == before:
            break
    return a, b


def _from(other: View, view: View, x: int, y: int) -> View:
    for start, stop in _lost_runs(view, x, view.n - y):
        lost = _told(view, start, stop)
        found = _guessed(other, view, lost, start, stop, x, y) if lost is not None else None
        if found is not None:
            view = view.filled(start, found)
    return view


def _lost_runs(view: View, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Runs of the window whose rows are not held, each between two places with known sums."""
    at = start
    while at < stop:
        low = at
        at += 1
        while at < stop and view.prefix[at] is None:
            at += 1
        if view.values[low] is None:
            yield low, at


def _told(view: View, start: int, stop: int) -> Lost | None:
    s, t, o, u = view.sums[start], view.sums[stop], view.prefix[start], view.prefix[stop]
    if s is None or t is None or o is None or u is None:
        return None
    return Lost(stop - start, (t - s) % P, (u - o) * pow(power(start), -1, P) % P)


def _guessed(other: View, view: View, lost: Lost, start: int, stop: int, x: int, y: int) -> list[int] | None:
    tries = TRIES
    for first, last in _between(other, view, start, stop, x, y):
        digests = [value for value in other.values[first:last] if value is not None]
        if len(digests) < last - first:
            continue
        source = Source(digests)
        for guess in GUESSES:
            if (found := guess(source, lost)) is not None:
                return found
        tries -= len(digests) + 1
        if tries <= 0:
            return None
    return None


def _between(other: View, view: View, start: int, stop: int, x: int, y: int) -> Iterator[tuple[int, int]]:
    """The stretches of the other point that may stand for the lost run, the likeliest first."""
    shift = other.n - view.n
    lefts = [start] if start <= x else _beside(other, view, start, -1, (0, shift))
    rights = [stop + shift] if stop >= view.n - y else _beside(other, view, stop, 0, (0, shift))
    pairs = [(first, last) for first in lefts for last in rights if 0 <= first <= last <= other.n]
    yield from sorted(pairs, key=lambda pair: abs(pair[1] - pair[0] - (stop - start)))


def _beside(other: View, view: View, place: int, neighbour: int, around: Sequence[int]) -> list[int]:
    """Places at the other point whose neighbour, before or behind, is the one that the lost run has there."""
    at = place + neighbour
    value = view.values[at] if 0 <= at < view.n else None
    near = sorted({place + o + k for o in around for k in range(-OFFSETS, OFFSETS + 1)}, key=lambda p: abs(p - place))
    return [
        p for p in near if value is not None and 0 <= p + neighbour < other.n and other.values[p + neighbour] == value
    ]
