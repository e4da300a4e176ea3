"""Who is suspected of a fault. The one rule, and nothing elsewhere decides blame (docs/design.md §7.1):

    Suspects = the components from the last point where the event is known in place
               to the next point where it is known not to be, for every such transition.

One suspect: `certain`. More: `narrowed`. Seen, provably missing, seen again: `inconsistent`, and nobody is accused.
Telemetry that is missing never makes a fault; it only widens who may have made one that is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal

from streamwitness.semconv import COMPONENT_BEFORE, PART, POINTS, Component, Point

from .client.handed import cut_anew, judge_handed_on
from .compare.change import MENDED, SURPLUS, Change, Hop
from .compare.places import judge_views
from .testimony.parts import judged_behind_terminal, misframed, parts_of, pending, withholds
from .testimony.records import Record
from .testimony.view import View

Confidence = Literal["certain", "narrowed", "inconsistent"]
_NOBODY: Final[tuple[Component, ...]] = ()
_NO_OUTPUT: Final = ("role", "usage", "terminal", "error", "other", "malformed")
"""Parts that are not compared, and whose loss is one all the same; a ping says nothing."""


@dataclass(slots=True)
class Step:
    """A hop between two points that hold a record; `bridged` says that the points around it settled it.

    Never changed, as a `Record` is not.
    """

    before: Record
    after: Record
    hop: Hop
    peer: bool
    bridged: bool = False

    @property
    def components(self) -> tuple[Component, ...]:
        """What lies between the two points."""
        return between(self.before.point, self.after.point)


@dataclass(frozen=True, slots=True)
class Fault:
    """A proven change with its suspects; `seen` and `missing` are the records that prove it."""

    change: Change
    seen: Record
    missing: Record
    suspects: tuple[Component, ...]
    confidence: Confidence

    @property
    def by_itself(self) -> bool:
        """Whether one record alone proves it, against what lies before the first point."""
        return self.seen is self.missing


@cache
def between(seen: Point, missing: Point) -> tuple[Component, ...]:
    """The components on the way from one point to a later one."""
    return tuple(COMPONENT_BEFORE[p] for p in POINTS[POINTS.index(seen) + 1 : POINTS.index(missing) + 1])


def suspects(seen: Point, missing: Point, cleared: frozenset[Component] = frozenset()) -> tuple[Component, ...]:
    """The rule. `cleared` are components whose own two points prove them innocent."""
    return tuple(component for component in between(seen, missing) if component not in cleared)


def attribute(steps: Sequence[Step]) -> tuple[list[Step], list[Fault]]:
    """Faults of one path with their suspects, and its steps after unproven ones were bridged (§7.2 rule 10)."""
    if all(step.hop.status == "intact" and not step.hop.changes for step in steps):
        return list(steps), []
    faults = [_fault(step.before, step.after, change) for step in steps for change in step.hop.changes]
    faults = _contradicted(steps, faults)
    bridged, more = around_unproven(steps)
    return bridged, faults + more


def _fault(seen: Record, missing: Record, change: Change, cleared: frozenset[Component] = frozenset()) -> Fault:
    return _suspected(seen, missing, change, suspects(seen.point, missing.point, cleared))


def _suspected(
    seen: Record, missing: Record, change: Change, suspected: tuple[Component, ...], *, sure: bool = True
) -> Fault:
    alone = len(suspected) == 1 and sure and seen.vouched and missing.vouched
    confidence: Confidence = "certain" if alone else "narrowed" if suspected else "inconsistent"
    return Fault(change, seen, missing, suspected, confidence)


def told_between(seen: Record, missing: Record, change: Change, *, sure: bool = True) -> Fault:
    """A fault that two records prove in another way than by what they hold; not `sure`: not that it was who lies there.

    Where a point's hook does not stand at the very border, something else may lie between it and the next.
    """
    return _suspected(seen, missing, change, suspects(seen.point, missing.point), sure=sure)


def within(record: Record, change: Change) -> Fault:
    """A fault that one record proves by itself: its stream was never in place, so all that lies before is suspected."""
    return _suspected(record, record, change, suspects("source", record.point))


def told_of(step: Step, change: Change) -> Fault:
    """A fault of a hop that more than the comparison of its two points proves."""
    return _fault(step.before, step.after, change)


def on_intact_path(first: Record, last: Step, change: Change) -> Fault:
    """A fault that the last hop shows where all before it are intact: its own, or one before the first point."""
    suspected = (*suspects("source", first.point), *suspects(last.before.point, last.after.point))
    return _suspected(last.before, last.after, change, suspected)


# --------------------------------------------------------------------------- seen, missing, seen again


def _contradicted(steps: Sequence[Step], faults: list[Fault]) -> list[Fault]:
    """Faults of two hops that take each other back accuse nobody: the point between them testifies wrongly."""
    doubtful: set[int] = set()
    for i, first in enumerate(steps):
        for second in steps[i + 1 :]:
            if first.hop.changes and second.hop.changes and _take_back(first, second):
                doubtful |= {id(c) for c in (*first.hop.changes, *second.hop.changes)}
    return [replace(f, suspects=_NOBODY, confidence="inconsistent") if id(f.change) in doubtful else f for f in faults]


def _take_back(first: Step, second: Step) -> bool:
    """Whether what the first hop lacks is there again behind the second, or the two together changed nothing.

    They did where the second one changed something in what the events say: else it took nothing back.
    """
    views = [View(r, "semantic") for r in (first.before, first.after, second.before, second.after)]
    if not all(view.digests for view in views):
        return False
    a, x, y, c = views
    if judge_views(a, c, peer=second.peer).status == "intact":
        return judge_views(y, c, peer=second.peer).status != "intact"
    added = {v for change in second.hop.changes if change.kind in SURPLUS for v, _ in change.values}
    return any(a.counts[v] > x.counts[v] and c.counts[v] > y.counts[v] for v in added)


# --------------------------------------------------------------------------- rule 10


def around_unproven(steps: Sequence[Step]) -> tuple[list[Step], list[Fault]]:
    """Rule 10: compare the points around an unproven hop; an intact neighbour makes certain what else is narrowed."""
    out, faults = list(steps), []
    for i in range(len(steps) - 1):
        one, two = out[i], out[i + 1]
        if "unproven" not in (one.hop.status, two.hop.status) or "faulty" in (one.hop.status, two.hop.status):
            continue
        if not _comparable(one.before, one.after, two.after):
            continue
        peer = two.peer and (one.peer or one.after.closing is None)
        around = judge_handed_on(one.before, two.after, peer=peer)
        if around.status == "intact" and peer and _all_came(one, two):  # else proven only as far as was read
            out[i : i + 2] = [_bridged(one), _bridged(two)]
        if around.changes and two.hop.status == "intact" and cut_anew(two.before, two.after, peer=two.peer):
            continue  # the other pieces are the parser's, which loses nothing by them
        if around.changes and two.hop.reason in MENDED:
            continue  # as is what it may have put right, of which the point between tells
        cleared = frozenset(c for step in (one, two) if step.hop.status == "intact" for c in step.components)
        faults += [_fault(one.before, two.after, change, cleared) for change in around.changes]
        if around.changes:
            out[i : i + 2] = [replace(one, bridged=True), replace(two, bridged=True)]
    return out, faults


def _all_came(one: Step, two: Step) -> bool:
    """Whether what is no output, and so not compared, came as well, and no oftener: of the network nobody else tells.

    A terminator came where it was read to, whether or not it was handed on.
    """
    before, after = one.before, two.after
    unseen = one.hop.status != "intact"
    if unseen and (pending(before) or more_without_output(before, after) or not terminator_in_place(before, after)):
        return False
    short = {name for name in _NO_OUTPUT if before.part(name) > after.part(name)}
    if after.end == "stopped_at_terminal":
        short.discard("terminal")
    return not short if unseen else "error" not in short


def terminator_in_place(before: Record, after: Record) -> bool:
    """Whether as much is known to stand behind the terminator that was handed on as behind the one that was sent.

    And whether no event that says nothing is known to have come at another place among the others.
    """
    if not _in_one_order(before, after):
        return False
    if not after.part("terminal"):
        return True
    sent, out = judged_behind_terminal(before), judged_behind_terminal(after)
    return sent is not None and sent == out


def _in_one_order(before: Record, after: Record) -> bool:
    """Whether events of the same parts came in the same order, as far as every row of both is held."""
    if not (before.every_row and after.every_row):
        return True
    sent, out = (
        [kept for _, mask in sorted(parts_of(record).items()) if (kept := mask & after.delivers)]
        for record in (before, after)
    )
    return sent[: len(out)] == out


def more_without_output(before: Record, after: Record) -> bool:
    """Whether what says nothing came oftener than it was sent, in events that the reader hands on."""
    return any(before.part(name) < after.part(name) for name in _NO_OUTPUT if after.delivers & PART[name])


def less_without_output(before: Record, after: Record) -> bool:
    """Whether it came less often, to one that read to the end; who stops at a terminator owes nothing behind it."""
    return any(before.part(name) > after.part(name) for name in _NO_OUTPUT if after.delivers & PART[name])


def _comparable(before: Record, middle: Record, after: Record) -> bool:
    """Whether two points that are no neighbours count the same judged events (a gateway may cut them otherwise).

    Of a body that was not what it was announced as, each may have found other events, wherever it was seen to be so.
    """
    neighbours = before.point == "egress" and after.point == "parsed"
    return neighbours and not withholds(before, after) and not any(map(misframed, (before, middle, after)))


def _bridged(step: Step) -> Step:
    """The hop as intact, by the points around it."""
    return replace(step, hop=Hop("intact", prefix=step.hop.prefix, unread=step.hop.unread), bridged=True)
