"""The same content in other events: a gateway may merge and split, and only the whole of a slot then compares.

Equal digests of every slot prove that nothing was lost, however it was cut. Where they differ, content marks say
between which bytes; without either, what seems lost may stand in an event that joins it to another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from streamwitness.semconv import FINISH, PATCH, SNAPSHOT, TOOL_ARGS, TOOL_START
from streamwitness_analyzer.judge.compare.change import LOSSES, NEW, SURPLUS, Change, Hop, Proof, Reason
from streamwitness_analyzer.judge.testimony.finishes import OTHER_CHOICES, of_other_choices
from streamwitness_analyzer.judge.testimony.parts import (
    all_slots,
    first_difference,
    goes_on_behind_finish,
    last_with,
    may_go_on_behind_terminal,
    parts_of,
    positions_with,
    same_slots,
    slots_of,
)
from streamwitness_analyzer.judge.testimony.view import View

from .behind import behind_the_end
from .crossing import Crossing, Made, unproven
from .envelope import chose_to_stop, lost_finish, made_up_finish, not_to_the_end, own_word, proper

_BOUNDS: Final = LOSSES | {"extra", "mismatch"}
"""Kinds that may rest on counts alone."""
_WRITTEN_ANEW: Final = TOOL_START | TOOL_ARGS | SNAPSHOT | PATCH
"""Parts whose content may be written otherwise, and say the same."""
CHANGED_TURNS: Final = "the content is the same, and some of it may have come in another turn"
_EARLY: Final = "the gateway may have sent its terminator before other events"
_MORE: Final = "more events with a finish left than were read"
_FEWER: Final = "fewer events with a finish left than were read, and lost rows hide where the last one stands"
NO_DIGEST: Final = "the gateway cuts the answer into other events, and no digest of all of it is held"


def same_content(crossing: Crossing) -> Made | None:
    """All content came through, in whatever pieces; a finish that did not, or came from nowhere, is still a fault."""
    leg, egress = crossing.leg, crossing.egress
    if egress.end != "eof" or not same_slots(leg, egress) or doubled_or_displaced(crossing):
        return None
    doubt = next((hop for question in _DOUBTS if (hop := question(crossing)) is not None), None)
    if doubt is not None:
        return Made(doubt, recut=True)
    made_up = made_up_finish(leg, egress) if crossing.peer or not chose_to_stop(leg) else None
    own = own_word(leg, egress) or not_to_the_end(leg, egress)
    fault = lost_finish(leg, egress) or made_up or (unproven(own) if own else None)
    return Made(fault or Hop("intact", prefix=0), recut=fault is not None or _in_other_pieces(crossing))


def _in_other_turns(crossing: Crossing) -> Hop | None:
    """What is said of several things may have come in another order."""
    return unproven(CHANGED_TURNS) if changed_turns(crossing) else None


def _too_early(crossing: Crossing) -> Hop | None:
    """Something stands behind the terminator."""
    if not _ended_too_early(crossing):
        return None
    late = behind_the_end((crossing.leg,), crossing.leg, crossing.egress)
    return Hop("faulty", tuple(late)) if late else unproven(_EARLY)


def _hidden_behind_the_end(crossing: Crossing) -> Hop | None:
    """So it may, and what stood behind the end upstream is lost."""
    hidden = may_go_on_behind_terminal(crossing.egress) and not crossing.leg.every_row
    return unproven(_EARLY) if hidden else None


def _finished_again(crossing: Crossing) -> Hop | None:
    """More finishes than were read: no other cut of the content explains one more of them."""
    return unproven(_MORE) if crossing.egress.part("finish") > crossing.leg.part("finish") > 0 else None


def _which_finish(crossing: Crossing) -> Hop | None:
    """Fewer finishes than were read, and lost rows hide whether the one that is left stands at the end."""
    fewer = 0 < crossing.egress.part("finish") < crossing.leg.part("finish")
    return unproven(_FEWER) if fewer and not crossing.egress.every_row else None


def _of_other_choices(crossing: Crossing) -> Hop | None:
    """Of several choices each has its own finish: one that says something else may be another choice's."""
    return unproven(OTHER_CHOICES) if of_other_choices(crossing.before, crossing.after) else None


def _in_passing(crossing: Crossing) -> Hop | None:
    """A finish was read and not sent, by a gateway that stopped reading, in an answer that nothing ends."""
    lost = lost_finish(crossing.leg, crossing.egress)
    return unproven(Reason.IN_PASSING) if lost and not crossing.peer and not crossing.egress.part("terminal") else None


_DOUBTS: Final[tuple[Callable[[Crossing], Hop | None], ...]] = (
    _in_other_turns,
    _too_early,
    _hidden_behind_the_end,
    _finished_again,
    _which_finish,
    _of_other_choices,
    _in_passing,
)
"""What keeps the same content from being intact; the first that answers decides."""


def _in_other_pieces(crossing: Crossing) -> bool:
    """Whether the same content stands in other events, those with a finish not counted; where rows are lost, it may."""
    return _pieces(crossing.before) != _pieces(crossing.after) or not (crossing.before.whole and crossing.after.whole)


def _pieces(view: View) -> list[int | None]:
    parts = parts_of(view.record)
    rows = zip(view.positions, view.values, strict=True)
    return [v for at, v in rows if at is None or not parts.get(at, 0) & FINISH]


def _ended_too_early(crossing: Crossing) -> bool:
    """Whether something stands behind the answer's terminator that upstream stood before it.

    Where rows are lost it is known of the same events, byte for byte, of which fewer are judged.
    """
    leg, egress = crossing.leg, crossing.egress
    if not may_go_on_behind_terminal(egress) or may_go_on_behind_terminal(leg):
        return False
    return egress.every_row or (crossing.verbatim.whole and egress.total("judged") < leg.total("judged"))


