"""Accepted spans → messages: the blocks of one stream together, none larger than Kafka takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from streamwitness import semconv as sc
from streamwitness.blocks import Block

from .sink import Message

_FRAME: Final = 64
"""Bytes that the layers around a resource or a span take at most, rounded up."""


@dataclass(slots=True)
class _Parcel:
    """A message in the making; `scopes` has one ScopeSpans for each source its spans came from."""

    request: ExportTraceServiceRequest = field(default_factory=ExportTraceServiceRequest)
    size: int = 0
    blocks: list[Block] = field(default_factory=list)
    scopes: dict[int, ScopeSpans] = field(default_factory=dict)


class Parcels:
    """Groups spans by stream; a stream's message that is full is followed by another one."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._all: list[_Parcel] = []
        self._open: dict[str, _Parcel] = {}

    def add(self, block: Block, span: Span, source: int, resource: Resource) -> None:
        """Put one accepted span into its stream's message; `source` numbers the ScopeSpans that it came in."""
        size = span.ByteSize() + _FRAME
        source_size = resource.ByteSize() + _FRAME
        parcel = self._open.get(block.stream)
        if parcel is None or parcel.size + size + source_size > self._max_bytes:
            parcel = self._open[block.stream] = _Parcel()
            self._all.append(parcel)
        scope = parcel.scopes.get(source)
        if scope is None:
            scope = parcel.scopes[source] = _new_scope(parcel.request, resource)
            parcel.size += source_size
        scope.spans.append(span)
        parcel.blocks.append(block)
        parcel.size += size

    def messages(self) -> tuple[Message, ...]:
        """All messages, in the order of their first span."""
        return tuple(
            Message(parcel.blocks[0].stream, parcel.request.SerializeToString(), tuple(parcel.blocks))
            for parcel in self._all
        )


def _new_scope(request: ExportTraceServiceRequest, resource: Resource) -> ScopeSpans:
    group = request.resource_spans.add()
    group.resource.CopyFrom(resource)
    scope = group.scope_spans.add()
    scope.scope.name = sc.SCOPE
    return scope
