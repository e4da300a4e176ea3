"""When and after how much a stream ended, at the point next to who ended it: what a limit on the way would show in.

All times are differences of one process's own clock, so that no two clocks are ever compared. A proxy may count from
the beginning (`at_ms`), from the last event (`silent_ms`), or bytes (`at_bytes`); identical values over many streams
are what `cuts.py` looks for.
"""

from __future__ import annotations

from typing import Any, Final

from streamwitness.blocks import Block
from streamwitness.semconv import FIRST_EVENT_MS, PENDING_BYTES, Point
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.testimony.records import Record

from .endings import Row

_NEXT_TO: Final[dict[str, Point]] = {"source": "ingress", "gateway": "egress", "transport": "wire", "client": "wire"}
"""Who ended it → the point that stands next to them."""
_MS: Final = 1_000_000
_US: Final = 1_000
NOWHERE: Final[dict[str, Any]] = {"at_point": None, "at_ms": None, "silent_ms": None, "at_bytes": None}
"""The moment of a stream of which nothing is held."""


def ended_at(row: Row, main: Path | None) -> Record | None:
    """The record of the point next to who ended the stream, else of the first behind gateway in, else any."""
    if main is None:
        return None
    point = "egress" if row.ending == "completed" else _NEXT_TO.get(row.by or "")
    if point is not None and (near := main.record(point)) is not None:
        return near
    outside = (record for record in main.records if record.point != "ingress")
    return next(outside, None) or next(iter(main.records), None)


def moment(record: Record | None) -> dict[str, Any]:
    """The end as this point saw it; what a lost block hides, or nobody recorded, is None.

    `at_ms`: from the point's beginning to its end. `silent_ms`: from its last event (without one: from its beginning)
    to its end. `at_bytes`: of all its events and of what was left over of one that never became whole.
    """
    if record is None:
        return dict(NOWHERE)
    closing = record.closing
    if closing is None or record.faulted:
        return NOWHERE | {"at_point": record.point}
    pending = closing.extra.get(PENDING_BYTES, 0)
    return {
        "at_point": record.point,
        "at_ms": _since(began(record), closing.end_ns),
        "silent_ms": _since(_last_event(record), closing.end_ns),
        "at_bytes": record.total("bytes") + (pending if isinstance(pending, int) else 0),
    }


def _since(start: int | None, end: int) -> int | None:
    """Milliseconds between two times of one process; None where they are no such times."""
    return None if not start or end < start else (end - start) // _MS


def began(record: Record) -> int | None:
    """When the point began to look, Unix ns: its first block begins at its first event, and says how long that took."""
    first = record.blocks[0]
    waited = record.told(FIRST_EVENT_MS) if record.events else 0
    if first.index or not first.start_ns or not isinstance(waited, int):
        return None
    return first.start_ns - waited * _MS


def _last_event(record: Record) -> int | None:
    """When the last event came; a block that was cut ends with its last event, a closing one later."""
    closing = record.blocks[-1]
    if not record.events:
        return began(record)
    if closing.totals["events"] > closing.position:
        times = closing.columns("t").get("t")
        return closing.start_ns + times[-1] * _US if times else None
    before: Block | None = record.blocks[-2] if len(record.blocks) > 1 else None
    return before.end_ns if before is not None and before.index + 1 == closing.index else None
