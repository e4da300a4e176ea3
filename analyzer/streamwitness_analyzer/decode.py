"""Kafka message → blocks. Pure: bytes and headers go in, blocks and refusals come out.

Both kinds of message are read the same way, because the join does not rely on the key: the blocks of one stream
keyed by our collector, and the unkeyed mixture that a stock OpenTelemetry Collector writes, other people's spans
included. Only spans of the scope `streamwitness` are ours; the rest is left alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from streamwitness import semconv as sc
from streamwitness.blocks import Block, BlockError

_MILLISECOND: Final = 1_000_000
_LATEST: Final = 1 << 62
_MAX_DEPTH: Final = 8

Headers = Sequence[tuple[str, bytes | None]]


class UndecodableMessage(ValueError):
    """Nothing in the message can be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Message:
    """A Kafka record as far as we need it; `timestamp` is Kafka's, in Unix milliseconds."""

    topic: str
    partition: int
    offset: int
    value: bytes
    headers: Headers = ()
    timestamp: int = 0

    def header(self, name: str) -> str | None:
        """The first header of that name as text, None where there is none or it is no ASCII."""
        value = next((value for key, value in self.headers if key == name), None)
        return value.decode("ascii") if value is not None and value.isascii() else None

    @property
    def received_ns(self) -> int:
        """When the collector had it: the header `sw-received`, else the broker's own timestamp. Unix ns."""
        text = self.header(sc.KAFKA_RECEIVED_HEADER) or ""
        if text.isdigit() and len(text) < 20 and 0 < int(text) < _LATEST:
            return int(text)
        return min(max(self.timestamp, 0) * _MILLISECOND, _LATEST)


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a message held: the valid blocks, and for every refused span why."""

    blocks: list[Block]
    received_ns: int
    refused: list[str] = field(default_factory=list)


def decode(message: Message, default_role: str = "") -> Decoded:
    """Read one message; raises UndecodableMessage when it is no OTLP, or when every span of ours in it is refused."""
    version = message.header(sc.KAFKA_VERSION_HEADER)
    if version is not None and version != str(sc.WIRE_VERSION):
        raise UndecodableMessage(f"{sc.KAFKA_VERSION_HEADER} is {version!r}, known is {sc.WIRE_VERSION}")
    role = message.header(sc.KAFKA_ROLE_HEADER) or default_role or None
    if role is not None and role not in sc.ROLES:
        raise UndecodableMessage(f"{sc.KAFKA_ROLE_HEADER} is {role!r}, known: {', '.join(sc.ROLES)}")
    blocks, refused = decode_otlp(message.value, role)
    if refused and not blocks:
        raise UndecodableMessage(refused[0])
    return Decoded(blocks, message.received_ns, refused)


def decode_otlp(value: bytes, role: str | None) -> tuple[list[Block], list[str]]:
    """Read an ExportTraceServiceRequest; raises UndecodableMessage when the bytes are none."""
    try:
        request = ExportTraceServiceRequest.FromString(value)
    except (DecodeError, ValueError, RecursionError) as error:
        raise UndecodableMessage(f"no OTLP trace request: {error}") from error
    blocks: list[Block] = []
    refused: list[str] = []
    for resource, span in _our_spans(request):
        try:
            blocks.append(_block(span, resource, role))
        except BlockError as error:
            refused.append(str(error))
    return blocks, refused


def _our_spans(request: ExportTraceServiceRequest) -> Iterable[tuple[dict[str, Any], Any]]:
    for group in request.resource_spans:
        scopes = [scoped for scoped in group.scope_spans if scoped.scope.name == sc.SCOPE]
        if not scopes:
            continue
        resource = {item.key: _value(item.value) for item in group.resource.attributes}
        for span in itertools.chain.from_iterable(scoped.spans for scoped in scopes):
            yield resource, span


def _block(span: Any, resource: dict[str, Any], role: str | None) -> Block:
    block = Block.parse(
        _unique(span.attributes),
        start_ns=_time(span.start_time_unix_nano),
        end_ns=_time(span.end_time_unix_nano),
        resource=resource,
        role=role,
    )
    allowed = sc.ROLE_POINTS.get(role)  # type: ignore[call-overload]
    if allowed is not None and block.point not in allowed:
        raise BlockError(f"{sc.POINT} is {block.point!r}, a {role} key may not testify for it")
    return block


def _unique(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    """The attributes as a dict. A repeated key would let two readers see two different blocks: refused."""
    out: dict[str, Any] = {}
    for item in attributes:
        if item.key in out:
            raise BlockError(f"{item.key} stands twice")
        out[item.key] = _value(item.value)
    return out


def _time(nanoseconds: int) -> int:
    if nanoseconds >= _LATEST:
        raise BlockError(f"a time of {nanoseconds} ns is beyond what can be stored")
    return nanoseconds


def _value(value: AnyValue, depth: int = 0) -> Any:
    """An OTLP value as Python; nested maps are of no use to us and read as None."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return tuple(_value(item, depth + 1) for item in value.array_value.values) if depth < _MAX_DEPTH else None
    return None if kind in (None, "kvlist_value") else getattr(value, kind)
