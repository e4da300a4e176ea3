"""What an application shows of its answer: texts by slot, digested under the stream's key, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from streamwitness.client.kept import Kept, digested
from streamwitness.digests import Contents
from streamwitness.events import Piece
from streamwitness.reducers import Answer
from streamwitness.semconv import MAX_SLOTS

KEY = b"k" * 16


def shown(result: Any, choice: Any = 0, kind: Any = "text", ordinal: Any = 0, name: Any = "") -> Kept:
    """What is kept of one result."""
    kept = Kept()
    kept.take(result, choice, kind, ordinal, name)
    return kept


def slots(kept: Kept) -> tuple[str, ...]:
    """The digests, as the closing block has them."""
    contents = digested([kept], KEY)
    return contents.slots() if contents is not None else ()


def given(slot: str, *pieces: bytes) -> tuple[str, ...]:
    """The same of pieces as a point before sees them."""
    contents = Contents(KEY)
    contents.extend([(Piece(slot, "text", piece),) for piece in pieces])
    return contents.slots()


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Hallo Welt", [b"Hallo ", b"Welt"]),
        ("", []),
        ("\U0001f426", ["\ud83d".encode("utf-8", "surrogatepass"), "\udc26".encode("utf-8", "surrogatepass")]),
        ("\ud83d\udc26", ["\U0001f426".encode()]),
        ("\ud83d", ["\ud83d".encode("utf-8", "surrogatepass")]),
    ],
)
def test_a_text_is_digested_as_its_pieces(text: str, pieces: list[bytes]) -> None:
    """However it was cut, halves of a character included."""
    expected = given("0/text/0", *pieces) if pieces else slots(shown(b""))
    assert slots(shown(text)) == expected


def test_each_slot_is_its_own() -> None:
    """Choices, kinds and ordinals; a call's name stands before its arguments."""
    assert slots(shown(b"a", 2, "reasoning", 1)) == given("2/reasoning/1", b"a")
    assert slots(shown('{"a":1}', 0, "tool", 3, "look")) == given("0/tool/3", b"look", b'{"a":1}')


def test_the_newest_text_counts() -> None:
    """An application may show what it has after every event."""
    kept = shown("H")
    kept.take("Ha", 0, "text", 0, "")
    assert slots(kept) == given("0/text/0", b"Ha")


@pytest.mark.parametrize(
    "said",
    [
        (None,),
        (["a"],),
        (7,),
        ("a", -1),
        ("a", 0, "snapshot"),
        ("a", 0, "text", "x"),
        ("a", 0, "tool", 0, None),
        ("a", True),
    ],
)
def test_what_is_no_text_of_a_slot_is_ignored_and_counted(said: tuple[Any, ...]) -> None:
    """Never raised: it is the application that would suffer."""
    kept = shown(*said)
    assert (kept.refused, digested([kept], KEY)) == (1, None)


def test_texts_are_bounded() -> None:
    """As many as a point before has digests of."""
    kept = Kept()
    for choice in range(MAX_SLOTS + 3):
        kept.take("a", choice, "text", 0, "")
    assert (len(slots(kept)), kept.refused) == (MAX_SLOTS, 3)


def test_a_text_too_long_is_not_digested(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would hold the application up."""
    monkeypatch.setattr("streamwitness.client.kept._MOST_BYTES", 4)
    kept = shown("12345")
    assert (slots(kept), kept.refused) == ((), 1)


def test_an_answer_is_read_at_the_end() -> None:
    """All its slots, calls with their names."""
    answer = Answer()
    kept = shown(answer)
    kept.take(answer, 0, "text", 0, "")
    call = {"index": 0, "id": "c", "function": {"name": "look", "arguments": '{"a"'}}
    answer.apply({"choices": [{"index": 0, "delta": {"content": "Ja", "tool_calls": [call]}}]})
    answer.apply({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}}]})
    assert set(slots(kept)) == {*given("0/text/0", b"Ja"), *given("0/tool/0", b'look{"a":1}')}
