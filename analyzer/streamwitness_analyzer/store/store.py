"""The one store: a transaction's statements, the same for SQLite and PostgreSQL.

Inside a transaction rows are always locked in the same order, whatever the batch: streams (sorted), blocks,
verdicts, counters (sorted), offsets (sorted). So two analyzers wait for each other, but never in a circle.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as _postgresql_insert
from sqlalchemy.dialects.sqlite import insert as _sqlite_insert

from streamwitness.blocks import Block

from . import codec, retention
from .engine import WRITE, open_engine
from .records import Change, Counts, Document, Move, Offset, Received, Seen, StreamState, Superseded
from .schema import blocks, counters, findings, metadata, offsets, streams, verdicts

_CHUNK: Final = 500
"""Rows a statement: far below SQLite's limit of bound parameters."""

_STATE_COLUMNS: Final = tuple(streams.c[name] for name in StreamState._fields)
_T = TypeVar("_T")
_Key = tuple[str, int, bool, bytes]
_KEY: Final = tuple(blocks.primary_key)


class ForeignTablesError(sa.exc.SQLAlchemyError):
    """The database holds tables of another version. Tables are made, never migrated, until 1.0."""


def _missing_columns(connection: sa.Connection) -> list[str]:
    """`table.column` of what our schema has and the database has not."""
    inspector = sa.inspect(connection)
    return [
        f"{table.name}.{column.name}"
        for table in metadata.sorted_tables
        for column in table.columns
        if column.name not in {found["name"] for found in inspector.get_columns(table.name)}
    ]


class Store:
    """A database; give `name` as config.database_url describes it."""

    def __init__(self, name: str) -> None:
        self.engine = open_engine(name)
        self._writer = self.engine.execution_options(**{WRITE: True})

    def create(self) -> None:
        """Make the tables that are not there yet; safe when several analyzers start at once.

        Raises ForeignTablesError (an SQLAlchemyError) where tables of another version stand in their place.
        """
        with self._writer.begin() as connection:
            if self.engine.dialect.name == "postgresql":
                # Two `create table if not exists` at once collide in the catalogue.
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7387)"))
            metadata.create_all(connection)
            if missing := _missing_columns(connection):
                raise ForeignTablesError(f"it was made by another version and lacks {missing[0]}; name a new database")

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A transaction: committed when the block ends, rolled back when it raises."""
        with self._writer.begin() as connection:
            yield Transaction(connection)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A connection for queries."""
        with self.engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


