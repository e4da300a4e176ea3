"""Names and enums: the vocabulary that every part shares.

Everything here is a plain constant. Hot paths use the integers directly; tables are total over the tuples.
The words are explained in docs/design.md §1, the bytes in docs/wire.md.
"""

from __future__ import annotations

from typing import Final, Literal

SCOPE: Final = "streamwitness"
"""OpenTelemetry instrumentation scope of every block; a stock collector routes by it."""

VERSION: Final = "0.1.0"
WIRE_VERSION: Final = 1

# --------------------------------------------------------------------------- points and components

Point = Literal["source", "ingress", "egress", "wire", "parsed", "applied"]
Component = Literal["source", "gateway", "transport", "parser", "reducer"]
Role = Literal["gateway", "client", "any"]

POINTS: Final[tuple[Point, ...]] = ("source", "ingress", "egress", "wire", "parsed", "applied")
CLIENT_POINTS: Final[tuple[Point, ...]] = ("wire", "parsed", "applied")
"""Observation points (RFC 7011) in path order; bit n of `stream.expected` is POINTS[n]."""

COMPONENTS: Final[tuple[Component, ...]] = ("source", "gateway", "transport", "parser", "reducer")

COMPONENT_BEFORE: Final[dict[Point, Component]] = {
    "ingress": "source",
    "egress": "gateway",
    "wire": "transport",
    "parsed": "parser",
    "applied": "reducer",
}
"""The component between a point and the point before it."""

POINT_LABELS: Final[dict[Point, str]] = {
    "source": "source",
    "ingress": "gateway in",
    "egress": "gateway out",
    "wire": "client received",
    "parsed": "client parsed",
    "applied": "client applied",
}
"""What people see instead of the point's name."""

ROLES: Final[tuple[Role, ...]] = ("gateway", "client", "any")
"""What an ingest key may testify for: the gateway's points, the client's, or every point (a single trusted machine)."""

ROLE_POINTS: Final[dict[Role, frozenset[Point]]] = {
    "gateway": frozenset(("source", "ingress", "egress")),
    "client": frozenset(("wire", "parsed", "applied")),
}
"""Which points an ingest key of this role may testify for; `any` is bound to none."""

# --------------------------------------------------------------------------- parts of an event

PARTS: Final = (
    "role",
    "text",
    "reasoning",
    "refusal",
    "tool_start",
    "tool_args",
    "snapshot",
    "patch",
    "usage",
    "finish",
    "terminal",
    "error",
    "ping",
    "other",
    "malformed",
)
"""What an event carries; bit n of a parts mask is PARTS[n]."""

PART: Final[dict[str, int]] = {name: 1 << bit for bit, name in enumerate(PARTS)}

ROLE, TEXT, REASONING, REFUSAL = PART["role"], PART["text"], PART["reasoning"], PART["refusal"]
TOOL_START, TOOL_ARGS, SNAPSHOT, PATCH = PART["tool_start"], PART["tool_args"], PART["snapshot"], PART["patch"]
USAGE, FINISH, TERMINAL, ERROR = PART["usage"], PART["finish"], PART["terminal"], PART["error"]
PING, OTHER, MALFORMED = PART["ping"], PART["other"], PART["malformed"]

ALL_PARTS: Final = (1 << len(PARTS)) - 1

FINISH_REASONS: Final = ("stop", "length", "tool_calls", "content_filter", "refusal", "error", "other")
"""Canonical finish reasons; every profile maps its provider's words onto these."""

# --------------------------------------------------------------------------- result of an event at a point

RESULTS: Final = (
    "ok",
    "malformed",
    "oversize",
    "after_terminal",
    "wrong_stream",
    "raised",
    "applied",
    "ignored",
    "partial",
    "overflow_dropped",
    "duplicate",
    "gap",
    "reordered",
    "buffered",
    "stall_flushed",
)
"""What happened to an event here; the number on the wire is the place in this tuple."""

RESULT: Final[dict[str, int]] = {name: code for code, name in enumerate(RESULTS)}

# --------------------------------------------------------------------------- how a point ended

EndedBy = Literal["peer", "own"]

