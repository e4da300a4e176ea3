"""snapshots.py, numbers.py: what a whole text confirms of a provider's own numbers, through the Responses profile."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamwitness.providers.numbers import MAX_MISSING, Numbers
from streamwitness.providers.openai_responses import OpenAIResponses
from streamwitness.providers.snapshots import MAX_KEPT, Kept, _spaces

WORDS = ["The", " harbour", " was", " quiet", " when", " the", " boat", " came"]
FIRST = 3
"""Number of the first delta."""


def answer(words: Iterable[str] = WORDS, *, told: str | None = None, item: int = 0, first: int = 0) -> list[Any]:
    """A message as the provider streams it; its whole text may be told otherwise."""
    words = list(words)
    place = {"output_index": item, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.added", "output_index": item, "item": {"type": "message", "role": "assistant"}},
        {"type": "response.content_part.added", **place, "part": {"type": "output_text", "text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": word} for word in words),
        {"type": "response.output_text.done", **place, "text": "".join(words) if told is None else told},
        {"type": "response.completed", "response": {"id": "r"}},
    ]
    return [event | {"sequence_number": first + n} for n, event in enumerate(events)]


def found(events: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    """What the profile holds against a stream of these events."""
    profile, at = OpenAIResponses(), [0]
    profile.placed(lambda: at[0])
    for at[0], event in enumerate(events):
        profile.read(b"", json.dumps(event).encode())
    return profile.contradictions


def without(events: list[Any], *places: int) -> list[Any]:
    """The stream after some of its events were lost."""
    return [event for n, event in enumerate(events) if n not in places]


@pytest.mark.parametrize("at", range(FIRST, FIRST + len(WORDS)))
def test_a_lost_delta_is_confirmed_wherever_it_stood(at: int) -> None:
    """First, middle or last: the whole text has more just where its number is missing."""
    assert found(without(answer(), at)) == (f"gap 1 {at} {at}",)


def test_several_lost_deltas_are_counted() -> None:
    """In one run, and in two."""
    assert found(without(answer(), 5, 6)) == ("gap 2 5 5",)
    assert found(without(answer(), 4, 7, 8)) == ("gap 3 4 6",)


def test_a_delta_that_came_twice_is_confirmed() -> None:
    """Under one number, and the whole text has it once."""
    events = answer()
    assert found([*events[:6], events[5], *events[6:]]) == ("duplicate 1 6 6",)
    assert found([*events[:6], events[4], *events[6:]]) == ("duplicate 1 6 6",)


def test_a_delta_that_came_late_is_confirmed() -> None:
    """Behind a later number, and the whole text has it in its place."""
    events = answer()
    assert found([*events[:5], events[6], events[5], *events[7:]]) == ("reorder 1 6 6",)


def test_in_order_nothing_is_found() -> None:
    """Nor where an event without text, of a kind that nobody knows, was lost."""
    events = answer()
    assert found(events) == ()
    known = [*events[:5], {"type": "response.annotation.added"}, *events[5:]]
    numbered = [event | {"sequence_number": n} for n, event in enumerate(known)]
    assert found(without(numbered, 5)) == ()


@pytest.mark.parametrize(
    "told",
    [
        "The harbour was quiet when the boat came.",
        "the harbour was quiet when the boat came",
        "The  harbour  was  quiet  when  the  boat  came",
        "",
        "Something else",
        "The harbour was quiet when the boat came \n",
        " The harbour was quiet when the boat came",
    ],
)
@pytest.mark.parametrize("gone", [(), (1,), (2,)])
def test_a_whole_text_that_merely_differs_confirms_nothing(told: str, gone: tuple[int, ...]) -> None:
    """A server that trims, adds, or tidies up, with or without holes elsewhere."""
    assert found(without(answer(told=told), *gone)) == ()


def test_a_filter_that_edits_deltas_and_leaves_no_hole_is_none() -> None:
    """The whole text has what a hop took out of a delta: whose doing, nobody knows."""
    events = answer()
    events[5] = events[5] | {"delta": " ***"}
    assert found(events) == ()
    assert found(without(events, 1)) == ()


def test_a_hole_of_another_part_confirms_nothing_here() -> None:
    """What was lost before a part began is not missing in it."""
    first = answer()[:-1]
    second = answer([" and", " left"], told="Then and left", item=1, first=len(first) - 1)[1:]
    assert found([*without(first, 1), *second]) == ()


def test_all_deltas_left_out_is_somebodys_design() -> None:
    """A hop that keeps whole texts alone."""
    assert found(without(answer(), *range(FIRST, FIRST + len(WORDS)))) == ()


def test_from_the_middle_nothing_is_judged() -> None:
    """A response that is read again from a later number (`starting_after`)."""
    assert found(answer()[5:]) == ()


@pytest.mark.parametrize("number", [lambda n: 0, lambda n: 7, lambda n: n % 3, lambda n: None, lambda n: 9 * n])
def test_numbers_that_mean_nothing_prove_nothing(number: Any) -> None:
    """Servers that send 0 throughout, count anew, leave them out, or count by nines."""
    assert found([event | {"sequence_number": number(n)} for n, event in enumerate(answer())]) == ()


def test_numbers_by_part_prove_nothing() -> None:
    """Each item counts anew."""
    first, second = answer()[:-1], answer([" and", " left"], item=1)[1:]
    assert found([*first, *second]) == ()


def test_equal_neighbours_are_counted_all_the_same() -> None:
    """Which of them was lost, the number says; where texts repeat, a count may be a lower bound."""
    assert found(without(answer(["a"] * 9), 5)) == ("gap 1 5 5",)
    assert found(without(answer(["ab", "a", "b", "ab", "ab"]), 4, 6)) == (
        "gap 1+ 4 4",
    )  # its second place may be empty


@given(
    words=st.lists(st.sampled_from(["a", "b", "ab", " ", "c d"]), min_size=1, max_size=12),
    lost=st.sets(st.integers(0, 11), max_size=4),
)
@example(words=["a", "a", "a"], lost={0, 1})
def test_what_is_confirmed_was_lost(words: list[str], lost: set[int]) -> None:
    """However texts repeat, never more is counted than truly went, and nothing where nothing did."""
    gone = [FIRST + n for n in lost if n < len(words)]
    told = found(without(answer(words), *gone))
    assert [entry.split()[0] for entry in told] in ([], ["gap"])
    counts = [entry.split()[1] for entry in told]
    assert counts in ([], [str(len(gone))]) or (counts[0].endswith("+") and int(counts[0][:-1]) <= len(gone))


def test_memory_is_bounded() -> None:
    """Beyond some bytes, places and numbers nothing is confirmed, and nothing more is kept."""
    big = answer(["x" * 1000] * (MAX_KEPT // 1000 + 9))
    profile = OpenAIResponses()
    for event in without(big, 5):
        profile.read(b"", json.dumps(event).encode())
    assert (profile.contradictions, profile._kept) == ((), {})
    numbers = Numbers()
    for n in range(0, 10 * MAX_MISSING, 9):
        numbers.note(n, lambda: 0)
    assert len(numbers.missing) == MAX_MISSING
    assert numbers.holes == (10 * MAX_MISSING - 1) // 9 * 8
    assert not numbers.known


def test_spaces_are_what_every_explanation_has() -> None:
    """Where a run may stand in two places, only what is left over in both is space."""
    assert _spaces(b"axxb", 0, [b"a", b"b"]) == [b"xx"]
    assert _spaces(b"a1b1b2c", 0, [b"a", b"b", b"c"]) == [b"1", b"2"]
    assert _spaces(b"abbc", 0, [b"a", b"b", b"c"]) == [b"", b""]
    assert _spaces(b"abc", 0, [b"abc", b"c"]) is None


def test_a_number_that_came_again_is_kept_once() -> None:
    """The second one of it is counted, whatever it holds."""
    kept = Kept(0, 0, 0)
    kept.add(1, b"a", "", 1)
    kept.add(1, b"x", "again", 2)
    assert kept.explained(b"a", {}, 2) == {"duplicate": [2]}
    assert kept.explained(b"b", {}, 2) == {}


def test_a_text_that_also_differs_elsewhere_confirms_nothing() -> None:
    """A hop edited a delta before the hole, or behind it: what else it did, nobody knows."""
    for at in (4, 8):
        events = answer()
        events[at] = events[at] | {"delta": " ***"}
        assert found(without(events, 6)) == ()


def test_what_came_late_beside_a_hole_is_not_told() -> None:
    """The text confirms the hole; that the order did any harm, it does not."""
    events = answer(["a", " ", "a", "b", "c", "d"])
    assert found([*events[:3], events[5], events[3], *events[6:]]) == ()
    assert found([*events[:4], events[6], events[5], *events[8:]]) == ("gap 1+ 6 6",)


def test_more_numbers_than_are_kept_confirm_nothing() -> None:
    """Which of them are missing is not known any more."""
    events = answer()
    far = [event | {"sequence_number": n + 2 * MAX_MISSING * (n > 5)} for n, event in enumerate(events)]
    assert found(without(far, 5)) == ()