class Transaction:
    """The statements of the numbered steps (steps.py); usable only inside Store.write()."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._insert: Any = _sqlite_insert if connection.dialect.name == "sqlite" else _postgresql_insert

    def lock_seen(self, seen: Mapping[str, Seen]) -> dict[str, StreamState]:
        """Insert or update the rows of these streams, which locks them, in sorted order; the rows as they are now."""
        out: dict[str, StreamState] = {}
        for ids in _chunks(sorted(seen)):
            statement = self._insert(streams).values([_new_stream(id_, seen[id_]) for id_ in ids])
            new, old = statement.excluded, streams.c
            statement = statement.on_conflict_do_update(
                index_elements=[streams.c.id],
                set_={
                    "first_received": _pick(new.first_received < old.first_received, new, old, "first_received"),
                    "last_received": _pick(new.last_received > old.last_received, new, old, "last_received"),
                    "closing": sa.or_(old.closing, new.closing),
                },
            ).returning(*_STATE_COLUMNS)
            out.update((row.id, StreamState(*row)) for row in self._connection.execute(statement))
        return out

    def lock(self, ids: Iterable[str]) -> dict[str, StreamState]:
        """Lock the rows of streams that exist, in sorted order."""
        out: dict[str, StreamState] = {}
        for chunk in _chunks(sorted(ids)):
            query = sa.select(*_STATE_COLUMNS).where(streams.c.id.in_(chunk)).order_by(streams.c.id).with_for_update()
            out.update((row.id, StreamState(*row)) for row in self._connection.execute(query))
        return out

    def fitting(self, received: Sequence[Received], most: int) -> tuple[list[Received], Counter[str]]:
        """The blocks that their streams hold already or have room for (`most` each); of each how many do not fit.

        Of what is stored only keys are counted, on an index.
        """
        coming = Counter(item.block.stream for item in received)
        room = {id_: most - held for id_, held in self._held(coming).items()}
        crowded = {id_ for id_, count in coming.items() if count > room[id_]}
        known = self._known([item for item in received if item.block.stream in crowded])
        fit: list[Received] = []
        excess: Counter[str] = Counter()
        for item in received:
            stream, key = item.block.stream, _key(item.block)
            if stream not in crowded or key in known:
                fit.append(item)
            elif room[stream] > 0:
                room[stream] -= 1
                known.add(key)
                fit.append(item)
            else:
                excess[stream] += 1
        return fit, excess

    def exceed(self, excess: Mapping[str, int]) -> None:
        """Note on the streams' rows how many blocks more were not stored."""
        for id_, count in sorted(excess.items()):
            more = sa.update(streams).where(streams.c.id == id_).values(excess=streams.c.excess + count)
            self._connection.execute(more)

    def insert_blocks(self, received: Sequence[Received]) -> set[str]:
        """Store blocks; equal content that is there already is ignored. The streams that got something new.

        That somebody vouches for a block is news: the copy that came with a role replaces the one that had none.
        """
        changed: set[str] = set()
        for chunk in _chunks(_best_copies(received)):
            statement = self._insert(blocks).values([_block_row(item) for item in chunk])
            new = statement.excluded
            statement = statement.on_conflict_do_update(
                index_elements=list(_KEY),
                set_={"role": new.role, "body": new.body},
                where=sa.and_(blocks.c.role.is_(None), new.role.is_not(None)),
            ).returning(blocks.c.stream)
            changed.update(self._connection.execute(statement).scalars())
        return changed

    def blocks_of(self, ids: Iterable[str]) -> dict[str, list[Received]]:
        """All blocks of these streams, in an order that does not depend on their arrival."""
        out: dict[str, list[Received]] = {id_: [] for id_ in ids}
        order = (blocks.c.stream, blocks.c.recorder, blocks.c.index, blocks.c.summary, blocks.c.hash)
        for chunk in _chunks(sorted(out)):
            query = sa.select(blocks.c.stream, blocks.c.body, blocks.c.received)
            for row in self._connection.execute(query.where(blocks.c.stream.in_(chunk)).order_by(*order)):
                out[row.stream].append(Received(codec.decode(row.body), row.received))
        return out

    def documents(self, states: Iterable[StreamState]) -> dict[str, Document]:
        """The current verdict of each stream that has one."""
        out: dict[str, Document] = {}
        wanted = {state.id: state.revision for state in states if state.revision}
        for chunk in _chunks(sorted(wanted)):
            query = sa.select(verdicts.c.stream, verdicts.c.revision, verdicts.c.document)
            for row in self._connection.execute(query.where(verdicts.c.stream.in_(chunk))):
                if row.revision == wanted[row.stream]:
                    out[row.stream] = json.loads(row.document)
        return out

    def record(self, change: Change, now: int) -> None:
        """Write what judging made of a stream `now`: its row, and its verdict where that is new."""
        values: dict[str, Any] = {
            "state": change.state,
            "revision": change.revision,
            "expired": change.expired,
            "due": change.due,
        }
        if change.settled_at is not None:
            values["settled_at"] = change.settled_at
        if change.document is not None:
            values.update(_columns(change.document))
            self._write_verdict(change.stream, change.revision, change.document, now)
            self._write_findings(change.stream, change.document)
        self._connection.execute(sa.update(streams).where(streams.c.id == change.stream).values(values))

    def count(self, counts: Counts) -> None:
        """Add to the totals."""
        rows = [{"name": name, "labels": labels, "value": n} for (name, labels), n in sorted(counts.items()) if n]
        for chunk in _chunks(rows):
            statement = self._insert(counters).values(list(chunk))
            total = counters.c.value + statement.excluded.value
            keys = [counters.c.name, counters.c.labels]
            self._connection.execute(statement.on_conflict_do_update(index_elements=keys, set_={"value": total}))

    def due(self, watermark: int, limit: int) -> list[str]:
        """Streams that the watermark settles, the longest waiting first."""
        query = sa.select(streams.c.id).where(streams.c.due <= watermark).order_by(streams.c.due).limit(limit)
        return list(self._connection.execute(query).scalars())

    def judged(self, since: int, after: str, limit: int) -> list[str]:
        """Streams with a settled verdict (or one that the judge failed on), seen last since then, by id."""
        final = retention.judged()
        query = sa.select(streams.c.id).where(final, streams.c.last_received >= since, streams.c.id > after)
        return list(self._connection.execute(query.order_by(streams.c.id).limit(limit)).scalars())

    def move(self, moves: Iterable[Move]) -> None:
        """Advance offsets by compare-and-set on (next, epoch); raises Superseded when one is no longer ours."""
        for move in sorted(moves):
            held = move.held
            later = sa.case((offsets.c.watermark < move.watermark, move.watermark), else_=offsets.c.watermark)
            statement = sa.update(offsets).where(*_is(held), offsets.c.next == held.next, offsets.c.epoch == held.epoch)
            if self._connection.execute(statement.values(next=move.next, watermark=later)).rowcount != 1:
                raise Superseded(f"{held.topic}/{held.partition} at {held.next} is not ours any more")

    def take_over(self, topic: str, partition: int) -> Offset:
        """Become the one who reads a partition: from here on, whoever did before fails its compare-and-set."""
        self.know_partitions(topic, (partition,))
        statement = sa.update(offsets).where(offsets.c.topic == topic, offsets.c.partition == partition)
        statement = statement.values(epoch=offsets.c.epoch + 1)
        row = self._connection.execute(statement.returning(offsets.c.next, offsets.c.epoch)).one()
        return Offset(topic, partition, row.next, row.epoch)

    def forget(self, ids: Sequence[str], before: int) -> int:
        """Delete those of these streams that were seen last before then (Unix ns), with all of theirs; how many."""
        return retention.forget(self._connection, ids, before)

    def know_partitions(self, topic: str, partitions: Iterable[int]) -> None:
        """Make sure that every partition has a row: one that was never read holds the watermark back."""
        fresh = {"topic": topic, "next": 0, "epoch": 0, "watermark": 0}
        rows = [fresh | {"partition": partition} for partition in sorted(partitions)]
        if rows:
            self._connection.execute(self._insert(offsets).values(rows).on_conflict_do_nothing())

    def watermark(self, topic: str) -> int:
        """How far time has come on all partitions of a topic, in Unix nanoseconds; 0 while one was never read."""
        query = sa.select(sa.func.min(offsets.c.watermark)).where(offsets.c.topic == topic)
        return int(self._connection.execute(query).scalar() or 0)

    def _held(self, ids: Iterable[str]) -> dict[str, int]:
        """How many blocks of each stream are stored."""
        out = dict.fromkeys(ids, 0)
        for chunk in _chunks(sorted(out)):
            query = sa.select(blocks.c.stream, sa.func.count().label("n")).where(blocks.c.stream.in_(chunk))
            out.update((row.stream, row.n) for row in self._connection.execute(query.group_by(blocks.c.stream)))
        return out

    def _known(self, received: Sequence[Received]) -> set[_Key]:
        """The keys of those of these blocks that are stored."""
        out: set[_Key] = set()
        for chunk in _chunks(received):
            query = sa.select(*_KEY).where(sa.tuple_(*_KEY).in_([_key(item.block) for item in chunk]))
            out.update((*row[:3], bytes(row.hash)) for row in self._connection.execute(query))
        return out

    def _write_verdict(self, stream: str, revision: int, document: Document, now: int) -> None:
        body = {
            "judge_version": document["judge_version"],
            "judged_at": now,
            "document": json.dumps(document, sort_keys=True),
        }
        statement = self._insert(verdicts).values(stream=stream, revision=revision, **body)
        keys = [verdicts.c.stream, verdicts.c.revision]
        self._connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=body))

    def _write_findings(self, stream: str, document: Document) -> None:
        self._connection.execute(sa.delete(findings).where(findings.c.stream == stream))
        rows = {
            (finding["kind"], component): str(finding["confidence"])
            for finding in document["findings"]
            for component in finding["suspects"] or ("none",)
        }
        if rows:
            values = [
                {"stream": stream, "kind": kind, "component": component, "confidence": confidence}
                for (kind, component), confidence in sorted(rows.items())
            ]
            self._connection.execute(sa.insert(findings), values)


