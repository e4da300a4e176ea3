"""With very many open streams no question that is asked all the time reads a whole table, on either database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from streamwitness_analyzer.store import Received, Store, Transaction, queries, retention
from streamwitness_analyzer.store.schema import blocks, streams, verdicts
from tests.analyzer.kit import SECOND, START, block, stream_id

MANY = 5_000


def fill(store: Store) -> None:
    """Open streams, each with a block, due one after the other."""
    rows = [
        {"id": stream_id(n), "state": "open", "revision": 0, "expired": False, "closing": False, "excess": 0}
        | {"first_received": START + n, "last_received": START + n, "due": START + n}
        for n in range(MANY)
    ]
    stored = [
        {"recorder": f"{n:016x}", "index": 0, "summary": False, "hash": b"h" * 16, "stream": stream_id(n)}
        | {"received": START, "role": "any", "body": b""}
        for n in range(MANY)
    ]
    documents = [
        {"stream": stream_id(n), "revision": 1, "judge_version": 1, "judged_at": START, "document": "{}"}
        for n in range(MANY)
    ]
    with store.engine.begin() as connection:
        connection.execute(sa.insert(streams), rows)
        connection.execute(sa.insert(blocks), stored)
        connection.execute(sa.insert(verdicts), documents)
        connection.execute(sa.text("ANALYZE"))


@contextmanager
def plans(connection: sa.Connection) -> Iterator[list[str]]:
    """Collects how the database would answer each SELECT that is executed meanwhile."""
    out: list[str] = []
    how = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "

    def before(_c: Any, cursor: Any, statement: str, parameters: Any, _x: Any, _many: bool) -> None:
        if statement.startswith("SELECT"):
            cursor.execute(how + statement, parameters)
            out.extend(" ".join(map(str, row)) for row in cursor.fetchall())

    sa.event.listen(connection.engine, "before_cursor_execute", before)
    try:
        yield out
    finally:
        sa.event.remove(connection.engine, "before_cursor_execute", before)


ASKED: dict[str, Callable[[sa.Connection], Any]] = {
    "what is due": lambda c: Transaction(c).due(START + 5, 200),
    "the rows of some streams": lambda c: Transaction(c).lock([stream_id(5), stream_id(9)]),
    "the blocks of some streams": lambda c: Transaction(c).blocks_of([stream_id(MANY + 1)]),
    "how many blocks some streams have": lambda c: Transaction(c).fitting([Received(block(3), START)], 0),
    "a stream by its beginning": lambda c: queries.find(c, stream_id(77)),
    "how the streams of a time ended": lambda c: queries.ended(c, START, START + 50),
    "which streams are old": lambda c: retention.old(c, START + 50, (START, ""), 200),
    "the history of a stream": lambda c: queries.history(c, stream_id(5)),
}


def test_every_question_uses_an_index(store: Store) -> None:
    """The plans of both databases name one for each table that they read; what is due comes in order."""
    fill(store)
    for name, ask in ASKED.items():
        with store.read() as connection, plans(connection) as found:
            ask(connection)
        assert found, name
        scans = [line for line in found if "Seq Scan" in line or re.search(r" SCAN (?!CONSTANT)(?!.* USING)", line)]
        assert scans == [], (name, found)
    with store.read() as connection:
        assert Transaction(connection).due(START + SECOND, 3) == [stream_id(n) for n in range(3)]
