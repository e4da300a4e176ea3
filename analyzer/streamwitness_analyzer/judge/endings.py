"""How a stream ended, and who ended it: one table over what the upstream, the gateway and the client report.

The first row that fits wins, so the order is the rule: a complete answer seen at the client beats any later
disconnect; then the most downstream stop before completion that was witnessed; an end that only follows from another
one (an exception after a reset, a crash after a broken upstream) is told by its cause (docs/design.md §7.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

INGRESS: Final = ("complete", "error", "cut", "broken", "timeout", "stopped", "rejected", "none")
"""complete: the completion rule was satisfied. error: an error event came. cut: a clean end before completion.
broken: reset or protocol error. timeout, stopped: the gateway's own doing. none: not held."""

EGRESS: Final = ("complete", "error", "eof", "disconnected", "raised", "shutdown", "none")
"""complete: the whole answer was handed to the server. error: an error event was. eof: the final body was, before
completion. The others as reported. none: not held."""

CLIENT: Final = (
    "complete", "error", "eof", "reset", "protocol_error", "cancelled", "timeout", "abandoned", "parser", "reducer",
    "missing", "waiting", "none",
)  # fmt: skip
"""eof: a clean end (or a terminator) before completion. parser, reducer: it raised. missing: announced, never came.
waiting: announced, and may still come. none: never announced."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; an empty set fits everything. `ending` None: not ended, or not known yet."""

    ingress: str
    egress: str
    client: str
    ending: str | None
    by: str | None
    reason: str

    def fits(self, ingress: str, egress: str, client: str) -> bool:
        """Whether the row speaks of these three ends."""
        pairs = ((self.ingress, ingress), (self.egress, egress), (self.client, client))
        return all(not wanted or have in wanted.split() for wanted, have in pairs)


ROWS: Final = (
    # an end that the gateway made up is not the upstream's
    Row("cut broken", "", "complete", "upstream_truncated", "source", "the upstream broke off; the end is not its own"),
    Row("cut broken", "complete", "eof none missing waiting", "upstream_truncated", "source", "the upstream broke off"),
    Row("", "", "complete", "completed", "source", "the whole answer reached the client"),
    # the client stopped by itself, before it had the whole answer
    Row("", "", "reducer", "client_reducer_abort", "client", "the application's own code raised"),
    Row("", "", "parser", "client_parser_abort", "client", "the client's parser raised"),
    Row("", "", "cancelled", "client_cancelled", "client", "the client cancelled before it was complete"),
    Row("", "", "timeout", "client_timeout", "client", "the client waited no longer"),
    Row("", "", "abandoned", "client_abandoned", "client", "the client stopped reading before it was complete"),
    # an error told inside the answer
    Row("error", "", "error", "upstream_error", "source", "the upstream sent an error"),
    Row("none", "none", "error", "upstream_error", None, "an error came; who made it was not seen"),
    Row("none", "", "error", "upstream_error", None, "an error came, from the gateway or behind it"),
    Row("complete", "", "error", "gateway_error", "gateway", "the upstream was complete, the gateway erred"),
    Row("cut broken", "", "error", "upstream_truncated", "source", "the upstream broke off, the gateway said so"),
    Row("timeout", "", "error", "upstream_timeout", "source", "the upstream was too slow, the gateway said so"),
    Row("rejected", "", "error", "upstream_rejected", "source", "the upstream refused, the gateway said so"),
    Row("stopped", "", "error", "gateway_error", "gateway", "the gateway stopped reading and sent an error"),
    # the connection broke at the client; what only followed from a failing upstream is told by that
    Row("error", "raised", "reset protocol_error eof", "upstream_error", "source", "the upstream sent an error"),
    Row("cut broken", "raised", "reset protocol_error eof", "upstream_truncated", "source", "the upstream broke off"),
    Row("timeout", "raised", "reset protocol_error eof", "upstream_timeout", "source", "the upstream was too slow"),
    Row("rejected", "raised", "reset protocol_error eof", "upstream_rejected", "source", "the upstream refused"),
    Row("", "raised", "reset protocol_error eof", "gateway_error", "gateway", "the gateway's code raised"),
    Row("", "shutdown", "reset protocol_error eof", "gateway_shutdown", "gateway", "the gateway was stopped"),
    Row("", "none", "reset", "network_lost", None, "the connection was reset; by whom was not seen"),
    Row("", "none", "protocol_error", "protocol_violation", None, "the response broke HTTP; who broke it was not seen"),
    Row("", "", "reset protocol_error", "network_lost", "transport", "the connection to the client broke"),
    # a clean end at the client, before the answer was complete
    Row("", "disconnected", "eof", "network_lost", "transport", "both sides saw the connection end too early"),
    Row("", "complete", "eof", "network_lost", "transport", "all left the gateway, the client saw an early end"),
    # nothing from the client decides: the gateway's own end
    Row("", "complete", "", "completed", "source", "the whole answer left the gateway"),
    Row("", "disconnected", "waiting", None, None, "the client went; it has not spoken yet"),
    Row("", "disconnected", "missing", "client_vanished", "client", "the client went, and its record never came"),
    Row("", "disconnected", "", "client_gone", "client", "the gateway saw the client go"),
    Row("", "shutdown", "", "gateway_shutdown", "gateway", "the gateway was stopped"),
    Row("error", "error eof raised none", "", "upstream_error", "source", "the upstream sent an error"),
    Row("cut", "error eof raised none", "", "upstream_truncated", "source", "the upstream ended too early"),
    Row("broken", "error eof raised none", "", "upstream_truncated", "source", "the connection to the upstream broke"),
    Row("timeout", "error eof raised none", "", "upstream_timeout", "source", "the upstream was too slow"),
    Row("rejected", "error eof raised none", "", "upstream_rejected", "source", "the upstream refused the request"),
    Row("", "raised", "", "gateway_error", "gateway", "the gateway's code raised"),
    Row("complete stopped", "error", "", "gateway_error", "gateway", "the gateway sent an error of its own"),
    Row("complete", "eof", "", "gateway_truncated", "gateway", "the upstream was complete, the gateway was not"),
    Row("stopped", "eof", "", "gateway_truncated", "gateway", "the gateway stopped reading and ended it"),
    Row("none", "error", "", "upstream_error", None, "an error left the gateway; whose was not seen"),
    Row("none", "eof", "", "upstream_truncated", None, "it ended early, at the gateway or behind it"),
    # no gateway record of an end
    Row("none", "none", "eof", "upstream_truncated", None, "it ended early; where was not seen"),
    Row("complete stopped", "none", "eof", "gateway_truncated", "gateway", "the client saw it end, not the upstream"),
    Row("", "", "waiting", None, None, "not everybody has spoken yet"),
    Row("complete stopped none", "none", "", "unwitnessed", None, "nobody that could tell has spoken"),
)  # fmt: skip
_PENDING: Final = frozenset(("client_gone", "client_vanished", "unwitnessed"))
"""Endings that rest on somebody's silence, and wait for the settlement."""
OPEN: Final = Row("", "", "", None, None, "not everybody has spoken yet")


def ending_of(ingress: str, egress: str, client: str, *, settled: bool = True) -> Row:
    """The row for these three ends; before the settlement, nothing that rests on silence."""
    row = next(row for row in ROWS if row.fits(ingress, egress, client))
    return OPEN if not settled and row.ending in _PENDING else row


def table() -> Iterator[tuple[str, str, str, Row]]:
    """The whole table, for the documentation and its test: every combination and the row that decides it."""
    for ends in product(INGRESS, EGRESS, CLIENT):
        yield *ends, ending_of(*ends)
