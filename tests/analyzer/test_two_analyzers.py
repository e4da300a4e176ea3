"""Two analyzers on one stream at once: each has a store of its own, the database is all that they share.

The first is held behind each of its steps in turn, its transaction open, while the second takes the other half of the
same streams. Whatever the moment: no block is lost, one verdict comes out, and every stream is counted once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa

from streamwitness_analyzer import judge
from streamwitness_analyzer.settle import Life, Patience
from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import Received, Store, queries
from streamwitness_analyzer.store.schema import blocks, counters, verdicts
from tests.analyzer.kit import START
from tests.analyzer.test_arrivals import FAR, STREAMS, at_once, content, named

NAMES = ("healthy", "transport gap", "gateway gap", "reset", "resumed")
BLOCKS = {name: named(STREAMS[name](), f"{number:032x}") for number, name in enumerate(NAMES, start=1)}


def halves(rng: Random) -> tuple[list[Received], list[Received]]:
    """All blocks of the streams, each at one of two analyzers, a few at both."""
    every = [Received(block, START) for stream in BLOCKS.values() for block in stream]
    rng.shuffle(every)
    middle = len(every) // 2
    return every[: middle + 3], every[middle - 3 :]


def analyzer(store: Store, done: Callable[[int], None] = lambda _: None) -> Steps:
    return Steps(store, Life(judge, Patience()), wall=lambda: START, done=done)


def waits_or_began(store: Store, began: threading.Event, rival: Future[None]) -> None:
    """Until the rival stands before the lock (PostgreSQL tells) or is through, or has at least begun (SQLite)."""
    assert began.wait(30)
    if store.engine.dialect.name != "postgresql":
        return
    waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    while not rival.done():
        with store.engine.connect() as connection:
            if connection.execute(waiting).scalar_one():
                return


def interleaved(database: str, first: Sequence[Received], second: Sequence[Received], held: int) -> list[str]:
    """The second analyzer begins when the first has done step `held`, and is not stopped; the order of their steps."""
    stores = Store(database), Store(database)
    order: list[str] = []
    began = threading.Event()

    def rival() -> None:
        began.set()
        analyzer(stores[1], lambda step: order.append(f"second {step}")).ingest(second)

    with ThreadPoolExecutor(1) as pool:
        futures: list[Future[None]] = []

        def done(step: int) -> None:
            order.append(f"first {step}")
            if step == held:
                futures.append(pool.submit(rival))
            if step == held < 7:
                waits_or_began(stores[0], began, futures[0])

        analyzer(stores[0], done).ingest(first)
        futures[0].result(60)
    for store in stores:
        store.close()
    return order


def left_behind(store: Store) -> tuple[int, dict[str, Any], dict[str, int]]:
    """How many blocks are stored, the current documents, and how many streams were counted."""
    with store.read() as connection:
        stored = connection.execute(sa.select(sa.func.count()).select_from(blocks)).scalar_one()
        documents = {name: queries.find(connection, BLOCKS[name][0].stream).document for name in NAMES}
        totals = connection.execute(sa.select(counters.c.name, sa.func.sum(counters.c.value)).group_by(counters.c.name))
        return stored, documents, {name: int(value) for name, value in totals}


def check(store: Store) -> None:
    """Everything is as if one analyzer had had all blocks at once."""
    analyzer(store).settle(FAR)
    stored, documents, totals = left_behind(store)
    assert stored == sum(map(len, BLOCKS.values()))
    for name in NAMES:
        assert content(documents[name]) == content(at_once(BLOCKS[name])), name
    assert totals["stream_endings_total"] == totals["stream_integrity_total"] == len(NAMES)
    with store.read() as connection:
        revisions = connection.execute(sa.select(verdicts.c.stream, verdicts.c.revision)).all()
    corrected = totals.get("stream_corrections_total", 0)
    assert len(revisions) == len(NAMES) + corrected


@pytest.mark.parametrize("held", [3, 4, 5, 6, 7])
def test_a_rival_between_any_two_steps(store: Store, database: str, held: int) -> None:
    """It locks its streams only when the first has committed, reads what that stored, and adds its own."""
    first, second = halves(Random(held))
    order = interleaved(database, first, second, held)
    if held < 7:
        assert order.index("second 3") > order.index("first 6")
    check(store)


def test_both_at_full_speed(store: Store, database: str) -> None:
    """Two analyzers with a batch of one or two blocks at a time, of the same streams, as fast as they can."""
    rng = Random(23)
    sides = halves(rng)

    def run(side: Sequence[Received]) -> None:
        own = Store(database)
        at = 0
        while at < len(side):
            step = 1 + at % 2
            analyzer(own).ingest(side[at : at + step])
            at += step
        own.close()

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(run, side) for side in sides]:
            future.result(120)
    check(store)


def test_both_settle_at_once(store: Store, database: str) -> None:
    """Time makes the same streams due for both: each is settled, and counted, once."""
    analyzer(store).ingest(halves(Random(5))[0])

    def run(_: int) -> int:
        own = Store(database)
        try:
            return analyzer(own).settle(FAR)
        finally:
            own.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(2)))
    _, _, totals = left_behind(store)
    assert totals["stream_endings_total"] == len(NAMES)
