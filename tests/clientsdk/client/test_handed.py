"""Objects are found by identity, within a bound, and never guessed."""

from __future__ import annotations

import weakref

from streamwitness.client.handed import KEPT, Handed
from streamwitness.semconv import MISSING


def test_objects_are_told_apart_by_identity() -> None:
    """Equal objects are two events."""
    handed = Handed()
    first, second = {"a": 1}, {"a": 1}
    handed.add(first, 0)
    handed.add(second, 1)
    assert (handed.position(first), handed.position(second), handed.position({"a": 1})) == (0, 1, MISSING)


def test_one_object_handed_on_twice_names_no_position() -> None:
    """Short texts are one object in Python: which of the two events is meant, nobody knows."""
    handed = Handed()
    handed.add("a", 0)
    handed.add("b", 1)
    handed.add("a", 2)
    assert (handed.position("a"), handed.position("b")) == (MISSING, 1)


def test_only_so_many_are_kept() -> None:
    """Older ones are forgotten, and then a shared text is not taken for its namesake."""
    handed = Handed()
    first: list[int] = []
    handed.add("a", 0)
    handed.add(first, 1)
    items = [[number] for number in range(KEPT)]
    for number, item in enumerate(items):
        handed.add(item, number + 2)
    handed.add("a", KEPT + 2)
    assert (handed.position(first), handed.position("a")) == (MISSING, MISSING)
    assert handed.position(items[-1]) == KEPT + 1
    assert len(handed._positions) <= len(handed._kept) == KEPT


def test_an_ambiguous_object_stays_ambiguous_while_one_is_kept() -> None:
    """Forgetting the first of two does not make the second certain."""
    handed = Handed()
    item: list[int] = []
    handed.add(item, 0)
    for number in range(KEPT - 2):
        handed.add([number], number + 1)
    handed.add(item, KEPT - 1)
    handed.add([], KEPT)
    assert handed.position(item) == MISSING


class Chunk:
    """An object that can be referred to weakly, as an SDK's are."""


def test_an_sdks_objects_are_not_kept_alive() -> None:
    """The application's memory is its own; one that is made where a forgotten one was is not taken for it."""
    handed = Handed()
    chunk = Chunk()
    gone = weakref.ref(chunk)
    handed.add(chunk, 0)
    del chunk
    assert gone() is None
    newer = [Chunk() for _ in range(100)]
    assert [handed.position(other) for other in newer] == [MISSING] * 100
    for number, other in enumerate(newer):
        handed.add(other, number + 1)
    assert [handed.position(other) for other in newer] == list(range(1, 101))


def test_the_same_object_handed_on_twice_by_reference_is_ambiguous() -> None:
    """An application that hands on one object again and again names no position by it."""
    handed = Handed()
    chunk = Chunk()
    handed.add(chunk, 0)
    handed.add_reference(id(chunk), weakref.ref(chunk), 1)
    assert handed.position(chunk) == MISSING