def doubled_or_displaced(crossing: Crossing) -> bool:
    """Whether all events of the answer are as they were written, only that a finish came twice or too early.

    Then nothing was cut otherwise.
    """
    kinds = {change.kind for change in proper(crossing)}
    only = bool(kinds) and kinds <= {"duplicate", "reorder"} and crossing.verbatim.whole
    return only and ("reorder" not in kinds or (_finished_too_early(crossing) and _ends_are_held(crossing)))


def changed_turns(crossing: Crossing) -> bool:
    """Whether events of the same whole content may have come in another order than they were read.

    What is said of one choice, call or kind of output is in order by its digest; of several, whoever shows them one by
    one loses nothing by it. Output behind the finish is not seen by who stops there.
    """
    before, after = crossing.before, crossing.after
    permuted = (before.n, before.s) == (after.n, after.s) and before.o != after.o
    if permuted and (not crossing.leg.every_row or not crossing.egress.every_row):
        return True
    displaced = any(change.kind == "reorder" for change in proper(crossing))
    return _finished_too_early(crossing) or (displaced and len(slots_of(crossing.leg)) > 1)


def _finished_too_early(crossing: Crossing) -> bool:
    """Whether output stands behind the answer's last finish, and behind none upstream."""
    return goes_on_behind_finish(crossing.egress) and not goes_on_behind_finish(crossing.leg)


def without_slots(crossing: Crossing) -> Made | None:
    """No digest of all content is held, so what came in other events may be the same; marks may still tell.

    Only what is gone, or came more, and nothing beside it, is no other cut; nor is what came as it was written.
    """
    changes = proper(crossing)
    kinds = {change.kind for change in changes}
    plain = kinds <= LOSSES or kinds <= SURPLUS or _of_another_size(changes, crossing)
    return None if plain or _all_told(crossing) or crossing.verbatim.whole else altered(crossing)


def _all_told(crossing: Crossing) -> bool:
    """Whether both points told a digest of all that was said."""
    return all_slots(crossing.leg) and all_slots(crossing.egress)


def _of_another_size(changes: Sequence[Change], crossing: Crossing) -> bool:
    """Whether one event alone differs, and is longer or shorter: all others being equal, it says something else."""
    if len(changes) != 1 or (changes[0].kind, changes[0].count) != ("altered", 1):
        return False
    if changes[0].span[0] not in crossing.before.positions:
        return False
    place = crossing.before.positions.index(changes[0].span[0])
    had, has = (_told_at(view, place, crossing) for view in (crossing.before, crossing.after))
    return None not in (had, has) and had != has


def _told_at(view: View, place: int, crossing: Crossing) -> int | None:
    """Content bytes of what stands at this place; None where that is not known, or may be written otherwise."""
    value, position = (view.values[place], view.positions[place]) if place < view.n else (None, None)
    if value is None or position is None or parts_of(view.record).get(position, 0) & _WRITTEN_ANEW:
        return None
    return crossing.content_of(value)


def _ends_are_held(crossing: Crossing) -> bool:
    """Whether no lost row hides a later finish, of another choice perhaps, nor what stood behind the leg's last one."""
    for record in (crossing.leg, crossing.egress):
        if len(positions_with(record, FINISH)) < record.part("finish"):
            return False
    last, held = last_with(crossing.leg, FINISH), parts_of(crossing.leg)
    return last is None or all(position in held for position in range(last, crossing.leg.events))


def cut_otherwise(crossing: Crossing) -> Made | None:
    """Content that differs, in other events: `altered`, with the first bytes where marks tell them, never a count."""
    return altered(crossing) if _is_recut(proper(crossing), crossing) else None


def altered(crossing: Crossing) -> Made:
    """Of an answer that is cut otherwise only its content as a whole can tell whether it differs."""
    changes, leg = proper(crossing), crossing.leg
    marked = first_difference(leg, crossing.egress)
    if marked is None and not (crossing.peer and _all_told(crossing)):
        return Made(unproven(NO_DIGEST))
    spans = [c.span for c in changes if c.side == "before"] or [(0, max(0, leg.events - 1))]
    span = (min(low for low, _ in spans), max(high for _, high in spans))
    note = "the content differs, and was cut into other events"
    if marked is not None:
        note += f"; first in content bytes {marked[0]}–{marked[1]}"
    change = Change("altered", 1, False, "before", span, span, note=note, proof=Proof("by_content"))
    return Made(Hop("faulty", (change,), prefix=crossing.hop.prefix), recut=True)


def _is_recut(changes: Sequence[Change], crossing: Crossing) -> bool:
    """Whether new content came where other content is missing: cut otherwise, or rewritten, not lost piece by piece.

    Where not all was due at gateway out, what its new content stands for may be what was never sent.
    """
    before, after = crossing.before, crossing.after
    added = NEW if crossing.peer else NEW | {"duplicate"}
    new = any(c.kind in added and c.side == "after" and _has_content(c, after) for c in changes)
    gone = any(c.kind in LOSSES for c in changes)
    unknown = any(c.kind == "mismatch" for c in changes) and bool(
        {v for v in after.values if v is not None and after.content.get(v)} - set(before.values)
    )
    return (new and (gone or not crossing.peer)) or unknown or any(_only_counted(change) for change in changes)


def _only_counted(change: Change) -> bool:
    """Whether lost rows leave nothing but numbers of events, which a gateway that joins or splits them changes, too."""
    return change.kind in _BOUNDS and not change.values and not change.exact


def _has_content(change: Change, view: View) -> bool:
    """Whether a change is, or may be, of more than a finish."""
    return not change.values or any(view.content.get(value) for value, _ in change.values)
