"""What the rows say an event carried: the parts column, read only where a question needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamwitness.blocks import Block
from streamwitness.semconv import (
    CLIENT,
    ERROR,
    FINISH,
    MARK_BYTES,
    MAX_SLOTS,
    MISFRAMED,
    OTHER,
    PART,
    PENDING_BYTES,
    PENDING_PARTS,
    RESULT,
    TERMINAL,
    UNREAD,
    UPSTREAM_MISMATCHES,
)

from .records import Record

CONTENT: Final = ("text", "reasoning", "refusal", "tool_start", "tool_args", "snapshot", "patch")
"""Parts that are model output."""
_OUTPUT: Final = sum(PART[name] for name in CONTENT)
JUDGED: Final = (*CONTENT, "finish")
"""Parts that make an event a judged one."""
_OF_JUDGED: Final = sum(PART[name] for name in JUDGED)
UNREAD_OUTPUT: Final = "there was output of a kind that nobody reads here, and not every byte was handed on"
MISREAD: Final = "the body was not what it was announced as, so what was read of it is not all that it said"


def parts_of(record: Record) -> dict[int, int]:
    """Event position → parts mask, of the rows held. It is the record's own: not to be changed."""
    return record.once("parts of events", lambda: _parts_of(record))


def _parts_of(record: Record) -> dict[int, int]:
    found: dict[int, int] = {}
    for block in record.blocks:
        if block.rows_held:
            found.update(enumerate(_masks(record, block) or [0] * block.row_count, block.position))
    return found


def _masks(record: Record, block: Block) -> Sequence[int] | None:
    """The parts of the events of a block of which rows are held; None where no row says anything."""
    return record.once(("parts", block.index), lambda: block.columns("parts").get("parts"))


def sizes_of(record: Record) -> dict[int, int]:
    """Event position → bytes on the wire, of the rows held."""
    found: dict[int, int] = {}
    for block in record.blocks:
        if block.rows_held:
            sizes = block.columns("bytes").get("bytes") or ()
            found.update((block.position + i, size) for i, size in enumerate(sizes))
    return found


def positions_with(record: Record, part: int, *, error: bool = False) -> list[int]:
    """Positions of the events that carry a part (or an error), in order, of the rows held."""
    wanted = part | (ERROR if error else 0)
    return [position for position, mask in sorted(parts_of(record).items()) if mask & wanted]


def positions_with_result(record: Record, result: str) -> list[int]:
    """Positions of the events with this result, in order, of the rows held."""
    code, found = RESULT[result], []
    for block in record.blocks:
        if block.rows_held:
            results = block.columns("result").get("result") or ()
            found += [block.position + i for i, value in enumerate(results) if value == code]
    return found


def ends_with_terminal(record: Record) -> bool:
    """Whether the last event is known to be the protocol's terminal: the closing block and its last row are held."""
    return record.once("ends with terminal", lambda: _ends_with_terminal(record))


def _ends_with_terminal(record: Record) -> bool:
    if not record.closed or not record.events:
        return False
    block = record.blocks[-1]
    if block.rows is None or not block.row_count:
        return False
    masks = _masks(record, block)
    return bool(masks is not None and masks[-1] & TERMINAL)


def last_with(record: Record, part: int) -> int | None:
    """Position of the last event that carries one of these parts; reads no more blocks than it must."""
    for block in reversed(record.blocks):
        if not block.rows_held:
            continue
        masks = _masks(record, block) or ()
        for i in range(len(masks) - 1, -1, -1):
            if masks[i] & part:
                return block.position + i
    return None


def withholds(before: Record, after: Record) -> bool:
    """Whether `after` does not hand on, by design, some kind of judged event that came before it.

    A point that does not declare what it hands on is held to the kinds of which it did hand on something.
    """
    if not after.delivers:
        return any(before.part(name) and not after.part(name) for name in JUDGED)
    if not _OF_JUDGED & ~after.delivers:
        return False
    return any(before.part(name) for name in JUDGED if not PART[name] & after.delivers)


def event_by_event(parsed: Record) -> bool:
    """Whether a parser is known to hand on each event as it came: its hook says whose it is, and knows that parser.

    Of one that somebody watches it is a promise at best, which only the digests of all content can hold it to.
    """
    return bool(parsed.delivers) and parsed.told(CLIENT) is not None


def not_understood(record: Record) -> tuple[int, int]:
    """How many events carry something that no profile understands, and no output: at least, and at most."""
    masks = [mask for mask in parts_of(record).values() if mask & OTHER]
    least = sum(1 for mask in masks if not mask & _OUTPUT)
    return least, least + record.part("other") - len(masks)


def unread(record: Record) -> bool:
    """Whether some events could not be read, or may have come after the terminal: they are not among the judged."""
    return bool(record.total("malformed")) or may_go_on_behind_terminal(record)


def stopped_within_an_event(record: Record) -> bool:
    """Whether bytes were left that no blank line ended: one that reads by lines may take them for an event."""
    return bool(pending(record))


def pending(record: Record) -> int:
    """Bytes that were left at the end, of an event that never ended."""
    told = record.told(PENDING_BYTES)
    return told if isinstance(told, int) else 0


def unclosed(record: Record) -> bool:
    """Whether what ends the answer came whole, and only the blank line behind it never did.

    Readers that take the end of the body for one have a whole answer, and others none: both are right.
    """
    parts = left(record)
    return bool(parts & (FINISH | TERMINAL)) and not parts & ERROR


