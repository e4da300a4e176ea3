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
