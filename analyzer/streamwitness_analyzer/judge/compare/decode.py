"""Which events two points differ by, from the difference of their S alone (docs/design.md §7.2 rule 5).

Both have closed, so the count and the S of the difference are exact, whatever rows are lost between:

    Σ copies(v) = n_A − n_B        Σ copies(v) · mix(v) = S_A − S_B   mod P

with copies(v) how many more A has of v than B (negative: fewer). An answer is looked for among the digests that are
known at either point: at most three single events, or one run of neighbours, of which one event may have been replaced.

What is exact, and what is not. An answer is the difference of the two multisets. An event that was lost and another of
the same digest that was added cancel out, and order does not count at all: so the counts are exact only where one point
is the other without these events, as their O confirms (`only_without`); else they are the least that there can be.

Chance. An equation whose true answer is another one is solved by accident by one combination in 2^61. At most `TRIES`
look-ups are made for each shape of answer, each covering as many combinations as digests are known, `COMBINATIONS` at
most together: less than one false answer in 10^9 hops. The same bound keeps the cost at a few ms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Final

from streamwitness.sums import P, mixes, power
from streamwitness_analyzer.judge.testimony.view import View

from .known import Net

TRIES: Final = 60_000
"""Look-ups for one shape of answer: some 10 ms."""
COMBINATIONS: Final = 400_000_000
"""Combinations that the look-ups for one shape may cover; there are at most five shapes."""
_WAYS: Final = 1_000
"""Ways that are tried to take a few events out of many equal ones."""
SHAPES: Final[dict[int, tuple[tuple[int, ...], ...]]] = {
    0: ((-1, 1),),
    1: ((1,), (-1, 1, 1)),
    2: ((1, 1),),
    3: ((1, 1, 1),),
}
"""By how many events one point has more → the single events that may explain it; −1: one that the other has more."""


def decode(a: View, b: View, window: tuple[int, int]) -> Net | None:
    """The difference of two closed points; None where no answer is found. A run is looked for in the `window`.

    `window`: how many places are equal at the beginning and at the end.
    """
    if a.s is None or b.s is None:
        return None
    known = _known(a, b)
    if a.n >= b.n:
        return _decode(_Equation((a.s - b.s) % P, a.n - b.n, known), a, window)
    net = _decode(_Equation((b.s - a.s) % P, b.n - a.n, known), b, window)
    return None if net is None else Counter({value: -count for value, count in net.items()})


def _known(a: View, b: View) -> dict[int, int]:
    """The mix of each digest known at either point → the digest."""
    digests = list(a.counts.keys() | b.counts.keys())
    return dict(zip(mixes(digests), digests, strict=True))


@dataclass(frozen=True, slots=True)
class _Equation:
    """`count` more events with this `sum` of their mixes at the longer point, to be made of `known` ones."""

    sum: int
    count: int
    known: Mapping[int, int]


def _decode(equation: _Equation, longer: View, window: tuple[int, int]) -> Net | None:
    net = single_events(equation)
    if net is None and equation.count > 1:
        net = one_run(equation, longer, window)
    return net


def single_events(equation: _Equation) -> Net | None:
    """At most three events."""
    for signs in SHAPES.get(equation.count, ()):
        if (found := _solved(equation.sum, signs, equation.known)) is not None:
            return _net(zip(signs, found, strict=True), equation.known)
    return None


def _solved(wanted: int, signs: Sequence[int], known: Collection[int]) -> tuple[int, ...] | None:
    """Known mixes that add up to a sum, each with its sign (the last one is positive); None where there are none."""
    others = signs[:-1]
    tries = len(known) ** len(others)
    if tries > TRIES or tries * len(known) > COMBINATIONS:
        return None
    for chosen in product(known, repeat=len(others)):
        rest = (wanted - sum(sign * value for sign, value in zip(others, chosen, strict=True))) % P
        if rest in known:
            return (*chosen, rest)
    return None


def _net(terms: Iterator[tuple[int, int]], known: Mapping[int, int]) -> Net:
    net: Net = Counter()
    for sign, value in terms:
        net[known[value]] += sign
    return Counter({digest: count for digest, count in net.items() if count})


def one_run(equation: _Equation, longer: View, window: tuple[int, int]) -> Net | None:
    """Neighbours that stand at the longer point, and at most one other event in the place of another one."""
    runs = list(_runs(longer, equation.count, window))
    for start, total in runs:
        if total == equation.sum:
            return _run(longer, start, equation.count)
    if len(runs) * len(equation.known) > TRIES or len(runs) * len(equation.known) ** 2 > COMBINATIONS:
        return None
    for start, total in runs:
        if (found := _solved((equation.sum - total) % P, (-1, 1), equation.known)) is not None:
            net = _run(longer, start, equation.count)
            net.update(_net(zip((-1, 1), found, strict=True), equation.known))
            return Counter({digest: count for digest, count in net.items() if count})
    return None


def _runs(view: View, length: int, window: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Where a run of known rows of this length begins in the window, and the sum of its mixes."""
    first, last = window[0], view.n - window[1] - length
    unknown_before = [0]
    for value in view.values:
        unknown_before.append(unknown_before[-1] + (value is None))
    for i in range(first, last + 1):
        low, high = view.sums[i], view.sums[i + length]
        if unknown_before[i] == unknown_before[i + length] and low is not None and high is not None:
            yield i, (high - low) % P


def _run(view: View, start: int, length: int) -> Net:
    return Counter(value for value in view.values[start : start + length] if value is not None)


def only_without(a: View, b: View, net: Net) -> bool:
    """Whether one of the points is, event for event, the other without these."""
    longer, shorter = (a, b) if a.n >= b.n else (b, a)
    copies = Counter({value: abs(count) for value, count in net.items()})
    if copies.total() != longer.n - shorter.n:
        return False
    return any(_without(longer, places) == shorter.o for places in _places(longer, copies))


def _places(view: View, copies: Net) -> Iterator[Sequence[int]]:
    """Where these events may stand: as neighbours, or a few of them anywhere."""
    wanted = sum(mix * copies[value] for value, mix in zip(copies, mixes(list(copies)), strict=True)) % P
    yield from (range(i, i + copies.total()) for i, total in _runs(view, copies.total(), (0, 0)) if total == wanted)
    if copies.total() in SHAPES:
        of_each = [[i for i, known in enumerate(view.values) if known == value] for value in copies]
        ways = [combinations(places, copies[value]) for value, places in zip(copies, of_each, strict=True)]
        some = islice(product(*ways), _WAYS)
        yield from (sorted(place for places in way for place in places) for way in some)


def _without(view: View, places: Sequence[int]) -> int | None:
    """O of a view without these places; None where the sums around one of them are not known."""
    order, at = 0, 0
    for skipped, place in enumerate([*places, view.n]):
        low, high = view.prefix[at], view.prefix[place]
        if low is None or high is None:
            return None
        order += (high - low) * pow(power(skipped), -1, P)
        at = place + 1
    return order % P
