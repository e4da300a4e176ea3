"""Steps 3 to 7: what one batch leaves behind, and what a crash, a rival and a zombie may not change."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from streamwitness.blocks import Block
from streamwitness_analyzer.counting import ENDED, EXCESS_BLOCKS, GAPS
from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import Move, Offset, Received, Store, Superseded, queries
from streamwitness_analyzer.store import store as store_module
from streamwitness_analyzer.store.schema import counters, offsets, streams, verdicts
from tests.analyzer.kit import SECOND, START, PlainJudge, block, life, stream_id

ROOT = Path(__file__).parents[2]


def steps(store: Store, **options: Any) -> Steps:
    return Steps(store, life(options.pop("judge", None)), wall=lambda: START, **options)


def damaged(stream: int) -> list[Received]:
    """Both points of a stream that lost one event on the way."""
    sent = block(stream, "egress", rows=3, final=True)
    got = block(stream, "wire", rows=2, final=True)
    return [Received(sent, START), Received(got, START)]


def final_state(store: Store) -> dict[str, Any]:
    """Everything that a crash or a rival could have changed."""
    with store.read() as connection:
        documents = connection.execute(sa.select(verdicts.c.stream, verdicts.c.revision, verdicts.c.document))
        totals = connection.execute(sa.select(counters.c.name, counters.c.labels, counters.c.value))
        rows = connection.execute(sa.select(streams.c.id, streams.c.state, streams.c.revision))
        places = connection.execute(sa.select(offsets.c.partition, offsets.c.next))
        return {
            "verdicts": {(row.stream, row.revision): json.loads(row.document) for row in documents},
            "counters": {(row.name, row.labels): row.value for row in totals},
            "streams": sorted(tuple(row) for row in rows),
            "offsets": sorted(tuple(row) for row in places),
        }


def test_a_batch_is_stored_judged_and_counted(store: Store) -> None:
    """Two closed points settle a stream at once, with its verdict and its counts."""
    steps(store).ingest(damaged(1))
    after = final_state(store)
    assert after["streams"] == [(stream_id(1), "settled", 1)]
    document = after["verdicts"][stream_id(1), 1]
    assert (document["state"], document["revision"], document["short"]) == ("settled", 1, "1 lost")
    assert after["counters"][ENDED.name, 'class="completed",group="ok"'] == 1
    assert after["counters"][GAPS.name, 'component="transport",confidence="certain"'] == 1


def test_the_same_blocks_again_change_nothing(store: Store) -> None:
    """A redelivered batch leaves no new block, revision or count."""
    steps(store).ingest(damaged(1))
    before = final_state(store)
    steps(store).ingest(damaged(1))
    assert final_state(store) == before


def test_a_contradicting_block_reaches_the_judge(store: Store) -> None:
    """One key with different content: both are kept, and the verdict is corrected."""
    steps(store).ingest(damaged(1))
    steps(store).ingest([Received(block(1, "wire", rows=3, final=True), START)])
    after = final_state(store)
    assert after["streams"] == [(stream_id(1), "corrected", 2)]
    assert after["verdicts"][stream_id(1), 2]["telemetry"]["conflicts"] == 1
    assert after["verdicts"][stream_id(1), 1]["telemetry"]["conflicts"] == 0


def test_a_defect_of_the_judge_stops_no_other_stream(store: Store) -> None:
    """The stream it fails on is marked and counted once; its neighbours in the batch settle."""
    broken = steps(store, judge=PlainJudge(fails_on=stream_id(1)))
    broken.ingest(damaged(1) + damaged(2))
    broken.ingest([Received(block(1, "applied", rows=1, final=True), START)])
    after = final_state(store)
    assert after["streams"] == [(stream_id(1), "failed", 0), (stream_id(2), "settled", 1)]
    assert after["counters"]["stream_judge_failures_total", ""] == 1


def test_a_failed_stream_recovers_with_a_mended_judge(store: Store) -> None:
    """The next block of a failed stream judges it anew."""
    steps(store, judge=PlainJudge(fails_on=stream_id(1))).ingest(damaged(1))
    steps(store).ingest([Received(block(1, "applied", rows=1, final=True), START)])
    assert final_state(store)["streams"] == [(stream_id(1), "settled", 1)]


def test_a_vouched_copy_is_judged(store: Store) -> None:
    """What a stock collector brought first is settled without anybody's word; the copy with a role corrects it."""

    class Telling(PlainJudge):
        def judge(self, blocks: Sequence[Block], **options: Any) -> dict[str, Any]:
            return super().judge(blocks, **options) | {"roles": sorted(str(item.role) for item in blocks)}

    for role in (None, "any"):
        steps(store, judge=Telling()).ingest([Received(replace(i.block, role=role), i.received) for i in damaged(1)])
    after = final_state(store)["verdicts"]
    assert [after[stream_id(1), n]["roles"] for n in (1, 2)] == [["None", "None"], ["any", "any"]]


