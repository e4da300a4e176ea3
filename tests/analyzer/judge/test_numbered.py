"""Gateway out → client where the gateway numbered its events: real stamps, observers and judge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import Event, How, answer
from streamwitness import rows
from streamwitness.blocks import Block
from streamwitness.demo.scripts import chunk
from streamwitness.semconv import FIRST_NUMBER, STAMPED, Stamp
from streamwitness_analyzer.judge import judge
from tests.cases.parsers import proper
from tests.cases.pipeline import Play, Stream, spoken

WORDS = 8
ANSWER = spoken(*["ha "] * WORDS)
"""Equal events, which only their number tells apart."""


def verdict(order: list[int], *, stamp: Stamp = "id", end: str = "eof", parser: bool = True) -> dict[str, Any]:
    """What is said of an answer of which the client received these events, in this order."""
    stream = Stream()
    sent = ANSWER if stamp == "none" else stream.numbered(ANSWER, stamp)
    play = Play([sent[i] for i in order], proper(), sent, ANSWER, received_end=end, stamp=stamp)
    return stream.play(play).verdict()


def told(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Kind, suspects, count, place, and whether the place is only about."""
    return [(f["kind"], f["suspects"], f["count"], f["sequence"], f["about"]) for f in found["findings"]]


ALL = list(range(len(ANSWER)))


@pytest.mark.parametrize("stamp", ["none", "id", "field"])
def test_healthy(stamp: Stamp) -> None:
    """Numbers change nothing."""
    assert (told(verdict(ALL, stamp=stamp)), verdict(ALL, stamp=stamp)["integrity"]) == ([], "intact")


@pytest.mark.parametrize("stamp", ["id", "field"])
@pytest.mark.parametrize("lost", range(WORDS + 1))
def test_which_of_equal_events_was_lost(lost: int, stamp: Stamp) -> None:
    """Without numbers it would be about any of them."""
    order = [i for i in ALL if i != lost]
    assert told(verdict(order, stamp=stamp)) == [("gap", ["transport"], 1, [lost, lost], False)]


def test_without_numbers_it_is_about_any_of_them() -> None:
    """The same loss, told by digests alone."""
    assert told(verdict([0, 1, 2, *ALL[4:]], stamp="none")) == [("gap", ["transport"], 1, [0, 7], True)]


def test_a_run_a_copy_and_a_move() -> None:
    """Each fault by its own numbers, several at once."""
    order = [0, 2, 1, 3, 3, 6, 7, 8, 9]
    assert told(verdict(order)) == [
        ("reorder", ["transport"], 1, [2, 2], True),
        ("duplicate", ["transport"], 1, [3, 3], False),
        ("gap", ["transport"], 2, [4, 5], False),
    ]


def test_a_reset_loses_the_end() -> None:
    """All behind the last number that came."""
    assert told(verdict(ALL[:4], end="reset")) == [("tail", ["transport"], 6, [4, 9], False)]


def test_what_an_own_stop_left_is_unread() -> None:
    """In play is only what the client went past, and what it went past may have been under way."""
    found = verdict([0, 1, 3], end="timeout")
    assert told(found) == [("gap_or_late", ["transport"], 1, [2, 2], False)]
    assert not found["findings"][0]["exact"]


def test_bytes_that_were_changed_under_their_number() -> None:
    """The number came through, the data did not."""
    stream = Stream()
    sent = stream.numbered(ANSWER)
    received = [piece.replace(b"ha ", b"hu ") if i == 3 else piece for i, piece in enumerate(sent)]
    play = Play(received, proper(), sent, ANSWER, stamp="id")
    assert told(stream.play(play).verdict()) == [("corrupt", ["transport"], 1, [3, 3], False)]


@pytest.mark.parametrize(
    ("piece", "kind"), [(chunk({"content": "hi "}), "fabricated"), (chunk({"content": "ha "}), "duplicate")]
)
def test_an_event_that_somebody_put_in_has_the_number_of_the_one_before_it(piece: bytes, kind: str) -> None:
    """An SSE id stays in force until the next one: nothing was changed, and one event came more."""
    stream = Stream()
    sent = stream.numbered(ANSWER)
    play = Play([*sent[:4], piece, *sent[4:]], proper(), sent, ANSWER, stamp="id")
    (found,) = stream.play(play).verdict()["findings"]
    assert (found["kind"], found["suspects"], found["count"], found["exact"]) == (kind, ["transport"], 1, True)


def test_of_two_events_with_other_bytes_under_one_number_neither_is_a_copy() -> None:
    """One was changed on the way, and behind it another one was put in."""
    stream = Stream()
    sent = stream.numbered(ANSWER, "id")
    changed = sent[3].replace(b"ha ", b"oh ")
    play = Play([*sent[:3], changed, chunk({"content": "hm "}), *sent[4:]], proper(), sent, ANSWER, stamp="id")
    kinds = [kind for kind, *_ in told(stream.play(play).verdict())]
    assert kinds == ["corrupt", "extra"]


def by_rows(came: list[Event], numbers: list[int]) -> dict[str, Any]:
    """What is said where both points record numbers and no digests."""
    gateway = How("egress", legs=(), level="rows", extra=((STAMPED, "id"), (FIRST_NUMBER, 0))).blocks(SAID)
    client = How("wire", level="rows", extra=((STAMPED, "id"),)).blocks(came)
    return judge([*_numbered(gateway, list(range(len(SAID)))), *_numbered(client, numbers)], settled=True)


def _numbered(blocks: list[Block], numbers: list[int]) -> list[Block]:
    (block,) = blocks
    return [replace(block, rows=rows.encode({**block.columns(), "sequence": numbers}, block.row_count))]


SAID = answer(range(1, 6))


def test_without_digests_numbers_prove_no_content() -> None:
    """Another text under the same number is no less in its place: nobody is accused, and nobody cleared."""
    found = by_rows([*SAID[:3], Event(99), *SAID[4:]], list(range(len(SAID))))
    assert (found["findings"], found["integrity"]) == ([], "unproven")
    assert "transport" not in found["why"]["cleared"]


def test_without_digests_what_came_more_is_not_called_a_copy() -> None:
    """An event that somebody put in bears the number before it, and may be any."""
    found = by_rows([*SAID[:3], Event(77), *SAID[3:]], [0, 1, 2, 2, *range(3, len(SAID))])
    assert [(f["kind"], f["suspects"], f["count"]) for f in found["findings"]] == [("extra", ["transport"], 1)]


def test_without_digests_a_number_that_never_came_is_a_loss() -> None:
    """What was lost, numbers tell alone."""
    numbers = [0, 1, *range(3, len(SAID))]
    found = by_rows([SAID[i] for i in numbers], numbers)
    assert told(found) == [("gap", ["transport"], 1, [2, 2], False)]


def test_numbers_that_a_proxy_took_out_leave_it_to_the_digests() -> None:
    """The payload is the same: nothing was lost."""
    stream = Stream()
    play = Play(ANSWER, proper(), stream.numbered(ANSWER), ANSWER, stamp="id")
    assert told(stream.play(play).verdict()) == []


def test_numbers_of_another_stream_prove_nothing() -> None:
    """The digests tell that nothing was lost."""
    stream = Stream()
    play = Play(Stream().numbered(ANSWER), proper(), stream.numbered(ANSWER), ANSWER, stamp="id")
    assert told(stream.play(play).verdict()) == []
