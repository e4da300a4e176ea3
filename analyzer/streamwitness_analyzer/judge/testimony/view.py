"""A record as a sequence of digests: what is known at which place, opened only when two points differ.

One record has up to two axes: `payload` counts all events, `semantic` only the judged ones (those with a semantic
digest). A view knows without opening a row how many there are and their sums; opened, it knows each row held and the
sums of every prefix that the blocks prove.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from itertools import accumulate, chain
from operator import attrgetter, mul
from typing import Final, Literal

from streamwitness.blocks import Block
from streamwitness.semconv import MISSING
from streamwitness.sums import P, mixes, power, powers

from .records import Record

Axis = Literal["payload", "semantic"]
Run = tuple[int, int]
"""A half-open run of places."""
_COUNTER: Final[dict[Axis, str]] = {"payload": "events", "semantic": "judged"}
_Sums = tuple[int | None, int | None]
"""S and O at a block's end; None where no digests are recorded."""
_SUMS: Final[dict[Axis, Callable[[Block], _Sums]]] = {
    "payload": attrgetter("payload_s", "payload_o"),
    "semantic": attrgetter("semantic_s", "semantic_o"),
}


class ContradictionError(Exception):
    """The rows of a record do not add up to its sums; its witness proves nothing."""

    def __init__(self, witness: str) -> None:
        super().__init__(f"the rows of witness {witness} contradict its sums")
        self.witness = witness


class View:
    """One axis of one record. Places are 0-based ordinals on that axis."""

    def __init__(self, record: Record, axis: Axis) -> None:
        self.record = record
        self.axis: Axis = axis
        self.closed = record.closed
        self.n = record.total(_COUNTER[axis])
        """Places known to exist; all there are where `closed`."""
        sums = list(map(_SUMS[axis], record.blocks))
        self.s, self.o = sums[-1] if sums else (0, 0)
        self.digests = None not in chain.from_iterable(sums)

    @cached_property
    def opened(self) -> Opened:
        """The rows, decoded once for all views of this axis: what one hop learns of sizes, the next one knows."""
        return self.record.once(self.axis, lambda: Opened(self))

    @property
    def values(self) -> list[int | None]:
        """The digest at each place; None where it is not known."""
        return self.opened.values

    @property
    def prefix(self) -> list[int | None]:
        """O of the first k places for k = 0 … n; None where it is not known."""
        return self.opened.prefix

    @property
    def sums(self) -> list[int | None]:
        """S of the first k places, likewise."""
        return self.opened.sums

    @property
    def positions(self) -> list[int | None]:
        """The event position of each place; None where it is not known. No sums are looked at for it."""
        return self.record.once((self.axis, "positions"), self._positions)

    def _positions(self) -> list[int | None]:
        if self.axis == "payload":
            return list(range(self.n))
        found: list[int | None] = [None] * self.n
        for block in self.record.blocks:
            here = block.position
            judged = [p for p, digest in enumerate(_digests(block, self.axis), here) if digest != MISSING]
            end = block.totals[_COUNTER[self.axis]]
            found[max(0, end - len(judged)) : end] = judged[:end]
        return found

    @cached_property
    def counts(self) -> Counter[int]:
        """How often each known digest stands here."""
        return Counter(value for value in self.values if value is not None)

    @cached_property
    def hulls(self) -> dict[int | None, tuple[int, int]]:
        """First and last place of each digest, and of what is not known (None)."""
        first: dict[int | None, int] = {}
        last = {value: place for place, value in enumerate(self.values)}
        for place, value in enumerate(self.values):
            first.setdefault(value, place)
        return {value: (place, last[value]) for value, place in first.items()}

    @property
    def content(self) -> dict[int, int]:
        """Content bytes of an event with this digest, as far as known (equal digests mean equal content)."""
        return self.opened.content

    def known(self, start: int, stop: int) -> bool:
        """Whether every row of the run is held."""
        return None not in self.values[start:stop]

    @cached_property
    def whole(self) -> bool:
        """Whether every row is held."""
        return self.known(0, self.n)

    def filled(self, start: int, values: Sequence[int]) -> View:
        """This view with a lost run known after all."""
        view = View(self.record, self.axis)
        view.opened = self.opened.filled(start, values)
        return view