def test_a_stream_without_end_is_bounded(store: Store) -> None:
    """Beyond its bound a stream keeps nothing and proves no integrity; every further block is counted, none judged."""
    judged: list[int] = []

    class Counting(PlainJudge):
        def judge(self, blocks: Sequence[Block], **options: Any) -> dict[str, Any]:
            judged.append(len(blocks))
            return super().judge(blocks, **options)

    bounded = steps(store, judge=Counting(), max_blocks=3)
    whole = [block(1, "egress", final=True), block(1, "wire", final=True)]
    bounded.ingest([Received(item, START) for item in whole])
    assert final_state(store)["verdicts"][stream_id(1), 1]["integrity"] == "intact"
    for n in range(10):
        bounded.ingest([Received(block(1, "parsed", index=n, position=3 * n), START) for n in (n, n + 1)])
    bounded.ingest([Received(item, START) for item in whole])
    after = final_state(store)
    assert judged == [2, 3]
    assert after["counters"][EXCESS_BLOCKS.name, ""] == 19
    document = after["verdicts"][stream_id(1), 2]
    assert (document["integrity"], document["telemetry"]["excess_blocks"]) == ("unproven", 1)


def test_a_zombie_changes_nothing(store: Store) -> None:
    """Whoever lost the partition fails its compare-and-set, and its whole transaction is rolled back.

    Whether the new owner has committed anything yet or not: the epoch alone decides.
    """
    with store.write() as transaction:
        zombie = transaction.take_over("t", 0)
    with store.write() as transaction:
        owner = transaction.take_over("t", 0)
    untouched = final_state(store)
    with pytest.raises(Superseded):
        steps(store).ingest(damaged(2), [Move(zombie, 5, START)])
    assert final_state(store) == untouched
    steps(store).ingest(damaged(1), [Move(owner, 1, START)])
    before = final_state(store)
    with pytest.raises(Superseded):
        steps(store).ingest(damaged(2), [Move(zombie, 5, START)])
    assert final_state(store) == before


def test_an_offset_is_moved_once(store: Store) -> None:
    """A batch that was committed cannot be committed again under the same offset, even by the owner."""
    with store.write() as transaction:
        held = transaction.take_over("t", 0)
    steps(store).ingest(damaged(1), [Move(held, 1, START)])
    with pytest.raises(Superseded):
        steps(store).ingest(damaged(1), [Move(held, 1, START)])


CRASHING = """
import os, sys, traceback
from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import Move, Store
from tests.analyzer.kit import START, life
from tests.analyzer.test_steps import batches
def work(database, last, mode):
    store = Store(database)
    def die(step):
        if step == int(last) and mode == "die":
            os._exit(9)
    with store.write() as transaction:
        held = transaction.take_over("t", 0)
    for number, batch in enumerate(batches()):
        if number >= held.next:
            Steps(store, life(), wall=lambda: START, done=die).ingest(batch, [Move(held, number + 1, START)])
            held = held._replace(next=number + 1)
for line in sys.stdin:
    if (child := os.fork()) == 0:
        try:
            work(*line.rstrip().split("\\t"))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

Crash = Callable[[str, int, str], int]


@pytest.fixture(scope="module")
def crash() -> Iterator[Crash]:
    """Runs all batches in a process of its own that dies after a step of each life; its exit status.

    The processes are forks of one that has loaded the code and opened nothing.
    """
    words = [sys.executable, "-c", CRASHING]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forking:
        assert forking.stdin is not None
        assert forking.stdout is not None
        asking, answers = forking.stdin, forking.stdout

        def run(database: str, after: int, mode: str) -> int:
            asking.write(f"{database}\t{after}\t{mode}\n")
            asking.flush()
            return int(answers.readline())

        yield run


def batches() -> list[list[Received]]:
    """Streams that close in one batch, over two, and with a late record."""
    first, second, late = damaged(1), damaged(2), damaged(3)
    correction = [Received(block(1, "applied", rows=2, final=True), START)]
    return [first + second[:1], second[1:] + late, correction]


@pytest.mark.parametrize("after", [3, 4, 5, 6, 7])
def test_a_crash_between_any_two_steps_changes_no_verdict(
    store: Store, database: str, crash: Crash, after: int
) -> None:
    """Killed between each two steps and started again until done: the same verdicts, counts and offsets."""
    assert crash(database, after, "die") == 9
    for _ in range(3):
        if crash(database, after, "die" if after == 7 else "live") == 0:
            break
    crashed = final_state(store)
    with store.write() as transaction:
        transaction.know_partitions("t", [0])
    assert crashed["offsets"] == [(0, 3)]
    assert {key: value for key, value in crashed.items() if key != "offsets"} == undisturbed()


def undisturbed() -> dict[str, Any]:
    """The same batches in a fresh database, nobody killed."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        store = Store(f"{folder}/plain.db")
        store.create()
        for batch in batches():
            steps(store).ingest(batch)
        out = final_state(store)
        store.close()
    return {key: value for key, value in out.items() if key != "offsets"}


