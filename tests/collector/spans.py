"""Blocks and requests for the collector's tests: valid by default, one thing changed where a test needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags

from streamwitness import rows
from streamwitness import semconv as sc
from streamwitness.blocks import Block

START = 1_700_000_000_000_000_000


def block(number: int = 1, **changes: Any) -> Block:
    """A closing block of three events at `wire`, of the stream `number`."""
    columns = {"parts": [sc.ROLE, sc.TEXT, sc.FINISH], "bytes": [40, 41, 42], "result": [0, 0, 0]}
    values: dict[str, Any] = {
        "stream": f"{number:032x}",
        "exchange": f"{number:016x}",
        "witness": f"{number + 1:016x}",
        "recorder": f"{number + 2:016x}",
        "point": "wire",
        "index": 0,
        "position": 0,
        "row_count": 3,
        "rows": rows.encode(columns, 3),
        "final": True,
        "end": "eof",
        "totals": dict.fromkeys(sc.TOTALS, 0) | {"events": 3},
        "start_ns": START,
        "end_ns": START + 1000,
    }
    return Block(**values | changes)


def span(
    source: Block | Mapping[str, Any],
    *,
    scope: str = sc.SCOPE,
    resource: Mapping[str, Any] | None = None,
    times: tuple[int, int] = (START, START + 1000),
) -> ReadableSpan:
    """The span of a block, or of attributes that are no block."""
    attributes = source.attributes() if isinstance(source, Block) else dict(source)
    context = SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return ReadableSpan(
        name="some name",
        context=context,
        resource=Resource(dict(resource or {"service.name": "shop"})),
        attributes=attributes,
        instrumentation_scope=InstrumentationScope(scope),
        start_time=times[0],
        end_time=times[1],
    )


def body(spans: Sequence[ReadableSpan]) -> bytes:
    """The spans as a serialized ExportTraceServiceRequest."""
    return encode_spans(spans).SerializeToString()
