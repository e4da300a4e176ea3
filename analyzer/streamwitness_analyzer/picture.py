"""The picture of a stream: one row a point, one mark an event, elided around the fault. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from .style import Style

_TICK: Final = 10
_NO_EVENT: Final = " xcue"
"""Cells of events that did not come to a point, and so have no number there."""
_UNREMARKABLE: Final = "oFcu"
_LEGEND: Final = {
    "F": "ends the answer",
    "x": "not there",
    "m": "out of place",
    "r": "refused by the application",
    "u": "went no further",
    "e": "left out on purpose",
    "?": "not known",
    "+": "one more than above",
    "~": "changed",
}
_ENDS: Final = {
    "reset": "connection reset",
    "protocol_error": "connection broken",
    "cancelled": "cancelled",
    "timeout": "gave up waiting",
    "abandoned": "left unread",
    "raised": "raised",
    "unknown": "stopped",
    "disconnected": "reader gone",
    "shutdown": "shut down",
}
"""Ends worth a word beside the row; the ordinary ones say nothing."""
_PASSED_ON: Final = "ended by an exception"
"""Of an application that never had an event: who raised, it or what it asked, is not known there."""
_NO_FINISH: Final = "ended without a finish"
_HELD: Final = {"partial": "records missing", "none": "no record"}

Point = Mapping[str, Any]


class _Window(NamedTuple):
    """The columns that are shown: from `start`, `stop` excluded, of `length`."""

    start: int
    stop: int
    length: int

    @property
    def lead(self) -> str:
        return "…" if self.start else ""

    @property
    def tail(self) -> str:
        return "…" if self.stop < self.length else ""


def draw(points: Sequence[Point], style: Style, axis: str = "") -> list[str]:
    """The lines for the points of one exchange: a ruler where there are events, a row a point, a legend of marks.

    `axis` is the point whose events the ruler numbers: the one whose numbers the findings give.
    """
    if not points:
        return []
    labels = [style.plain(label) for label in _labels(points)]
    counts = ["–" if point["held"] == "none" else str(point["events"] - point.get("failed", 0)) for point in points]
    label_width = max(15, *map(len, labels))
    count_width = max(2, *map(len, counts))
    margin = 1 + label_width + 2 + count_width + 2
    notes = [_note(point) for point in points]
    room = max(20, style.width - margin - max(map(len, notes)) - 2)
    window = _window([str(point["cells"]) for point in points], room)
    ruler = _ruler(window, _numbers(points, axis))
    lines = [" " * margin + ruler] if ruler else []
    for point, label, count, note in zip(points, labels, counts, notes, strict=True):
        cells = str(point["cells"])[window.start : window.stop]
        row = style.cells(window.lead + cells + (window.tail if len(point["cells"]) > window.stop else ""))
        lines.append(f" {label:<{label_width}}  {count:>{count_width}}  {row}" + (f"  {note}" if note else ""))
    legend = _legend(points, style)
    return lines + ([" " * margin + legend] if legend else [])


def _labels(points: Sequence[Point]) -> list[str]:
    """What stands before each row; several upstream attempts, or several readers, are numbered."""
    names = [str(point["label"]) for point in points]
    seen: Counter[str] = Counter()
    out: list[str] = []
    for name in names:
        seen[name] += 1
        out.append(f"{name} {seen[name]}" if names.count(name) > 1 else name)
    return out


def _note(point: Point) -> str:
    if point.get("point") == "applied" and point["end"] == "raised" and not point["events"]:
        return _PASSED_ON
    ended = _NO_FINISH if point["end"] == "eof" and point.get("complete") is False else ""
    said = [_ENDS.get(str(point["end"]), ended), _HELD.get(str(point["held"]), "")]
    return ", ".join(word for word in said if word)


def _window(rows: Sequence[str], room: int) -> _Window:
    """All columns if they fit, else those around the first fault; without one where a reader stopped, or the end."""
    length = max(map(len, rows))
    if length <= room:
        return _Window(0, length, length)
    room -= 2  # the ellipses
    faults = [at for row in rows for at, cell in enumerate(row) if cell not in _UNREMARKABLE]
    stopped = [row.index("u") for row in rows if "u" in row]
    middle = min(faults or stopped or [length])
    start = min(max(0, middle - room // 2), length - room)
    return _Window(start, start + room, length)


def _ruler(window: _Window, numbers: Sequence[int | None]) -> str:
    """The events' numbers above their columns, every ten, as far as they fit beside each other."""
    out = " " * len(window.lead)
    for at in range(window.start, window.stop):
        number, column = numbers[at], at - window.start + len(window.lead)
        if number is not None and number % _TICK == 0 and (column > len(out) or not out.strip()):
            out = out.ljust(column) + str(number)
    return out.rstrip()


def _numbers(points: Sequence[Point], axis: str) -> list[int | None]:
    """The number of the event in each column, as the point `axis` counts them (else the first that was drawn).

    An exchange may carry the rest of a stream, and begins with the number of its first event. What came more further
    down stands in columns between them, and has none.
    """
    length = max(len(point["cells"]) for point in points)
    rows = [point for point in points if len(point["cells"]) == length]
    counted = next((point for point in rows if point.get("point") == axis), rows[0])
    absent = _NO_EVENT if counted is not rows[0] else " "
    number, out = int(points[0].get("first", 0)), list[int | None]()
    for cell in str(counted["cells"]):
        out.append(None if cell in absent else number)
        number += cell not in absent
    return out


def _legend(points: Sequence[Point], style: Style) -> str:
    seen = {cell for point in points for cell in str(point["cells"])}
    return "  ".join(f"{style.glyph(cell)} {words}" for cell, words in _LEGEND.items() if cell in seen)
