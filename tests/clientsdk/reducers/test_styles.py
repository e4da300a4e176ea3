"""Each style applies a delta as a whole, or refuses it and changes nothing."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness.reducers import Arguments, Patch, Refused, Snapshot, Text, Usage
from streamwitness.reducers.jsontext import JsonText

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
CONTAINER = st.lists(JSON, max_size=3) | st.dictionaries(st.text(), JSON, max_size=3)


def pieces(text: bytes, cuts: list[int]) -> list[bytes]:
    """A text cut at these places."""
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def test_text_appends_across_a_cut_character() -> None:
    """A character cut between two deltas is whole in the text, and a half surrogate pair is kept."""
    text = Text()
    for delta in (b"a\xf0\x9f", b"\x90\xa6", b"\xed\xa0\xbd"):
        text.add(delta)
    assert text.value == "a\U0001f426\ud83d"
    text.add(b"\xff")
    assert text.value == "a\U0001f426\ufffd\ufffd\ufffd\ufffd"


def test_a_snapshot_replaces_and_tells_a_rewrite() -> None:
    """The last one stands; one that does not go on from the one before is counted."""
    text = Snapshot()
    for delta in (b"a", b"ab", b"xb"):
        text.add(delta)
    assert (text.value, text.rewrites) == ("xb", 1)


@given(CONTAINER, st.lists(st.integers(0, 200), max_size=5), st.booleans())
def test_arguments_are_complete_exactly_at_their_end(value: object, cuts: list[int], indent: bool) -> None:
    """However the text is cut, the value is complete with its last byte, not before, and nothing may follow."""
    text = json.dumps(value, ensure_ascii=False, indent=1 if indent else None).encode("utf-8", "surrogatepass")
    arguments, progress = Arguments(), JsonText()
    for piece in pieces(text, cuts):
        assert not progress.is_complete or not piece
        arguments.add(piece)
        progress = progress.after(piece)
    assert (progress.is_complete, arguments.is_complete, arguments.value) == (True, True, value)
    arguments.add(b" \n")
    with pytest.raises(Refused):
        arguments.add(b"{")
    assert arguments.value == value


@given(st.lists(st.binary(max_size=6)))
def test_any_pieces_leave_a_state(deltas: list[bytes]) -> None:
    """No bytes whatever raise anything but a refusal, and what was refused is not in the text."""
    arguments, taken = Arguments(), b""
    for delta in deltas:
        try:
            arguments.add(delta)
        except Refused:
            continue
        taken += delta
    expected = Text()
    expected.add(taken)
    assert arguments.text == expected.value


def test_two_calls_in_one_slot_are_refused_even_in_one_piece() -> None:
    """`{"x":1}{"y":2}` is no arguments of one call."""
    arguments = Arguments()
    with pytest.raises(Refused, match="two calls"):
        arguments.add(b'{"x":1}{"y":2}')
    assert arguments.text == ""


def test_a_patch_applies_as_a_whole_or_not_at_all() -> None:
    """A patch whose second operation fails leaves the document as it was; so does what is no patch."""
    patch = Patch({"text": "a"})
    patch.add(b'[{"op":"replace","path":"/text","value":"ab"},{"op":"add","path":"/list","value":[1]}]')
    for bad in (
        b'[{"op":"replace","path":"/text","value":"x"},{"op":"remove","path":"/none"}]',
        b'[{"op":"replace","path":"/text","value":"x"},{"op":"test","path":"/text","value":"y"}]',
        b"{no", b"7", b"[1]", b'[{"op":"fly","path":"/text"}]', b'{"op":"add"}', b'[{"op":"add","path":"x","value":1}]',
    ):  # fmt: skip
        with pytest.raises(Refused):
            patch.add(bad)
    assert patch.value == {"text": "ab", "list": [1]}


@pytest.mark.parametrize(("cumulative", "value"), [(True, (10, 15)), (False, (10, 16))])
def test_usage_is_summed_only_where_the_provider_says_so(cumulative: bool, value: tuple[int, int]) -> None:
    """Running totals replace, counts of each event add up; a count that is missing changes nothing."""
    usage = Usage(cumulative=cumulative)
    for counts in ((10, 1), (None, 15), (None, None)):
        usage.add(*counts)
    assert usage.value == value
