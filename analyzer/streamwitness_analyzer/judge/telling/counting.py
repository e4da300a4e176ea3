"""How many events were sent, and how many of them reached the application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamwitness.semconv import CLIENT_POINTS, MISSING
from streamwitness_analyzer.judge.attribute import Step
from streamwitness_analyzer.judge.client.named import LOSING, read, reports_losses
from streamwitness_analyzer.judge.compare.change import LOSSES, SURPLUS, Reason
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.together import chain


def counts(path: Path) -> tuple[int | None, int | None]:
    """(sent, used): sent by the provider, as the gateway read it (where nobody did: by the gateway); used by the last
    client point held.

    What an SDK consumes by design counts as used, an invented event as received. None: nobody who testified knows.
    """
    return path.once("counts", lambda: _counts(path))


def _counts(path: Path) -> tuple[int | None, int | None]:
    egress = path.record("egress")
    sent = _sent(path, egress)
    client = [record for record in path.records if record.point in CLIENT_POINTS]
    if not client:
        return sent, None
    used: int | None = _first(path, client[0], egress)
    for step in path.steps:
        if step.before in client and used is not None:
            used = _through(path, step, used)
    return sent, used


def _sent(path: Path, egress: Record | None) -> int | None:
    """Events of the upstream answer: of several responses the one that feeds it, of a continued one all together."""
    legs, upstream = path.exchange.legs, path.upstream
    if not legs:
        return egress.events if egress is not None else None
    if upstream.joined:
        return sum(leg.events for leg in legs)
    alone = len(legs) == 1 and {legs[0].recorder}.issuperset(path.exchange.listed(egress))
    if upstream.leg is None or upstream.hop is None or upstream.hop.reason in (Reason.ANOTHERS, Reason.MISREAD):
        return None
    return upstream.leg.events if alone or upstream.hop.status != "unproven" else None


@dataclass(frozen=True, slots=True)
class _Brought:
    """What one exchange of a stream brought: the numbers `first` to `sent`, used up to `reach`."""

    first: int
    sent: int
    used: int
    reach: int


def failed(record: Record) -> int:
    """Events at `applied` of which the application reports that its code raised there, or had no room, to the end."""
    if record.point != "applied" or not reports_losses(record):
        return 0
    return sum(LOSING.get(told[-1]) == "gap" for position, told in read(record).results.items() if position != MISSING)


def counts_of_stream(main: Path, every: Sequence[Path]) -> tuple[int | None, int | None]:
    """The same of a stream of which several exchanges of one gateway carried a part each, by the events' numbers.

    What came twice counts once. None: not known; without numbers nobody knows what two exchanges have in common.
    """
    chained = chain(main, every)
    if len(chained) < 2 and not main.exchange.attempt:
        return counts(main)
    found = [_brought(path) for path in chained]
    brought = [one for one in found if one is not None]
    whole = [path.exchange.attempt for path in chained] == list(range(len(chained))) and len(brought) == len(found)
    if not whole or brought[0].first:
        return None, None
    return max([one.sent for one in brought] + _upstream(chained[0])), _together(brought)


def _brought(path: Path) -> _Brought | None:
    egress, (_, used) = path.record("egress"), counts(path)
    first = egress.first_number if egress is not None and egress.closed else None
    if egress is None or first is None or used is None:
        return None
    changes = [change for step in path.steps for change in step.hop.changes if step.before.point != "ingress"]
    inside = sum(c.count for c in changes if c.kind in LOSSES and c.kind != "tail")
    more = sum(c.count for c in changes if c.kind in SURPLUS)
    return _Brought(first, first + egress.events, used, first + used + inside - more)


def _together(brought: Sequence[_Brought]) -> int:
    used = reach = 0
    for one in brought:
        used += max(0, one.used - max(0, reach - one.first))
        reach = max(reach, one.reach)
    return used


def _upstream(first: Path) -> list[int]:
    """Events of the upstream answer, where it is known to be what the exchanges were made of."""
    feeding = first.upstream.hop is not None and first.upstream.hop.status == "intact"
    return [first.upstream.leg.events] if feeding and first.upstream.leg is not None else []


def _first(path: Path, record: Record, egress: Record | None) -> int | None:
    if record.point == "wire" or egress is None:
        return record.events
    step = next(step for step in path.steps if step.after is record)
    return _through(path, step, egress.events)


def _through(path: Path, step: Step, before: int) -> int | None:
    after = step.after
    have = path.named.used if after.point == "applied" and path.named is not None else after.events
    if not step.peer and after.end == "stopped_at_terminal":  # at an error event: that is told by an exception
        return before - step.hop.unread - (step.before.part("error") if after.point == "applied" else 0)
    if not step.peer:
        return have
    if step.hop.status == "unproven":
        unknown = have is None or (after.point == "applied" and (after.lost or not after.every_row))
        return None if unknown or have is None else min(before, have + _consumed(step))
    if not step.hop.changes:
        return before
    lost = sum(c.count for c in step.hop.changes if c.kind in LOSSES)
    added = sum(c.count for c in step.hop.changes if c.kind in SURPLUS)
    return before - lost + added


def _consumed(step: Step) -> int:
    """Events without model output that the point did not hand on, by design as far as anybody knows."""
    if step.after.point == "applied":
        return 0
    quiet = step.before.events - step.before.total("judged")
    return max(0, quiet - (step.after.events - step.after.total("judged")))
