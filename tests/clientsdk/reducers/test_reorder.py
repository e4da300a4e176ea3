"""The reorder buffer sorts within its bounds, and says what it gave up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamwitness.reducers import Released, Reorder, Result
from streamwitness.reducers.reorder import MAX_PENDING, MAX_WAIT_NS


def told(released: list[Released[str]]) -> list[tuple[int, str]]:
    """Sequence and result of each."""
    return [(item.sequence, str(item.outcome.result)) for item in released]


@given(st.permutations(range(40)), st.integers(40, 60))
def test_any_permutation_within_the_bound_comes_out_sorted(order: list[int], cap: int) -> None:
    """Every event once, in sequence, applied, nothing flushed and nothing left."""
    buffer: Reorder[int] = Reorder(max_pending=cap)
    out = [item for sequence in order for item in buffer.offer(sequence, sequence=sequence, now=0)]
    assert [item.event for item in out] == list(range(40))
    assert {item.outcome.result for item in out} == {Result.APPLIED}
    assert (buffer.pending, buffer.flushes, buffer.close()) == (0, 0, [])


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=60),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_every_event_is_settled_once_and_applied_ones_ascend(
    offers: list[tuple[int, int]], cap: int, wait: int
) -> None:
    """Whatever comes, whenever: an outcome for each event, no sequence applied twice, no more than the cap waits."""
    buffer: Reorder[int] = Reorder(max_pending=cap, max_wait=wait)
    out: list[Released[int]] = []
    now = 0
    for sequence, later in offers:
        now += later
        out += buffer.offer(sequence, sequence=sequence, now=now)
        assert buffer.pending <= cap
        assert buffer.due is None or buffer.due > now
    out += buffer.close()
    applied = [item.sequence for item in out if item.outcome.is_applied]
    assert (len(out), applied) == (len(offers), sorted(set(applied)))
    assert all(item.outcome.reason for item in out)


def test_a_hole_is_given_up_after_two_seconds_and_reported() -> None:
    """The event behind it is flushed, what follows that is in order, and the late one is told as reordered."""
    buffer: Reorder[str] = Reorder()
    assert told(buffer.offer("a", sequence=0, now=0)) == [(0, "applied")]
    assert told(buffer.offer("c", sequence=2, now=10)) == []
    assert told(buffer.offer("d", sequence=3, now=20)) == []
    assert buffer.due == 10 + MAX_WAIT_NS
    assert told(buffer.tick(9 + MAX_WAIT_NS)) == []
    flushed = buffer.tick(10 + MAX_WAIT_NS)
    assert (told(flushed), buffer.flushes, buffer.due) == ([(2, "stall_flushed"), (3, "applied")], 1, None)
    assert flushed[0].outcome.reason == "waited 2 s for event 1"
    assert told(buffer.offer("b", sequence=1, now=30 + MAX_WAIT_NS)) == [(1, "reordered")]
    assert told(buffer.offer("c", sequence=2, now=30 + MAX_WAIT_NS)) == [(2, "duplicate")]


def test_beyond_the_cap_an_event_is_dropped_and_reported() -> None:
    """500 wait; the 501st is dropped, the missing one still releases all that wait."""
    buffer: Reorder[int] = Reorder()
    waiting = [buffer.offer(at, sequence=at, now=0) for at in range(1, MAX_PENDING + 1)]
    assert (waiting, buffer.pending) == ([[]] * MAX_PENDING, MAX_PENDING)
    [dropped] = buffer.offer(-1, sequence=MAX_PENDING + 1, now=0)
    assert dropped.outcome.result is Result.OVERFLOW_DROPPED
    assert len(buffer.offer(0, sequence=0, now=0)) == MAX_PENDING + 1


def test_a_copy_of_one_that_waits_is_a_duplicate() -> None:
    """It is told at once, and the first one still takes its turn."""
    buffer: Reorder[str] = Reorder()
    buffer.offer("b", sequence=1, now=0)
    assert told(buffer.offer("B", sequence=1, now=0)) == [(1, "duplicate")]
    assert [item.event for item in buffer.offer("a", sequence=0, now=0)] == ["a", "b"]


def test_the_end_gives_up_every_hole() -> None:
    """What waits is handed on in order, each jump over a hole counted."""
    buffer: Reorder[str] = Reorder()
    for sequence in (5, 2, 3):
        buffer.offer("x", sequence=sequence, now=0)
    assert told(buffer.close()) == [(2, "stall_flushed"), (3, "applied"), (5, "stall_flushed")]
    assert buffer.flushes == 2
