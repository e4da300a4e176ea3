"""A block as an OpenTelemetry span, made without a TracerProvider.

The host's provider would sample, limit and queue blocks together with the host's own spans; a `ReadableSpan` made by
hand takes none of its settings: its attributes stay the plain dict they are given as, so that no `OTEL_*` limit cuts
one. Loads the OpenTelemetry SDK.
"""

from __future__ import annotations

import os
from typing import Final

from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.sdk.version import __version__ as _sdk_version
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from streamwitness.blocks import Block
from streamwitness.semconv import OBSERVER_FAULT, SCOPE, VERSION

FAULTY_ENDS: Final = frozenset(("reset", "protocol_error", "raised"))
"""Ends that set the span status ERROR. A deliberate stop is none, and neither is a client that went away."""

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_UNSET: Final = Status(StatusCode.UNSET)
_NAMES: Final = {point: f"stream {point}" for point in ("source", "ingress", "egress", "wire", "parsed", "applied")}
_SCOPE: Final = InstrumentationScope(SCOPE, VERSION)


class SpanMaker:
    """Makes spans of one service: the resource is built once.

    `service` overrides `service.name`; without it the resource is what `OTEL_SERVICE_NAME` and
    `OTEL_RESOURCE_ATTRIBUTES` say. No other resource detector runs (some ask the network).
    """

    def __init__(self, service: str = "") -> None:
        self.resource = _resource(service)

    def span(self, block: Block) -> ReadableSpan:
        """The span of a block: from its first to its last event, child of the span that was active.

        Without an active span the trace id is the stream id.
        """
        trace_id, parent = _place(block)
        return ReadableSpan(
            name=_NAMES[block.point],
            context=SpanContext(trace_id, _random_id(), is_remote=False, trace_flags=_SAMPLED),
            parent=parent,
            resource=self.resource,
            attributes=block.attributes(),
            kind=SpanKind.INTERNAL,
            status=_status(block),
            start_time=block.start_ns,
            end_time=block.end_ns,
            instrumentation_scope=_SCOPE,
        )


class _Resource(Resource):
    """A resource that hashes once: the encoder looks each span's resource up, and `Resource` hashes by dumping JSON."""

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def _resource(service: str) -> Resource:
    attributes = {
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": _sdk_version,
        "telemetry.distro.name": SCOPE,
        "telemetry.distro.version": VERSION,
        "service.name": "unknown_service",
        **OTELResourceDetector().detect().attributes,
    }
    if service:
        attributes["service.name"] = service
    return _Resource(attributes)


def _place(block: Block) -> tuple[int, SpanContext | None]:
    if block.context is None:
        return int(block.stream, 16) or 1, None
    trace_id, span_id = block.context
    return trace_id, SpanContext(trace_id, span_id, is_remote=False, trace_flags=_SAMPLED)


def _random_id() -> int:
    """From the system, not from `random`: the host may have seeded that, and a forked child shares its state."""
    return int.from_bytes(os.urandom(8), "big") or 1


def _status(block: Block) -> Status:
    if block.end in FAULTY_ENDS:
        return Status(StatusCode.ERROR, block.end)
    if OBSERVER_FAULT in block.extra:
        return Status(StatusCode.ERROR, "observer fault")
    return _UNSET
