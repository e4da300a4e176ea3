"""What a gateway may write otherwise without changing what the answer says, so that it proves nothing against it.

- **Arguments of a call are JSON.** Whoever reads them and writes them again, as every translation from a format that
  sends them as an object does, changes spaces, escapes, the order of keys and the spelling of numbers. A call without
  any has none at all, or `{}`.
- **A text that is repeated whole** may be sent less often, or at other points, as long as it comes to the same end.

Who hands on events byte for byte writes nothing otherwise: what is gone then was lost, but for `{}` and for a text that
comes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamwitness.semconv import FINISH, OTHER, ROLE, TOOL_ARGS, TOOL_START, USAGE

from .change import Change
from .parts import all_slots, parts_of, slots_of
from .records import Record
from .view import View

CALLS: Final = "arguments of a call are JSON, which the gateway may have written otherwise"
REPEATED: Final = "the format repeats its texts whole, and the gateway may have done so less often"
_HOLLOW: Final = 2
"""Bytes of `{}`."""
_OF_CALLS: Final = TOOL_START | TOOL_ARGS
_BESIDE: Final = FINISH | ROLE | USAGE | OTHER
"""What may stand in an event that a rewriting of calls touches."""


def excuse(leg: Record, egress: Record, changes: Sequence[Change], peer: bool) -> str:
    """Why these changes may be none of what is said; "" where they are. `peer`: all of the leg was due."""
    rewritten = not as_written(egress) <= as_written(leg)
    if any(_kind(slot).startswith("snapshot") for slot in slots_of(leg)):
        return REPEATED if rewritten or _same_end(leg, egress) else ""
    if not (leg.part("tool_start") or egress.part("tool_start")):
        return ""
    if not (peer and all_slots(leg) and all_slots(egress)):
        return CALLS if rewritten and all(_only_calls(change, leg, egress) for change in changes) else ""
    different = _different(leg, egress)
    if any(_kind(slot) != "tool" for slot in different):
        return ""
    hollow = _hollow(leg) | _hollow(egress)
    filled = all(abs(had - has) == _HOLLOW and min(had, has) in hollow for had, has in different.values())
    return CALLS if rewritten or filled else ""


def as_written(record: Record) -> set[int]:
    """Payload digests of the events that say something."""
    payloads = View(record, "payload").values
    at = (p for p in View(record, "semantic").positions if p is not None)
    return {value for p in at if (value := payloads[p]) is not None}


def _same_end(leg: Record, egress: Record) -> bool:
    """Whether the last thing that was said is the same."""
    before, after = View(leg, "semantic").values, View(egress, "semantic").values
    return bool(before and after) and before[-1] is not None and before[-1] == after[-1]


def _different(leg: Record, egress: Record) -> dict[str, tuple[int, int]]:
    """Slots whose content is not the same, with its size on both sides."""
    had, has = slots_of(leg), slots_of(egress)
    none = ("", 0)
    return {
        slot: (had.get(slot, none)[1], has.get(slot, none)[1])
        for slot in had.keys() | has.keys()
        if had.get(slot) != has.get(slot)
    }


def _hollow(record: Record) -> set[int]:
    """Sizes of what begins a call without saying any of its arguments."""
    view, parts = View(record, "semantic"), parts_of(record)
    rows = zip(view.positions, view.values, strict=True)
    begun = (
        value for position, value in rows if position is not None and parts.get(position, 0) & _OF_CALLS == TOOL_START
    )
    return {view.content.get(value or 0, 0) for value in begun}


def _kind(slot: str) -> str:
    return slot.partition("/")[2].partition("/")[0]


def _only_calls(change: Change, leg: Record, egress: Record) -> bool:
    """Whether nothing but calls, or what nobody knows, stands where the change is."""
    view = View(leg if change.side == "before" else egress, "semantic")
    parts = parts_of(view.record)
    low, high = change.span
    at = view.positions[low : high + 1]
    return all(not parts.get(position, 0) & ~(_OF_CALLS | _BESIDE) for position in at if position is not None)