CLIENT_ENDS: Final[dict[str, EndedBy]] = {
    "eof": "peer",
    "reset": "peer",
    "protocol_error": "peer",
    "cancelled": "own",
    "timeout": "own",
    "abandoned": "own",
    "raised": "own",
    "stopped_at_terminal": "own",
    "unknown": "own",
}
"""Ends at ingress, wire, parsed and applied (everyone who reads), by who made them."""

EGRESS_ENDS: Final[dict[str, EndedBy]] = {
    "eof": "peer",
    "disconnected": "own",
    "raised": "own",
    "shutdown": "own",
}
"""Ends at egress (the one who writes): `eof` means that the final body was handed to the server."""

# --------------------------------------------------------------------------- levels and modes

Mode = Literal["off", "observe", "stamp"]
Level = Literal["counters", "rows", "digests"]

# --------------------------------------------------------------------------- framing

FRAMINGS: Final = ("sse", "ndjson", "json_array", "eventstream")
"""How bodies are cut into events: server-sent events, lines of JSON, one JSON array, AWS event stream messages."""

MISFRAMINGS: Final = ("ndjson", "json", "json_error", "html", "sse", "text", "broken")
"""What a body turned out to be where it was announced as something else. `json_error` is a JSON object with `error`,
the whole body or behind proper events; `broken` one whose framing itself contradicts itself (a checksum)."""

# --------------------------------------------------------------------------- stamping

Stamp = Literal["none", "id", "field"]
STAMPS: Final[tuple[Stamp, ...]] = ("none", "id", "field")
"""How a gateway numbers the events that leave it: not at all, in the SSE `id` field, in the JSON object."""
TAG_DIGITS: Final = 8
"""Hex digits of the exchange that stand in a stamp."""

# --------------------------------------------------------------------------- declared edits

Edit = Literal["filter", "merge", "rewrite"]
EDITS: Final[tuple[Edit, ...]] = ("filter", "merge", "rewrite")
"""What a gateway may say that it does to an answer on purpose: leave events out, cut the same content into other
events, change content."""

# --------------------------------------------------------------------------- HTTP

HEADER: Final = "stream-witness"
KEY_HEADER: Final = "stream-witness-key"

# --------------------------------------------------------------------------- Kafka

TOPIC: Final = "otlp_spans"
DEAD_TOPIC: Final = "otlp_spans_dead"
KAFKA_VERSION_HEADER: Final = "sw-version"
KAFKA_ROLE_HEADER: Final = "sw-role"
KAFKA_RECEIVED_HEADER: Final = "sw-received"

# --------------------------------------------------------------------------- bounds

KEY_BYTES: Final = 16
"""Of a stream's key."""
MAX_FRAME_BYTES: Final = 1 << 20
MAX_BLOCK_ROWS: Final = 512
MAX_BLOCK_NS: Final = 2_000_000_000
MAX_EVENTS: Final = 1 << 20
"""Of one record. A claim of more is believed to be none: whoever compares it would need as much memory as it claims."""
MARK_BYTES: Final = 256
MAX_SLOTS: Final = 16
MISSING: Final = 0xFFFFFFFF
"""A row's value that is not known."""

# --------------------------------------------------------------------------- attributes