def _new_stream(id_: str, seen: Seen) -> dict[str, Any]:
    return {
        "id": id_,
        "state": "open",
        "revision": 0,
        "expired": False,
        "closing": seen.closing,
        "first_received": seen.first,
        "last_received": seen.last,
        "excess": 0,
    }


def _pick(condition: Any, new: Any, old: Any, name: str) -> Any:
    return sa.case((condition, new[name]), else_=old[name])


def _is(held: Offset) -> tuple[Any, Any]:
    return offsets.c.topic == held.topic, offsets.c.partition == held.partition


def _key(block: Block) -> _Key:
    return block.recorder, block.index, block.summary, codec.content_hash(block)


def _best_copies(received: Iterable[Received]) -> list[Received]:
    """One copy of each block, the first that has a role: a statement may not write one row twice."""
    chosen: dict[_Key, Received] = {}
    for item in received:
        known = chosen.setdefault(_key(item.block), item)
        if known.block.role is None and item.block.role is not None:
            chosen[_key(item.block)] = item
    return list(chosen.values())


def _block_row(item: Received) -> dict[str, Any]:
    block = item.block
    return {
        "recorder": block.recorder,
        "index": block.index,
        "summary": block.summary,
        "hash": codec.content_hash(block),
        "stream": block.stream,
        "received": item.received,
        "role": block.role,
        "body": codec.encode(block),
    }


def _columns(document: Document) -> dict[str, Any]:
    """The verdict's values that lists filter by and show."""
    labels, counts, ending = document["labels"], document["counts"], document["ending"]
    return {
        "ending": ending["class"],
        "ending_group": ending["group"],
        "ended_by": ending["by"],
        "at_point": ending["at_point"],
        "at_ms": ending["at_ms"],
        "silent_ms": ending["silent_ms"],
        "at_bytes": ending["at_bytes"],
        "integrity": document["integrity"],
        "confidence": document["confidence"],
        "client": _text(labels.get("client"), 128),
        "provider": _text(labels.get("provider"), 128),
        "model": _text(labels.get("model"), 128),
        "service": _text(labels.get("service"), 128),
        "short": _text(document["short"], 256),
        "sent": counts["sent"],
        "used": counts["used"],
    }


def _text(value: Any, length: int) -> str | None:
    """Text as both databases take it: PostgreSQL refuses NUL, and a label is not ours to trust."""
    return None if value is None else str(value).replace("\x00", "�")[:length]


def _chunks(items: Sequence[_T]) -> Iterator[list[_T]]:
    rest = iter(items)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk
