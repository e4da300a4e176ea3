"""The verdict document of one stream: endings, findings, points and words put together, ready for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from streamwitness.blocks import Block
from streamwitness.semconv import (
    CLIENT,
    FINISH_REASONS_ATTRIBUTE,
    POINTS,
    PROVIDER_NAME,
    REQUEST_MODEL,
    RESPONSE_MODEL,
    Component,
)
from streamwitness_analyzer.vocabulary import ENDINGS

from . import words
from .cells import alone, draw
from .counting import counts
from .endings import OPEN, Row, ending_of
from .findings import Finding, findings_of
from .path import Path, paths
from .records import Exchange, Record, Testimony, dropped
from .states import client_state, egress_state, ingress_state

JUDGE_VERSION: Final = 1
_SHORT: Final = frozenset(("length", "content_filter"))
_DAMAGING: Final = frozenset(("certain", "narrowed"))


def document(testimony: Testimony, blocks: Sequence[Block], *, settled: bool, excess: int) -> dict[str, Any]:
    """The verdict on one stream's testimony. Before the settlement nothing in it rests on silence."""
    every = [path for exchange in testimony.exchanges for path in paths(exchange)]
    found = [finding for path in every for finding in findings_of(path)]
    found = list({finding.key: finding for finding in found}.values())
    main = _main(every)
    ending = _row(main, settled)
    missing = _missing(testimony.exchanges)
    integrity = _integrity(every, found, missing, settled and not excess)
    sent, used = counts(main) if main else (None, None)
    notes = _notes(every, main)
    said = _said(ending, integrity, found, main)
    return {
        "stream": blocks[0].stream if blocks else "",
        "judge_version": JUDGE_VERSION,
        "state": "settled" if settled else "provisional",
        "revision": 1,
        "ending": _ending(ending, main),
        "integrity": integrity,
        **said,
        "confidence": _confidence(found),
        "findings": [finding.document() for finding in found],
        "notes": notes,
        "points": _points(testimony.exchanges, every),
        "why": _why(every, found, missing, excess),
        "telemetry": _telemetry(testimony, missing) | {"excess_blocks": excess},
        "labels": _labels(testimony.records, main),
        "counts": {"sent": sent, "used": used},
        "started_ns": min((b.start_ns for b in blocks if b.start_ns), default=0),
        "ended_ns": max((b.end_ns for b in blocks), default=0),
    }


def _row(main: Path | None, settled: bool) -> Row:
    """The line of the endings table; nobody on any path: only silence."""
    if main is None:
        return ending_of("none", "none", "none") if settled else OPEN
    ends = (ingress_state(main), egress_state(main), client_state(main, settled=settled))
    return ending_of(*ends, settled=settled)


def _main(every: Sequence[Path]) -> Path | None:
    """The path that tells how the stream ended: the newest attempt, the outermost gateway, a client before none."""

    def rank(path: Path) -> tuple[int, int, bool, int]:
        client = [r for r in path.records if r.point in ("wire", "parsed", "applied")]
        return (path.exchange.attempt, path.exchange.hop, any(r.closing for r in client), len(client))

    return max(every, key=rank, default=None)


# --------------------------------------------------------------------------- ending and integrity


def _ending(row: Row, main: Path | None) -> dict[str, Any]:
    return {
        "class": row.ending,
        "group": ENDINGS.get(row.ending or "", "unknown"),
        "by": row.by,
        "finish": _finish(main),
        "after": _after(row, main),
        "reason": row.reason,
    }


def _finish(main: Path | None) -> str | None:
    for record in reversed(main.records if main else []):
        reasons = record.told(FINISH_REASONS_ATTRIBUTE)
        if isinstance(reasons, (list, tuple)) and reasons:
            return str(reasons[0])
    return None


def _after(row: Row, main: Path | None) -> int | None:
    """The last event before the end, where the stream ended: at the point next to who ended it."""
    point = {"source": "ingress", "gateway": "egress", "transport": "wire", "client": "wire"}.get(row.by or "")
    records = main.records if main else []
    if row.ending == "completed":
        point = "egress"
    at = next((r for r in records if r.point == point), None) or next(
        (r for r in records if r.point != "ingress"), None
    )
    at = at or (records[0] if records else None)
    return at.events - 1 if at is not None else None


def _missing(exchanges: Sequence[Exchange]) -> list[tuple[str, str]]:
    """(exchange, point) of points that should have testified and did not."""
    held = {(e.id, r.point) for e in exchanges for r in e.records}
    return [(e.id, point) for e in exchanges for point in POINTS if point in e.expected and (e.id, point) not in held]