class Opened:
    """The rows of a view, and the sums of its prefixes (internal: use the view)."""

    def __init__(self, view: View) -> None:
        self.values: list[int | None] = [None] * view.n
        self.prefix: list[int | None] = [0, *[None] * view.n]
        self.content: dict[int, int] = {}
        self.sums: list[int | None] = [0, *[None] * view.n]
        self._axis = view.axis
        self._witness = view.record.witness
        for block in view.record.blocks:
            self._read(block, *_SUMS[view.axis](block))

    def _read(self, block: Block, s: int | None, o: int | None) -> None:
        end = block.totals[_COUNTER[self._axis]]
        self._know(end, s, o)
        digests = self._rows(block, end)
        start = end - len(digests)
        self.values[start:end] = digests
        known = digests[len(digests) - next((i for i, d in enumerate(reversed(digests)) if d is None), len(digests)) :]
        if known and s is not None and o is not None:
            self._sum(end - len(known), [d for d in known if d is not None], s, o)

    def _sum(self, start: int, digests: Sequence[int], s: int, o: int) -> None:
        """The sums before each of these digests, from those behind the last one."""
        mixed = mixes(digests)
        weighed = list(map(mul, mixed, powers(start, start + len(digests))))
        before_s, before_o = (s - sum(mixed)) % P, (o - sum(weighed)) % P
        self._know(start, before_s, before_o)
        end = start + len(digests)
        self.sums[start:end] = [k % P for k in accumulate(mixed[:-1], initial=before_s)]
        self.prefix[start:end] = [k % P for k in accumulate(weighed[:-1], initial=before_o)]

    def filled(self, start: int, values: Sequence[int]) -> Opened:
        """A copy in which these rows are known; the sums behind the last of them must be."""
        other = copy(self)
        other.values, other.prefix, other.sums = self.values[:], self.prefix[:], self.sums[:]
        end = start + len(values)
        other.values[start:end] = values
        s, o = self.sums[end], self.prefix[end]
        if s is not None and o is not None:
            other._sum(start, values, s, o)
        return other

    def _know(self, place: int, s: int | None, o: int | None) -> None:
        """Note a prefix's sums; a prefix that is known twice must be known alike."""
        for table, value in ((self.sums, s), (self.prefix, o)):
            if value is None:
                continue
            if table[place] is not None and table[place] != value:
                raise ContradictionError(self._witness)
            table[place] = value

    def _rows(self, block: Block, end: int) -> list[int | None]:
        """The digest of each of the block's places; nothing unless all of its rows are held."""
        digests = _digests(block, self._axis)
        self.content |= zip(digests, block.columns("content").get("content") or (), strict=False)  # absent is not 0
        self.content.pop(MISSING, None)
        if self._axis == "payload":
            return [None if d == MISSING else d for d in digests]
        judged: list[int | None] = [d for d in digests if d != MISSING]
        if len(judged) > end:
            raise ContradictionError(self._witness)
        return judged


def _digests(block: Block, axis: Axis) -> Sequence[int]:
    """The digest column of a block; nothing unless all of its rows are held."""
    if not block.rows_held:
        return ()
    return block.columns(axis).get(axis) or [MISSING] * block.row_count


def share_sizes(a: View, b: View) -> None:
    """Equal digests mean equal content: of the size of an event both know what one of them knows."""
    a.opened.content = b.opened.content = a.content | b.content


def run_sum(view: View, start: int, length: int) -> int | None:
    """O of a run, not shifted; None where the prefix at one of its ends is not known."""
    low, high = view.prefix[start], view.prefix[start + length]
    return None if low is None or high is None else (high - low) % P


def same_run(a: View, i: int, b: View, j: int, length: int) -> bool:
    """Whether two runs with known ends hold the same digests in the same order."""
    da, db = run_sum(a, i, length), run_sum(b, j, length)
    return da is not None and db is not None and da * power(max(0, j - i)) % P == db * power(max(0, i - j)) % P
