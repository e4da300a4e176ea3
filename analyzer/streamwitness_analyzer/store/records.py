"""What goes into the store and comes out of it, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streamwitness.blocks import Block

Document = dict[str, Any]
Counts = dict[tuple[str, str], int]
"""(counter, labels as Prometheus writes them) → how much to add."""


class Superseded(RuntimeError):
    """Somebody else has taken the partition over: what we were about to commit is theirs to do."""


class Received(NamedTuple):
    """A block and when the collector had it, in Unix nanoseconds."""

    block: Block
    received: int


@dataclass(slots=True)
class Seen:
    """What a batch knows of a stream before anything is read: the span of arrival, and whether something closed."""

    first: int
    last: int
    closing: bool = False

    def add(self, item: Received) -> None:
        """Take one more block into account."""
        self.first = min(self.first, item.received)
        self.last = max(self.last, item.received)
        self.closing = self.closing or item.block.final


class StreamState(NamedTuple):
    """A stream's row, as locked."""

    id: str
    state: str
    revision: int
    expired: bool
    closing: bool
    first_received: int
    last_received: int
    due: int | None
    excess: int


@dataclass(frozen=True, slots=True)
class Change:
    """What judging made of a stream: its next row, and the document if that is new."""

    stream: str
    state: str
    revision: int
    expired: bool
    due: int | None
    document: Document | None = None
    settled_at: int | None = None
    counts: Counts = field(default_factory=dict)


class Offset(NamedTuple):
    """Where reading of a partition goes on, and in whose name."""

    topic: str
    partition: int
    next: int
    epoch: int


class Move(NamedTuple):
    """A compare-and-set of an offset: from where we read, to where the next read begins, and how far time came."""

    held: Offset
    next: int
    watermark: int
