"""Old streams go, in transactions that are bounded: nobody who writes meanwhile waits for long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from .store import Store, retention
from .store.retention import Old, Place

_STREAMS: Final = 200
_BLOCKS: Final = 20_000
"""What one transaction deletes at most; a single stream may have as many blocks as `max_blocks` allows."""


class Pruned(NamedTuple):
    """How many streams went, and how many blocks with them."""

    streams: int
    blocks: int


def prune(store: Store, before: int, *, dry: bool = False) -> Pruned:
    """Delete the judged streams seen last before then (Unix ns), with their blocks and verdicts; `dry` only counts.

    What is not judged yet stays, however old. Totals of `/metrics` stay as they are: counters never go back.
    """
    streams = gone = 0
    after: Place = (-1, "")
    while found := _some(store, before, after):
        for batch in _batches(found):
            streams += len(batch) if dry else _forget(store, batch, before)
            gone += sum(item.blocks for item in batch)
        after = found[-1].place
    return Pruned(streams, gone)


def _some(store: Store, before: int, after: Place) -> list[Old]:
    with store.read() as connection:
        return retention.old(connection, before, after, _STREAMS)


def _batches(found: Sequence[Old]) -> Iterator[list[Old]]:
    """Each as large as a transaction may be."""
    batch: list[Old] = []
    for item in found:
        if batch and sum(other.blocks for other in batch) + item.blocks > _BLOCKS:
            yield batch
            batch = []
        batch.append(item)
    yield batch


def _forget(store: Store, batch: Sequence[Old], before: int) -> int:
    with store.write() as transaction:
        return transaction.forget([item.place[1] for item in batch], before)