def together(*works: Callable[[], None]) -> list[BaseException]:
    """Do all at the same time; what they raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        try:
            start.wait()
            work()
        except BaseException as error:  # shown by the caller's assertion
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_two_analyzers_lose_nothing_of_each_other(store: Store) -> None:
    """The two points of each stream come by different analyzers at the same time; every stream settles whole."""
    many = range(1, 81)
    pairs = [damaged(n) for n in many]

    def side(number: int) -> None:
        for at in range(0, len(pairs), 4):
            steps(store).ingest([pair[number] for pair in pairs[at : at + 4]])

    assert together(lambda: side(0), lambda: side(1)) == []
    after = final_state(store)
    assert after["streams"] == [(stream_id(n), "settled", 1) for n in many]
    assert {document["short"] for document in after["verdicts"].values()} == {"1 lost"}
    assert after["counters"][ENDED.name, 'class="completed",group="ok"'] == len(many)


def test_the_lock_comes_before_the_read(store: Store) -> None:
    """One analyzer is held between judging and committing while a rival has the other point of the same stream.

    The rival must wait for the lock. If it read before locking, both would judge half a stream and commit that.
    """
    sent, got = damaged(1)
    steps(store).ingest([Received(block(1, "applied", rows=1), START)])
    entered, rival_judged = threading.Event(), threading.Event()

    def hold(step: int) -> None:
        if step == 5:
            entered.set()
            rival_judged.wait(0.5)  # it never comes while we hold the lock

    def first() -> None:
        steps(store, done=hold).ingest([sent])

    def rival() -> None:
        entered.wait(30)
        steps(store, done=lambda step: rival_judged.set() if step == 5 else None).ingest([got])

    assert together(first, rival) == []
    assert final_state(store)["verdicts"][stream_id(1), 1]["short"] == "1 lost"


def test_two_analyzers_never_wait_in_a_circle(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches that name the same streams in opposite orders, row by row: nobody is a deadlock's victim."""
    monkeypatch.setattr(store_module, "_CHUNK", 1)
    pairs = [damaged(n) for n in range(1, 41)]
    forth = [pair[0] for pair in pairs]
    back = [pair[1] for pair in reversed(pairs)]
    assert together(lambda: steps(store).ingest(forth), lambda: steps(store).ingest(back)) == []
    assert {state for _, state, _ in final_state(store)["streams"]} == {"settled"}


def test_settling_by_time_is_done_once(store: Store) -> None:
    """A stream without its second point settles when the watermark has passed, and then never again."""
    steps(store).ingest([Received(block(1, "egress", final=True), START)])
    assert steps(store).settle(START + 29 * SECOND) == 0
    assert steps(store).settle(START + 30 * SECOND) == 1
    assert steps(store).settle(START + 99 * SECOND) == 0
    assert final_state(store)["streams"] == [(stream_id(1), "settled", 1)]


def test_offsets_compare_before_they_sort() -> None:
    """Moves have one order everywhere: by topic, then partition."""
    moves = [Move(Offset("t", n, 0, 1), 1, 0) for n in (2, 0, 1)]
    assert [move.held.partition for move in sorted(moves)] == [0, 1, 2]


class Stricter(PlainJudge):
    """A judge that has learnt something about odd streams."""

    JUDGE_VERSION = 1

    def judge(self, blocks: Sequence[Block], **how: Any) -> dict[str, Any]:
        document = super().judge(blocks, **how)
        return document | {"integrity": "unproven"} if int(document["stream"], 16) % 2 else document


def test_rejudge_corrects_what_comes_out_otherwise(store: Store) -> None:
    """Only streams seen since then, only those that change; their history is kept, a second time changes nothing."""
    before = steps(store)
    for n in range(1, 6):
        at = START + n * SECOND
        before.ingest([Received(block(n, point, rows=3, final=True), at) for point in ("egress", "wire")])
    after = steps(store, judge=Stricter())
    assert after.rejudge(START + 3 * SECOND) == (3, 2, 0)
    assert after.rejudge(START + 3 * SECOND) == (3, 0, 0)
    with store.read() as connection:
        found = {n: queries.find(connection, stream_id(n)).document for n in range(1, 6)}
        kept = queries.document(connection, stream_id(3), 1)
    assert [(n, d["state"], d["revision"], d["integrity"]) for n, d in found.items() if d] == [
        (1, "settled", 1, "intact"), (2, "settled", 1, "intact"), (3, "corrected", 2, "unproven"),
        (4, "settled", 1, "intact"), (5, "corrected", 2, "unproven"),
    ]  # fmt: skip
    assert kept is not None
    assert kept["integrity"] == "intact"


def test_rejudge_counts_what_it_could_not_judge(store: Store) -> None:
    """Where the judge fails a final verdict stands; a stream that had failed gets one from a mended judge."""
    steps(store, judge=PlainJudge(fails_on=stream_id(1))).ingest([*damaged(1), *damaged(2)])
    assert steps(store, judge=PlainJudge(fails_on=stream_id(2))).rejudge(0) == (2, 1, 1)
    after = final_state(store)
    assert after["streams"] == [(stream_id(1), "settled", 1), (stream_id(2), "settled", 1)]
    assert after["counters"]["stream_judge_failures_total", ""] == 2
