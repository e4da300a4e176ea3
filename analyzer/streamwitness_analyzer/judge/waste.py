"""A gateway that went on reading upstream after its client had gone: paid for, and read by nobody.

Both moments are of one process and one clock: the end of gateway out, and the times of the rows at gateway in. What was
in hand, or asked for, when the client went may be looked at later, and one read of a socket may bring many pieces,
between which the gateway is never told anything. So waste is what came a clear time behind the first such piece, three
moments at least, and only where the gateway is known to have waited for it: the time that passed is longer by as much
than all in which it did not ask for more (docs/design.md §7.3). Nothing is lost by it, so it does not damage.

It is said of the upstream response that feeds the answer, and of no other: a call beside it may be for something else,
and one that a worker of the gateway made may be of somebody else's answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from streamwitness.semconv import STAMPED, USAGE_OUTPUT

from .attribute import Fault, told_between
from .compare.change import Change, Proof
from .gateway.legs import FEW
from .gateway.upstream import Upstream
from .testimony.records import Exchange, Record
from .waiting import held_ms, stepped

KIND: Final = "upstream_kept_running"
_READS: Final = 3
"""Moments at which something new came in, before it is waste: fewer may be the way of the news."""
_CLEAR: Final = 100_000_000
"""Ns that it waited for more: what is in hand is looked at in less, on a busy machine too."""
_US: Final = 1_000
_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Row:
    """An event at gateway in: when it was looked at (Unix ns by the process's own clock), and what it took."""

    position: int
    at: int
    size: int


def kept_running(exchange: Exchange, upstream: Upstream, egress: Record | None) -> list[Fault]:
    """The finding of a leg that was read on; none where another exchange of the stream may have been given the rest.

    So may one of which no record is held, wherever events are numbered: what numbers them lets clients come back.
    """
    if egress is None or egress.closing is None or egress.end != "disconnected" or egress.faulted:
        return []
    if egress.told(STAMPED) is not None or stepped(egress):
        return []
    leg = _feeding(exchange, upstream, egress)
    fault = _wasted(leg, egress, egress.closing.end_ns) if leg is not None else None
    return [fault] if fault is not None else []


def _feeding(exchange: Exchange, upstream: Upstream, egress: Record) -> Record | None:
    """The leg of which the answer is known to be made, as far as it was sent, or that is the only one."""
    leg, hop = upstream.leg, upstream.hop
    if leg is None or leg.witness != egress.witness or egress.closing is None:
        return None
    alone = set(egress.closing.legs) == {other.recorder for other in exchange.at("ingress")} == {leg.recorder}
    return leg if alone or (hop is not None and hop.status != "unproven" and hop.prefix > FEW) else None


def cost(exchange: Exchange, upstream: Upstream, egress: Record | None) -> dict[str, int | None] | None:
    """What was read upstream after the client had gone, what was in hand included; None where that is not known.

    `output_tokens` is what the provider counted for the whole answer, as it told the gateway.
    """
    if egress is None or egress.closing is None or egress.end != "disconnected" or egress.faulted:
        return None
    leg = _feeding(exchange, upstream, egress)
    if leg is None or not leg.every_row:
        return None
    late = [row for row in _rows(leg) if row.at > egress.closing.end_ns]
    tokens = leg.told(USAGE_OUTPUT)
    return {
        "events": len(late),
        "bytes": sum(row.size for row in late),
        "output_tokens": tokens if isinstance(tokens, int) else None,
    }


def _wasted(leg: Record, egress: Record, gone: int) -> Fault | None:
    late = [row for row in _rows(leg) if row.at > gone + _US]
    wasted = [row for row in late if row.at >= late[0].at + _CLEAR]
    moments = {row.at for row in wasted}
    if len(moments) < _READS or not _waited(leg, late):
        return None
    span = (wasted[0].position, wasted[-1].position)
    whole = leg.every_row and len(wasted) == span[1] - span[0] + 1
    note = f"{sum(row.size for row in wasted)} bytes in {len(moments)} further reads"
    if isinstance(tokens := leg.told(USAGE_OUTPUT), int):
        note += f"; the answer cost {tokens} output tokens"
    change = Change(KIND, len(wasted), False, "before", span, span, whole, note=note, proof=Proof("by_time"))
    return told_between(leg, egress, change)


def _waited(leg: Record, late: Sequence[_Row]) -> bool:
    """Whether the gateway waited for what came behind the first of these, and did not only work off what it had."""
    if not leg.closed or stepped(leg):
        return False
    return late[-1].at - late[0].at - (held_ms(leg) + 1) * _MS >= _CLEAR


def _rows(leg: Record) -> Iterator[_Row]:
    for block in leg.blocks:
        if not block.rows_held:
            continue
        columns = block.columns("t", "bytes")
        times, sizes = columns.get("t"), columns.get("bytes") or [0] * block.row_count
        for i, t in enumerate(times or ()):
            yield _Row(block.position + i, block.start_ns + t * _US, sizes[i])
