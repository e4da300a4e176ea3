"""What the rows say an event carried: the parts column, read only where a question needs it."""

from __future__ import annotations

from typing import Final

from streamwitness.semconv import ERROR, PART, TERMINAL

from .records import Record

_JUDGED: Final = ("text", "reasoning", "refusal", "tool_start", "tool_args", "snapshot", "patch", "finish")
"""Parts that make an event a judged one."""


def parts_of(record: Record) -> dict[int, int]:
    """Event position → parts mask, of the rows held."""
    found: dict[int, int] = {}
    for block in record.blocks:
        if block.rows is not None and block.position + block.row_count == block.totals["events"]:
            masks = block.columns().get("parts") or [0] * block.row_count
            found.update((block.position + i, mask) for i, mask in enumerate(masks))
    return found


def positions_with(record: Record, part: int, *, error: bool = False) -> list[int]:
    """Positions of the events that carry a part (or an error), in order, of the rows held."""
    wanted = part | (ERROR if error else 0)
    return [position for position, mask in sorted(parts_of(record).items()) if mask & wanted]


def ends_with_terminal(record: Record) -> bool:
    """Whether the last event is known to be the protocol's terminal: the closing block and its last row are held."""
    if not record.closed or not record.events:
        return False
    block = record.blocks[-1]
    if block.rows is None or not block.row_count:
        return False
    masks = block.columns().get("parts")
    return bool(masks is not None and masks[-1] & TERMINAL)


def last_with(record: Record, part: int) -> int | None:
    """Position of the last event that carries one of these parts; reads no more blocks than it must."""
    for block in reversed(record.blocks):
        if block.rows is None or block.position + block.row_count != block.totals["events"]:
            continue
        masks = block.columns().get("parts") or ()
        for i in range(len(masks) - 1, -1, -1):
            if masks[i] & part:
                return block.position + i
    return None


def withholds(before: Record, after: Record) -> bool:
    """Whether `after` does not hand on, by design, some kind of judged event that came before it."""
    return any(before.part(name) for name in _JUDGED if not PART[name] & after.delivers)
