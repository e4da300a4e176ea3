"""observer.py: a body cut anywhere gives the same record, and a failing observer harms nobody."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness import faults
from streamwitness import semconv as sc
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness

BODY = (
    b": hello\n\n"
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
    b'data: {"model":"m-1","choices":[{"index":0,"delta":{"content":"h\xc3\xa9 \xe2\x80\xa8"}}]}\r\n\r\n'
    b": keep-alive\n\n"
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


def observe(pieces, point="wire", end="eof"):
    sink = MemorySink()
    witness = Witness(Identity("a" * 32, "b" * 16, b"k" * 16), sink, clock=lambda: 0)
    observer = witness.body(point, path="/v1/chat/completions", content_type="text/event-stream")
    for piece in pieces:
        observer.feed(piece)
    observer.close(end)
    return sink.blocks


def said(block):
    """All that a block says, but ids and times and how often was read."""
    own = (sc.WITNESS, sc.RECORDER, sc.TOTAL_PREFIX + "read_calls")
    return {key: value for key, value in block.attributes().items() if key not in own}


@given(st.lists(st.integers(0, len(BODY)), max_size=30))
def test_any_cut_gives_the_same_record(cuts):
    """Whole ≡ any split: rows, sums, counters and what the profile knows."""
    edges = [0, *sorted(cuts), len(BODY)]
    pieces = [BODY[a:b] for a, b in pairwise(edges)]
    (split,), (whole,) = observe(pieces), observe([BODY])
    assert said(split) == said(whole)


@given(st.lists(st.tuples(st.integers(0, len(BODY)), st.booleans()), max_size=30))
def test_when_what_was_looked_at_is_recorded_never_shows(cuts):
    """Pieces that are looked at together leave the record of pieces that are fed one by one, reads included."""
    edges = [(0, True), *sorted(cuts), (len(BODY), True)]
    blocks = []
    for together in (False, True):
        sink = MemorySink()
        witness = Witness(Identity("a" * 32, "b" * 16, b"k" * 16), sink, clock=lambda: 10**12)
        observer = witness.body("wire", path="/v1/chat/completions", content_type="text/event-stream")
        for now, ((start, _), (stop, flushed)) in enumerate(pairwise(edges), 10**12):
            if together:
                observer.look(BODY[start:stop], now)
                if flushed:
                    observer.flush()
                    assert observer.recorder.events == observer.events
            else:
                observer.feed(BODY[start:stop], now)
        observer.close("eof")
        (block,) = sink.blocks
        blocks.append(said(block) | block.totals)
    assert blocks[0] == blocks[1]


def test_what_a_healthy_body_leaves():
    """Four events, two comments, complete, with the provider's own words."""
    (block,) = observe([memoryview(BODY)])
    assert (block.totals["events"], block.totals["comments"], block.totals["judged"]) == (4, 2, 2)
    assert (block.complete, block.end) == (True, "eof")
    assert block.extra[sc.RESPONSE_MODEL] == "m-1"
    assert block.extra[sc.FINISH_REASONS_ATTRIBUTE] == ("stop",)


@pytest.mark.parametrize(
    ("point", "end", "told"),
    [
        ("wire", "reset", "stopped_at_terminal"),
        ("wire", "cancelled", "stopped_at_terminal"),
        ("ingress", "timeout", "stopped_at_terminal"),
        ("egress", "disconnected", "eof"),
        ("egress", "raised", "raised"),
    ],
)
def test_a_terminal_beats_a_later_disconnect(point, end, told):
    """After the terminator a reader's or writer's loss of the connection is no news."""
    assert [block.end for block in observe([BODY], point, end)] == [told]


def test_before_the_terminal_the_end_is_the_end():
    """Without a terminator the end is reported as it was, with the bytes left undispatched."""
    (block,) = observe([BODY[:-8]], end="reset")
    assert (block.end, block.extra[sc.PENDING_BYTES] > 0) == ("reset", True)


def test_events_after_the_terminal_are_marked():
    """What follows `[DONE]` is recorded as after the terminal, and not judged."""
    (block,) = observe([BODY + BODY])
    results = list(block.columns()["result"])
    assert results == [0, 0, 0, 0] + [sc.RESULT["after_terminal"]] * 4
    assert block.totals["judged"] == 2


def test_a_failing_observer_harms_nobody(monkeypatch):
    """A profile that raises ends the observation of this point, is counted, and says so in the block."""
    monkeypatch.setattr("streamwitness.observer.detect", lambda *_: 1 / 0)
    before = faults.counts().get("observer.wire", 0)
    with faults.quiet():
        (block,) = observe([BODY, BODY])
    assert block.extra[sc.OBSERVER_FAULT] == "ZeroDivisionError"
    assert faults.counts()["observer.wire"] == before + 1
