"""How an answer says that it ended: by the finishes of its choices, or by telling that it failed."""

from __future__ import annotations

from collections import Counter
from typing import Final

from streamwitness.semconv import FINISH, FINISH_REASONS_ATTRIBUTE

from .parts import parts_of, slots_of
from .records import Record
from .view import View

OTHER_CHOICES: Final = "the content is the same, and it is told otherwise which choice ended for which reason"
OTHER_ENDS: Final = "only ends of choices came out in another order, and not all of these choices said something"
_SEVERAL: Final = 2


def finishes(record: Record) -> int:
    """How many choices finished; several may do so in one event."""
    told = record.told(FINISH_REASONS_ATTRIBUTE)
    if not record.part("finish"):
        return 0
    return len(told) if isinstance(told, (list, tuple)) and told else 1


def failed_openly(leg: Record, egress: Record) -> bool:
    """Whether the upstream's answer is not whole, and the gateway's says so: then it owes no finish."""
    return not leg.complete and (bool(egress.part("error")) or tells_error(egress))


def tells_error(egress: Record) -> bool:
    """Whether the answer says by its finish or its status that something failed."""
    told = egress.told(FINISH_REASONS_ATTRIBUTE)
    return egress.error_status or (isinstance(told, (list, tuple)) and "error" in told and bool(egress.part("finish")))


def several_choices(record: Record) -> bool:
    """Whether content of more than one choice is known."""
    return len({slot.partition("/")[0] for slot in slots_of(record)}) >= _SEVERAL


def silent_choices(record: Record) -> bool:
    """Whether of several choices that finished one is not known to have said anything: its end has no place by that."""
    ended = max(finishes(record), record.part("finish"))
    return ended >= _SEVERAL and ended > len({slot.partition("/")[0] for slot in slots_of(record)})


def only_finishes(record: Record, span: tuple[int, int]) -> bool:
    """Whether nothing but finishes, as far as is judged, stands at these positions."""
    if not record.total("content"):
        return True
    parts, view = parts_of(record), View(record, "semantic")
    rows = zip(view.positions, view.values, strict=True)
    here = [(at, value) for at, value in rows if at is None or span[0] <= at <= span[1]]
    return all(at is not None and parts.get(at, 0) & FINISH and not view.content.get(v or 0) for at, v in here)


def of_other_choices(before: View, after: View) -> bool:
    """Whether of several choices, each of which has its own finish, one may have come out with that of another.

    Where rows are lost only equal sums of all events tell that none has.
    """
    if not several_choices(before.record):
        return False
    if not (before.record.every_row and after.record.every_row):
        return (before.n, before.s) != (after.n, after.s)
    there, here = _finishes_alone(before), _finishes_alone(after)
    return there.total() == here.total() and there != here


def _finishes_alone(view: View) -> Counter[int | None]:
    """The events that are a finish and say nothing else, as far as rows are held."""
    parts = parts_of(view.record)
    rows = zip(view.positions, view.values, strict=True)
    return Counter(v for at, v in rows if at is not None and parts.get(at, 0) & FINISH and not view.content.get(v or 0))
