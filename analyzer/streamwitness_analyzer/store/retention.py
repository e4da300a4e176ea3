"""Old streams: which they are, and forgetting them with all that belongs to them. Each function takes a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from .schema import blocks, findings, streams, verdicts

Place = tuple[int, str]
"""When a stream was first seen (Unix ns), and its id: the order in which streams are looked through."""
_PLACE = (streams.c.first_received, streams.c.id)


class Old(NamedTuple):
    """A stream that may go, and how many blocks with it."""

    place: Place
    blocks: int


def judged() -> Any:
    """The condition that a stream has a final verdict, or one that the judge failed on: nothing waits for it."""
    return streams.c.settled_at.is_not(None) | (streams.c.state == "failed")


def old(connection: sa.Connection, before: int, after: Place, limit: int) -> list[Old]:
    """Judged streams seen last before then (Unix ns), at most `limit`, in order from behind `after`."""
    held = sa.select(sa.func.count()).where(blocks.c.stream == streams.c.id).scalar_subquery()
    query = sa.select(*_PLACE, held.label("blocks")).where(*_is_old(before))
    query = query.where(sa.tuple_(*_PLACE) > sa.tuple_(*map(sa.literal, after))).order_by(*_PLACE).limit(limit)
    return [Old((row.first_received, row.id), row.blocks) for row in connection.execute(query)]


def forget(connection: sa.Connection, ids: Sequence[str], before: int) -> int:
    """Delete those of these streams that are still old, in the order in which rows are locked (store.py); how many."""
    chosen = sa.select(streams.c.id).where(streams.c.id.in_(sorted(ids)), *_is_old(before))
    locked = list(connection.execute(chosen.order_by(streams.c.id).with_for_update()).scalars())
    for table, stream in ((blocks, blocks.c.stream), (verdicts, verdicts.c.stream), (findings, findings.c.stream)):
        connection.execute(sa.delete(table).where(stream.in_(locked)))
    connection.execute(sa.delete(streams).where(streams.c.id.in_(locked)))
    return len(locked)


def _is_old(before: int) -> tuple[Any, ...]:
    """The first condition is there for the index: what was seen last before then was seen first before then."""
    return streams.c.first_received < before, streams.c.last_received < before, judged()
