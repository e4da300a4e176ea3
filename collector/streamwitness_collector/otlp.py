"""An OTLP trace request → the blocks that are accepted, by stream, and why every other span was refused.

Pure. A span is accepted whole or refused alone: it must be of the scope `streamwitness`, be a block that does not
contradict itself (streamwitness.blocks), and speak only for points that its key may testify for. What is passed on
holds nothing but allowed attributes: whatever else a span carries (events, links, texts of other instrumentation)
could be content, and ends here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from streamwitness import semconv as sc
from streamwitness.blocks import Block, BlockError
from streamwitness.semconv import Role

from .config import CollectorSettings
from .parcels import Parcels
from .sink import Message
from .wire import Scoped, Walker, WireError

REASONS: Final[dict[str, str]] = {
    "scope": f"not of the instrumentation scope {sc.SCOPE!r}: this endpoint takes only its blocks",
    "undecodable": "no protobuf span",
    "too_large": "larger than --max-span-bytes",
    "too_many": "more spans in one request than are taken",
    "attribute": "an attribute stands twice, or has a value that cannot be stored",
    "time": "its times are impossible",
    "role": "the ingest key may not testify for this point",
    "block": "the block contradicts itself",
}
"""Why a span is refused: the label of the metric and what it means."""

SPAN_ATTRIBUTES: Final = frozenset(
    (
        sc.PROVIDER_NAME, sc.REQUEST_MODEL, sc.RESPONSE_MODEL, sc.RESPONSE_ID, sc.FINISH_REASONS_ATTRIBUTE,
        sc.TIME_TO_FIRST_CHUNK, sc.USAGE_INPUT, sc.USAGE_OUTPUT, sc.ERROR_TYPE, sc.SERVER_ADDRESS, sc.STATUS_CODE,
        "server.port",
    )
)  # fmt: skip
"""Span attributes that are passed on, besides those of ours (`semconv.OWN_ATTRIBUTES`)."""

RESOURCE_PREFIXES: Final = ("service.", "telemetry.sdk.", "deployment.", "k8s.", "cloud.", "host.name", "process.pid")
"""Resource attributes that are passed on: those that begin so."""

MAX_SPANS: Final = 8192
MAX_FIELDS: Final = 8 * MAX_SPANS
MAX_ITEMS: Final = 1024
MAX_TEXT: Final = 1024
MAX_RESOURCE_BYTES: Final = 4096
MAX_ENCODED: Final = 1 << 16
MAX_TIME: Final = 1 << 62
MAX_ORDINAL: Final = (1 << 31) - 1
MAX_EXPLAINED: Final = 8


class UndecodableError(ValueError):
    """The body is no ExportTraceServiceRequest."""


class RefusedSpanError(ValueError):
    """One span is not taken; `reason` is a key of REASONS."""

    def __init__(self, reason: str, text: str = "") -> None:
        super().__init__(text or REASONS[reason])
        self.reason = reason


@dataclass(slots=True)
class Intake:
    """What became of the spans of one request."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    dropped_attributes: int = 0
    messages: tuple[Message, ...] = ()
    explained: Counter[str] = field(default_factory=Counter)

    def refuse(self, reason: str, text: str, spans: int = 1) -> None:
        """Count refused spans; at most MAX_EXPLAINED different texts are kept."""
        self.refused[reason] += spans
        text = text[:256]
        if text in self.explained or len(self.explained) < MAX_EXPLAINED:
            self.explained[text] += spans

    @property
    def explanation(self) -> str:
        """For the sender: how many spans were refused and why; empty if none was."""
        if not (refused := self.refused.total()):
            return ""
        lines = [f"{count} × {text}" for text, count in self.explained.most_common()]
        if rest := refused - self.explained.total():
            lines.append(f"{rest} × other reasons")
        return f"refused {refused} of {refused + self.accepted} spans: " + "; ".join(lines)


def take(body: bytes, role: Role, settings: CollectorSettings) -> Intake:
    """Read a request body, decompressed; raises UndecodableError when its outer layers are no trace request."""
    taker = _Taker(role, settings)
    try:
        for number, scoped in enumerate(Walker(body, MAX_FIELDS).scopes()):
            taker.take(number, scoped)
    except (WireError, DecodeError) as error:
        raise UndecodableError(f"the body is no ExportTraceServiceRequest in protobuf: {error}") from error
    return taker.finish()


@dataclass(frozen=True, slots=True)
class _Source:
    """Where spans came from: the number of their ScopeSpans, and its resource as protobuf and as a dict."""

    number: int
    resource: Resource
    values: dict[str, Any]


