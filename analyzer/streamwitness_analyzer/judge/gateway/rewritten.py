"""What a gateway may write otherwise without changing what the answer says, so that it proves nothing against it.

- **Arguments of a call are JSON.** Whoever reads them and writes them again, as every translation from a format that
  sends them as an object does, changes spaces, escapes, the order of keys and the spelling of numbers. A call without
  any has none at all, or `{}`.
- **A text that is repeated whole** may be sent less often, or at other points, as long as it comes to the same end.

Who hands on events as they were written writes nothing otherwise: what is gone then was lost, but for `{}` and for a
text that comes again. And a call was not written otherwise of which other pieces came through as they were: whoever
reads its arguments writes all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from streamwitness.semconv import FINISH, OTHER, ROLE, SHARED_NUMBERS, TOOL_ARGS, TOOL_START, USAGE
from streamwitness_analyzer.judge.compare.change import Change
from streamwitness_analyzer.judge.testimony.parts import all_slots, kind_of_slot, parts_of, slots_of
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .crossing import Crossing
from .verbatim import Row, Writing

CALLS: Final = "arguments of a call are JSON, which the gateway may have written otherwise"
ONE_NUMBER: Final = "calls with a number each left under one: whoever reads by numbers makes one call of them"
UNTOLD: Final = "of several calls no digest of the whole is held, so a piece may have come out in another's place"
REPEATED: Final = "the format repeats its texts whole, and the gateway may have done so less often"
_HOLLOW: Final = 2
"""Bytes of `{}`."""
_OF_CALLS: Final = TOOL_START | TOOL_ARGS
_OTHERS: Final = 2
"""Pieces that came through as they were, which who reads and writes a call's arguments would not leave so."""
_BESIDE: Final = FINISH | ROLE | USAGE | OTHER
"""What may stand in an event that a rewriting of calls touches."""


def excuse(crossing: Crossing) -> str:
    """Why the changes may be none of what is said; "" where they are."""
    leg, egress = crossing.leg, crossing.egress
    if _repeats(leg):
        return REPEATED if not crossing.verbatim.whole or _same_end(leg, egress) else ""
    if not (leg.part("tool_start") or egress.part("tool_start")):
        return ""
    rewritten = _writes_calls(crossing)
    if rewritten and not (slots_of(leg) and slots_of(egress)):
        return CALLS  # which of what is told differs is not known
    if not (crossing.peer and all_slots(leg) and all_slots(egress)):
        return CALLS if rewritten and all(_only_calls(change, leg, egress) for change in crossing.hop.changes) else ""
    different = _different(leg, egress)
    if not different or any(kind_of_slot(slot) != "tool" for slot in different):
        return ""
    hollow = _hollow(leg) | _hollow(egress)
    filled = all(abs(had - has) == _HOLLOW and min(had, has) in hollow for had, has in different.values())
    return CALLS if rewritten or filled else ""


def under_one_number(legs: Sequence[Record], egress: Record) -> str:
    """Why what was said is not known to be read as it was: more calls share a number than did upstream; "" else.

    They have ids as well, by which some readers tell them apart: nobody is accused of it.
    """
    shared = [told if isinstance(told := record.told(SHARED_NUMBERS), int) else 0 for record in (*legs, egress)]
    return ONE_NUMBER if shared[-1] > sum(shared[:-1]) else ""


def untold_calls(leg: Record, egress: Record) -> str:
    """Why it is not, where a piece may have come out in another call's place: each of its events says the same.

    Only the digests of whole calls tell, or the bytes of all events.
    """
    several = leg.part("tool_start") > 1 and bool(leg.part("tool_args"))
    if not several or (all_slots(leg) and all_slots(egress)):
        return ""
    before, after = View(leg, "payload"), View(egress, "payload")
    return "" if before.s is not None and (before.n, before.s) == (after.n, after.s) else UNTOLD


def _repeats(leg: Record) -> bool:
    """Whether texts come whole again; of a format with pieces that are, too, only the slots tell."""
    slots = slots_of(leg)
    told = any(kind_of_slot(slot).startswith("snapshot") for slot in slots)
    return told or (not slots and bool(leg.part("snapshot")))


def _writes_calls(crossing: Crossing) -> bool:
    """Whether the gateway may write calls its own way: some event is new, and not a piece among others that are not."""
    verbatim = crossing.verbatim
    if verbatim.whole or not verbatim.mostly:
        return not verbatim.whole
    read = _calls(crossing.leg, verbatim.before)
    sent = _calls(crossing.egress, verbatim.after)
    here = frozenset(row.writing for row in verbatim.after if row.writing is not None)
    new, gone = ([row for row in rows if row.content] for rows in (verbatim.new, verbatim.gone))
    return not (_among_pieces(new, sent, verbatim.read) and _among_pieces(gone, read, here))


def _calls(record: Record, rows: Sequence[Row]) -> list[list[Row]]:
    """The events of each call, where they stand one call behind the other; nothing where they do not."""
    calls: list[list[Row]] = []
    for row in rows:
        if row.parts & TOOL_START:
            calls.append([])
        if calls and row.parts & _OF_CALLS:
            calls[-1].append(row)
    told = sorted(size for slot, (_, size) in slots_of(record).items() if kind_of_slot(slot) == "tool")
    return calls if told == sorted(sum(row.content for row in call) for call in calls) else []


def _among_pieces(odd: Sequence[Row], calls: Sequence[Sequence[Row]], there: Collection[Writing]) -> bool:
    """Whether each of these events is a piece of a call's arguments, at least two others of which came through."""
    others: dict[int, int] = {}
    for call in calls:
        through = sum(_is_piece(piece) and piece.writing in there for piece in call)
        others.update((row.position, through) for row in call)
    return all(_is_piece(row) and others.get(row.position, 0) >= _OTHERS for row in odd)


def _is_piece(row: Row) -> bool:
    return row.parts & _OF_CALLS == TOOL_ARGS and bool(row.content)


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


def _only_calls(change: Change, leg: Record, egress: Record) -> bool:
    """Whether nothing but calls, or what nobody knows, stands where the change is."""
    view = View(leg if change.side == "before" else egress, "semantic")
    parts = parts_of(view.record)
    low, high = change.span
    at = view.positions[low : high + 1]
    return all(not parts.get(position, 0) & ~(_OF_CALLS | _BESIDE) for position in at if position is not None)
