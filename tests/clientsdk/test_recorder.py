"""recorder.py: whatever happens to a stream, the blocks say what was seen, exactly once."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

import pytest

from streamwitness import semconv as sc
from streamwitness.blocks import Block
from streamwitness.events import Piece
from streamwitness.sums import P, mix, power
from streamwitness.witness import Identity, Witness

SECOND = 1_000_000_000
KEY = bytes(range(16))


class Sink:
    """Keeps blocks and tracked recorders."""

    def __init__(self):
        self.blocks, self.tracked = [], []

    def put(self, block):
        self.blocks.append(block)

    def track(self, recorder):
        self.tracked.append(recorder)


@pytest.fixture
def sink():
    return Sink()


def make(sink, point="wire", **options):
    level = options.pop("level", "digests")
    witness = Witness(Identity("a" * 32, "b" * 16, KEY), sink, level=level, clock=lambda: 5 * SECOND)
    return witness.recorder(point, **options)


def text(content, slot="0/text/0"):
    return (Piece(slot, "text", content.encode()),)


def feed(recorder, words, start=5 * SECOND, step=1000):
    for i, word in enumerate(words):
        recorder.event(start + i * step, 20, sc.TEXT, text(word), data=word.encode())


def test_one_closing_block_on_close(sink):
    """A closed recorder has sent exactly one closing block, and the first end wins."""
    recorder = make(sink)
    feed(recorder, "abc")
    recorder.close(6 * SECOND, "eof", complete=True)
    recorder.close(7 * SECOND, "reset")
    feed(recorder, "late")
    assert [(block.final, block.end, block.totals["events"]) for block in sink.blocks] == [(True, "eof", 3)]


def test_a_stream_without_events_leaves_a_record(sink):
    """A recorder that saw nothing still says how it ended."""
    make(sink).close(6 * SECOND, "cancelled")
    (block,) = sink.blocks
    assert (block.row_count, block.rows, block.end, block.totals["events"]) == (0, None, "cancelled", 0)
    assert Block.parse(block.attributes()).end == "cancelled"


def test_blocks_close_at_512_rows(sink):
    """A full block closes when the next event comes; indices and positions follow on."""
    recorder = make(sink)
    feed(recorder, ["x"] * 1025)
    recorder.close(6 * SECOND, "eof")
    assert [(b.index, b.position, b.row_count, b.final) for b in sink.blocks] == [
        (0, 0, 512, False), (1, 512, 512, False), (2, 1024, 1, True)
    ]  # fmt: skip


@pytest.mark.parametrize("by", ["event", "tick"])
def test_blocks_close_after_two_seconds(sink, by):
    """An open block closes 2 s after its first event, at the next event or at the exporter's tick."""
    recorder = make(sink)
    feed(recorder, ["a"])
    if by == "tick":
        recorder.tick(7 * SECOND)
    else:
        feed(recorder, ["b"], start=7 * SECOND)
    assert [(block.index, block.row_count) for block in sink.blocks] == [(0, 1)]


def test_a_tick_on_a_young_block_does_nothing(sink):
    """Blocks are not cut before their time."""
    recorder = make(sink)
    feed(recorder, ["a"])
    recorder.tick(5 * SECOND + 1)
    assert sink.blocks == []


def test_sums_follow_from_rows(sink):
    """The analyzer, which has no key, computes the same sums from the row digests."""
    recorder = make(sink)
    feed(recorder, ["a", "b", "a", "c"])
    recorder.close(6 * SECOND, "eof")
    (block,) = sink.blocks
    for kind, s, o in (("payload", block.payload_s, block.payload_o), ("semantic", block.semantic_s, block.semantic_o)):
        digests = [mix(value) for value in block.columns()[kind]]
        assert sum(digests) % P == s
        assert sum(m * power(i) for i, m in enumerate(digests)) % P == o