class _Taker:
    """Takes the spans of one request, one after the other."""

    def __init__(self, role: Role, settings: CollectorSettings) -> None:
        self._role = role
        self._settings = settings
        self._intake = Intake()
        self._parcels = Parcels(settings.max_message_bytes)
        self._spans = 0

    def take(self, number: int, scoped: Scoped) -> None:
        """All spans of one scope."""
        ours = len(scoped.scope) <= MAX_ENCODED and InstrumentationScope.FromString(scoped.scope).name == sc.SCOPE
        if not ours:
            self._intake.refuse("scope", REASONS["scope"], len(scoped.spans))
            return
        source = _source(number, scoped.resource, self._intake)
        for data in scoped.spans:
            self._spans += 1
            try:
                self._take_span(data, source)
            except RefusedSpanError as refusal:
                self._intake.refuse(refusal.reason, str(refusal))

    def finish(self) -> Intake:
        """What became of the request."""
        self._intake.messages = self._parcels.messages()
        return self._intake

    def _take_span(self, data: bytes, source: _Source) -> None:
        most = self._settings.max_span_bytes
        if self._spans > MAX_SPANS:
            raise RefusedSpanError("too_many", f"at most {MAX_SPANS} spans are taken in one request")
        if len(data) > most:
            raise RefusedSpanError("too_large", f"a span has {len(data)} bytes, at most {most}")
        span = _decoded(data)
        self._intake.dropped_attributes += _strip(span)
        block = _block(span, source.values, self._role)
        self._parcels.add(block, span, source.number, source.resource)
        self._intake.accepted += 1


def _decoded(data: bytes) -> Span:
    try:
        return Span.FromString(data)
    except DecodeError as error:
        raise RefusedSpanError("undecodable") from error


def _strip(span: Span) -> int:
    """Take out of a span what is not passed on; the number of attributes taken out."""
    for name in ("events", "links", "trace_state", "dropped_events_count", "dropped_links_count"):
        span.ClearField(name)
    span.status.message = ""
    span.DiscardUnknownFields()
    allowed = [item for item in span.attributes if _allowed(item.key)]
    dropped = len(span.attributes) - len(allowed)
    if dropped:
        kept = [KeyValue(key=item.key, value=item.value) for item in allowed]
        span.ClearField("attributes")
        span.attributes.extend(kept)
    return dropped


def _allowed(key: str) -> bool:
    return key in sc.OWN_ATTRIBUTES or key in SPAN_ATTRIBUTES


def _block(span: Span, resource: dict[str, Any], role: Role) -> Block:
    """The span as a valid block whose key may speak for its point; raises RefusedSpanError."""
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    if not start <= end < MAX_TIME:
        raise RefusedSpanError("time", f"a span begins at {start} and ends at {end} ns")
    try:
        block = Block.parse(_values(span.attributes), start_ns=start, end_ns=end, resource=resource, role=role)
    except BlockError as error:
        raise RefusedSpanError("block", str(error)) from error
    if role != "any" and block.point not in sc.ROLE_POINTS[role]:
        raise RefusedSpanError("role", f"{sc.POINT} is {block.point}, a {role} key may not testify for it")
    for name in ("attempt", "hop", "leg", "index"):
        if (getattr(block, name) or 0) > MAX_ORDINAL:
            raise RefusedSpanError("block", f"{name} is {getattr(block, name)}, at most {MAX_ORDINAL}")
    span.name = f"stream {block.point}"
    return block


# --------------------------------------------------------------------------- attribute values


def _values(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    """Attributes as a dict. A repeated key would let two readers see two different blocks: refused."""
    out: dict[str, Any] = {}
    for item in attributes:
        if item.key in out:
            raise RefusedSpanError("attribute", f"{item.key[:MAX_TEXT]} stands twice")
        out[item.key] = _value(item.key, item.value)
    return out


def _value(key: str, value: AnyValue) -> Any:
    """An attribute's value; refused when it could not be stored or shown (NUL, not finite, nested, overlong)."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        items = value.array_value.values
        if len(items) > MAX_ITEMS or any(item.WhichOneof("value") == "array_value" for item in items):
            raise RefusedSpanError("attribute", f"{key} is nested or has more than {MAX_ITEMS} items")
        return [_value(key, item) for item in items]
    if kind is None or kind == "kvlist_value":
        raise RefusedSpanError("attribute", f"{key} has no value or a map as its value")
    plain = getattr(value, kind)
    if kind == "string_value" and ("\x00" in plain or len(plain) > MAX_TEXT):
        raise RefusedSpanError("attribute", f"{key} has a NUL or more than {MAX_TEXT} characters")
    if kind == "double_value" and not math.isfinite(plain):
        raise RefusedSpanError("attribute", f"{key} is {plain}")
    return plain


def _source(number: int, encoded: bytes, intake: Intake) -> _Source:
    """The resource with its allowed attributes; what does not fit is dropped and counted.

    Bounded, because it is repeated in the message of every stream.
    """
    source = _Source(number, Resource(), {})
    size = 0
    for item in Resource.FromString(encoded if len(encoded) <= MAX_ENCODED else b"").attributes:
        size += len(item.key) + item.value.ByteSize()
        try:
            if item.key in source.values or not item.key.startswith(RESOURCE_PREFIXES) or size > MAX_RESOURCE_BYTES:
                raise RefusedSpanError("attribute")
            source.values[item.key] = _value(item.key, item.value)
            source.resource.attributes.append(item)
        except RefusedSpanError:
            intake.dropped_attributes += 1
    return source
