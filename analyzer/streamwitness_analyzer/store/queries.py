"""What can be asked of a store: lists, one stream, totals. Reads only; each function takes a connection."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from streamwitness_analyzer.cuts import Ended
from streamwitness_analyzer.filters import Filter, cursor

from .records import Document
from .schema import blocks, counters, findings, offsets, streams, verdicts

_COLUMNS: Final = {
    "stream": streams.c.id,
    "state": streams.c.state,
    "revision": streams.c.revision,
    "ending": streams.c.ending,
    "group": streams.c.ending_group,
    "integrity": streams.c.integrity,
    "confidence": streams.c.confidence,
    "short": streams.c.short,
    "client": streams.c.client,
    "provider": streams.c.provider,
    "model": streams.c.model,
    "service": streams.c.service,
    "ended_by": streams.c.ended_by,
    "sent": streams.c.sent,
    "used": streams.c.used,
    "first_received_ns": streams.c.first_received,
    "last_received_ns": streams.c.last_received,
    "settled_ns": streams.c.settled_at,
}
"""Fields of a row in a list, and where they come from."""

_RAISED: Final = {"parser": "client_parser_abort", "reducer": "client_reducer_abort"}
"""Component of the client → the ending that it makes by raising."""
_CANDIDATES: Final = 10
_FOREVER: Final = (1 << 63) - 1
MOST_ENDED: Final = 20_000
"""Streams that are compared at one time: bounds what a question costs."""
_ENDED: Final = ("id", "service", "provider", "ending", "ended_by", "at_point", "at_ms", "silent_ms", "at_bytes")
"""Columns in the order of Ended."""


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a list, newest first; `next` is the cursor of the page behind it, None at the end."""

    rows: list[dict[str, Any]]
    next: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """A stream's current document (None: nothing has been judged yet) and its bare facts."""

    stream: str
    state: str
    block_count: int
    document: Document | None


class Ambiguous(LookupError):
    """Several streams begin like this; `candidates` are the first of them."""

    def __init__(self, prefix: str, candidates: list[str]) -> None:
        super().__init__(f"{len(candidates)} or more streams begin with {prefix!r}")
        self.candidates = candidates


class NotFound(LookupError):
    """No stream begins like this."""


def page(connection: sa.Connection, chosen: Filter) -> Page:
    """The streams that a filter lets through, newest first."""
    query = sa.select(*(column.label(name) for name, column in _COLUMNS.items()))
    query = query.where(*_conditions(chosen)).order_by(streams.c.first_received.desc(), streams.c.id.desc())
    rows = [dict(row._mapping) for row in connection.execute(query.limit(chosen.limit + 1))]
    more = len(rows) > chosen.limit
    rows = rows[: chosen.limit]
    _add_findings(connection, rows)
    last = rows[-1] if more else None
    return Page(rows, cursor(last["first_received_ns"], last["stream"]) if last else None)


def find(connection: sa.Connection, prefix: str) -> Found:
    """The one stream whose id begins with `prefix` (lower-case hex); raises NotFound or Ambiguous."""
    # `~` sorts behind every hex digit, so the range is all ids that begin with the prefix, and uses the index.
    begins = sa.and_(streams.c.id >= prefix, streams.c.id < prefix + "~")
    query = sa.select(streams.c.id, streams.c.state, streams.c.revision).where(begins).order_by(streams.c.id)
    rows = connection.execute(query.limit(_CANDIDATES)).all()
    if not rows:
        raise NotFound(f"no stream begins with {prefix!r}")
    if len(rows) > 1:
        raise Ambiguous(prefix, [row.id for row in rows])
    row = rows[0]
    count = connection.execute(sa.select(sa.func.count()).where(blocks.c.stream == row.id)).scalar_one()
    return Found(row.id, row.state, count, document(connection, row.id, row.revision))


def document(connection: sa.Connection, stream: str, revision: int) -> Document | None:
    """One revision of a stream's verdict."""
    query = sa.select(verdicts.c.document).where(verdicts.c.stream == stream, verdicts.c.revision == revision)
    body = connection.execute(query).scalar()
    return None if body is None else dict(json.loads(body))


