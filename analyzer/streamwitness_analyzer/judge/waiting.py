"""Events that were held back on a hop, and for how long: from differences of one process's own clock, nothing else.

Where both points are of one process, an event was held from the moment it was read to the moment it was sent. Where
they are not, their clocks differ by nobody knows how much, and only this can be told: an event arrived so much later
after its sending than a *later* one did, that it must have been held. A later one, because a clock that stopped while
its machine slept makes all that comes afterwards look late, and nothing that came before.

In doubt nothing is said (docs/design.md §7.3): whatever time a consumer did not ask for more is taken off, all of it;
a machine that slept, or whose clock was set, tells nothing; only events that are proven the same at both points count.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from streamwitness.semconv import CLOCK_STEP_MS, GATHERED, HOLD_TOTAL_MS, PROGRESS_GAP_MS

from .attribute import Fault, Step, told_between
from .compare.change import Change, Proof
from .testimony.records import Record
from .testimony.view import Axis, View

KIND: Final = "delayed"
BUDGET_MS: Final = 2_000
"""How long nobody need explain himself. Above it is what people notice as a stop; below it stays what happens on every
healthy way: a segment sent again (about 1 s at worst before the second try), a change of the radio cell, pieces that
are gathered for a few tenths of a second on purpose, a collection of garbage, a thread that has to wait its turn."""
_DRIFT: Final = 1_000
"""Two machines' clocks run apart by less than one part in so many."""
_NS: Final = 1_000_000
_US: Final = 1_000
Pair = tuple[int, int, int]
"""An event: its position at the first point, when it was there, and when at the second, in ns of each one's clock."""


def held_back(steps: Sequence[Step], *, one_for_one: bool) -> list[Fault]:
    """One finding for each hop on which events were held longer than the budget.

    `one_for_one`: the gateway's events are known to be those that it read. Not told of the hops inside the client: its
    parser waits whenever the application does, which nobody records.
    """
    found: list[Fault] = []
    for step in steps:
        hop = (step.before.point, step.after.point)
        if hop == ("ingress", "egress") and one_for_one:
            found += _in_the_gateway(step)
        elif hop == ("egress", "wire"):
            found += _on_the_way(step)
    return found


def _in_the_gateway(step: Step) -> list[Fault]:
    """Read at gateway in, sent later at gateway out: one process, one clock."""
    leg, egress = step.before, step.after
    if leg.witness != egress.witness or not (_told_by_clocks(step) and _may_hold(leg, egress)):
        return []
    waits = [(position, out - into) for position, into, out in _pairs(step, "semantic")]
    return _found(step, waits, taken_off=held_ms(egress), sure=True)


def _on_the_way(step: Step) -> list[Fault]:
    """Sent at gateway out, received later after that than a later event was."""
    if gathered(step.after) or not (_told_by_clocks(step) and _may_be_held(step.before, step.after)):
        return []
    pairs = _pairs(step, "payload")
    late = [came - sent for _, sent, came in pairs]
    base = [lag + sent // _DRIFT for lag, (_, sent, _) in zip(late, pairs, strict=True)]
    least = list(accumulate(reversed(base), min))[::-1]
    waits = [(pair[0], own - low) for pair, own, low in zip(pairs, base, least, strict=True)]
    return _found(step, waits, taken_off=held_ms(step.before) + held_ms(step.after), sure=False)


def _told_by_clocks(step: Step) -> bool:
    """Whether there are events to compare, and the clocks of both points went on evenly."""
    return bool(step.after.closed and step.hop.prefix) and not (stepped(step.before) or stepped(step.after))


def _may_hold(leg: Record, egress: Record) -> bool:
    """Whether the gateway may have held something, as closing blocks tell without their rows.

    It began late, stopped in between, or ended late.
    """
    late = (_begin(egress) - _begin(leg), _end(egress) - _end(leg))
    return max(*late, _gap(egress)) >= BUDGET_MS * _NS


def _may_be_held(egress: Record, wire: Record) -> bool:
    """Whether something may have been held on the way: nothing came for a while, or all came in less time than it took
    to send."""
    shrunk = (_end(egress) - _begin(egress)) - (_end(wire) - _begin(wire))
    return max(shrunk, _gap(wire)) >= BUDGET_MS * _NS


def _begin(record: Record) -> int:
    return record.blocks[0].start_ns


def _end(record: Record) -> int:
    return record.blocks[-1].end_ns


def _gap(record: Record) -> int:
    """The longest time between two events."""
    told = record.told(PROGRESS_GAP_MS)
    return told * _NS if isinstance(told, int) else 0


def _pairs(step: Step, axis: Axis) -> list[Pair]:
    """The events that are proven the same at both points, as far as their rows are held."""
    sent, came = times(step.before), times(step.after)
    here, there = View(step.before, axis).positions, View(step.after, axis).positions
    same = zip(here[: step.hop.prefix], there, strict=False)
    return [(a, sent[a], came[b]) for a, b in same if a is not None and b is not None and a in sent and b in came]


def times(record: Record) -> dict[int, int]:
    """When each event was there, by position, in ns by the process's own clock; without those whose rows are lost."""
    found: dict[int, int] = {}
    for block in record.blocks:
        if not block.rows_held:
            continue
        start, column = block.start_ns, block.columns("t").get("t") or ()
        found.update(enumerate([start + t * _US for t in column], block.position))
    return found


def held_ms(record: Record) -> int:
    """How long this point's consumer did not ask for more, in all."""
    told = record.told(HOLD_TOTAL_MS)
    return told if isinstance(told, int) else 0


def stepped(record: Record) -> bool:
    """Whether the machine slept meanwhile, or its clock was set: then no difference of its times tells anything."""
    return record.told(CLOCK_STEP_MS) is not None


def gathered(record: Record) -> bool:
    """Whether the reader's library kept what had come until there was more: then nobody knows when it came."""
    return record.told(GATHERED) is True


def _found(step: Step, waits: Sequence[tuple[int, int]], taken_off: int, *, sure: bool) -> list[Fault]:
    """The finding, if there is one. `sure`: who held them is proven, not only between which points they were held."""
    held = [(position, ms) for position, wait in waits if (ms := wait // _NS - taken_off) > BUDGET_MS]
    if not held:
        return []
    before, after = step.before, step.after
    first, last = min(p for p, _ in held), max(p for p, _ in held)
    whole = len(held) == last - first + 1
    longest = max(ms for _, ms in held)
    held_for = f"{'' if len(held) == 1 else 'the longest was '}held for {seconds(longest)} at least"
    note = f"{held_for}{'' if sure else _ON_THE_WAY}"
    change = Change(KIND, len(held), False, "before", (first, last), (first, last), whole, note=note, proof=_PROOF)
    return [told_between(before, after, change, sure=sure)]


_PROOF: Final = Proof("by_time")
_ON_THE_WAY: Final = ", by the network, by something that buffers, or by a client process that did not get to read"
"""Where the hook does not stand: from the moment the gateway's code handed an event to whatever is outside it (a
middleware, the server) to the moment the client's code was given it."""


def seconds(ms: int) -> str:
    """`2.3 s`."""
    return f"{ms / 1000:.1f} s"
