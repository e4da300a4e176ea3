"""tap.py: what is looked at later is recorded as it passed."""

from __future__ import annotations

from streamwitness import semconv as sc
from streamwitness.client.tap import Tap
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness

MS = 1_000_000


class Clock:
    """Goes on when told."""

    def __init__(self) -> None:
        self.now = 10**12

    def __call__(self) -> int:
        return self.now


def test_waits_name_the_event_that_they_were_behind() -> None:
    """The longest wait for upstream and for the reader keep their places, though all pieces are looked at together."""
    sink, clock = MemorySink(), Clock()
    witness = Witness(Identity.new(), sink, clock=clock)
    tap = Tap(witness.body("wire", path="/v1/chat/completions", content_type="text/event-stream"), clock=clock)
    for number, (read_wait, hold) in enumerate([(5, 0), (90, 10), (20, 70), (30, 40)]):
        clock.now += hold * MS
        tap.asked()
        clock.now += read_wait * MS
        tap.passed(b'data: {"choices":[{"index":0,"delta":{"content":"%d"}}]}\n\n' % number)
    assert sink.blocks == []
    tap.finished()
    (block,) = sink.blocks
    assert block.totals["events"] == block.totals["read_calls"] - 1 == 4
    assert (block.extra[sc.READ_WAIT_MS], block.extra[sc.READ_WAIT_AFTER]) == (90, 0)
    assert (block.extra[sc.HOLD_MS], block.extra[sc.HOLD_AFTER]) == (70, 1)


def a_piece(text: str) -> bytes:
    """One event of an OpenAI chat stream."""
    return b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % text.encode()


def told(asked_at_the_end: bool, gathers: bool = False) -> dict[str, object]:
    """What a tap tells that was asked 4 ms late at first, then 6 ms late, and ended 50 ms after the last piece."""
    sink, clock = MemorySink(), Clock()
    witness = Witness(Identity.new(), sink, clock=clock)
    tap = Tap(witness.body("wire", path="/v1/chat/completions", content_type="text/event-stream"), clock=clock)
    tap.gathers = gathers
    for late, text in ((4, "a"), (6, "b")):
        clock.now += late * MS
        tap.asked()
        clock.now += MS
        tap.passed(a_piece(text))
    if asked_at_the_end:
        clock.now += 10 * MS
        tap.asked()
        clock.now += 40 * MS
    else:
        clock.now += 50 * MS
    tap.failed(TimeoutError())
    return sink.blocks[-1].extra


def test_how_long_the_reader_did_not_ask_in_all_and_how_long_it_had_asked_at_the_end() -> None:
    """From the beginning on: a reader that asks late at first has kept the first piece waiting."""
    extra = told(asked_at_the_end=True)
    assert (extra[sc.HOLD_TOTAL_MS], extra[sc.LAST_WAIT_MS]) == (20, 40)
    assert (extra[sc.READ_WAIT_MS], extra[sc.READ_WAIT_AFTER]) == (40, 1)


def test_a_reader_that_did_not_ask_any_more_waited_for_nothing() -> None:
    """All the time since the last piece was its own."""
    extra = told(asked_at_the_end=False)
    assert extra[sc.HOLD_TOTAL_MS] == 60
    assert sc.LAST_WAIT_MS not in extra


def test_that_a_library_gathers_is_told() -> None:
    """Then the times are its own, not those at which bytes came."""
    assert sc.GATHERED not in told(asked_at_the_end=True)
    assert told(asked_at_the_end=True, gathers=True)[sc.GATHERED] is True
