"""Old streams go with all that is theirs, and nothing else does; on each database."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import sqlalchemy as sa

from streamwitness_analyzer import pruning
from streamwitness_analyzer.pruning import prune
from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import Received, Store, Transaction, queries, retention
from streamwitness_analyzer.store.schema import blocks, counters, findings, streams, verdicts
from tests.analyzer.kit import SECOND, START, PlainJudge, block, life, stream_id

DAY = 86_400 * SECOND


def ingest(store: Store, n: int, at: int, *points: str, fails: bool = False) -> None:
    """A stream of two points that lost an event, or of those points alone."""
    judge = PlainJudge(fails_on=stream_id(n) if fails else "")
    received = [Received(block(n, point, rows=2 + (point == "egress"), final=True), at) for point in points]  # type: ignore[arg-type]
    Steps(store, life(judge), wall=lambda: at).ingest(received)


def counted(store: Store) -> dict[str, int]:
    """Rows of each table that holds something of a stream."""
    with store.read() as connection:
        tables = (streams, blocks, verdicts, findings)
        return {t.name: connection.execute(sa.select(sa.func.count()).select_from(t)).scalar_one() for t in tables}


def left(store: Store) -> list[int]:
    with store.read() as connection:
        return sorted(int(id_, 16) for id_ in connection.execute(sa.select(streams.c.id)).scalars())


def test_old_streams_go_with_all_of_theirs(store: Store) -> None:
    """Blocks, verdicts and findings; what was seen since stays whole, and the totals never go back."""
    for n in range(1, 5):
        ingest(store, n, START + n * DAY, "egress", "wire")
    with store.read() as connection:
        totals = queries.totals(connection)
    assert prune(store, START + 3 * DAY) == (2, 4)
    assert (left(store), counted(store)) == ([3, 4], {"streams": 2, "blocks": 4, "verdicts": 2, "findings": 2})
    with store.read() as connection:
        assert queries.totals(connection) == totals
        found = queries.find(connection, stream_id(3))
    assert (found.state, found.block_count, found.document is not None) == ("settled", 2, True)
    assert prune(store, START + 3 * DAY) == (0, 0)


def test_what_is_not_judged_stays(store: Store) -> None:
    """However old; what the judge failed on goes, for nothing waits for it."""
    ingest(store, 1, START, "egress")
    ingest(store, 2, START, "egress", "wire", fails=True)
    assert prune(store, START + DAY) == (1, 2)
    assert left(store) == [1]


def test_the_last_sign_of_life_counts(store: Store) -> None:
    """A stream that began long ago and was corrected today is not old."""
    ingest(store, 1, START, "egress", "wire")
    ingest(store, 1, START + 2 * DAY, "applied")
    assert prune(store, START + DAY) == (0, 0)


def test_a_dry_run_only_counts(store: Store) -> None:
    """The same numbers, and everything is still there."""
    ingest(store, 1, START, "egress", "wire")
    assert prune(store, START + DAY, dry=True) == (1, 2)
    assert left(store) == [1]


def test_transactions_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """By streams and by blocks; one stream is the least."""
    monkeypatch.setattr(pruning, "_STREAMS", 3)
    monkeypatch.setattr(pruning, "_BLOCKS", 4)
    done: list[int] = []
    forget = Transaction.forget

    def watched(self: Transaction, ids: Any, before: int) -> int:
        done.append(len(ids))
        return forget(self, ids, before)

    monkeypatch.setattr(Transaction, "forget", watched)
    ingest(store, 1, START, "ingress", "egress", "wire", "parsed", "applied")
    for n in range(2, 8):
        ingest(store, n, START + n, "egress", "wire")
    assert prune(store, START + DAY) == (7, 17)
    assert done == [1, 2, 2, 1, 1]


def test_a_stream_that_is_written_to_meanwhile_stays(store: Store) -> None:
    """Looked at, then a late record came: it is not old any more."""
    ingest(store, 1, START, "egress", "wire")
    with store.read() as connection:
        (found,) = retention.old(connection, START + DAY, (-1, ""), 10)
    ingest(store, 1, START + 2 * DAY, "applied")
    with store.write() as transaction:
        assert transaction.forget([found.place[1]], START + DAY) == 0
    assert counted(store)["blocks"] == 3


def test_an_analyzer_that_writes_waits_and_begins_the_stream_anew(store: Store) -> None:
    """A record that comes while its stream is being deleted is not lost."""
    ingest(store, 1, START, "egress", "wire")
    late = threading.Thread(target=ingest, args=(store, 1, START + 2 * DAY, "applied"))
    with store.write() as transaction:
        assert transaction.forget([stream_id(1)], START + DAY) == 1
        late.start()
    late.join()
    assert counted(store)["blocks"] == 1
    with store.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(counters)).scalar_one() > 0
