"""Who was given an error event had been given all before it: what he did not take of that he passed over (hops.py)."""

from __future__ import annotations

from typing import Any

import pytest

from bench.truth.build import DELIVERED_BY_SDK, Event, How, answer, path, used
from streamwitness.semconv import ERROR
from streamwitness_analyzer.judge import judge

WORDS = answer(range(1, 7), finish=False, done=False)
FAILED = [*WORDS, Event(parts=ERROR)]
STOPPED = "stopped_at_terminal"


def told(parsed: list[Event], applied: list[Event], *, came: list[Event] = FAILED, end: str = STOPPED) -> Any:
    """Integrity, and kind and suspects of each finding, where an SDK raised at an error event."""
    ends: dict[str, How] = {
        "wire": How("wire", end=STOPPED, complete=False),
        "parsed": How("parsed", end=STOPPED, delivers=DELIVERED_BY_SDK, complete=False),
        "applied": How("applied", end=end, of="parsed"),
    }
    verdict = judge(path(came, came, came, parsed, applied, **ends), settled=True)
    return verdict["integrity"], [(f["kind"], f["suspects"]) for f in verdict["findings"]]


def test_all_before_the_error_was_handed_on() -> None:
    """The upstream failed, and nothing was lost on the way."""
    assert told(FAILED, used(WORDS)) == ("intact", [])


def test_what_a_parser_did_not_hand_on_before_the_error_it_lost() -> None:
    """The error is the last event that there was, and the parser came to it."""
    assert told([*WORDS[:3], *FAILED[5:]], used([*WORDS[:3], *WORDS[5:]])) == ("damaged", [("gap", ["parser"])])


@pytest.mark.parametrize("end", ["raised", STOPPED])
def test_what_an_application_did_not_take_before_the_error_is_not_proven(end: str) -> None:
    """It had been given it before its parser raised; what it was at then nobody knows."""
    assert told(FAILED, used(WORDS[:5]), end=end) == ("unproven", [])


def test_what_stands_behind_an_error_was_due_to_nobody() -> None:
    """Clients stop there."""
    came = [*WORDS[:4], Event(parts=ERROR), *WORDS[4:]]
    assert told(came[:5], used(came[:4]), came=came) == ("intact", [])
