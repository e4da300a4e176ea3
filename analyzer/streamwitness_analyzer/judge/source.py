"""Faults of the source: what a stream says against itself, at the first point that read it.

A loss inside the provider is invisible, so nothing but evidence in the stream itself is one (docs/design.md §7.3):

    malformed       events that no reader can decode, or that belong to a part of the answer that was never begun
    after_terminal  output behind the event that ends the answer
    gap             numbers of the provider's own that never came, and its own whole text has more at that very place
    duplicate       events that came twice under one number of its own, and its own whole text has them once
    reorder         events that came in another order than their numbers, and its own whole text has that order

Holes alone, a whole text that differs, grammar that is broken where no output is concerned: these are notes, for hops
that edit, and the many that imitate a provider, make them as well. The first point held accuses whoever lies before
it; what later points show of the same is not told twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from streamwitness.semconv import (
    EDITED,
    ERROR,
    PARTS,
    PROVIDER_NAME,
    REASONING,
    REFUSAL,
    RESULT,
    ROLE,
    TEXT,
    TOOL_ARGS,
    TOOL_START,
    UNKNOWN_PROVIDER,
    UPSTREAM_FAULTS,
    UPSTREAM_NOISE,
)

from .attribute import Fault, within
from .compare.change import Change, Proof, Span
from .gateway.legs import related
from .path import Path
from .testimony.parts import JUDGED, is_count, may_go_on_behind_terminal, misframed
from .testimony.records import Record
from .testimony.view import View

UNDECODABLE: Final = "the data cannot be decoded"
UNPLACED: Final = "the part of the answer that is meant was never begun"
_OUTPUT: Final = TEXT | REASONING | REFUSAL | TOOL_START | TOOL_ARGS
_OF_THE_FORMAT: Final = tuple(name for name in PARTS if name not in ("terminal", "ping", "other", "malformed"))
_PROOF: Final = Proof("by_itself")
_NOTES: Final = {
    "malformed": UNPLACED,
    "gap": "the provider's whole text has more at that place",
    "duplicate": "the provider's whole text repeats nothing there",
    "reorder": "the provider's whole text has the order of the numbers",
}
"""Kind that a recorder may have told of the provider's events → what confirms it."""
_BROKEN: Final = "what events were that nobody could read: their rows are lost"
_BEHIND: Final = "whether output came behind the end of the answer: the rows that would tell are lost"
_Odd = tuple[int, str, int, int]
"""A row: position, result, parts and content bytes."""
_MOST: Final = 16
"""Faults of one record that are read; a recorder tells at most one of each kind."""


def source_faults(path: Path) -> list[Fault]:
    """What the first point that read this exchange's bytes proves against whoever lies before it."""
    record = first_reader(path)
    if record is None or misframed(record):
        return []
    odd = list(_odd_rows(record))
    read = (_undecodable(record, odd), _after_terminal(record, odd)) if odd else ()
    found = [change for change in read if change is not None]
    told = [] if _may_be_edited(path, record) else list(_told(record))
    return [within(record, change) for change in (*found, *told)]


def _may_be_edited(path: Path, record: Record) -> bool:
    """Whether a gateway before this point leaves events out on purpose, or what it did is told in what is not held.

    It may have said so there, or have gone over to another attempt in the midst of an answer.
    """
    if record.point == "ingress":
        return False
    egress = path.record("egress")
    held = {each.point for each in path.exchange.records if each.closed}
    edits = egress is not None and egress.told(EDITED) is not None
    return edits or bool(path.exchange.expected & {"ingress", "egress"} - held)


def first_reader(path: Path) -> Record | None:
    """The first point held of those that read bytes; None where nobody's answer is known to be made of what it read.

    An upstream attempt that does not provably feed the answer accuses nobody of it, and an exchange that carries the
    rest of an answer repeats what the first one had.
    """
    return path.once("first reader", lambda: _first_reader(path))


def _first_reader(path: Path) -> Record | None:
    if path.exchange.attempt:
        return None
    if path.exchange.legs:
        return path.upstream.leg if _feeds(path) else None
    return path.record("egress") or path.record("wire")


