"""Where progress stopped, of a client that heard nothing for so long that it gave up waiting.

A stall is at the first point that waited longer than the budget while the point before it went on (docs/design.md
§7.4). Each wait is a difference of one process's own clock. Two processes are compared by durations since the *same*
event, which both have: the client had it later than the gateway, so what the gateway did a second after it, it did
before the client had waited a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from streamwitness.semconv import HOLD_AFTER, HOLD_MS, LAST_WAIT_MS, READ_WAIT_MS
from streamwitness_analyzer.judge.attribute import Step
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View
from streamwitness_analyzer.judge.waiting import BUDGET_MS, gathered, held_ms, seconds, stepped, times

from .endings import STOPPED
from .moment import began, moment

_NS: Final = 1_000_000
Where = Literal["source", "gateway", "transport"]
_CLOSED: Final = frozenset(("eof", "stopped_at_terminal", "reset", "protocol_error"))
"""Ends of gateway in after which nothing more was to come."""
_LEFT: Final = frozenset(("cancelled", "timeout", "abandoned", "unknown"))
"""Ends of a client that did not wait for more."""
_CONTINUED: Final = "continued by another request"


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing came to the client for `ms` before its end, behind `events` events. `where` None: it cannot be told."""

    ms: int
    events: int
    where: Where | None


def silence(path: Path) -> Silence | None:
    """The silence at the client's end, if it asked in vain for longer than the budget, and than ever before.

    A limit for the whole answer may run out in any pause; one for a pause runs out in the longest.
    """
    wire = path.record("wire")
    if wire is None or not wire.closed:
        return None
    waited, longest = waiting_ms(wire), wire.told(READ_WAIT_MS)
    if waited < BUDGET_MS or (isinstance(longest, int) and longest > waited):
        return None
    return Silence(waited, wire.events, _where(path, wire))


def told(path: Path) -> str | None:
    """The silence before somebody left, in words; None where there was none, or where the answer ended otherwise."""
    wire = path.record("wire")
    if wire is None or wire.end not in _LEFT or (quiet := silence(path)) is None:
        return None
    behind = f"after event {quiet.events - 1}" if quiet.events else "from the beginning on"
    return f"{seconds(quiet.ms)} {behind}" + (f"; {STOPPED[quiet.where]}" if quiet.where else "")


def waiting_ms(record: Record) -> int:
    """How long a point asked in vain at its end: known of itself, or what of the silence it surely did not hold."""
    told = record.told(LAST_WAIT_MS)
    return max(told if isinstance(told, int) else 0, silent_ms(record) - held_ms(record))


def silent_ms(record: Record) -> int:
    """From the last event (without one: from the beginning) to the end."""
    told = moment(record)["silent_ms"]
    return told if isinstance(told, int) else 0


def _where(path: Path, wire: Record) -> Where | None:
    egress = path.record("egress")
    step = next((step for step in path.steps if step.after is wire and step.before is egress), None)
    if egress is None or step is None or step.hop.status != "intact" or not egress.closed:
        return None
    if stepped(egress) or gathered(wire):
        return None
    if egress.events > wire.events:
        return "transport" if _under_way_ms(egress, wire) >= BUDGET_MS else None
    if _heard_of_the_end_long_before(egress, wire):
        return "transport"
    return _behind_gateway_out(path, egress, wire)


def _under_way_ms(egress: Record, wire: Record) -> int:
    """How long the first event that never came had been sent when the client gave up, at least."""
    sent = times(egress)
    begun = began(egress) if not wire.events else sent.get(wire.events - 1)
    first = sent.get(wire.events)
    if begun is None or first is None:
        return 0
    return min(silent_ms(wire) - (first - begun) // _NS, waiting_ms(wire))


def _heard_of_the_end_long_before(egress: Record, wire: Record) -> bool:
    """Whether the gateway had ended, or had seen the connection die, long before the client gave up."""
    told = egress.closing.end_detail if egress.closing is not None else ""
    if egress.end not in ("eof", "disconnected") or told == _CONTINUED or moment(egress)["silent_ms"] is None:
        return False
    return min(silent_ms(wire) - silent_ms(egress), waiting_ms(wire)) >= BUDGET_MS


def _behind_gateway_out(path: Path, egress: Record, wire: Record) -> Where | None:
    """The gateway sent nothing more, and its server had nothing in hand: did it have anything?"""
    leg, step = _only_leg(path, egress)
    ready = egress.end == "disconnected" and silent_ms(egress) - held_ms(egress) >= BUDGET_MS
    if leg is None or not leg.closed or not ready or (egress.events and not _agree(step)):
        return None
    if path.upstream.edited:  # what it leaves out on purpose it need not have had in hand
        return None
    since = _had_more_since(leg, egress)
    if path.exchange.unanswered:  # what it had may be one step's, and the next one's was not answered yet
        return None
    if not egress.events and _kept_its_first_ms(leg, egress) >= BUDGET_MS:
        return "gateway"
    if since is not None:
        kept = (_end(egress) - since) // _NS - held_ms(egress)
        return "gateway" if kept >= BUDGET_MS else None
    # A gateway whose process was kept from running hears late of its client's going, and may not have read what came.
    awake = silent_ms(egress) - silent_ms(wire) < BUDGET_MS
    return "source" if awake and waiting_ms(leg) >= BUDGET_MS and not gathered(leg) else None


def _kept_its_first_ms(leg: Record, egress: Record) -> int:
    """How long a gateway, of which nothing ever went out, had an event in hand and asked for no more, to the end.

    It held its upstream open until its client had gone: what only one of several steps reads is let go before.
    """
    held, behind = leg.told(HOLD_MS), leg.told(HOLD_AFTER)
    idle = not leg.told(LAST_WAIT_MS) and leg.end in _LEFT and _end(leg) >= _end(egress)
    if not (leg.events and idle and isinstance(held, int) and behind == leg.events - 1):
        return 0
    return min(held, silent_ms(leg), silent_ms(egress) - held_ms(egress))


def _only_leg(path: Path, egress: Record) -> tuple[Record | None, Step | None]:
    """The one response that the answer can be made of, read by the same process, and its hop."""
    legs, listed = path.exchange.legs, path.exchange.listed(egress)
    if len(legs) != 1 or listed != {legs[0].recorder} or legs[0].witness != egress.witness:
        return None, None
    return legs[0], next((step for step in path.steps if step.before is legs[0]), None)


def _agree(step: Step | None) -> bool:
    return step is not None and step.hop.status == "intact"


def _had_more_since(leg: Record, egress: Record) -> int | None:
    """Since when the gateway had something to send that it did not: an event, or the end of the answer."""
    read, sent = View(leg, "semantic"), View(egress, "semantic")
    if read.n > sent.n:
        place = read.positions[sent.n]
        return None if place is None else times(leg).get(place, _end(leg))
    return _end(leg) if leg.end in _CLOSED or leg.complete else None


def _end(record: Record) -> int:
    return record.closing.end_ns if record.closing is not None else 0