ID: Final = "stream.id"
EXCHANGE: Final = "stream.exchange"
WITNESS: Final = "stream.witness"
RECORDER: Final = "stream.recorder"
POINT: Final = "stream.point"
ATTEMPT: Final = "stream.attempt"
HOP: Final = "stream.hop"
LEG: Final = "stream.leg"
LEGS: Final = "stream.legs"
OF: Final = "stream.of"
DELIVERS: Final = "stream.delivers"
EXPECTED: Final = "stream.expected"
BLOCK_INDEX: Final = "stream.block.index"
BLOCK_ROWS: Final = "stream.block.rows"
BLOCK_POSITION: Final = "stream.block.position"
BLOCK_FINAL: Final = "stream.block.final"
BLOCK_SUMMARY: Final = "stream.block.summary"
BLOCK_MAX_BEFORE: Final = "stream.block.max_before"
BLOCK_MAX_AFTER: Final = "stream.block.max_after"
BLOCK_REGRESSIONS: Final = "stream.block.regressions"
BLOCK_HAS: Final = "stream.block.has"
"""Which of the attributes whose absence says something (MARKED) the block was sent with."""
ROWS: Final = "stream.rows"
TOTALS: Final = (
    "events",
    "bytes",
    "content",
    "judged",
    "duplicates",
    "gaps",
    "reorders",
    "malformed",
    "comments",
    "pings",
    "read_calls",
    "dropped_rows",
)
"""Cumulative counters; the attribute is `stream.total.<name>`."""
TOTAL_PREFIX: Final = "stream.total."
TOTAL_PARTS: Final = "stream.total.parts"
DIGEST_PAYLOAD_S: Final = "stream.digest.payload.s"
DIGEST_PAYLOAD_O: Final = "stream.digest.payload.o"
DIGEST_SEMANTIC_S: Final = "stream.digest.semantic.s"
DIGEST_SEMANTIC_O: Final = "stream.digest.semantic.o"
CONTENT_MARKS: Final = "stream.content.marks"
SLOT_DIGESTS: Final = "stream.slot.digests"
COMPLETE: Final = "stream.complete"
FRAMING: Final = "stream.framing"
"""How the body was cut into events (FRAMINGS)."""
MISFRAMED: Final = "stream.misframed"
"""What the body turned out to be where that is not what it was announced as (MISFRAMINGS); absent where it is."""
STAMPED: Final = "stream.stamped"
"""How the events of this exchange are numbered (STAMPS); absent where they are not."""
UPSTREAM_FIRST: Final = "stream.upstream.first"
UPSTREAM_LAST: Final = "stream.upstream.last"
UPSTREAM_HOLES: Final = "stream.upstream.holes"
"""The provider's own sequence numbers, where it has them: first, last, and how many were missing between."""
UPSTREAM_MISMATCHES: Final = "stream.upstream.mismatches"
"""Snapshots of the provider's own that differ from the deltas before them; absent: none."""
UPSTREAM_BREAKS: Final = "stream.upstream.breaks"
"""Events that the provider's own grammar does not allow where they stand; absent: none."""
UPSTREAM_FAULTS: Final = "stream.upstream.faults"
"""What the stream proves against itself: `kind count first last` each, positions included; `3+`: at least 3."""
UPSTREAM_NOISE: Final = "stream.upstream.noise"
"""Malformed events that are no broken pieces of the format, but other words in the place of an event; absent: none."""
OUT_OF_TURN: Final = "stream.out_of_turn"
"""Of who reads a body: events that came again, or late, by the numbers that the body itself carries; absent: none."""
UPSTREAM_EXCHANGE: Final = "stream.upstream.exchange"
"""Ingress: the exchange of the instrumented gateway that was read here (one hop further in)."""
FIRST_NUMBER: Final = "stream.first"
"""Egress of a stamped exchange that continues a stream: the number of its first event; absent: 0."""
FOREIGN: Final = "stream.foreign"
"""`applied`: events of another stream of the same process that were built into this one; absent: none."""
EARLIER_RECORD: Final = "stream.earlier_record"
"""`applied`: another record was closed before this one began, and may hold what this one does not; absent: none."""
SHARED_RECORD: Final = "stream.shared_record"
"""`applied`: several report to this record, each of all or of a part, in an order of its own; absent: one does."""
LINKED: Final = "stream.linked"
"""The stream that this one was to resume, and could not."""
EDITED: Final = "stream.edited"
"""What the gateway says that it did to the answer on purpose (EDITS); absent: nothing."""
END: Final = "stream.end"
END_DETAIL: Final = "stream.end.detail"
OBSERVER_FAULT: Final = "stream.observer_fault"
DROPPED_BLOCKS: Final = "stream.dropped_blocks"
PENDING_BYTES: Final = "stream.pending.bytes"
PENDING_PARTS: Final = "stream.pending.parts"
"""Parts of the event that the pending bytes are, had a blank line closed them; absent where they are none."""
FIRST_EVENT_MS: Final = "stream.first_event.ms"
READ_WAIT_MS: Final = "stream.read_wait.ms"
READ_WAIT_AFTER: Final = "stream.read_wait.after"
HOLD_MS: Final = "stream.hold.ms"
HOLD_AFTER: Final = "stream.hold.after"
HOLD_TOTAL_MS: Final = "stream.hold.total.ms"
"""How long in all the consumer did not ask (at egress: how long the server took pieces)."""
LAST_WAIT_MS: Final = "stream.last_wait.ms"
"""How long the point had been asking for more when it ended."""
GATHERED: Final = "stream.gathered"
"""Whether the reader's library waited for more bytes than had come before it handed any on; absent: it did not."""
SHARED_NUMBERS: Final = "stream.calls.shared_numbers"
"""Calls that began under a number that another had before them, by which some would join the two; absent: none."""
UNREAD: Final = "stream.unread"
"""Events with output that the profile does not read (sound, images, …); absent: none."""
ASKED_AGAIN: Final = "stream.asked_again"
"""`parsed`: the iterator had opened another response by itself, whose events it may hand on; absent: it had not."""
RESUMES: Final = "stream.resumes"
"""`parsed`, `applied`: the request asked to go on behind an event (`Last-Event-ID`), which its client has had."""
READ_OUT: Final = "stream.read_out"
"""`parsed`: whether the parser went on reading behind what it handed on, to its end; absent: that is not known."""
UNANSWERED: Final = "stream.unanswered"
"""Requests of the gateway, made upstream for this answer, to which no response had come when it ended; absent: none."""
CLOCK_STEP_MS: Final = "stream.clock.step.ms"
"""By how much wall clock and monotonic clock went apart meanwhile: the machine slept, or its time was set."""
PROGRESS_GAP_MS: Final = "stream.progress_gap.ms"
PROGRESS_GAP_AFTER: Final = "stream.progress_gap.after"
CLIENT: Final = "stream.client"
"""Which library reads the stream at this point (`httpx`, `openai`, …); shown in lists."""

