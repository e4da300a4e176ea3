"""What a verdict says in two sentences: how the stream ended, and the first of what else there is to tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from streamwitness.semconv import COMPONENTS, Component
from streamwitness_analyzer.judge.compare.change import LOSSES
from streamwitness_analyzer.judge.ending.endings import Row
from streamwitness_analyzer.judge.ending.states import finish
from streamwitness_analyzer.judge.path import Path

from . import words
from .awaited import in_full
from .findings import Finding
from .notes import unread

_CONTRADICTION: Final = (
    "An event that is in its place at one point is missing or another at the next, and in its place again behind that."
    " No fault can do that: one of these records is wrong, and nobody is accused."
)


@dataclass(slots=True)
class _Told:
    """What there is to tell of: the ending, the integrity, the findings, the path, and who is waited for."""

    row: Row
    integrity: str
    found: Sequence[Finding]
    main: Path | None
    waits: tuple[str, ...] | None


def summary(
    row: Row, integrity: str, found: Sequence[Finding], main: Path | None, waits: tuple[str, ...] | None
) -> str:
    """How it ended, and then what the first of the rules says that has something to say."""
    told = _Told(row, integrity, found, main, waits)
    more = next((text for rule in _RULES if (text := rule(told)) is not None), None)
    return " ".join(filter(None, (_ended(row, main), more)))


def edits(main: Path | None) -> list[str]:
    """What the gateway says that it did on purpose."""
    return [words.edited(edit.kind, edit.count, edit.exact) for edit in main.upstream.edited] if main else []


def ended_by(row: Row) -> set[Component]:
    """The component that ended the answer too early, stood still or raised; a client that left is none."""
    return {c for c in COMPONENTS if c in (row.by, row.client)} if row.ending != "completed" else set()


def _ended(row: Row, main: Path | None) -> str:
    if not _in_order(row):
        return row.reason[0].upper() + row.reason[1:] + "."
    reason = finish(main)
    return "Answer ended normally" + (f" ({reason})." if reason not in (None, "error") else ".")


def _in_order(row: Row) -> bool:
    """Whether the answer is known to have ended as it should, whoever it came from."""
    return row.ending == "completed" and (row.by == "source" or row.ingress == "unfed")


def _contradicted(told: _Told) -> str | None:
    return _CONTRADICTION if told.found and not told.found[0].fault.suspects else None


def _lost_text(told: _Told) -> str | None:
    """How much of the text is missing, where that is known."""
    lost = sum(finding.content_bytes or 0 for finding in told.found if finding.fault.change.kind in LOSSES)
    total = max((record.total("content") for record in told.main.records), default=0) if told.main and lost else 0
    if not 0 < lost <= total:
        return None
    if left := unread(told.main):
        more = words.counted(left, "more event")
        return f"{lost} text bytes were lost; {more} went no further, as the reader stopped."
    return _of_what_was_sent(told, lost) or f"{lost} of {total} text bytes never reached the application."


def _of_what_was_sent(told: _Told, lost: int) -> str | None:
    """The same where the gateway stopped because its client was gone: of what it had sent, which is not all."""
    sent = told.main.record("egress") if told.main is not None else None
    if sent is None or sent.end != "disconnected" or any(f.axis == "ingress" for f in told.found):
        return None
    leg = told.main.upstream.leg if told.main is not None else None
    known = leg is not None and leg.complete
    more = "" if known else "how much more the answer had, nobody saw: "
    text = f"{lost} of the {sent.total('content')} text bytes that the gateway had sent never reached the application"
    return f"{text}; {more}the gateway stopped when its client was gone." if lost <= sent.total("content") else None


def _first_finding(told: _Told) -> str | None:
    return told.found[0].sentence if told.found else None


def _not_final(told: _Told) -> str | None:
    return in_full(told.waits) if told.waits is not None and told.row.ending else None


def _not_proven(told: _Told) -> str | None:
    if told.integrity == "intact":
        return None
    why = ": records are missing" if _records_missing(told.main) else ""
    return f"Whether anything was lost on the way is not proven{why}." if told.row.ending else ""


def _all_is_well(told: _Told) -> str | None:
    nothing, aside = "Nothing" if _in_order(told.row) else "Up to there nothing", ""
    if edited := edits(told.main):
        nothing, aside = "Beside that nothing", f"The gateway says that it {' and '.join(edited)} on purpose. "
    so_far = f"{_as_far(told.main)}{_no_fault(told.row, told.main)}"
    return f"{aside}{nothing} was lost, doubled or displaced{so_far}."


_RULES: Final[tuple[Callable[[_Told], str | None], ...]] = (
    _contradicted,
    _lost_text,
    _first_finding,
    _not_final,
    _not_proven,
    _all_is_well,
)
"""In this order: the first that has something to say (or that nothing can be said)."""


def _records_missing(main: Path | None) -> bool:
    """Whether a record of this exchange, or a part of one, that there must have been is not there."""
    held = main.exchange.records if main is not None else []
    expected = main.exchange.expected if main is not None else frozenset()
    return any(record.lost or not record.closed for record in held) or bool(expected - {r.point for r in held})


def _no_fault(row: Row, main: Path | None) -> str:
    """Never that the source is innocent: what is lost inside it, nobody sees."""
    read = main is not None and any(record.point == "ingress" and not record.refused for record in main.records)
    return ": no fault observed below source" if read and not ended_by(row) else ""


def _as_far(main: Path | None) -> str:
    """Between which points, where not the whole way testified."""
    records = [record for record in main.records if not record.refused] if main else []
    if not records or (records[0].point in ("source", "ingress") and records[-1].point == "applied"):
        return ""
    return f" between {words.label(records[0].point)} and {words.label(records[-1].point)}"