def _integrity(every: Sequence[Path], found: Sequence[Finding], missing: Sequence[tuple[str, str]], final: bool) -> str:
    if any(finding.fault.confidence in _DAMAGING for finding in found):
        return "damaged"
    proven = bool(every) and not missing and all(_proven(path) for path in every)
    return "intact" if proven and final else "unproven"


def _proven(path: Path) -> bool:
    """Whether every hop there is, is intact, and there is one."""
    hop = path.upstream.hop
    gateway = hop is None or hop.status == "intact" or path.record("egress") is None
    steps = [step.hop.status == "intact" for step in path.steps]
    rejected = path.named is not None and bool(path.named.rejected)
    if hop is not None and path.record("egress") is None:
        return False
    return gateway and bool(steps) and all(steps) and not path.ambiguous and not rejected


def _confidence(found: Sequence[Finding]) -> str | None:
    levels = {finding.fault.confidence for finding in found}
    return next((level for level in ("certain", "narrowed", "inconsistent") if level in levels), None)


# --------------------------------------------------------------------------- notes


def _notes(every: Sequence[Path], main: Path | None) -> list[dict[str, Any]]:
    notes: list[dict[str, Any]] = []
    if main is not None:
        notes += _stopped(main)
        finish = _finish(main)
        if finish in _SHORT:
            notes.append(_note("short_by_design", 1, finish))
        if _unterminated(main):
            notes.append(_note("no_terminator", 1))
    superseded = {leg.recorder for path in every for leg in path.upstream.superseded}
    if superseded:
        notes.append(_note("superseded", len(superseded)))
    if any(path.upstream.recut and path.upstream.hop and path.upstream.hop.status == "intact" for path in every):
        notes.append(_note("recut", 1))
    return notes


def _stopped(path: Path) -> list[dict[str, Any]]:
    undelivered = sum(
        s.hop.unread for s in path.steps if s.after.point != "egress" and s.after.end != "stopped_at_terminal"
    )
    notes = [_note("undelivered", undelivered)] if undelivered else []
    if path.named is not None and path.named.ignored:
        notes.append(_note("ignored", len(path.named.ignored)))
    if path.named is not None and path.named.rejected:
        notes.append(_note("rejected", len(path.named.rejected)))
    return notes


def _unterminated(path: Path) -> bool:
    """Finish, then a clean end without the terminator that this provider sends."""
    first = path.records[0] if path.records else None
    provider = first.told(PROVIDER_NAME) if first else None
    return bool(first and provider == "openai" and first.complete and first.end == "eof" and not first.part("terminal"))


def _note(kind: str, count: int, detail: str | None = None) -> dict[str, Any]:
    counted = words.counted(count, "upstream attempt" if kind == "superseded" else "event")
    text = words.NOTES[kind].format(count=counted, detail=detail)
    return {"kind": kind, "count": count, "sentence": text}


# --------------------------------------------------------------------------- points, telemetry, labels


def _points(exchanges: Sequence[Exchange], every: Sequence[Path]) -> list[dict[str, Any]]:
    drawn = {recorder: cells for path in every for recorder, cells in draw(path).items()}
    reached = {path.records[-1].recorder: counts(path)[1] for path in every if path.records}
    out = []
    for exchange in exchanges:
        out += [
            _point(record, drawn.get(record.recorder) or alone(record), reached.get(record.recorder))
            for record in exchange.records
        ]
        here = {record.point for record in exchange.records}
        out += [_absent(exchange, point) for point in POINTS if point in exchange.expected - here]
    return out


def _point(record: Record, cells: str, used: int | None) -> dict[str, Any]:
    return {
        "exchange": record.exchange,
        "attempt": record.attempt,
        "hop": record.hop,
        "witness": record.witness,
        "point": record.point,
        "leg": record.leg,
        "label": words.label(record.point),
        "events": record.events,
        "used": record.events if used is None else used,
        "bytes": record.total("bytes"),
        "content": record.total("content"),
        "end": record.end,
        "complete": record.closing.complete if record.closing is not None else None,
        "held": record.held,
        "cells": cells,
        "client": record.told(CLIENT),
    }


def _absent(exchange: Exchange, point: str) -> dict[str, Any]:
    return {
        "exchange": exchange.id, "attempt": exchange.attempt, "hop": exchange.hop, "witness": "", "point": point,
        "leg": None, "label": words.label(point), "events": 0, "used": 0, "bytes": 0, "content": 0, "end": None,
        "complete": None, "held": "none", "cells": "", "client": None,
    }  # fmt: skip


