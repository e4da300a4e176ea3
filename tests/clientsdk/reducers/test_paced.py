"""Pacing keeps order and every delta, in bounded memory, however slow the consumer is."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from streamwitness.reducers import Paced, Rendered

DELTA = st.tuples(st.sampled_from(["a", "b"]), st.text(max_size=4))


def merged(deltas: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The deltas with neighbours of one slot joined."""
    groups = groupby(deltas, key=lambda delta: delta[0])
    return [(slot, "".join(text for _, text in group)) for slot, group in groups]


@given(st.lists(DELTA), st.integers(1, 12), st.lists(st.booleans()))
def test_nothing_is_lost_or_moved_and_no_more_than_the_limit_waits(
    deltas: list[tuple[str, str]], limit: int, takes: list[bool]
) -> None:
    """Offered and taken in any rhythm, the same text in the same order comes out."""
    paced = Paced(limit)
    out: list[Rendered] = []
    longest = max((len(text.encode()) for _, text in deltas), default=0)
    for at, delta in enumerate(deltas):
        while not paced.offer(*delta):
            out += paced.take()
        assert paced.pending <= max(limit, longest)
        if at < len(takes) and takes[at]:
            out += paced.take()
    out += paced.take()
    assert merged([(item.slot, item.text) for item in out]) == merged(deltas)
    assert (sum(item.deltas for item in out), paced.pending) == (len(deltas), 0)
