"""How a stream ended, and who ended it: one table over what the upstream, the gateway and the client report.

The first row that fits wins, so the order is the rule: a complete answer seen at the client beats any later
disconnect; then the most downstream stop before completion that was witnessed; an end that only follows from another
one (an exception after a reset, a crash after a broken upstream) is told by its cause (docs/design.md §7.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

INGRESS: Final = (
    "complete", "error", "cut", "unfinished", "misframed", "broken", "timeout", "stopped", "rejected", "unfed", "none",
)  # fmt: skip
"""complete: the completion rule was satisfied. error: an error event came, and it ended there, or its client did.
cut: a clean end before completion. unfinished: the terminator came, and no finish. misframed: the body was not what it
was announced as. broken: reset or protocol error. timeout, stopped: the gateway's own doing. rejected: an error status
came. unfed: nothing that came in is known to have become this answer. none: the same where no gateway testifies."""

EGRESS: Final = ("complete", "error", "eof", "unfinished", "misframed", "disconnected", "raised", "shutdown", "none")
"""complete: the whole answer was handed to the server. error: an error event was, and it or its client ended there.
eof: the final body was, before completion. unfinished, misframed: as above. The others as reported. none: not held."""

CLIENT: Final = (
    "complete", "error", "error_unseen", "eof", "unfinished", "misframed", "reset", "protocol_error", "cancelled",
    "timeout", "abandoned", "parser", "reducer", "parser_unseen", "reducer_unseen", "missing", "waiting", "none",
    "failed", "stalled_source", "stalled_gateway", "stalled_transport", "no_first_source", "no_first_gateway",
    "no_first_transport",
)  # fmt: skip
"""error: it stopped at an error event. error_unseen: so it did, and whether the gateway had sent that one is not known.
eof: a clean end (or a terminator) before completion. unfinished, misframed: as above. parser, reducer: it raised.
failed: by an error that does not say who stopped.
parser_unseen, reducer_unseen: so it did, and it may have been given an error or a broken body.
stalled_…, no_first_…: it waited no longer, after a long silence, in mid-answer or before the first event, and progress
had stopped there. missing: announced, never came. waiting: announced, and may still come. none: never announced."""


_KIND_OF: Final = {"unfed": "none"}
"""A word → that of which it is a kind: rows that speak of the one fit the other, too."""


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
        return all(not wanted or {have, _KIND_OF.get(have)} & {*wanted.split()} for wanted, have in pairs)


_BROKE: Final = "protocol_violation"
_ENDED: Final = "reset protocol_error eof unfinished misframed failed"
"""What the peer did to the client."""
_NOT_MORE: Final = "eof unfinished none missing waiting"
"""A client that does not say that it got more than its gateway."""
_OWN: Final = "error eof unfinished misframed raised none"
"""How a gateway ends an answer that is not whole, of which its upstream tells more."""
_RAISED: Final = "the gateway's code raised; what its upstream did was not seen"
_NOT_SENT: Final = "an error came that the gateway never sent"
_NOT_AS_DUE: Final = "the upstream's body broke the protocol"
_PARSER_UNSEEN: Final = "the client's parser raised; it may have been given an error or a broken body"
_REDUCER_UNSEEN: Final = "the application's own code raised; it may have been given an error"
_FAILED: Final = "reading failed at the client; whether it closed the answer itself or its connection died was not seen"
_GONE: Final = "the gateway saw its connection to the client end"
_UNHEARD: Final = "the whole answer left the gateway; no record tells how the client ended"
_ITSELF: Final = "the gateway stopped reading and finished the answer itself"
_UNFED: Final = "from which upstream it came was not seen"
_EARLY: Final = "eof unfinished"
_TOO_SOON: Final = "the terminator came before the answer was complete"
_AT_OR_BEHIND: Final = "it ended early, at the gateway or behind it"
_NOT_AS_ANNOUNCED: Final = "the body was not what it was announced as"
STOPPED: Final = {
    "source": "nothing more came into the gateway",
    "gateway": "the gateway had more to send, and sent nothing",
    "transport": "what the gateway had done did not reach the client",
}
"""Where progress stopped → what was seen of it."""
ROWS: Final = (
    # an end that the gateway made up is not the upstream's
    Row("cut broken", "", "complete", "upstream_truncated", "source", "the upstream broke off; the end is not its own"),
    Row("timeout", "", "complete", "upstream_timeout", "source", "the gateway gave up waiting; the end is not its own"),
    Row("unfinished", "", "complete", _BROKE, "source", "the upstream told no finish; the one that came is made up"),
    Row("error", "", "complete", "upstream_error", "source", "the upstream sent an error; the end is not its own"),
    Row("rejected", "", "complete", "upstream_rejected", "source", "the upstream refused; the end is not its own"),
    Row("cut broken", "complete", _NOT_MORE, "upstream_truncated", "source", "the upstream broke off"),
    Row("timeout", "complete", _NOT_MORE, "upstream_timeout", "source", "the gateway gave up waiting"),
    Row("unfinished", "complete", _NOT_MORE, _BROKE, "source", "the upstream ended without a finish"),
    Row("error", "complete", _NOT_MORE, "upstream_error", "source", "the upstream sent an error"),
    Row("stopped", "complete", "complete", "completed", "gateway", _ITSELF),
    Row("unfed", "", "complete", "completed", None, f"the whole answer reached the client; {_UNFED}"),
    Row("", "", "complete", "completed", "source", "the whole answer reached the client"),
    # the client stopped by itself, before it had the whole answer
    Row("", "", "reducer", "client_reducer_abort", "client", "the application's own code raised"),
    Row("", "", "parser", "client_parser_abort", "client", "the client's parser raised"),
    Row("", "", "cancelled", "client_cancelled", "client", "the client cancelled before it was complete"),
    Row("", "", "timeout", "client_timeout", "client", "the client waited no longer"),
    *(
        Row("", "", f"{word}_{where}", ending, where, f"{STOPPED[where]} until the client gave up waiting")
        for word, ending in (("stalled", "stalled"), ("no_first", "stalled_before_first"))
        for where in STOPPED
    ),
    Row("", "", "abandoned", "client_abandoned", "client", "the client stopped reading before it was complete"),
    # an error told inside the answer
    Row("error", "", "error", "upstream_error", "source", "the upstream sent an error"),
    Row("none", "none", "error", "upstream_error", None, "an error came; who made it was not seen"),
    Row("", "complete", "error", _BROKE, "transport", "the whole answer left the gateway, an error came instead"),
    Row("none", "", "error", "upstream_error", None, "an error came, from the gateway or upstream of it"),
    Row("", "", "error_unseen", "upstream_error", None, "an error came; who made it was not seen"),
    Row("complete stopped", "disconnected", "error", _BROKE, "transport", _NOT_SENT),
    Row("complete stopped", "eof unfinished", "error", _BROKE, None, f"{_NOT_SENT}, and that ended too early"),
    Row("complete stopped", "none", "error", "gateway_error", None, "an error came, from the gateway or behind it"),
    Row("complete", "", "error", "gateway_error", "gateway", "the upstream was complete, the gateway erred"),
    Row("cut broken", "", "error", "upstream_truncated", "source", "the upstream broke off, the gateway said so"),
    Row("unfinished misframed", "", "error", _BROKE, "source", "the upstream broke the protocol, the gateway said so"),
    Row("timeout", "", "error", "upstream_timeout", "source", "the gateway gave up waiting, and said so"),
    Row("rejected", "", "error", "upstream_rejected", "source", "the upstream refused, the gateway said so"),
    Row("stopped", "", "error", "gateway_error", "gateway", "the gateway stopped reading and sent an error"),
    # the connection broke at the client; what only followed from a failing upstream is told by that
    Row("error", "raised", _ENDED, "upstream_error", "source", "the upstream sent an error"),
    Row("cut broken", "raised", _ENDED, "upstream_truncated", "source", "the upstream broke off"),
    Row("timeout", "raised", _ENDED, "upstream_timeout", "source", "the gateway gave up waiting"),
    Row("rejected", "raised", _ENDED, "upstream_rejected", "source", "the upstream refused"),
    Row("unfinished misframed", "raised", _ENDED, _BROKE, "source", _NOT_AS_DUE),
    Row("none", "raised", _ENDED, "gateway_error", None, _RAISED),
    Row("", "raised", _ENDED, "gateway_error", "gateway", "the gateway's code raised"),
    Row("", "shutdown", _ENDED, "gateway_shutdown", "gateway", "the gateway was stopped"),
    Row("", "", "failed", "client_gone", None, _FAILED),
    Row("", "none", "reset", "network_lost", None, "the connection was reset; by whom was not seen"),
    Row("", "none", "protocol_error", "protocol_violation", None, "the body broke off; by whom was not seen"),
    Row("", "", "reset protocol_error", "network_lost", "transport", "the connection to the client broke"),
    # the body was not what it was announced as: the component before the first point that saw it so
    Row("misframed", "error eof unfinished misframed none", "misframed eof unfinished", _BROKE, "source", _NOT_AS_DUE),
    Row("complete stopped", "misframed", "", _BROKE, "gateway", "the gateway broke a body that was in order"),
    Row("none", "misframed", "", _BROKE, None, f"{_NOT_AS_ANNOUNCED}, at the gateway or upstream of it"),
    Row("", "complete eof unfinished disconnected", "misframed", _BROKE, "transport", "it left the gateway in order"),
    Row("none complete stopped", "none", "misframed", _BROKE, None, f"{_NOT_AS_ANNOUNCED}; whose doing was not seen"),
    # a clean end at the client, before the answer was complete
    Row("", "disconnected", _EARLY, "network_lost", "transport", "both sides saw the connection end too early"),
    Row("", "complete", _EARLY, "network_lost", "transport", "all left the gateway, the client saw an early end"),
    # an exception in the client, of which the cause may lie before it
    Row("", "complete disconnected", "parser_unseen", "client_parser_abort", None, _PARSER_UNSEEN),
    Row("", "complete disconnected", "reducer_unseen", "client_reducer_abort", None, _REDUCER_UNSEEN),
    # nothing from the client decides: the gateway's own end
    Row("", "complete", "missing waiting", "completed", None, _UNHEARD),
    Row("stopped", "complete", "", "completed", "gateway", _ITSELF),
    Row("unfed", "complete", "", "completed", None, f"the whole answer left the gateway; {_UNFED}"),
    Row("", "complete", "", "completed", "source", "the whole answer left the gateway"),
    Row("", "disconnected", "waiting", None, None, "the client went; it has not spoken yet"),
    Row("", "disconnected", "missing", "client_vanished", None, f"{_GONE}, and the client's record never came"),
    Row("", "disconnected", "", "client_gone", None, f"{_GONE}; who ended it was not seen"),
    Row("", "shutdown", "", "gateway_shutdown", "gateway", "the gateway was stopped"),
    Row("error", _OWN, "", "upstream_error", "source", "the upstream sent an error"),
    Row("cut", _OWN, "", "upstream_truncated", "source", "the upstream ended too early"),
    Row("broken", _OWN, "", "upstream_truncated", "source", "the connection to the upstream broke"),
    Row("unfinished", _OWN, "", _BROKE, "source", "the upstream ended without a finish"),
    Row("misframed", _OWN, "", _BROKE, "source", _NOT_AS_DUE),
    Row("timeout", _OWN, "", "upstream_timeout", "source", "the gateway gave up waiting"),
    Row("rejected", _OWN, "", "upstream_rejected", "source", "the upstream refused the request"),
    Row("none", "raised", "", "gateway_error", None, _RAISED),
    Row("", "raised", "", "gateway_error", "gateway", "the gateway's code raised"),
    Row("complete stopped", "error", "", "gateway_error", "gateway", "the gateway sent an error of its own"),
    Row("complete", _EARLY, "", "gateway_truncated", "gateway", "the upstream was complete, the gateway was not"),
    Row("stopped", _EARLY, "", "gateway_truncated", "gateway", "the gateway stopped reading and ended it"),
    Row("none", "error", "", "upstream_error", None, "an error left the gateway; whose was not seen"),
    Row("none", "eof", "", "upstream_truncated", None, "it ended early, at the gateway or upstream of it"),
    Row("none", "unfinished", "", _BROKE, None, f"{_TOO_SOON}, at the gateway or upstream of it"),
    # no gateway record of an end
    Row("none", "none", "eof", "upstream_truncated", None, "it ended early; where was not seen"),
    Row("none", "none", "unfinished", _BROKE, None, f"{_TOO_SOON}; whose doing was not seen"),
    Row("", "none", "parser_unseen", "client_parser_abort", None, _PARSER_UNSEEN),
    Row("", "none", "reducer_unseen", "client_reducer_abort", None, _REDUCER_UNSEEN),
    Row("complete stopped", "none", _EARLY, "gateway_truncated", None, _AT_OR_BEHIND),
    Row("", "", "waiting", None, None, "not everybody has spoken yet"),
    Row("complete stopped none", "none", "", "unwitnessed", None, "nobody that could tell has spoken"),
)  # fmt: skip
_PENDING: Final = frozenset(("client_gone", "client_vanished", "unwitnessed"))
"""Endings that rest on somebody's silence, and wait for the settlement."""
OPEN: Final = Row("", "", "", None, None, "not everybody has spoken yet")


@cache
def ending_of(ingress: str, egress: str, client: str, *, settled: bool = True) -> Row:
    """The row for these three ends; before the settlement, nothing that rests on silence."""
    row = next(row for row in ROWS if row.fits(ingress, egress, client))
    return OPEN if not settled and row.ending in _PENDING else row


def table() -> Iterator[tuple[str, str, str, Row]]:
    """The whole table, for the documentation and its test: every combination and the row that decides it."""
    for ends in product(INGRESS, EGRESS, CLIENT):
        yield *ends, ending_of(*ends)
