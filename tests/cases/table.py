"""The one table of cases: which points saw which bytes, what the faulty code did, and what must be concluded.

Words are those of docs/design.md §7; where a report's own verdict is worded otherwise, `note` says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from . import gateways, parsers
from .case import Case
from .pipeline import Play, Reads, Stream, told
from .reducers import stops_after, unguarded

Finding = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Verdict:
    """What is concluded of one stream."""

    ending: str | None
    by: str | None
    integrity: str = "intact"
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, stream: Stream) -> Verdict:
        """The analyzer's."""
        verdict = stream.verdict()
        ending = verdict["ending"]
        return cls(ending["class"], ending["by"], verdict["integrity"], tuple(told(verdict)))


@dataclass(frozen=True)
class Spec:
    """How a case is played, and the verdict on it."""

    play: Callable[[Case], Play]
    due: Verdict
    note: str = ""


COMPLETED: Final = Verdict("completed", "source")
HARMLESS: Final = "what came late came: nothing is damaged by it"
UNKNOWABLE: Final = "no record holds what would tell: "


def delayed(component: str) -> Verdict:
    """One finding that damages nothing."""
    return Verdict("completed", "source", "intact", (("delayed", (component,)),))


def damaged(kind: str, component: str, ending: str = "completed", by: str = "source") -> Verdict:
    """One finding."""
    return Verdict(ending, by, "damaged", ((kind, (component,)),))


# --------------------------------------------------------------------------- how a case is played


def gateway(case: Case, broken: gateways.Gateway = gateways.pass_on, **more: object) -> Play:
    """A gateway read `upstream` (or `wire`), and what it made of that went on to a proper client."""
    upstream = case.upstream or case.wire
    sent = broken(upstream)
    if case.upstream is not None and b"".join(sent) != b"".join(case.wire):
        raise ValueError(f"{case.name}: the gateway was re-enacted otherwise than the report has it")
    return _play(upstream, sent, **more)


def client(case: Case, parser: object = None, **more: object) -> Play:
    """A proper gateway; what went wrong went wrong in the client."""
    return _play(case.wire, case.wire, parser=parser, **more)


def _play(upstream: Reads, sent: Reads, **more: object) -> Play:
    framing = str(more.pop("framing", "sse"))
    parser = more.pop("parser", None) or parsers.proper(framing)
    values: dict[str, object] = {"received": sent, "content_type": CONTENT_TYPES[framing], **more}
    return Play(upstream=upstream, sent=sent, parser=parser, **values)  # type: ignore[arg-type]


CONTENT_TYPES: Final = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "json_array": "application/json",
    "eventstream": "application/vnd.amazon.eventstream",
}
RESPONSES: Final = "/v1/responses"
MESSAGES: Final = "/v1/messages"
GEMINI: Final = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
OLLAMA: Final = "/api/chat"
BEDROCK: Final = "/model/anthropic.claude-3/converse-stream"