@dataclass(frozen=True, slots=True)
class Revision:
    """One revision of a stream's verdict, and when it was written (Unix ns)."""

    revision: int
    judge_version: int
    judged_at: int
    document: Document


def history(connection: sa.Connection, stream: str) -> list[Revision]:
    """Every revision of a stream's verdict, the oldest first."""
    query = sa.select(verdicts).where(verdicts.c.stream == stream).order_by(verdicts.c.revision)
    return [
        Revision(row.revision, row.judge_version, row.judged_at, json.loads(row.document))
        for row in connection.execute(query)
    ]


def ended(
    connection: sa.Connection, since: int, until: int = _FOREVER, *, like: Ended | None = None, limit: int = MOST_ENDED
) -> list[Ended]:
    """How and when settled streams ended that were first seen in this time (Unix ns), the newest `limit` of them.

    With `like`, only those of its service and provider.
    """
    query = sa.select(*(streams.c[name] for name in _ENDED)).where(
        streams.c.first_received >= since, streams.c.first_received <= until, streams.c.settled_at.is_not(None)
    )
    if like is not None:
        query = query.where(
            streams.c.service.is_not_distinct_from(like.service), streams.c.provider.is_not_distinct_from(like.provider)
        )
    rows = connection.execute(query.order_by(streams.c.first_received.desc()).limit(limit))
    return [Ended(*row) for row in rows]


def ending(connection: sa.Connection, stream: str) -> tuple[int, Ended]:
    """When a stream was first seen (Unix ns), and how it ended."""
    query = sa.select(streams.c.first_received, *(streams.c[name] for name in _ENDED)).where(streams.c.id == stream)
    row = connection.execute(query).one()
    return row[0], Ended(*row[1:])


def totals(connection: sa.Connection) -> dict[tuple[str, str], int]:
    """Every counter: (name, labels) → value."""
    rows = connection.execute(sa.select(counters.c.name, counters.c.labels, counters.c.value))
    return {(row.name, row.labels): row.value for row in rows}


def states(connection: sa.Connection) -> dict[str, int]:
    """How many streams are in each state."""
    query = sa.select(streams.c.state, sa.func.count().label("n")).group_by(streams.c.state)
    return {row.state: row.n for row in connection.execute(query)}


def watermarks(connection: sa.Connection) -> dict[tuple[str, int], int]:
    """How far time has come on each partition: (topic, partition) → Unix ns, 0 where nothing was read yet."""
    rows = connection.execute(sa.select(offsets.c.topic, offsets.c.partition, offsets.c.watermark))
    return {(row.topic, row.partition): row.watermark for row in rows}


def _conditions(chosen: Filter) -> list[Any]:
    out: list[Any] = []
    for name, values in chosen.words.items():
        if name in ("kind", "component"):
            matching = streams.c.id.in_(sa.select(findings.c.stream).where(findings.c[name].in_(values)))
            out.append(sa.or_(matching, _ended_by(values)) if name == "component" else matching)
        else:
            out.append(_COLUMNS[name].in_(values))
    if chosen.client is not None:
        out.append(streams.c.client == chosen.client)
    if chosen.since is not None:
        out.append(streams.c.first_received >= chosen.since)
    if chosen.after is not None:
        out.append(sa.tuple_(streams.c.first_received, streams.c.id) < sa.tuple_(*map(sa.literal, chosen.after)))
    return out


def _ended_by(components: Sequence[str]) -> Any:
    """Streams whose ending is by one of these; of a client that raised the ending tells which of its parts."""
    endings = [_RAISED[component] for component in components if component in _RAISED]
    failed = streams.c.ended_by.in_(components) & (streams.c.ending != "completed")
    return sa.or_(failed, streams.c.ending.in_(endings))


def _add_findings(connection: sa.Connection, rows: list[dict[str, Any]]) -> None:
    """Give each row the kinds and components of its findings."""
    by_id = {row["stream"]: row for row in rows}
    for row in rows:
        row.update(kinds=[], components=[])
    query = sa.select(findings).where(findings.c.stream.in_(list(by_id)))
    for found in connection.execute(query.order_by(findings.c.stream, findings.c.kind, findings.c.component)):
        row = by_id[found.stream]
        for field, value in (("kinds", found.kind), ("components", found.component)):
            if value not in row[field]:
                row[field].append(value)
