"""What a gateway sent behind the end of its answer, where no reader looks: output, or a finish once more.

Such events are not among the judged ones. They accuse the gateway only where the upstream response that feeds the
answer had nothing behind its end, as its last row shows, and no other one ended (docs/design.md §7.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamwitness.semconv import FINISH, ROLE
from streamwitness_analyzer.judge.compare.change import Change
from streamwitness_analyzer.judge.testimony.parts import (
    may_go_on_behind_terminal,
    positions_with_result,
    stopped_within_an_event,
    unread,
)
from streamwitness_analyzer.judge.testimony.records import Record

from .verbatim import Row, Verbatim, rows_of

_LATE: Final = "behind the event that ended the answer"


def behind_the_end(legs: Sequence[Record], leg: Record, egress: Record) -> list[Change]:
    """An event that stood before the end, too, is a `duplicate`, any other `after_terminal`.

    Where another answer begins there (a role), or another response brought content, what is new may be of that.
    """
    others = [other for other in legs if other is not leg]
    if unread(leg) or stopped_within_an_event(leg) or any(map(_ended, others)):
        return []
    late, again = _late(leg, egress)
    fresh = [row for row in late if row.position not in again]
    if any(row.parts & ROLE for row in fresh) or any(other.total("content") for other in others):
        fresh = []
    told = {
        "duplicate": [row for row in late if row.position in again],
        "after_terminal": [row for row in fresh if row.content or row.parts & FINISH],
    }
    return [_change(kind, rows, egress.every_row) for kind, rows in told.items() if rows]


def _ended(record: Record) -> bool:
    """Whether a response said that it is over: then the answer may hold two of them, one behind the other."""
    return bool(record.part("finish") or record.part("terminal"))


def _late(leg: Record, egress: Record) -> tuple[list[Row], frozenset[int]]:
    """The events behind the end of the answer, and where those of them stand whose finish came before it, too."""
    places = set(positions_with_result(egress, "after_terminal")) if may_go_on_behind_terminal(egress) else ()
    if not places:
        return [], frozenset()
    numbered = Verbatim(leg, egress).numbered
    rows = list(rows_of(egress, numbered=numbered))
    before = {_looks(row, numbered) for row in rows if row.position not in places}
    late = [row for row in rows if row.position in places]
    return late, frozenset(row.position for row in late if row.parts & FINISH and _looks(row, numbered) in before)


def _looks(row: Row, numbered: bool) -> object:
    """What tells an event that is not judged from others."""
    return (row.parts, row.content, row.size) if numbered else row.writing or row


def _change(kind: str, rows: Sequence[Row], exact: bool) -> Change:
    span = (rows[0].position, rows[-1].position)
    placed = len(rows) == span[1] - span[0] + 1
    return Change(kind, len(rows), exact, "after", span, span, placed, note=_LATE, late=True)
