"""What a gateway says that it does on purpose (`stream.edited`), and how far that excuses what differs.

| says | is no fault | the hop |
|---|---|---|
| `filter` | events that are gone | intact where the rest is proven to have come in order, else unproven |
| `merge` | nothing: content is compared whole, as ever | a difference is told without a count of events |
| `rewrite` | content that is gone, new or changed | unproven: what it meant to change nobody knows |

A part of an event left out looks like a change, so beside losses what may be the rest of one proves nothing either. No
declaration excuses events that are only doubled or displaced, nor what `envelope.py` finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamwitness.semconv import EDITED, EDITS
from streamwitness_analyzer.judge.compare.change import LOSSES, SURPLUS, Change, Hop, Reason
from streamwitness_analyzer.judge.compare.edits import longest_rising

from .crossing import Crossing, Edited, Made, unproven
from .envelope import is_envelope, own_word, proper
from .recut import altered

_UNTOUCHED: Final = frozenset(("duplicate", "reorder"))
"""Kinds that neither leave out nor change anything: no declaration is about them."""
_ENOUGH: Final = 10
"""Events that stand once at both points, of which no accident makes as many in order."""
_ASTRAY: Final = 0.1
"""Share of them that may be displaced all the same."""


def edits_of(crossing: Crossing) -> frozenset[str]:
    """The known kinds that the gateway declared, at its answer or where another process of it read this leg."""
    told = (record.told(EDITED) for record in (crossing.leg, crossing.egress))
    return frozenset(kind for kinds in told if isinstance(kinds, (list, tuple)) for kind in kinds if kind in EDITS)


def sifted(crossing: Crossing) -> bool:
    """Whether a declared filter left of this leg what the answer is made of: events that both have once, in one order.

    Where every second or third is left out, no run of neighbours came through by which the answer could be known.
    """
    if "filter" not in edits_of(crossing):
        return False
    here, there = crossing.after.counts, crossing.before.counts
    once = {v: i for i, v in enumerate(crossing.before.values) if v is not None and there[v] == 1 == here[v]}
    order = [once[v] for v in crossing.after.values if v is not None and v in once]
    return len(order) >= max(_ENOUGH, crossing.after.n / 2) and len(order) - len(
        longest_rising(order)
    ) <= _ASTRAY * len(order)


def filtered(crossing: Crossing) -> Made | None:
    """A declared filter: what is gone was left out, and what remains must be what was read, in order."""
    said, changes = edits_of(crossing), proper(crossing)
    lost = tuple(change for change in changes if change.kind in LOSSES)
    nothing_gone = crossing.peer and not lost and not _changes_one(changes) and not _may_be_both(changes, crossing)
    if "filter" not in said or "rewrite" in said or nothing_gone:
        return None
    if (left_out := _left_out(crossing)) is not None:
        own = own_word(crossing.leg, crossing.egress)
        hop = unproven(own) if own else Hop("intact", prefix=crossing.hop.prefix)
        return Made(hop, edited=(Edited("filter", left_out, True),))
    told = (Edited("filter", *_counted(lost)),) if lost else ()
    rest = tuple(change for change in changes if change.kind not in LOSSES)
    left = any(_may_be_left(change, lost, crossing) for change in rest) and not _has_no_place(rest, crossing)
    if not rest or "merge" in said or left:
        return Made(unproven(Reason.FILTERS), edited=told)
    return Made(Hop("faulty", rest, prefix=crossing.hop.prefix), edited=told)


def rewritten(crossing: Crossing) -> Made | None:
    """A declared rewrite: content that is gone, new or changed may all be meant."""
    changes = proper(crossing)
    untouched = crossing.peer and all(change.kind in _UNTOUCHED and change.exact for change in changes)
    if "rewrite" not in edits_of(crossing) or untouched:
        return None
    gone = tuple(change for change in changes if change.side == "before")
    new = tuple(change for change in changes if change.side == "after")
    count, exact = max(_counted(gone), _counted(new))
    return Made(unproven(Reason.REWRITES), edited=(Edited("rewrite", count, exact and not _changes_one(changes)),))


def merged(crossing: Crossing) -> Made | None:
    """A declared merge: copies and new events may be joins of others, so the content as a whole must tell."""
    changes = proper(crossing)
    joins = any(change.kind in SURPLUS for change in changes) and any(change.kind in LOSSES for change in changes)
    return altered(crossing) if joins and "merge" in edits_of(crossing) else None


def _left_out(crossing: Crossing) -> int | None:
    """How many events with content are missing from what is otherwise, in order, what was read; None where it is not.

    Finishes of the gateway's own stand between them where it may make them up.
    """
    before, after = crossing.before, crossing.after
    if not (before.whole and after.whole):
        return None
    own = {v for c in crossing.hop.changes if c.side == "after" and is_envelope(c, crossing) for v, _ in c.values}
    kept = [value for value in after.values if value not in own]
    left, at = 0, 0
    for value in before.values:
        if at < len(kept) and value == kept[at]:
            at += 1
        elif at < len(kept) or crossing.peer:
            left += bool(crossing.content_of(value or 0))
    return left if at == len(kept) else None


def _changes_one(changes: Sequence[Change]) -> bool:
    """Whether some are changes of an event, or hide what happened."""
    return any(change.kind in ("altered", "mismatch") for change in changes)


def _may_be_left(change: Change, lost: Sequence[Change], crossing: Crossing) -> bool:
    """Whether what came more, or otherwise, may be what was left of an event that is missing: it says less."""
    if change.kind == "reorder":
        return _may_be_both((change,), crossing)
    if not crossing.peer or change.kind not in SURPLUS or not (change.values and all(gone.values for gone in lost)):
        return True
    sizes = [crossing.content_of(value) for gone in lost for value, _ in gone.values]
    here = [crossing.content_of(value) for value, _ in change.values]
    return None in sizes or any(size is None or size < max(filter(None, sizes), default=0) for size in here)


def _may_be_both(changes: Sequence[Change], crossing: Crossing) -> bool:
    """Whether of an event that stands elsewhere one copy may have been left out, and another doubled."""
    copies = any(count > 1 and crossing.before.counts[value] > 1 for value, count in crossing.after.counts.items())
    return copies and any(change.kind == "reorder" for change in changes)


def _has_no_place(rest: Sequence[Change], crossing: Crossing) -> bool:
    """Whether the one event too many stands where no longer one is missing, however the others are matched."""
    before, after = crossing.before, crossing.after
    values = [value for change in rest for value, _ in change.values]
    single = len(values) == 1 and rest[0].kind in SURPLUS
    if not (crossing.peer and single and before.whole and after.whole):
        return False
    ahead, behind = _taken(after.values, before.values), _taken(after.values[::-1], before.values[::-1])
    rooms = [
        before.values[ahead[j] : before.n - behind[after.n - 1 - j]]
        for j in range(after.n)
        if after.values[j] == values[0] and ahead[j] + behind[after.n - 1 - j] <= before.n
    ]
    size = crossing.content_of(values[0])
    return bool(rooms) and all(_is_shorter(room, size, crossing) for room in rooms)


def _is_shorter(room: Sequence[int | None], size: int | None, crossing: Crossing) -> bool:
    sizes = [crossing.content_of(value or 0) for value in room]
    return size is not None and all(each is not None and each <= size for each in sizes)


def _taken(some: Sequence[int | None], whole: Sequence[int | None]) -> list[int]:
    """For each beginning of one sequence, how much of the other holds it in order; more than all where nothing does."""
    taken, at = [0], 0
    for value in some:
        while at < len(whole) and whole[at] != value:
            at += 1
        at += 1
        taken.append(at)
    return taken


def _counted(changes: Sequence[Change]) -> tuple[int, bool]:
    """How many events, and whether that is exact."""
    return sum(change.count for change in changes), all(change.exact for change in changes)
