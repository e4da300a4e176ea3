"""Several exchanges of one stream: each is judged by itself, and this says what holds between them.

A client that comes back is given the rest of its answer by a further exchange (`attempt`); a gateway behind a gateway
answers with an exchange of its own (`hop`). Events of two exchanges are compared by the numbers that a gateway gave
them (`stream.first`), or by the sums of everything, and never accuse anybody: what does not add up is unproven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from streamwitness.semconv import UPSTREAM_EXCHANGE
from streamwitness.sums import P, power

from .attribute import Fault
from .compare.change import LOSSES
from .ending.endings import Row
from .ending.states import egress_state, ingress_state
from .path import Path
from .testimony.records import Record
from .testimony.view import View, run_sum, same_run

Recovery = Literal["recovered", "lost", "unknown"]
_ELSEWHERE: Final = "behind this gateway: at another one, or at the provider"
_REST: Final = "what a further exchange was given is not known to be what the gateway had read"
_BROKEN: Final = "what one gateway read was broken before, at another gateway or at the provider"
_EARLIER: Final = "an earlier exchange of this stream left no record"
_UNHEARD: Final = "the gateway that this one read from never told what it sent"
_BETWEEN: Final = "what one gateway sent is not known to be what the other one read"


def later(path: Path, every: Sequence[Path]) -> list[Path]:
    """Paths of the exchanges that continued this one at the same gateway, in order."""
    here = path.exchange
    found = [p for p in every if p.exchange.hop == here.hop and p.exchange.attempt > here.attempt]
    return sorted(found, key=lambda p: p.exchange.attempt)


# --------------------------------------------------------------------------- recovered


def recovery(fault: Fault, path: Path, every: Sequence[Path]) -> Recovery:
    """Whether the end of an exchange that the transport lost came by later ones, event for event.

    A loss of which lost rows hide the place may be that end, and one between points of which the nearer ones are not
    held may be the transport's: only what is known not to have come again is lost.
    """
    following = later(path, every)
    if fault.change.kind not in LOSSES or "transport" not in fault.suspects or not following:
        return "lost"
    if fault.change.kind != "tail":
        return "lost" if fault.change.placed else "unknown"
    first = fault.seen.first_number
    if first is None or not fault.seen.closed or (fault.seen.point, fault.missing.point) != ("egress", "wire"):
        return "unknown"
    told = [_brought(fault.seen, first, other) for other in following]
    end = first + fault.seen.events
    wanted = end - fault.change.count  # of the ways to lose as many, the one that a rest makes good
    for rest in told:
        wanted = max(wanted, rest.end) if rest.begins <= wanted else wanted
    if wanted < end:
        return "lost" if all(rest.no_more for rest in told) else "unknown"
    return "recovered" if fault.change.exact else "unknown"


@dataclass(frozen=True, slots=True)
class _Rest:
    """What a later exchange brought again: the numbers known to be of the same events, and whether it was no more."""

    begins: int = 0
    end: int = 0
    no_more: bool = False


def _brought(seen: Record, first: int, other: Path) -> _Rest:
    """Of the events that one exchange sent, those that another one brought; what is not known is not nothing."""
    egress = other.record("egress")
    step = next((s for s in other.steps if s.before is egress and s.after.point == "wire"), None)
    number = egress.first_number if egress is not None and egress.closed else None
    if egress is None or step is None or number is None or step.hop.status == "unproven":
        return _Rest()
    begins = max(first, number)
    came = step.hop.prefix if step.hop.status == "faulty" else egress.events
    length = min(number + came, first + seen.events) - begins
    known = step.hop.status == "intact" or all(change.placed for change in step.hop.changes)
    if length <= 0:
        return _Rest(begins, begins, known)
    here, there = View(seen, "payload"), View(egress, "payload")
    at, behind = begins - first, begins - number
    if run_sum(here, at, length) is None or run_sum(there, behind, length) is None:
        return _Rest()
    same = same_run(here, at, there, behind, length)
    return _Rest(begins, begins + length if same else begins, known or not same)


# --------------------------------------------------------------------------- what is not proven between exchanges


def doubts(every: Sequence[Path]) -> list[str]:
    """Why not everything between the exchanges is proven; empty where it is, or where there is only one."""
    exchanges = {path.exchange.id for path in every}
    broken = [_BROKEN for path in every if _broken_elsewhere(path, every)]
    broken += [_UNHEARD for path in every if read_from(path) - exchanges]
    broken += [_EARLIER for path in every if _earlier_is_lost(path, every)]
    if len(exchanges) < 2:
        return list(dict.fromkeys(broken))
    found = broken + [_REST for path in every if path.exchange.attempt and not _continues(path, every)]
    found += [_BETWEEN for path in every if not _joined(path, behind(path, every))]
    return list(dict.fromkeys(found))


def _earlier_is_lost(path: Path, every: Sequence[Path]) -> bool:
    """Whether its client had asked before, at this gateway, and nothing of that is held."""
    attempts = {p.exchange.attempt for p in every if p.exchange.hop == path.exchange.hop}
    return not attempts.issuperset(range(path.exchange.attempt))


def _continues(path: Path, every: Sequence[Path]) -> bool:
    """Whether this exchange and those before it are together what the upstream brought, as far as it was due."""
    chained = chain(path, every)
    legs = [p.upstream.leg for p in chained if p.upstream.leg is not None and not p.upstream.leg.refused]
    if not legs and not any("ingress" in p.exchange.expected for p in chained):
        return True  # nothing was ever to be seen upstream
    parts = [p.record("egress") for p in chained]
    if len(legs) != 1 or legs[0].own_end or not legs[0].closed:
        return False
    together = _together([record for record in parts if record is not None and record.closed])
    if together is None or None in parts:
        return False
    n, o = together
    whole = View(legs[0], "semantic")
    last = parts[-1]
    due = last is None or last.end == "eof"
    return (whole.n, whole.o) == together if due else n <= whole.n and whole.prefix[n] == o


def chain(path: Path, every: Sequence[Path]) -> list[Path]:
    """The exchanges of this gateway up to this one, one path each."""
    here = {
        p.exchange.id: p
        for p in every
        if p.exchange.hop == path.exchange.hop and p.exchange.attempt <= path.exchange.attempt
    }
    return sorted(here.values(), key=lambda p: p.exchange.attempt)


def _together(parts: Sequence[Record]) -> tuple[int, int] | None:
    """Count and order sum of the judged events of several exchanges, each up to where the next one begins."""
    n = o = 0
    for i, record in enumerate(parts):
        first, view = record.first_number, View(record, "semantic")
        follows = parts[i + 1].first_number if i + 1 < len(parts) else None
        if first is None or not view.digests or (i + 1 < len(parts) and follows is None):
            return None
        places = view.n if follows is None else _places_before(view, follows - first)
        part = view.o if follows is None else None if places is None else view.prefix[places]
        if places is None or part is None:
            return None
        n, o = n + places, (o + part * power(n)) % P
    return n, o


def _places_before(view: View, position: int) -> int | None:
    """How many judged events stand before this position; None where rows are lost."""
    if not 0 <= position <= view.record.events or None in view.positions:
        return None
    return sum(1 for p in view.positions if p is not None and p < position)


def upstream_state(main: Path, every: Sequence[Path]) -> str:
    """How the upstream of an exchange that continues another one failed, as that one told; `unfed` where it did not."""
    states = [ingress_state(path) for path in chain(main, every) if path is not main]
    if egress_state(main) == "complete":
        return "complete" if "complete" in states else "unfed"
    failed = [state for state in states if state not in ("unfed", "none", "complete", "stopped")]
    return failed[-1] if failed else "unfed"


def cut_upstream(path: Path, every: Sequence[Path]) -> bool:
    """Whether the rest of an answer is that of one whose upstream was never complete."""
    if not path.exchange.attempt:
        return False
    legs = [leg for p in chain(path, every) for leg in p.exchange.legs if leg.closing is not None]
    return bool(legs) and not any(leg.complete for leg in legs)


# --------------------------------------------------------------------------- a gateway behind a gateway


def read_from(path: Path) -> frozenset[str]:
    """Exchanges of other gateways that this one says it has read."""
    told = (leg.told(UPSTREAM_EXCHANGE) for leg in path.exchange.at("ingress"))
    return frozenset(exchange for exchange in told if isinstance(exchange, str))


def behind(path: Path, every: Sequence[Path]) -> list[Path]:
    """Paths of other gateways that this one may have read from: one for each exchange."""
    here, leg = path.exchange, path.upstream.leg
    named = leg.told(UPSTREAM_EXCHANGE) if leg is not None else None
    if isinstance(named, str):
        found = [p for p in every if p.exchange.id == named]
    else:
        found = [p for p in every if p.exchange.attempt == here.attempt and p.exchange.hop < here.hop]
    return list({p.exchange.id: p for p in found if p.exchange.id != here.id}.values())


def _broken_elsewhere(path: Path, every: Sequence[Path]) -> bool:
    """Whether this gateway read a stream that contradicts itself, and none of those it read from says the same."""
    mine = any(fault.by_itself for fault in path.faults)
    return mine and not reads_a_provider(path, every) and not any(p.faults for p in behind(path, every))


def _joined(path: Path, inner: Sequence[Path]) -> bool:
    """Whether what it read is what one of these sent, if there are any."""
    return not inner or any(handed_over(path, one) for one in inner)


def handed_over(path: Path, inner: Path) -> bool:
    """Whether what this gateway read is, event for event, what that one behind it sent."""
    leg, egress = path.upstream.leg, inner.record("egress")
    if leg is None or egress is None or not (leg.closed and egress.closed):
        return False
    here, there = View(leg, "payload"), View(egress, "payload")
    return here.digests and there.digests and (there.n, there.o) == (here.n, here.o)


def reads_a_provider(path: Path, every: Sequence[Path]) -> bool:
    """Whether what lies before this gateway is a provider; else it is, or may be, another gateway."""
    return not path.exchange.hop and not read_from(path) and not behind(path, every)


def told_from_behind(row: Row, main: Path, every: Sequence[Path], rows: Sequence[tuple[Path, Row]]) -> Row:
    """The ending where a gateway blames its source, and that is, or may be, another gateway.

    `rows` are the endings of the other paths, each as it told by itself.
    """
    if row.by != "source" or row.ending in (None, "completed"):
        return row
    alone = all(p.exchange.attempt != main.exchange.attempt or p.exchange.id == main.exchange.id for p in every)
    first = alone and not main.exchange.hop and not read_from(main)
    if first:
        return row
    inner = {path.exchange.id for path in behind(main, every)}
    told = list({path.exchange.id: other for path, other in rows if path.exchange.id in inner}.values())
    if len(told) == 1 and told[0].by in ("source", "gateway") and told[0].ending != "completed":
        return told[0]
    return replace(row, by=None, reason=_ELSEWHERE)