def left(record: Record) -> int:
    """Parts of an event that a clean end left without its blank line; 0 where there is none that can be read."""
    told = record.told(PENDING_PARTS)
    return told if record.end == "eof" and isinstance(told, int) else 0


def says_more(record: Record) -> bool:
    """Whether there was output that its profile does not read, or none but in summaries, which are not compared."""
    only_summaries = bool(record.part("snapshot")) and not record.total("content")
    return record.told(UNREAD) is not None or (only_summaries and record.told(UPSTREAM_MISMATCHES) is not None)


def misframed(record: Record) -> bool:
    """Whether the body was not what it was announced as: then the events found in it are not all that it said.

    A bare JSON error behind proper events hides none of them.
    """
    return record.told(MISFRAMED) not in (None, "json_error")


def may_go_on_behind_terminal(record: Record) -> bool:
    """Whether events may stand behind a terminator: readers stop there, and what follows is nobody's loss."""
    terminals = record.part("terminal")
    return terminals > 1 or (terminals == 1 and not ends_with_terminal(record))


def output_behind_terminal(record: Record) -> bool:
    """Whether output may stand behind a terminator; where rows are lost, wherever anything may."""
    if not may_go_on_behind_terminal(record):
        return False
    masks = sorted(parts_of(record).items())
    first = next((position for position, mask in masks if mask & TERMINAL), None)
    hidden = first is None or len(masks) < record.events
    return hidden or any(position > first and mask & _OF_JUDGED for position, mask in masks if first is not None)


def judged_behind_terminal(record: Record) -> int | None:
    """How many events with output or a finish stand behind the terminator; None where lost rows hide that."""
    masks = parts_of(record)
    places = sorted(position for position, mask in masks.items() if mask & TERMINAL)
    if not places or len(places) != record.part("terminal") or not record.closed:
        return None
    behind = range(places[0] + 1, record.events)
    if any(position not in masks for position in behind):
        return None
    return sum(1 for position in behind if masks[position] & _OF_JUDGED)


def same_slots(before: Record, after: Record) -> bool:
    """Whether the whole content of every slot is equal, however it was cut into events; both must be closed.

    Calls are compared by what they hold: which is the first hangs on how they came, and whoever collects them may hand
    them on in another order.
    """
    a, b = _contents(before), _contents(after)
    return bool(a) and all_slots(before) and a == b


def other_calls(before: Record, after: Record) -> bool:
    """Whether calls are known to hold other things at the two points: of equal events, pieces in another's place."""
    if before.closing and after.closing and before.closing.slot_digests == after.closing.slot_digests:
        return False
    a, b = _contents(before), _contents(after)
    known = bool(a and b) and all_slots(before) and all_slots(after)
    return known and [told for told in a if _is_of_call(told)] != [told for told in b if _is_of_call(told)]


def _contents(record: Record) -> list[str]:
    """What the closing block says of each slot, of calls without their numbers."""
    told = record.closing.slot_digests if record.closing else ()
    return sorted(_unnumbered(entry) for entry in told)


def _unnumbered(entry: str) -> str:
    slot, space, rest = entry.partition(" ")
    return f"{slot.rpartition('/')[0]}{space}{rest}" if _is_of_call(slot) else entry


def _is_of_call(told: str) -> bool:
    """Whether it begins with a slot (`choice/kind/ordinal`) of a call."""
    return kind_of_slot(told.partition(" ")[0]) in ("tool", "snapshot_tool")


def slots_of(record: Record) -> dict[str, tuple[str, int]]:
    """Slot → digest and bytes of its whole content, as the closing block lists them; what is no such entry is none."""
    told = (entry.split(" ") for entry in (record.closing.slot_digests if record.closing else ()))
    return {entry[0]: (entry[1], int(entry[2])) for entry in told if len(entry) == 3 and is_count(entry[2])}


def kind_of_slot(slot: str) -> str:
    """What kind of output a slot holds, of `choice/kind/number`."""
    return slot.partition("/")[2].partition("/")[0]


def is_count(text: str) -> bool:
    """Whether it is a number as we write one, and none that takes long to read."""
    return text.isascii() and text.isdigit() and len(text) < 16


def all_slots(record: Record) -> bool:
    """Whether each of its slots has a digest: further ones than the first 16 have none.

    Nor has any whose list did not come: content in no slot at all is not told, which is not none.
    """
    told = record.closing.slot_digests if record.closing is not None else ()
    return record.closing is not None and len(told) < MAX_SLOTS and bool(told or not record.total("content"))


def first_difference(leg: Record, egress: Record) -> tuple[int, int] | None:
    """Content bytes between the last common mark that is equal and the first that differs.

    Each mark is over all content before it, so what lost blocks leave out only widens the range.
    """
    a, b = _marks(leg), _marks(egress)
    equal = 0
    for number in sorted(a.keys() & b.keys()):
        if a[number] != b[number]:
            return (equal, (number + 1) * MARK_BYTES - 1)
        equal = (number + 1) * MARK_BYTES
    return None


def _marks(record: Record) -> dict[int, bytes]:
    marks: dict[int, bytes] = {}
    for block in record.blocks:
        data = block.content_marks
        first = int.from_bytes(data[:4], "little")
        for i in range(4, len(data) - 3, 4):
            marks[first + i // 4 - 1] = data[i : i + 4]
    return marks


def goes_on_behind_finish(record: Record) -> bool:
    """Whether output stands behind the last finish, as far as rows are held: who stops there has not had it."""
    finish, output = last_with(record, FINISH), last_with(record, _OUTPUT)
    return finish is not None and output is not None and finish < output
