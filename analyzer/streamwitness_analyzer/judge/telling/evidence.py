"""What the two points of a finding testify, as sentences: one table of who did what, one of how it is told."""

from __future__ import annotations

from typing import Final

from streamwitness.semconv import CLIENT_ENDS, ERROR_TYPE, Point
from streamwitness_analyzer.judge.compare.change import Change, Span
from streamwitness_analyzer.judge.refused import is_refusal
from streamwitness_analyzer.judge.testimony.records import Record

from . import words

SAW: Final[dict[Point, str]] = {
    "source": "source sent",
    "ingress": "gateway in read",
    "egress": "gateway out sent",
    "wire": "client received",
    "parsed": "client parsed",
    "applied": "client applied",
}
"""What a point's record says happened there."""

_STRETCHES: Final = frozenset(("reorder", "mismatch"))
"""Kinds that are about a stretch of events, not about some of it."""
_CHANGED: Final = frozenset(("altered", "corrupt", "mismatch"))


def evidence(
    change: Change, sequence: Span, about: bool, seen: Record, missing: Record, same_as: Point | None = None,
    *, manner: str = "", around: Span | None = None,
) -> dict[str, str]:  # fmt: skip
    """`seen` and `missing`: what proves the finding. `same_as`: an earlier point that had exactly what `seen` had.

    `around` are the numbers of the events before and behind those of `sequence`, where they are not its neighbours.
    """
    if manner == words.SWALLOWED:
        return _swallowed(sequence, seen, missing)
    if change.kind == "upstream_kept_running":
        return _wasted(change, sequence, seen, missing)
    if change.kind == "delayed":
        return _late(change, sequence, seen, missing)
    if change.kind == "misapplied":
        return _another_text(change, seen, missing)
    if change.side == "after" or change.kind in ("duplicate", "fabricated", "extra", "malformed"):
        return _added(change, sequence, about, seen, missing)
    place = _place(change, sequence, about)
    whole = " whole" if change.kind in ("gap", "tail", "partial") else ""
    same = f"; same digest as at {words.label(same_as)}" if same_as and whole else ""
    told = _reported(change, place, missing) or _missing(
        change, sequence, about, seen, missing, around or (sequence[0] - 1, sequence[1] + 1)
    )
    return {"seen": f"{SAW[seen.point]} {place}{whole}{same}", "missing": told}


def evidence_of_one(change: Change, sequence: Span, record: Record) -> dict[str, str]:
    """`seen`: what one point read that contradicts itself. `missing`: what else that rests on."""
    saw, place = SAW[record.point], words.where(sequence, False)
    if change.kind == "gap":
        return {
            "seen": f"{saw} {place} right behind a hole in the provider's own numbers",
            "missing": f"{words.events(change.count)} with the numbers between; {change.note}; {_held(record)}",
        }
    told = f"; {change.note}" if change.note else ""
    what = {"duplicate": " again", "reorder": " too late", "after_terminal": " behind the end"}.get(change.kind, "")
    by_itself = f"what {words.label(record.point)} read shows it by itself; {_held(record)}"
    return {"seen": f"{saw} {place}{what}{told}", "missing": by_itself}


def _place(change: Change, sequence: Span, about: bool) -> str:
    """Which events; where that is not certain, how many and near which."""
    if not about or (change.kind in _STRETCHES and sequence[0] < sequence[1]):
        return words.where(sequence, False)
    what = "the events" if change.kind in _STRETCHES else words.events(change.count)
    return f"{what} {words.near(sequence)}"


def _reported(change: Change, place: str, record: Record) -> str:
    """What the application itself says that it did with these events."""
    if is_refusal(change):
        reasons = " or ".join(words.REFUSED_FOR.get(reason, reason) for reason in change.results)
        return f"the application itself reports that it refused {place} as {reasons}"
    told = next((words.REPORTED[said] for said in change.results if said in words.REPORTED), None)
    if told is None:
        return ""
    error = words.of_type(record.told(ERROR_TYPE)) if record.end == "raised" and "raised" in change.results else ""
    return f"the application itself reports that {told} {place}{error}"


def _swallowed(sequence: Span, seen: Record, missing: Record) -> dict[str, str]:
    return {
        "seen": f"{SAW[seen.point]} an error as {words.where(sequence, False)}",
        "missing": f"{SAW[missing.point]} no error; {_held(missing)}",
    }


def _missing(change: Change, sequence: Span, about: bool, seen: Record, missing: Record, around: Span) -> str:
    saw, first, (before, behind) = SAW[missing.point], sequence[0], around
    told = f"; {change.note}" if change.note else ""
    if change.proof.case == "envelope" and change.kind == "gap":
        what = f"{saw} {'fewer finishes' if missing.part('finish') else 'no finish'}"
    elif change.kind == "tail":
        what = f"{saw} nothing from event {first} on" if first else f"{saw} nothing"
    elif change.kind in _CHANGED:
        what = f"{saw} something else there"
    elif change.kind == "reorder":
        what = f"{saw} the same events in another order"
    elif about or before < 0:
        what = f"{saw} {words.events(change.count)} less"
    else:
        ends = change.span[1] >= seen.events - 1
        what = f"{saw} {before}, then {'nothing more' if ends else behind}"
    return f"{what}{_raised(missing)}; {_held(missing)}{told}"


def _added(change: Change, sequence: Span, about: bool, seen: Record, missing: Record) -> dict[str, str]:
    told = f"; {change.note}" if change.note else ""
    again = " again" if change.kind == "duplicate" else ""
    more = (
        "never had it"
        if change.kind in ("fabricated", "malformed", "cross_stream")
        else f"had {words.events(change.count)} less"
    )
    unplaced = change.kind == "cross_stream" and not change.placed
    place = words.events(change.count) + " more" if unplaced else _place(change, sequence, about)
    return {
        "seen": f"{SAW[missing.point]} {place}{again}{told}",
        "missing": f"{words.label(seen.point)} {more}; {_held(seen)}",
    }


def _wasted(change: Change, sequence: Span, seen: Record, missing: Record) -> dict[str, str]:
    return {
        "seen": f"{SAW[seen.point]} {words.where(sequence, False)} after that; {change.note}",
        "missing": f"{words.label(missing.point)} saw its client go after {words.events(missing.events)}",
    }


def _another_text(change: Change, seen: Record, missing: Record) -> dict[str, str]:
    return {
        "seen": f"{SAW[seen.point]} it whole, and every event was reported as applied; {change.note}",
        "missing": f"the digest of what the application kept is another; {_held(missing)}",
    }


def _late(change: Change, sequence: Span, seen: Record, missing: Record) -> dict[str, str]:
    return {
        "seen": f"{SAW[seen.point]} {words.where(sequence, False)} in time",
        "missing": f"{SAW[missing.point]} {'it' if change.count == 1 else 'them'} late; {change.note}",
    }


def _raised(record: Record) -> str:
    quiet = record.point in ("parsed", "applied") and record.end in CLIENT_ENDS and record.end != "raised"
    return "; raised nothing" if quiet else ""


def _held(record: Record) -> str:
    if not record.closed:
        return "the end of its record is missing"
    return "its record is complete" if not record.lost else "its totals are complete, some of its details are lost"
