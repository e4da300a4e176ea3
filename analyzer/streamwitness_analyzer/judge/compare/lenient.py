"""Events of which nobody is accused, whatever became of them, for readers differ in what they make of them (§7.2).

- **Only lenient readers can decode them**: bytes that are no UTF-8 stand in them. A reader that takes them with a
  replacement is as right as one that refuses them, or leaves them out. Their rows say `malformed` beside what they say.
- **They only imply what they say**: the end of a call for which no arguments came is as much as `{}`. Who has no use
  for ends of blocks lost nothing. Their rows say `other` beside `tool_args`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from streamwitness.semconv import MALFORMED, OTHER, PART, TOOL_ARGS
from streamwitness_analyzer.judge.testimony.parts import parts_of
from streamwitness_analyzer.judge.testimony.view import View

from .change import LOSSES, SURPLUS, Change, Hop

_ODD_BYTES: Final = "bytes that are no text stand in what came, which not every reader takes"
_IMPLIED: Final = "that a call has no arguments is implied by the end of its block, which not every reader hands on"
_ENDS_A_CALL: Final = TOOL_ARGS | OTHER
_PLAIN: Final = LOSSES | {"duplicate", "reorder"}
"""Kinds of changes to events as they are."""


@dataclass(frozen=True, slots=True)
class _Odd:
    """Which digests are such events', and which are not, as far as rows are held."""

    events: Counter[int]
    plain: frozenset[int] = frozenset()
    hidden: bool = False
    """Whether there may be others of which the rows are lost."""

    def may_be(self, value: int) -> bool:
        """Whether an event with this digest may be such a one."""
        return value in self.events or (self.hidden and value not in self.plain)


def but_for_odd_bytes(hop: Hop, before: View) -> Hop:
    """The hop without what may be another reader's way with such events; unproven where nothing else is left of it."""
    if hop.status != "faulty":
        return hop
    malformed, ends = before.record.part("malformed"), before.record.part("other") * before.record.part("tool_args")
    if not (malformed or ends):
        return hop
    odd = _odd(before)
    known, unknown = replace(odd, hidden=False), _Odd(Counter(), odd.plain | odd.events.keys(), odd.hidden)
    if not any(_touches(change, odd) for change in hop.changes):
        return hop
    left = [rest for change in hop.changes if (rest := _rest(change, known)) is not None]
    unsure = any(_touches(change, unknown) for change in hop.changes)
    if unsure or not left or any(change.kind not in _PLAIN for change in left):
        return Hop("unproven", prefix=hop.prefix, reason=_ODD_BYTES if malformed else _IMPLIED)
    return replace(hop, changes=tuple(left))


def but_for_implied(hop: Hop, after: View) -> Hop:
    """The hop without what came more and only implies what it says.

    A call of which all arguments were lost seems to have had none: that is the loss, and nobody made it up.
    """
    added = [change for change in hop.changes if change.side == "after" and change.kind in SURPLUS]
    if not (added and after.record.part("other") and after.record.part("tool_args")):
        return hop
    masks = parts_of(after.record)
    rows = zip(after.positions, after.values, strict=True)
    ends = {value for at, value in rows if at is not None and value is not None and implied(masks.get(at, 0))}
    made = [change for change in added if change.values and all(value in ends for value, _ in change.values)]
    left = tuple(change for change in hop.changes if change not in made)
    return replace(hop, changes=left) if left else Hop("unproven", prefix=hop.prefix, reason=_IMPLIED)


def implied(mask: int) -> bool:
    """Whether an event with these parts only implies what it says."""
    return mask & _ENDS_A_CALL == _ENDS_A_CALL


def _odd(before: View) -> _Odd:
    masks = parts_of(before.record)
    rows = [(v, masks[p]) for p, v in zip(before.positions, before.values, strict=True) if v is not None and p in masks]
    lost = [
        sum(1 for mask in masks.values() if mask & PART[name]) < before.record.part(name)
        for name in ("malformed", "other", "tool_args")
    ]
    return _Odd(
        Counter(value for value, mask in rows if _is_odd(mask)),
        frozenset(value for value, mask in rows if not _is_odd(mask)),
        hidden=lost[0] or (lost[1] and lost[2]),
    )


def _is_odd(mask: int) -> bool:
    return bool(mask & MALFORMED) or implied(mask)


def _touches(change: Change, odd: _Odd) -> bool:
    """Whether a change may be of such an event."""
    if change.kind in ("duplicate", "reorder") or not (odd.events or odd.hidden):
        return False
    told = sum(n for _, n in change.values) >= change.count
    return not told or any(odd.may_be(value) for value, _ in change.values)


def _rest(change: Change, odd: _Odd) -> Change | None:
    """What is left of a change without such events; None for nothing."""
    if not _touches(change, odd):
        return change
    values = tuple((value, n - min(n, odd.events[value])) for value, n in change.values if n > odd.events[value])
    count = change.count - sum(n for _, n in change.values) + sum(n for _, n in values)
    if not values or count <= 0:
        return None
    return replace(change, count=count, values=values, placed=False)