PROVIDER_NAME: Final = "gen_ai.provider.name"
UNKNOWN_PROVIDER: Final = "unknown"
"""The provider's name where only the framing of its format is known."""
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS_ATTRIBUTE: Final = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
USAGE_INPUT: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT: Final = "gen_ai.usage.output_tokens"
ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
STATUS_CODE: Final = "http.response.status_code"
FIRST_ERROR_STATUS: Final = 400
"""The first status with which a server says no."""

OWN_ATTRIBUTES: Final = frozenset(
    name for name in (*globals().values(), *(TOTAL_PREFIX + total for total in TOTALS))
    if isinstance(name, str) and name.startswith("stream.") and name != TOTAL_PREFIX
)  # fmt: skip
"""Every attribute of ours: those above, and one for each counter. Nobody stores others under our prefix."""

MARKED: Final = (
    ATTEMPT, HOP, LEG, LEGS, OF, DELIVERS, EXPECTED, CLIENT, BLOCK_FINAL, BLOCK_SUMMARY, BLOCK_MAX_BEFORE,
    BLOCK_MAX_AFTER, BLOCK_REGRESSIONS, *(TOTAL_PREFIX + total for total in TOTALS), TOTAL_PARTS, SLOT_DIGESTS,
    FOREIGN, FRAMING, MISFRAMED, STAMPED, FIRST_NUMBER, LINKED, EDITED, UPSTREAM_EXCHANGE, UPSTREAM_FIRST,
    UPSTREAM_LAST, UPSTREAM_HOLES, UPSTREAM_MISMATCHES, UPSTREAM_BREAKS, UPSTREAM_FAULTS, UPSTREAM_NOISE, COMPLETE,
    END, PENDING_BYTES, PENDING_PARTS, FIRST_EVENT_MS, READ_WAIT_MS, READ_WAIT_AFTER, HOLD_MS, HOLD_AFTER,
    PROGRESS_GAP_MS, PROGRESS_GAP_AFTER, HOLD_TOTAL_MS, LAST_WAIT_MS, GATHERED, CLOCK_STEP_MS, OBSERVER_FAULT,
    DROPPED_BLOCKS, PROVIDER_NAME, RESPONSE_ID, FINISH_REASONS_ATTRIBUTE, STATUS_CODE, ERROR_TYPE, USAGE_OUTPUT,
    EARLIER_RECORD, SHARED_NUMBERS, UNREAD, UNANSWERED, SHARED_RECORD, ASKED_AGAIN, OUT_OF_TURN,
    RESUMES,
)  # fmt: skip
"""Attributes whose absence says something (none, 0, not so), by the bits of `stream.block.has`. Only ever appended to.

Without sums, rows, marks or words for people a block only tells less, and nothing else.
"""