def test_semantic_sums_run_over_judged_events_only(sink):
    """Role, usage and terminal events have no semantic digest and take no place in its order."""
    one, two = make(sink), make(sink)
    one.event(5 * SECOND, 9, sc.ROLE, data=b"role")
    feed(one, ["a"])
    one.event(5 * SECOND, 9, sc.USAGE, data=b"usage")
    feed(one, ["b"])
    feed(two, ["a", "b"])
    for recorder in (one, two):
        recorder.close(6 * SECOND, "eof")
    first, second = sink.blocks
    assert (first.semantic_s, first.semantic_o, first.totals["judged"]) == (second.semantic_s, second.semantic_o, 2)
    assert next(iter(first.columns()["semantic"])) == sc.MISSING


@pytest.mark.parametrize("result", ["malformed", "oversize", "after_terminal"])
def test_unread_events_enter_payload_sums_only(sink, result):
    """Events that were not read as part of the answer are compared by payload, not by meaning."""
    recorder = make(sink)
    recorder.event(5 * SECOND, 9, sc.TEXT, text("x"), data=b"x", result=sc.RESULT[result])
    recorder.close(6 * SECOND, "eof")
    (block,) = sink.blocks
    assert (block.totals["judged"], block.semantic_s, block.payload_s != 0) == (0, 0, True)


@pytest.mark.parametrize(
    ("level", "columns", "digests"),
    [("counters", False, False), ("rows", True, False), ("digests", True, True)],
)
def test_levels(sink, level, columns, digests):
    """A level says what a block holds; the counters are always there."""
    recorder = make(sink, level=level)
    feed(recorder, "ab")
    recorder.close(6 * SECOND, "eof")
    (block,) = sink.blocks
    assert (bool(block.columns()), block.payload_s is not None, bool(block.slot_digests)) == (columns, digests, digests)
    assert (block.totals["events"], block.totals["content"]) == (2, 2)
    assert Block.parse(block.attributes()).totals == block.totals


