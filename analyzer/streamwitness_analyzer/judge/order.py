"""Another order at `applied`: the reducer's own doing, or its putting right what others had displaced (§7.1).

An application may know the order by numbers that are none of ours. So its order is held against that of the provider:
gateway in, or a point behind it with nothing between that may have changed it (`_keeps_order`).

| what was handed to the reducer | its order |
|---|---|
| in the provider's order | its own fault |
| in that of the first point held, which lies behind gateway in | its fault, or that of whoever lies before that point |
| displaced, and every row is known | no fault if it exchanged only what stood the wrong way round (`put_right`) |
| anything else | proves nothing |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from streamwitness.semconv import UPSTREAM_FAULTS

from .attribute import Fault, Step, on_intact_path
from .client.named import carrying, read, used_once
from .compare.change import Change, Hop
from .compare.edits import inversions
from .path import Path
from .testimony.records import Record
from .testimony.view import View
from .together import behind, handed_over, reads_a_provider

REASON: Final = "what was handed to it may have been out of order before, and it may have put that right"
_MOVED: Final = frozenset(("reorder", "mismatch", "gap_or_late"))
"""Kinds at `applied` that may be another order: `mismatch` where reports are lost; what is not in time may come."""
_ONLY_LESS: Final = frozenset(("gap", "tail"))
"""Kinds of changes that, where every row is known, leave the rest in its order."""


def own_order(path: Path, hop: Hop, handed: Record, applied: Record, before: Sequence[Step]) -> Hop:
    """The hop to `applied` without another order that is not known to be its own fault."""
    moved = moves(hop)
    if not moved or _in_order(path, applied, moved, before):
        return hop
    rest = tuple(change for change in hop.changes if change not in moved)
    sent = _in_the_providers_order(path, before)
    right = put_right(sent, handed, applied) if sent is not None else "perhaps"
    if right == "no":
        return hop
    if rest:
        return replace(hop, changes=rest)
    if right == "yes":
        return Hop("intact", prefix=handed.events)
    return Hop("unproven", prefix=hop.prefix, unread=hop.unread, reason=REASON)


def suspected(steps: Sequence[Step], faults: Sequence[Fault]) -> list[Fault]:
    """The faults, with another order at `applied` narrowed where no point held tells in which the provider sent it."""
    if not steps or steps[-1].after.point != "applied" or steps[0].before.point == "ingress":
        return list(faults)
    first, last = steps[0].before, steps[-1]
    own = {id(change) for change in moves(last.hop)}
    return [on_intact_path(first, last, fault.change) if id(fault.change) in own else fault for fault in faults]


def moves(hop: Hop) -> tuple[Change, ...]:
    """The changes that may be another order and nothing else."""
    return tuple(change for change in hop.changes if change.kind in _MOVED)


def _in_order(path: Path, applied: Record, moved: Sequence[Change], before: Sequence[Step]) -> bool:
    """Whether what the reducer exchanged came in the order of the first point held, and nothing speaks against it."""
    if _displaced_before(path) or not all(map(_keeps_order, before)):
        return False
    events, named = before[-1].after.events if before else 0, read(applied)
    furthest = max((position for position in named.results if position < events), default=-1)
    return not before or named.reach < events or all(change.span[1] < furthest for change in moved)


def _keeps_order(step: Step) -> bool:
    """Whether what came is known to have come in order, however much did not, or is still to come."""
    hop, events = step.hop, step.after.total("events" if step.after.point == "wire" else "judged")
    less = all(c.kind in _ONLY_LESS and c.exact and c.proof.unheld == (0, 0) for c in hop.changes)
    so = {"intact": True, "faulty": less, "unproven": not hop.changes and 0 < events <= hop.prefix}
    return so[hop.status]


def _displaced_before(path: Path) -> bool:
    """Whether the provider's own numbers are out of order, or another gateway before this one may have changed it."""
    told = (record.told(UPSTREAM_FAULTS) for record in path.records)
    numbers = any(str(each).startswith("reorder") for all_ in told if isinstance(all_, (list, tuple)) for each in all_)
    return numbers or not (reads_a_provider(path, path.earlier) or any(map(partial(_gave_in_order, path), _sole(path))))


def _sole(path: Path) -> Sequence[Path]:
    """The gateways behind this one, where one response only is what it read."""
    return behind(path, path.earlier) if path.exchange.legs == [path.upstream.leg] else ()


def _gave_in_order(path: Path, inner: Path) -> bool:
    """Whether what this gateway read is what that one sent, which is known to have kept the provider's order."""
    sent = next((step for step in inner.steps if step.after.point == "egress"), None)
    kept = sent is not None and _keeps_order(sent) and not _displaced_before(inner)
    return kept and handed_over(path, inner)


def _in_the_providers_order(path: Path, before: Sequence[Step]) -> Record | None:
    """The last record on the way that is known to have it: before the first hop that may have changed it."""
    if not before or before[0].before.point != "ingress" or _displaced_before(path):
        return None
    return next((step.before for step in before if not _keeps_order(step)), None)


def put_right(sent: Record, handed: Record, applied: Record) -> Literal["yes", "no", "perhaps"]:
    """Whether the reducer exchanged only pairs of events that had come to it the wrong way round.

    Then what it exchanged and what is still to be exchanged are together what there was. Events that stand there more
    than once tell nothing; what it went past and never took may still come, at its place. What came as it was sent
    needed no putting right.
    """
    if not all(record.every_row for record in (sent, handed, applied)):
        return "perhaps"
    there, here = View(sent, "semantic"), View(handed, "semantic")
    if there.values == here.values:
        return "no"
    place = {v: i for i, v in enumerate(there.values) if there.counts[v or 0] == 1 == here.counts[v or 0]}
    ranks = {p: place[v] for p, v in zip(here.positions, here.values, strict=True) if p is not None and v in place}
    taken = _taken(here, applied, ranks)
    came, left = inversions([ranks[p] for p in sorted(taken)]), inversions([ranks[p] for p in taken])
    if left + inversions(taken) > came:
        return "no"
    known = dict(zip(here.positions, here.values, strict=True))
    return "yes" if [known[p] for p in read(applied).order if p in known] == there.values else "perhaps"


def _taken(here: View, applied: Record, ranks: dict[int, int]) -> list[int]:
    """The positions of events with a known place, as the reducer took them; behind them what it went past."""
    naming = read(applied)
    late = [p for p in carrying(here) if p in ranks and p < naming.reach and p not in naming.results]
    return [*(p for p in used_once(naming) if p in ranks), *sorted(late, key=ranks.__getitem__)]
