"""Which events came again or late, by the ids that they carry."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from streamwitness.framing import SSEFramer


def out_of_turn(ids: Sequence[str | None], size: int = 1 << 20) -> int:
    """Of events with these ids (None: none of its own), fed in pieces of this size."""
    framer = SSEFramer()
    body = "".join((f"id: {i}\n" if i is not None else "") + f"data: {n}\n\n" for n, i in enumerate(ids)).encode()
    for at in range(0, len(body), size):
        framer.feed(body[at : at + size])
    return framer.out_of_turn


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("ids", "count"),
    [
        ((None, None, None), 0),
        (("0", "1", "2", "5"), 0),
        (("0", "1", "1", "2"), 1),
        (("0", "2", "1", "3"), 1),
        (("0", "3", "1", "2", "4"), 2),
        (("a.0", "a.1", "a.1"), 1),
        (("a.0", "b.5", "a.1"), 0),
        (("x", "y", "y", "z"), 1),
        (("7", None, None, "8", None), 0),
        (("answer-7",) * 4, 0),
        (("", "", ""), 0),
    ],
)
def test_an_id_that_is_written_again_or_behind_a_later_one(ids: Sequence[str | None], count: int, size: int) -> None:
    """One in force without being written says nothing; nor does one that every event has."""
    assert out_of_turn(ids, size) == count


def test_an_id_without_an_event() -> None:
    """It takes effect, and no event came with it."""
    framer = SSEFramer()
    framer.feed(b"id: 1\ndata: a\n\nid: 1\n\nid: 2\ndata: b\n\n")
    assert framer.out_of_turn == 0
