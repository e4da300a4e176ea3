"""Blocks and a judge for tests of the analyzer: as few fields as a test needs, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from streamwitness import rows as rows_codec
from streamwitness import semconv as sc
from streamwitness.blocks import Block
from streamwitness_analyzer.settle import Life, Patience

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


def stream_id(n: int) -> str:
    """The n-th stream's id."""
    return f"{n:032x}"


def block(
    stream: int = 1,
    point: sc.Point = "egress",
    *,
    index: int = 0,
    rows: int = 3,
    position: int = 0,
    final: bool = False,
    end: str = "eof",
    expected: Sequence[sc.Point] = ("egress", "wire"),
    results: Sequence[int] = (),
    **changes: Any,
) -> Block:
    """A valid block of one stream at one point; recorder and witness follow from both."""
    number = f"{stream:012x}{sc.POINTS.index(point):04x}"
    columns = {"bytes": [10] * rows, "result": list(results) or [0] * rows}
    values: dict[str, Any] = {
        "stream": stream_id(stream),
        "exchange": f"{stream:016x}",
        "witness": number,
        "recorder": number,
        "point": point,
        "index": index,
        "position": position,
        "row_count": rows,
        "rows": rows_codec.encode(columns, rows) if rows else None,
        "final": final,
        "end": end if final else None,
        "expected": sum(1 << sc.POINTS.index(name) for name in expected),
        "totals": dict.fromkeys(sc.TOTALS, 0) | {"events": position + rows, "bytes": 10 * (position + rows)},
        "extra": {sc.CLIENT: "httpx", sc.PROVIDER_NAME: "openai"},
        "start_ns": START,
        "end_ns": START + SECOND,
        "role": "any",
    }
    return Block(**(values | changes))


def otlp(blocks: Sequence[Block], *, scope: str = sc.SCOPE) -> bytes:
    """The blocks as a serialized ExportTraceServiceRequest, written by hand so as to share no code with the SDK."""
    request = ExportTraceServiceRequest()
    scoped = request.resource_spans.add().scope_spans.add()
    scoped.scope.name = scope
    for item in blocks:
        span = scoped.spans.add(name=f"stream {item.point}")
        span.start_time_unix_nano, span.end_time_unix_nano = item.start_ns, item.end_ns
        for key, value in item.attributes().items():
            _set(span.attributes.add(key=key).value, value)
    return request.SerializeToString()


def _set(out: AnyValue, value: Any) -> None:
    if isinstance(value, tuple | list):
        out.array_value.SetInParent()
        for item in value:
            _set(out.array_value.values.add(), item)
        return
    kinds = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value", bytes: "bytes_value"}
    setattr(out, kinds[type(value)], value)


@dataclass
class PlainJudge:
    """A stand-in that counts: whatever the store and the steps do wrong shows in its document.

    All closed: every point that a block expects has a closing block. Lost at wire: egress events less wire events.
    """

    JUDGE_VERSION: int = 1
    fails_on: str = ""

    def all_closed(self, blocks: Sequence[Block]) -> bool:
        """Whether each expected point has closed."""
        expected = {sc.POINTS[bit] for item in blocks for bit in range(6) if item.expected >> bit & 1}
        return bool(blocks) and expected <= {item.point for item in blocks if item.final}

    def judge(
        self, blocks: Sequence[Block], *, settled: bool, expired: bool = False, excess: int = 0
    ) -> dict[str, Any]:
        """A whole verdict document, made by counting."""
        if blocks and blocks[0].stream == self.fails_on:
            raise RuntimeError("a defect of the judge")
        events = {item.point: item.totals["events"] for item in blocks if item.final}
        lost = max(0, events.get("egress", 0) - events.get("wire", events.get("egress", 0)))
        missing = [] if self.all_closed(blocks) or not settled else ["wire"]
        closed = any(item.final for item in blocks)
        ending = ("completed", "ok") if closed else ("unwitnessed", "unknown")
        finding = {"kind": "gap", "suspects": ["transport"], "confidence": "certain", "count": lost, "sentence": ""}
        return {
            "stream": blocks[0].stream,
            "judge_version": self.JUDGE_VERSION,
            "ending": {"class": ending[0], "group": ending[1], "by": None, "finish": "stop", "after": 3, "reason": ""}
            | {"at_point": "egress", "at_ms": 1000, "silent_ms": 10, "at_bytes": 30},
            "integrity": "damaged" if lost else "unproven" if missing or excess or not settled else "intact",
            "headline": f"{lost} LOST",
            "summary": "",
            "short": f"{lost} lost",
            "confidence": "certain" if lost else None,
            "findings": [finding] if lost else [],
            "notes": [],
            "points": [],
            "why": {"seen": "", "missing": "", "cleared": [], "unknown": []},
            "telemetry": {
                "lost_blocks": 0,
                "missing_points": missing,
                "conflicts": len(blocks) - len({(item.recorder, item.index, item.summary) for item in blocks}),
                "observer_faults": 0,
                "dropped_blocks": 0,
                "excess_blocks": excess,
            },
            "labels": {"provider": "openai", "model": "m", "client": "httpx", "service": "shop"},
            "counts": {"sent": events.get("egress", 0), "used": events.get("wire", 0)},
            "blocks": sorted((item.point, item.index) for item in blocks),
            "started_ns": START,
            "ended_ns": START + SECOND,
        }


def life(judge: PlainJudge | None = None) -> Life:
    """The life of a verdict with the stand-in judge and the default patience."""
    return Life(judge or PlainJudge(), Patience())
