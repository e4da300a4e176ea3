"""A record as a sequence of digests: what is known at which place, opened only when two points differ.

One record has up to two axes: `payload` counts all events, `semantic` only the judged ones (those with a semantic
digest). A view knows without opening a row how many there are and their sums; opened, it knows each row held and the
sums of every prefix that the blocks prove.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Final, Literal

from streamwitness.blocks import Block
from streamwitness.semconv import MISSING
from streamwitness.sums import P, mix, power

from .records import Record

Axis = Literal["payload", "semantic"]
Run = tuple[int, int]
"""A half-open run of places."""

_COUNTER: Final[dict[Axis, str]] = {"payload": "events", "semantic": "judged"}
_SUMS: Final[dict[Axis, tuple[str, str]]] = {
    "payload": ("payload_s", "payload_o"),
    "semantic": ("semantic_s", "semantic_o"),
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
        self.s, self.o = self._sums(record.blocks[-1]) if record.blocks else (0, 0)
        self.digests = all(None not in self._sums(block) for block in record.blocks)

    def _sums(self, block: Block) -> tuple[int | None, int | None]:
        s, o = _SUMS[self.axis]
        return getattr(block, s), getattr(block, o)

    @cached_property
    def opened(self) -> Opened:
        """The rows, decoded once."""
        return Opened(self)

    @property
    def values(self) -> list[int | None]:
        """The digest at each place; None where it is not known."""
        return self.opened.values

    @property
    def prefix(self) -> list[int | None]:
        """O of the first k places for k = 0 … n; None where it is not known."""
        return self.opened.prefix

    @property
    def positions(self) -> list[int | None]:
        """The event position of each place; None where it is not known."""
        return self.opened.positions

    @cached_property
    def counts(self) -> Counter[int]:
        """How often each known digest stands here."""
        return Counter(value for value in self.values if value is not None)

    @property
    def content(self) -> dict[int, int]:
        """Content bytes of an event with this digest (equal digests mean equal content)."""
        return self.opened.content

    def known(self, start: int, stop: int) -> bool:
        """Whether every row of the run is held."""
        return None not in self.values[start:stop]

    @cached_property
    def whole(self) -> bool:
        """Whether every row is held."""
        return self.known(0, self.n)


class Opened:
    """The rows of a view, and the sums of its prefixes (internal: use the view)."""

    def __init__(self, view: View) -> None:
        self.values: list[int | None] = [None] * view.n
        self.prefix: list[int | None] = [None] * (view.n + 1)
        self.positions: list[int | None] = list(range(view.n)) if view.axis == "payload" else [None] * view.n
        self.content: dict[int, int] = {}
        self.prefix[0] = 0
        self._sum_s: list[int | None] = [None] * (view.n + 1)
        self._sum_s[0] = 0
        self._axis = view.axis
        self._witness = view.record.witness
        for block in view.record.blocks:
            self._read(block, *view._sums(block))

    def _read(self, block: Block, s: int | None, o: int | None) -> None:
        end = block.totals[_COUNTER[self._axis]]
        self._know(end, s, o)
        rows = self._rows(block, end)
        place = end - len(rows)
        for i, (position, digest) in enumerate(rows):
            self.positions[place + i] = position
            self.values[place + i] = digest
        for i in range(len(rows) - 1, -1, -1):
            digest = rows[i][1]
            if digest is None or s is None or o is None:
                return
            m = mix(digest)
            s, o = (s - m) % P, (o - m * power(place + i)) % P
            self._know(place + i, s, o)

    def _know(self, place: int, s: int | None, o: int | None) -> None:
        """Note a prefix's sums; a prefix that is known twice must be known alike."""
        for table, value in ((self._sum_s, s), (self.prefix, o)):
            if value is None:
                continue
            if table[place] is not None and table[place] != value:
                raise ContradictionError(self._witness)
            table[place] = value

    def _rows(self, block: Block, end: int) -> list[tuple[int, int | None]]:
        """(event position, digest) of the block's places; empty unless all of the block's rows are held."""
        if block.rows is None or block.position + block.row_count != block.totals["events"]:
            return []
        columns = block.columns()
        digests = columns.get(self._axis) or [MISSING] * block.row_count
        for digest, size in zip(digests, columns.get("content") or [0] * block.row_count, strict=True):
            if digest != MISSING:
                self.content[digest] = size
        if self._axis == "payload":
            return [(block.position + i, None if d == MISSING else d) for i, d in enumerate(digests)]
        rows: list[tuple[int, int | None]] = [(block.position + i, d) for i, d in enumerate(digests) if d != MISSING]
        if len(rows) > end:
            raise ContradictionError(self._witness)
        return rows


def run_sum(view: View, start: int, length: int) -> int | None:
    """O of a run, not shifted; None where the prefix at one of its ends is not known."""
    low, high = view.prefix[start], view.prefix[start + length]
    return None if low is None or high is None else (high - low) % P


def same_run(a: View, i: int, b: View, j: int, length: int) -> bool:
    """Whether two runs with known ends hold the same digests in the same order."""
    da, db = run_sum(a, i, length), run_sum(b, j, length)
    return da is not None and db is not None and da * power(max(0, j - i)) % P == db * power(max(0, i - j)) % P