def _telemetry(testimony: Testimony, missing: Sequence[tuple[str, str]]) -> dict[str, Any]:
    records = testimony.records
    return {
        "lost_blocks": sum(record.lost for record in records),
        "missing_points": sorted({point for _, point in missing}, key=lambda p: [*POINTS].index(p)),
        "conflicts": testimony.conflicts,
        "refused_blocks": testimony.refused,
        "observer_faults": sum(record.faulted for record in records),
        "dropped_blocks": dropped(records),
    }


def _labels(records: Sequence[Record], main: Path | None) -> dict[str, Any]:
    near = [*(main.records if main else ()), *records]

    def told(*keys: str) -> object:
        return next((v for key in keys for r in near if (v := r.told(key)) is not None), None)

    def resource(key: str) -> object:
        return next((v for r in near for b in r.blocks if (v := b.resource.get(key)) is not None), None)

    clients = [r.told(CLIENT) for r in reversed(near) if r.point in ("wire", "parsed", "applied")]
    return {
        "provider": told(PROVIDER_NAME),
        "model": told(RESPONSE_MODEL, REQUEST_MODEL),
        "client": next((client for client in clients if client is not None), None),
        "service": resource("service.name"),
    }


# --------------------------------------------------------------------------- words


def _said(row: Row, integrity: str, found: Sequence[Finding], main: Path | None) -> dict[str, str]:
    ending = _in_short(row, main)
    blamed = list(dict.fromkeys(finding.short for finding in found))
    completed = row.ending == "completed"
    short = "; ".join([*([] if completed and blamed else [ending]), *blamed])
    if not blamed and row.ending in ("completed", "client_cancelled", "client_timeout", "client_abandoned", None):
        short = f"{ending}, {integrity}"
    headline = found[0].headline if found else short.upper()
    if len(found) > 1:
        headline += f", AND {len(found) - 1} MORE"
    return {"headline": headline, "summary": _summary(row, integrity, found, main), "short": short}


def _in_short(row: Row, main: Path | None) -> str:
    if row.ending is None:
        return "not ended yet"
    text = words.NOT_SEEN.get(row.ending, words.ENDED[row.ending]) if row.by is None else words.ENDED[row.ending]
    after = _after(row, main)
    cut = row.ending in ("upstream_truncated", "gateway_truncated", "network_lost")
    if row.ending == "upstream_error":
        return f"{text} as event {after}" if after is not None and row.by is not None else text
    return f"{text} after {after}" if cut and after is not None and after >= 0 else text


def _summary(row: Row, integrity: str, found: Sequence[Finding], main: Path | None) -> str:
    finish = _finish(main)
    if row.ending == "completed":
        first = "Answer ended normally" + (f" ({finish})." if finish else ".")
    else:
        first = row.reason[0].upper() + row.reason[1:] + "."
    lost = sum(f.content_bytes or 0 for f in found if f.fault.change.kind in ("gap", "tail", "gap_or_late"))
    total = max((record.total("content") for record in main.records), default=0) if main else 0
    if lost:
        return f"{first} {lost} of {total} text bytes never reached the application."
    if found:
        return f"{first} {found[0].sentence}"
    return f"{first} Nothing was lost, doubled or displaced{_as_far(main)}." if integrity == "intact" else first


def _as_far(main: Path | None) -> str:
    """Between which points, where not the whole way testified."""
    records = main.records if main else []
    if not records or (records[0].point in ("source", "ingress") and records[-1].point == "applied"):
        return ""
    return f" between {words.label(records[0].point)} and {words.label(records[-1].point)}"


def _why(
    every: Sequence[Path], found: Sequence[Finding], missing: Sequence[tuple[str, str]], excess: int
) -> dict[str, Any]:
    order: tuple[Component, ...] = ("source", "gateway", "transport", "parser", "reducer")
    blamed = {c for finding in found for c in finding.fault.suspects}
    intact = {c for path in every for step in path.steps if step.hop.status == "intact" for c in step.components}
    unknown = ["loss inside the provider"] if "source" not in blamed else []
    for path in every:
        for step in path.steps:
            if step.hop.status == "unproven":
                pair = f"{words.label(step.before.point)} → {words.label(step.after.point)}"
                unknown.append(f"{pair}: {step.hop.reason}")
    unknown += [f"{words.label(point)}: its record never came" for _, point in missing]
    unknown += ["more records came than are kept of one stream"] if excess else []
    evidence = found[0].evidence if found else {"seen": "", "missing": ""}
    return {**evidence, "cleared": [c for c in order if c in intact - blamed], "unknown": list(dict.fromkeys(unknown))}