SPECS: Final[dict[str, Spec]] = {
    # ----------------------------------------------------------------------- gateway
    "gateway-comment-rewrapped-as-data": Spec(
        partial(gateway, broken=gateways.rewrap_comments),
        damaged("malformed", "gateway", "client_parser_abort", "client"),
        note="the stop is the parser's, the fault the gateway's; what came after the stop is unread, not lost",
    ),
    "gateway-compression-buffering": Spec(
        lambda case: _play(
            gateways.events(case.wire), gateways.at_once(case.wire),
            upstream_at=(0.1, 3, 5, 7, 9, 9), sent_at=(9, 9), received_at=(9, 9),
        ),
        delayed("gateway"), note=HARMLESS,
    ),
    "gateway-content-based-dedup": Spec(
        partial(gateway, broken=gateways.drop_what_repeats), damaged("gap", "gateway"),
    ),
    "gateway-done-without-finish": Spec(
        partial(_done_without_finish := lambda case: _play(
            case.wire[:-1], gateways.write_done(case.wire[:-1]), upstream_end="timeout", path="/api/chat/stream"
        )),
        damaged("fabricated", "gateway", "upstream_timeout"),
        note="the gateway's own limit ended the upstream: told as a timeout, and the terminator as invented",
    ),
    "gateway-error-injected-in-open-event": Spec(
        partial(gateway, broken=gateways.error_into_the_open_event, upstream_end="reset", path=RESPONSES),
        damaged("malformed", "gateway", "client_parser_abort", "client"),
        note="the upstream's reset is on record at gateway in; the client stopped at what the gateway made of it",
    ),
    "gateway-frame-per-read": Spec(
        partial(gateway, broken=gateways.close_at_read),
        damaged("malformed", "gateway", "client_parser_abort", "client"),
    ),
    "gateway-headers-then-nothing": Spec(
        partial(
            gateway, broken=gateways.nothing, sent_end="disconnected", received_end="timeout", path=MESSAGES,
            upstream_at=(0.1, 0.2, 0.2), sent_at=(60.1,), received_at=(60,),
        ),
        Verdict("stalled_before_first", "gateway"),
        note="what the gateway held back was on its way when the client gave up: it is stalled, not lost",
    ),
    "gateway-utf8-split-gateway": Spec(
        partial(gateway, broken=gateways.decode_each_read), damaged("altered", "gateway"),
    ),
    "gateway-crlf-framing-not-recognised": Spec(
        partial(
            gateway, broken=gateways.at_once, path=GEMINI,
            upstream_at=(0.2, 0.4, 6, 6), sent_at=(6, 6), received_at=(6, 6),
        ),
        delayed("gateway"), note=HARMLESS,
    ),
    # ----------------------------------------------------------------------- observer
    "observer-hook-never-entered": Spec(
        lambda case: Play(None, sent=[], upstream=None, sent_end="disconnected"),
        Verdict("client_vanished", None, "unproven"),
    ),
    "observer-observer-sees-body-pieces": Spec(gateway, COMPLETED),
    # ----------------------------------------------------------------------- parser
    "parser-bom": Spec(partial(client, parser=parsers.keeps_the_bom), damaged("gap", "parser")),
    "parser-eof-without-blank-line": Spec(
        client, Verdict("protocol_violation", "source"),
        note="both framings of it are right, so the parser is no suspect",
    ),
    "parser-gemini-json-array": Spec(
        partial(client, parser=parsers.array_per_read, framing="json_array", path=GEMINI),
        Verdict("client_parser_abort", "client"),
        note="a parser that raises tells so itself: what it stopped at is unread, and nobody lost it silently",
    ),
    "parser-multi-line-data": Spec(
        partial(client, parser=parsers.json_per_line, path=RESPONSES), damaged("gap", "parser"),
    ),
    "parser-ndjson-partial-line": Spec(
        partial(client, parser=parsers.json_per_read, framing="ndjson", path=OLLAMA),
        Verdict("client_parser_abort", "client"),
        note="as above: raised, not lost",
    ),
    "parser-splitlines-unicode-separator": Spec(
        partial(client, parser=parsers.splitlines), Verdict("client_parser_abort", "client"),
        note="as above: raised, not lost",
    ),
    # ----------------------------------------------------------------------- reducer
    "reducer-azure-first-chunk-empty-choices": Spec(
        partial(client, reducer=unguarded), damaged("gap", "reducer", "client_reducer_abort", "client"),
    ),
    "reducer-tool-index-collision": Spec(
        client, COMPLETED,
        note=UNKNOWABLE + "the wire itself uses one index for two calls, and the reducer reports both as applied",
    ),
    "reducer-usage-chunk-empty-choices": Spec(partial(client, reducer=unguarded), damaged("gap", "reducer")),
    "reducer-usage-cumulative-summed": Spec(
        partial(client, path=MESSAGES), COMPLETED,
        note=UNKNOWABLE + "a sum of the application's own; every event was applied, the text is whole",
    ),
    # ----------------------------------------------------------------------- source
    "source-cumulative-instead-of-delta": Spec(
        client, COMPLETED,
        note=UNKNOWABLE + "whether 'a', 'ab' means 'ab' or 'aab' is decided by the request, never by the content",
    ),
    "source-error-event-http-200": Spec(partial(client, path=MESSAGES), Verdict("upstream_error", "source")),
    "source-error-unframed-in-sse": Spec(partial(client, path=GEMINI), Verdict("upstream_error", "source")),
    "source-frames-glued": Spec(
        client, damaged("malformed", "source", "client_parser_abort", "client"),
    ),
    "source-missing-finish-reason": Spec(client, Verdict("protocol_violation", "source")),
    "source-missing-terminal-event": Spec(
        partial(client, framing="eventstream", path=BEDROCK), Verdict("upstream_truncated", "source"),
    ),
    # ----------------------------------------------------------------------- transport
    "transport-client-idle-timeout": Spec(
        partial(
            client, upstream_end="cancelled", sent_end="disconnected", received_end="timeout",
            upstream_at=(1, 301.1), sent_at=(1, 301.1), received_at=(1, 301),
        ),
        Verdict("stalled", "source"),
        note="progress had stopped at the source; that it was the client's limit that ran out, its record says",
    ),
    "transport-half-open-stall": Spec(
        partial(
            client, upstream_end="cancelled", sent_end="disconnected", received_end="timeout",
            upstream_at=(1, 11), sent_at=(1, 11), received_at=(1, 131),
        ),
        Verdict("stalled", "transport"),
        note="the client has a timer; where it has none, its record never comes, and it has vanished",
    ),
    "transport-proxy-buffering": Spec(
        lambda case: _play(
            sent := gateways.events(case.wire), sent, received=gateways.at_once(case.wire),
            upstream_at=(at := (0.1, 3, 5, 7, 9, 9)), sent_at=at, received_at=(9, 9),
        ),
        delayed("transport"), note=HARMLESS,
    ),
}  # fmt: skip


# --------------------------------------------------------------------------- one answer, two streams


def first_generation(case: Case) -> Play:
    """The helper aborts in the middle, because its tab is hidden."""
    wire = case.wire[:2]
    return _play(wire, wire, upstream_end="cancelled", sent_end="disconnected", reducer=stops_after(2))


def second_generation(case: Case) -> Play:
    """It asks anew when the tab is back: another answer, on another stream."""
    return _play(case.wire[2:], case.wire[2:])


TWO_STREAMS: Final = {
    "reducer-reconnect-new-generation": (
        (first_generation, Verdict("client_cancelled", "client")),
        (second_generation, COMPLETED),
    ),
}
"""Cases of which both streams are in order, and what is wrong lies between them: the application glued the answers
together, and no record of either holds that. They are linked where the client helper says so."""