def test_slot_digests_do_not_depend_on_how_text_was_cut(sink):
    """Two points that cut the same answer differently agree on the slot's digest and on the marks."""
    one, two = make(sink), make(sink)
    answer = "word " * 200
    feed(one, [answer])
    feed(two, [answer[i : i + 7] for i in range(0, len(answer), 7)])
    for recorder in (one, two):
        recorder.close(6 * SECOND, "eof")
    first, second = sink.blocks
    assert first.slot_digests == second.slot_digests
    assert first.content_marks == second.content_marks
    assert len(first.content_marks) == 4 + 4 * (1000 // sc.MARK_BYTES)


def test_named_positions_are_followed(sink):
    """At `applied` the running maximum runs over the positions that the events name."""
    recorder = make(sink, "applied", of="parsed")
    for of in (0, 1, 4, 2, 4):
        recorder.event(5 * SECOND, 0, sc.TEXT, of=of, result=sc.RESULT["applied"])
    recorder.close(6 * SECOND, "eof")
    (block,) = sink.blocks
    totals = block.totals
    assert (block.max_before, block.max_after, block.regressions) == (-1, 4, 2)
    assert (totals["gaps"], totals["reorders"], totals["duplicates"]) == (2, 1, 1)


def test_waits_name_their_place(sink):
    """The longest waits are told with the position after which they were."""
    recorder = make(sink)
    feed(recorder, ["a"])
    recorder.waited(read_wait=3_000_000, hold=1_000_000)
    recorder.event(9 * SECOND, 5, sc.TEXT, text("b"), data=b"b")
    recorder.waited(read_wait=2_000_000)
    recorder.close(9 * SECOND, "eof")
    extra = sink.blocks[-1].extra
    assert (extra[sc.READ_WAIT_MS], extra[sc.READ_WAIT_AFTER], extra[sc.HOLD_MS], extra[sc.HOLD_AFTER]) == (3, 0, 1, 0)
    assert (extra[sc.PROGRESS_GAP_MS], extra[sc.PROGRESS_GAP_AFTER]) == (4000, 0)


@pytest.mark.parametrize(("slept", "told"), [(0, None), (0.4, None), (90, 90_000), (-7, -7_000)])
def test_a_machine_that_slept_says_so(sink, slept, told):
    """Its monotonic clock stood still while the wall clock went on; and a clock that was set looks the same."""
    now, unix = [5 * SECOND], [10**18]
    witness = Witness(Identity("a" * 32, "b" * 16, KEY), sink, clock=lambda: now[0], wall=lambda: unix[0])
    recorder = witness.recorder("wire")
    now[0] += 3 * SECOND
    unix[0] += 3 * SECOND + int(slept * SECOND)
    recorder.close(now[0], "eof")
    assert sink.blocks[-1].extra.get(sc.CLOCK_STEP_MS) == told


def test_a_fault_marks_every_later_block(sink):
    """After an observer fault the point is unknown, and the block names the error's type only."""
    recorder = make(sink)
    recorder.fault(ValueError("secret"))
    recorder.close(6 * SECOND, "eof")
    assert sink.blocks[0].extra[sc.OBSERVER_FAULT] == "ValueError"


def test_a_finalizer_inside_our_own_method_closes_afterwards(sink):
    """Garbage collection may end a stream while its recorder is at work: no dead lock, one closing block."""
    recorder = make(sink)

    class Reentrant(Sink):
        def put(self, block):
            super().put(block)
            recorder.close(8 * SECOND, "abandoned")

    again = Reentrant()
    recorder._sink = again
    feed(recorder, ["a"])
    recorder.tick(7 * SECOND)
    assert [(block.final, block.end) for block in again.blocks] == [(False, None), (True, "abandoned")]


def test_threads_share_a_recorder(sink):
    """Events from many threads are all counted, and every sum holds."""
    recorder = make(sink)
    threads = [threading.Thread(target=feed, args=(recorder, ["x"] * 500)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close(6 * SECOND, "eof")
    digests = [mix(value) for block in sink.blocks for value in block.columns()["payload"]]
    assert sink.blocks[-1].totals["events"] == len(digests) == 2000
    assert sum(m * power(i) for i, m in enumerate(digests)) % P == sink.blocks[-1].payload_o


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_inert_in_a_forked_child(sink):
    """A recorder made before a fork stays silent in the child: the parent testifies."""
    recorder = make(sink)
    feed(recorder, ["a"])
    child = os.fork()
    if child == 0:
        feed(recorder, ["b"])
        recorder.close(6 * SECOND, "eof")
        os._exit(len(sink.blocks))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    recorder.close(6 * SECOND, "eof")
    assert sink.blocks[-1].totals["events"] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["event", "tick", "close"])
def test_a_forked_child_does_not_wait_for_the_parents_lock(sink, method):
    """A thread of the parent was inside the recorder during the fork: in the child nobody will ever let go of it."""
    recorder = make(sink)
    inside, forked = threading.Event(), threading.Event()

    def record():
        with recorder._lock:
            inside.set()
            forked.wait()

    thread = threading.Thread(target=record)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # ends a child that waits
        arguments = {"event": (7 * SECOND, 1, sc.TEXT), "tick": (7 * SECOND,), "close": (7 * SECOND, "eof")}
        getattr(recorder, method)(*arguments[method])
        os._exit(0)
    forked.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_memory_is_flat_over_a_long_stream(sink):
    """What a recorder holds does not grow with the stream."""
    recorder = make(sink)

    def size():
        gc.collect()
        return sum(sys.getsizeof(getattr(recorder, name)) for name in vars(recorder))

    feed(recorder, ["x"] * 1000)
    before = size()
    for _ in range(20):
        feed(recorder, ["x"] * 1000)
        sink.blocks.clear()
    assert size() <= before + 2 * 512 * 40
