"""When and after how much a stream ended, from the blocks of one point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import How, answer, path
from streamwitness import rows
from streamwitness.blocks import Block
from streamwitness.semconv import FIRST_EVENT_MS, OBSERVER_FAULT, PENDING_BYTES
from streamwitness_analyzer.judge import judge

MS = 1_000_000
START = 1_700_000_000_000 * MS
CUT = answer(range(1, 7), finish=False, done=False)
LOST = {"wire": How("wire", end="reset")}


def timed(block: Block, *, start: int, times: Sequence[int], end: int, **extra: Any) -> Block:
    """The block with its times: `times` of its events and `start`, `end` in ms behind START."""
    columns = {**block.columns(), "t": [(time - start) * 1000 for time in times]}
    return replace(
        block,
        start_ns=START + start * MS,
        end_ns=START + end * MS,
        rows=rows.encode(columns, block.row_count) if times else None,
        totals=block.totals | {"bytes": 10 * block.totals["events"]},
        extra=block.extra | extra,
    )


def two_blocks(end: int = 60_000) -> list[Block]:
    """A client's record of a lost connection: 6 events between 400 and 900 ms, its end at `end`."""
    first, closing = path(None, None, CUT, cuts=lambda n: [4], wire=LOST["wire"])
    return [
        timed(first, start=400, times=[400, 500, 600, 700], end=700),
        timed(closing, start=800, times=[800, 900, 900], end=end, **{FIRST_EVENT_MS: 400}),
    ]


def ending(blocks: list[Block]) -> dict[str, Any]:
    found: dict[str, Any] = judge(blocks, settled=True)["ending"]
    return {name: found[name] for name in ("at_point", "at_ms", "silent_ms", "at_bytes")}


def test_the_moment_counts_from_the_beginning_and_from_the_last_event() -> None:
    """The beginning is that of the point, before its first event; bytes are those of all events."""
    assert len(CUT) == 7
    assert ending(two_blocks()) == {"at_point": "wire", "at_ms": 60_000, "silent_ms": 59_100, "at_bytes": 70}


def test_when_a_point_began_is_not_known_of_one_that_does_not_say_how_long_its_first_event_took() -> None:
    """Its first block begins at that event: who looked for a minute before it would seem to have begun with it."""
    first, closing = two_blocks()
    untold = {key: value for key, value in closing.extra.items() if key != FIRST_EVENT_MS}
    assert ending([first, replace(closing, extra=untold)])["at_ms"] is None


def test_what_was_left_over_counts_as_bytes() -> None:
    """An event of which only a part came was cut by whatever ended the stream."""
    first, closing = two_blocks()
    left = replace(closing, extra=closing.extra | {PENDING_BYTES: 30})
    assert ending([first, left])["at_bytes"] == 100


def test_a_closing_block_without_events_is_silent_since_the_one_before() -> None:
    """A block that was cut ends with its last event."""
    whole = path(None, None, CUT, cuts=lambda n: [4], wire=LOST["wire"])
    first = timed(whole[0], start=400, times=[400, 500, 600, 700], end=700)
    empty = replace(
        whole[1], position=4, row_count=0, rows=None, totals=first.totals, total_parts=first.total_parts,
        payload_s=first.payload_s, payload_o=first.payload_o, semantic_s=first.semantic_s, semantic_o=first.semantic_o,
        start_ns=START + 60_000 * MS, end_ns=START + 60_000 * MS, extra={FIRST_EVENT_MS: 400},
    )  # fmt: skip
    assert ending([first, empty]) == {"at_point": "wire", "at_ms": 60_000, "silent_ms": 59_300, "at_bytes": 40}


def test_a_stream_without_an_event_was_silent_from_the_beginning() -> None:
    """Its only block spans the whole wait."""
    (closing,) = path(None, None, [], wire=LOST["wire"])
    waited = replace(closing, start_ns=START, end_ns=START + 60_000 * MS)
    assert ending([waited]) == {"at_point": "wire", "at_ms": 60_000, "silent_ms": 60_000, "at_bytes": 0}


@pytest.mark.parametrize(
    ("missing", "known"),
    [(0, {"at_ms": None, "silent_ms": 59_100}), (1, {"at_ms": None, "silent_ms": None})],
    ids=["first block", "closing block"],
)
def test_what_a_lost_block_hides_is_not_guessed(missing: int, known: dict[str, Any]) -> None:
    """Without the first block the beginning is not known, without the closing one nothing is."""
    blocks = two_blocks()
    del blocks[missing]
    assert ending(blocks).items() >= known.items()


def test_an_observer_that_failed_knows_no_moment() -> None:
    """It stopped to look somewhere before the end."""
    first, closing = two_blocks()
    faulted = replace(closing, extra=closing.extra | {OBSERVER_FAULT: "x"})
    assert ending([first, faulted]) == {"at_point": "wire", "at_ms": None, "silent_ms": None, "at_bytes": None}


def test_the_clock_of_one_process_is_used() -> None:
    """Whoever stands next to who ended it; a gateway whose clock is hours away changes nothing."""
    late = [replace(b, start_ns=b.start_ns + 3_600_000 * MS) for b in path(None, CUT, None)]
    assert ending([*late, *two_blocks()])["at_ms"] == 60_000


def test_nobody_held_has_no_moment() -> None:
    """Where every witness contradicts itself, nothing is said."""
    first, closing = two_blocks()
    other = replace(first, totals=first.totals | {"events": 5})
    assert ending([first, other, closing]) == dict.fromkeys(("at_point", "at_ms", "silent_ms", "at_bytes"))
