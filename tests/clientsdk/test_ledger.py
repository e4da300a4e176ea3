"""ledger.py: batches and shared digests change nothing of what is recorded."""

from __future__ import annotations

from itertools import cycle

from hypothesis import example, given
from hypothesis import strategies as st

from streamwitness import semconv as sc
from streamwitness.events import Piece
from streamwitness.ledger import Shared
from streamwitness.recorder import MAX_NOTED
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness

IDENTITY = Identity("a" * 32, "b" * 16, bytes(range(16)))
MS = 1_000_000
OWN = (sc.WITNESS, sc.RECORDER)

EVENTS = st.lists(
    st.tuples(
        st.sampled_from([b"", b"delta"]),
        st.sampled_from([b"", b"a", b"b", b"a" * 5000]),
        st.sampled_from(["", "a", "b", "word " * 100]),
        st.sampled_from(["0/text/0", "0/reasoning/0", "1/text/0"]),
        st.sampled_from(["ok", "malformed", "after_terminal", "oversize"]),
        st.integers(0, 700 * MS),
    ),
    max_size=80,
)


def record(recorder, events, share=None, batch=None):
    """Feed events; `batch` hands them in by a tick after so many."""
    now = 10**12
    for number, (name, data, text, slot, result, gap) in enumerate(events):
        now += gap
        pieces = (Piece(slot, "text", text.encode()),) if text else ()
        said = share(name, data, pieces) if share is not None else None
        recorder.event(
            now, len(data) + 8, sc.TEXT, pieces, name=name, data=data, result=sc.RESULT[result], said=said
        )  # fmt: skip
        if batch is not None and number % batch == 0:
            recorder.tick(0)
    recorder.close(now, "eof")


def said(sink):
    """All that the blocks say, but whose they are."""
    return [
        {key: value for key, value in block.attributes().items() if key not in OWN} | {"at": block.start_ns}
        for block in sink.blocks
    ]


def witnessed():
    sink = MemorySink()
    return sink, Witness(IDENTITY, sink, clock=lambda: 10**12)


@given(ingress=EVENTS, egress=EVENTS)
def test_sharing_digests_never_changes_a_record(ingress, egress):
    """Two points that share what they can record exactly what each records by itself."""
    (alone, one), (together, two) = witnessed(), witnessed()
    two._wall = one._wall
    shared = Shared()
    for witness, share in ((one, None), (two, shared.of)):
        record(witness.recorder("ingress", leg=0), ingress, share)
        record(witness.recorder("egress"), ingress[:3] + egress, share)
    assert said(together) == said(alone)


@given(events=EVENTS, batch=st.integers(1, MAX_NOTED))
def test_how_events_are_batched_never_shows(events, batch):
    """One by one or many together: the same blocks, rows, sums, marks and waits."""
    (one, single), (many, batched) = witnessed(), witnessed()
    batched._wall = single._wall
    record(single.recorder("wire"), events, batch=1)
    record(batched.recorder("wire"), events, batch=batch)
    assert said(many) == said(one)


@example(events=[(b"", b"a", "a", "0/text/0", "ok", 100 * MS)] * 60, sizes=[3, 40])
@example(events=[(b"", b"a", "a", "0/text/0", "ok", MS)] * 1100, sizes=[500])
@given(events=EVENTS, sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_events_may_be_handed_over_together(events, sizes):
    """Runs of any lengths at once, across the ends of blocks: what handing over each by itself records."""
    (one, single), (many, together) = witnessed(), witnessed()
    together._wall = single._wall
    record(single.recorder("wire"), events)
    recorder, noted, now = together.recorder("wire"), [], 10**12
    for name, data, text, slot, result, gap in events:
        now += gap
        pieces = (Piece(slot, "text", text.encode()),) if text else ()
        missing = sc.MISSING
        noted.append(
            (now, len(data) + 8, sc.TEXT, pieces, name, data, missing, sc.RESULT[result], missing, missing, missing,
             None)
        )  # fmt: skip
    for size in cycle(sizes):
        if not noted:
            break
        recorder.extend(noted[:size], 100)
        del noted[:size]
    recorder.close(now, "eof")
    assert said(many) == said(one)


def test_an_event_is_shared_only_when_all_of_it_is_alike():
    """Another name, other data, another slot: another place for digests."""
    shared = Shared()
    text = (Piece("0/text/0", "text", b"a"),)
    first = shared.of(b"", b"data", text)
    assert first is not None
    assert shared.of(b"", b"data", text) is first
    others = [(b"name", b"data", text), (b"", b"data", ()), (b"", b"other", text), (b"", b"x" * 5000, text)]
    assert all(shared.of(*other) is not first for other in others)


def test_what_is_shared_is_bounded():
    """Only the newest events are remembered."""
    shared = Shared()
    for number in range(1000):
        shared.of(b"", b"%d" % number, ())
    assert len(shared._known) <= 64