def _feeds(path: Path) -> bool:
    """Whether the answer is made of the upstream response; what else the gateway did to it may be unproven."""
    leg, hop, egress = path.upstream.leg, path.upstream.hop, path.record("egress")
    if leg is None or hop is None or hop.status != "unproven":
        return hop is not None
    sole = path.exchange.listed(egress) == {leg.recorder}
    return sole and egress is not None and related(View(leg, "semantic"), View(egress, "semantic"))


def _undecodable(record: Record, odd: Sequence[_Odd]) -> Change | None:
    """Events that nobody can read; those too long for our own reader are none, nor are mere words between events.

    How many are such words the closing block tells. Where all of it is words, it is another format.
    """
    if not record.closed:
        return None
    places = [at for at, result, parts, _ in odd if result == "malformed" and not parts & ERROR]
    noise = record.told(UPSTREAM_NOISE)
    count = len(places) - (max(0, noise) if isinstance(noise, int) else 0)
    if count <= 0 or (noise and not any(record.part(name) for name in _OF_THE_FORMAT)):
        return None
    return _change("malformed", count, record.every_row, (places[0], places[-1]), len(places), UNDECODABLE)


def _after_terminal(record: Record, odd: Sequence[_Odd]) -> Change | None:
    """Output behind the end of the answer; where another answer begins there, it is that one's."""
    late = [(at, parts, content) for at, result, parts, content in odd if result == "after_terminal"]
    places = [at for at, parts, content in late if parts & _OUTPUT and content]
    again = any(parts & ROLE for _, parts, _ in late)
    if not places or again or record.told(PROVIDER_NAME) in (None, UNKNOWN_PROVIDER):
        return None
    return _change("after_terminal", len(places), record.every_row, (places[0], places[-1]), len(places), "")


def hidden(path: Path) -> str:
    """What the first point that read this exchange counts of its source, and lost rows hide; else ""."""
    record = first_reader(path)
    if record is None or record.every_row or misframed(record):
        return ""
    noise = record.told(UPSTREAM_NOISE)
    told = sum(1 for _, result, _, _ in _odd_rows(record) if result == "malformed")
    if record.total("malformed") > max(told, noise if isinstance(noise, int) else 0):
        return _BROKEN
    more = sum(map(record.part, JUDGED)) > record.total("judged")
    return _BEHIND if more and may_go_on_behind_terminal(record) else ""


def _odd_rows(record: Record) -> Iterator[_Odd]:
    """Every row that is not simply `ok`."""
    for block in record.blocks:
        if not block.rows_held:
            continue
        results = block.columns("result").get("result") or ()
        if not _RESULTS.keys() & set(results):
            continue
        columns, nothing = block.columns("parts", "content"), [0] * block.row_count
        parts, content = columns.get("parts") or nothing, columns.get("content") or nothing
        for i, result in enumerate(results):
            if result in _RESULTS:
                yield block.position + i, _RESULTS[result], parts[i], content[i]


_RESULTS: Final = {RESULT[name]: name for name in ("malformed", "after_terminal")}


def _told(record: Record) -> Iterator[Change]:
    """What the recorder itself noticed of the provider's numbers and grammar, and told at the end."""
    told = record.told(UPSTREAM_FAULTS) if record.closed else None
    for entry in told[:_MOST] if isinstance(told, (list, tuple)) else ():
        kind, *numbers = str(entry).replace("+ ", " ", 1).split(" ")
        if kind in _NOTES and len(numbers) == 3 and all(is_count(number) for number in numbers):
            count, first, last = (int(number) for number in numbers)
            if count and first <= last < record.events:
                yield _change(kind, count, "+ " not in entry, (first, last), 0, _NOTES[kind])


def _change(kind: str, count: int, exact: bool, span: Span, rows: int, note: str) -> Change:
    placed = span[1] - span[0] + 1 == rows == count
    return Change(kind, count, exact, "before", span, span, placed, note=note, proof=_PROOF)
