"""The history of a verdict and limits on the way, as people read them."""

from __future__ import annotations

from typing import Any

from streamwitness_analyzer.history import render_cuts, render_history
from streamwitness_analyzer.style import Style
from tests.analyzer.kit import SECOND, START

PLAIN = Style()
ID = "5" * 32


def revision(n: int, **changes: Any) -> dict[str, Any]:
    values = {
        "revision": n,
        "judge_version": 2,
        "judged_ns": START + n * 60 * SECOND,
        "state": "settled" if n == 1 else "corrected",
        "ending": "completed",
        "integrity": "unproven",
        "headline": "COMPLETED, UNPROVEN",
        "summary": "Answer ended normally (stop).",
        "findings": [],
    }
    return values | changes


LOST = "1 event that gateway out had never came out at client received."


def test_a_history() -> None:
    """The first revision with its summary, each further one with what it says otherwise, and why."""
    late = revision(2, integrity="damaged", headline="TRANSPORT LOST 1 EVENT", findings=[LOST])
    learnt = revision(3, judge_version=3, ending="network_lost", headline="CONNECTION LOST", integrity="unproven")
    history = {"stream": ID, "state": "corrected", "revisions": [revision(1), late, learnt]}
    assert (
        render_history(history, PLAIN)
        == f"""\
Stream {ID}: 3 revisions of its verdict
 1  2023-11-14 22:14:20 UTC  COMPLETED, UNPROVEN   final, judge 2
    Answer ended normally (stop).
 2  2023-11-14 22:15:20 UTC  TRANSPORT LOST 1 EVENT   corrected, judge 2
    - a record came late
    - integrity was unproven, is damaged
    - found: {LOST}
 3  2023-11-14 22:16:20 UTC  CONNECTION LOST   corrected, judge 3
    - judged anew: judge 3 instead of 2
    - ending was completed, is network_lost
    - integrity was damaged, is unproven
    - no longer said: {LOST}"""
    )


def test_a_history_of_nothing() -> None:
    """A stream that was never judged has none."""
    text = render_history({"stream": ID, "state": "open", "revisions": []}, PLAIN)
    assert text == f"Stream {ID} has no verdict yet."


def test_cuts() -> None:
    """Each limit as a sentence, with where a known one is written, and streams to look at."""
    cluster = {
        "sentence": "12 of 15 cut streams ended after 60.0 s.",
        "sources": ["https://limits.example/60"],
        "streams": [f"{n:08x}" + "0" * 24 for n in range(5)],
    }
    found = {"cuts": [cluster], "streams": 100, "cut": 15, "whole": True}
    assert (
        render_cuts(found, "1d", PLAIN)
        == """\
15 of 100 streams since 1d were cut.
 1  12 of 15 cut streams ended after 60.0 s.
    That limit: https://limits.example/60
    Look: streamwitness show 00000000  (or 00000001, 00000002)"""
    )


def test_no_cuts() -> None:
    """What was looked at is said, and whether that was all."""
    found = {"cuts": [], "streams": 100, "cut": 15, "whole": False}
    assert render_cuts(found, "1d", PLAIN) == (
        "15 of 100 streams since 1d were cut (the newest of them are all that was looked at); "
        "no limit on the way shows. It would by three or more of a service that ended at one moment (after 1 s) or size"
        " (above 4 KiB), and more than meet by chance."
    )
