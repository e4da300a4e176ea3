"""An error told inside an answer: which records tell one, and whether the client ended at it, whatever came behind."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from streamwitness.semconv import CLIENT_POINTS, ERROR, FINISH_REASONS_ATTRIBUTE, MISFRAMED, PART
from streamwitness_analyzer.judge.compare.change import NEW, SURPLUS
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.testimony.parts import last_with, left, positions_with
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

_AT_AN_EVENT: Final = ("raised", "stopped_at_terminal")
"""Ends of a reader that stopped because of what it had read."""


def told_an_error(record: Record) -> bool:
    """Whether an error was told: by an event (or a bare object) in place of the end, or as the reason to finish."""
    told = record.told(FINISH_REASONS_ATTRIBUTE)
    if record.complete:
        return isinstance(told, (list, tuple)) and "error" in told
    return bool((record.part("error") or left(record) & ERROR) or record.told(MISFRAMED) == "json_error")


def stopped_at_an_error(path: Path, leg: Record, egress: str) -> bool:
    """Whether its error event is where the client stopped, though the upstream went on behind it."""
    return bool(leg.part("error")) and (egress == "error" or (egress == "none" and client_error(path) == "error"))


def client_error(path: Path) -> str | None:
    """Whether the client ended at an error event, and whether it is known if that one had left the gateway.

    A gateway may go on behind an error, and a client read on: then it ended otherwise.
    """
    client = (path.record(point) for point in CLIENT_POINTS)
    failed = [r for r in client if r is not None and r.closing is not None and told_an_error(r)]
    egress = path.record("egress")
    if _raised_at_an_error(path):
        return "error"
    if not failed or egress is None or not egress.complete:
        return "error" if failed else None
    if egress.faulted or (egress.part("error") and _more_came(path)):
        return "error_unseen"
    there = not egress.part("error") or any(r.end in _AT_AN_EVENT or _error_is_last(r) for r in failed)
    return "error" if there else None


def error_given(path: Path) -> Record | None:
    """The record with an error event that came to the client, or left for it where what came is not known."""
    wire = path.record("wire")
    given = wire if wire is not None and wire.closing is not None else path.record("egress")
    return given if given is not None and given.part("error") else None


def _raised_at_an_error(path: Path) -> bool:
    """Whether its parser raised having handed on what stands before an error event, however much came behind it."""
    parsed, given = path.record("parsed"), error_given(path)
    if parsed is None or given is None or parsed.end != "raised":
        return False
    here = [position for position in View(given, "semantic").positions if position is not None]
    known = given.every_row and len(here) == given.total("judged")
    return known and parsed.total("judged") in [bisect_left(here, p) for p in positions_with(given, 0, error=True)]


def _more_came(path: Path) -> bool:
    """Whether somebody on the way put something in, which may be the error that the client stopped at."""
    return any(change.kind in SURPLUS | NEW for step in path.steps for change in step.hop.changes)


def _error_is_last(record: Record) -> bool:
    return last_with(record, PART["error"]) == record.events - 1
