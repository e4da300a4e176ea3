"""The verdict document of one stream: its ending, integrity, findings, points and sentences, ready for JSON."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

from streamwitness.blocks import Block
from streamwitness.semconv import CLIENT, CLIENT_POINTS, POINTS, PROVIDER_NAME, REQUEST_MODEL, RESPONSE_MODEL
from streamwitness_analyzer.vocabulary import ENDINGS, HARMLESS

from . import together, waste
from .compare.change import Hop
from .ending.endings import OPEN, Row, ending_of
from .ending.moment import ended_at, moment
from .ending.states import after, client_state, egress_state, finish, ingress_state
from .hops import paths
from .path import Path
from .source import hidden
from .telling import words
from .telling.cells import alone, draw
from .telling.counting import counts, counts_of_stream, failed
from .telling.findings import Finding, findings_of
from .telling.notes import notes
from .telling.numbering import numbered_alike
from .telling.sentences import said, vouched, why
from .testimony.records import Exchange, Record, Testimony, dropped

JUDGE_VERSION: Final = 6
_PROVEN: Final = frozenset(("certain", "narrowed"))
_SERVICE: Final = "service.name"


def document(testimony: Testimony, blocks: Sequence[Block], *, settled: bool, excess: int) -> dict[str, Any]:
    """The verdict on one stream's testimony. Before the settlement nothing in it rests on silence."""
    every: list[Path] = []
    for exchange in testimony.exchanges:
        every += paths(exchange, every[:])
    for path in every:
        path.cut_upstream = together.cut_upstream(path, every)
    sorted_ = _findings(every, testimony, settled)
    found = numbered_alike([*sorted_.standing, *sorted_.open], every)
    main = _main(every)
    ending = _ends(main, every, settled)
    missing = _missing(testimony.exchanges, every)
    doubts = together.doubts(every)
    integrity = _integrity(every, sorted_, missing, settled and not excess and not doubts)
    sent, used = counts_of_stream(main, every) if main else (None, None)
    return {
        "stream": blocks[0].stream if blocks else "",
        "judge_version": JUDGE_VERSION,
        "state": "settled" if settled else "provisional",
        "revision": 1,
        "ending": _ending(ending, main),
        "integrity": integrity,
        **said(ending, integrity, found, main, settled=settled),
        "confidence": _confidence(found),
        "findings": [finding.document() for finding in found],
        "notes": notes(every, main, sum(finding.fault.change.count for finding in sorted_.recovered)),
        "points": _points(testimony.exchanges, every),
        "why": why(ending, every, main, found, missing, excess, doubts, settled=settled),
        "telemetry": _telemetry(testimony, missing) | {"excess_blocks": excess},
        "labels": _labels(testimony.records, main),
        "counts": {"sent": sent, "used": used},
        "started_ns": min(filter(None, map(attrgetter("start_ns"), blocks)), default=0),
        "ended_ns": max(map(attrgetter("end_ns"), blocks), default=0),
    }


@dataclass(slots=True)
class _Found:
    """Findings that stand, those that a later exchange made good again, and those of which that is not known."""

    standing: list[Finding] = field(default_factory=list)
    recovered: list[Finding] = field(default_factory=list)
    open: list[Finding] = field(default_factory=list)


def _findings(every: Sequence[Path], testimony: Testimony, settled: bool) -> _Found:
    found, seen = _Found(), set[object]()
    into = {"recovered": found.recovered, "unknown": found.open, "lost": found.standing}
    for path in every:
        for finding in findings_of(path):
            if finding.key not in seen and _stands(finding, path, every, testimony, settled):
                seen.add(finding.key)
                into[together.recovery(finding.fault, path, every)].append(finding)
    return found


def _stands(finding: Finding, path: Path, every: Sequence[Path], testimony: Testimony, settled: bool) -> bool:
    """Whether it stands, and nothing later can take it back: what was read on may be for an exchange that resumes."""
    if finding.fault.by_itself and not together.reads_a_provider(path, every):
        return False  # what lies before is another gateway, which tells for itself
    resumed = any(exchange.attempt > path.exchange.attempt for exchange in testimony.exchanges)
    return finding.fault.change.kind != waste.KIND or (settled and not resumed)


def _ends(main: Path | None, every: Sequence[Path], settled: bool) -> Row:
    """The ending, where a gateway that blames its source may have another gateway for one."""
    row = _row(main, every, settled)
    if main is None:
        return row
    rows = [(path, _row(path, every, settled)) for path in every if path is not main]
    return together.told_from_behind(row, main, every, rows)


def _row(main: Path | None, every: Sequence[Path], settled: bool) -> Row:
    """The line of the endings table; nobody on any path: only silence."""
    if main is None:
        return ending_of("none", "none", "none") if settled else OPEN
    upstream = ingress_state(main)
    if upstream in ("none", "unfed") and main.exchange.attempt:  # the rest: its upstream is that of the beginning
        upstream = together.upstream_state(main, every)
    return ending_of(upstream, egress_state(main), client_state(main, settled=settled), settled=settled)


def _main(every: Sequence[Path]) -> Path | None:
    """The path that tells how the stream ended: the newest attempt, the outermost gateway, a client before none."""
    if len(every) < 2:
        return every[0] if every else None
    inner = frozenset(exchange for path in every for exchange in together.read_from(path))

    def rank(path: Path) -> tuple[int, bool, int, bool, int]:
        client = [r for r in path.records if r.point in CLIENT_POINTS]
        outer = path.exchange.id not in inner
        return (path.exchange.attempt, outer, path.exchange.hop, any(r.closing for r in client), len(client))

    return max(every, key=rank)


# --------------------------------------------------------------------------- ending and integrity


def _ending(row: Row, main: Path | None) -> dict[str, Any]:
    return {
        "class": row.ending,
        "group": ENDINGS.get(row.ending or "", "unknown"),
        "by": row.by,
        "vouched": main is not None and vouched(main),
        "finish": finish(main),
        "after": after(row, main),
        **moment(ended_at(row, main)),
        "cost": waste.cost(main.exchange, main.upstream, main.record("egress")) if main else None,
        "reason": row.reason,
    }


def _missing(exchanges: Sequence[Exchange], every: Sequence[Path]) -> list[tuple[str, str]]:
    """(exchange, point) of points that should have testified and did not; of each process that reads here its own."""
    missing = [(exchange.id, point) for exchange in exchanges for point in exchange.unheard]
    silent = [(path.exchange.id, point) for path in every for point in path.silent]
    return list(dict.fromkeys([*missing, *silent]))


def _integrity(every: Sequence[Path], found: _Found, missing: Sequence[tuple[str, str]], final: bool) -> str:
    if any(f.fault.confidence in _PROVEN and f.fault.change.kind not in HARMLESS for f in found.standing):
        return "damaged"
    again = {id(finding.fault.change) for finding in found.recovered}
    proven = bool(every) and not missing and not found.open and all(_proven(path, again) for path in every)
    return "intact" if proven and final else "unproven"


def _proven(path: Path, again: Container[int]) -> bool:
    """Whether every hop there is, is intact (or what it lost came `again`), and there is one."""
    hop = path.upstream.hop
    gateway = hop is None or hop.status == "intact"
    steps = [_whole(step.hop, again) for step in path.steps]
    rejected = path.named is not None and bool(path.named.rejected)
    if hop is not None and path.record("egress") is None:
        return False
    return gateway and bool(steps) and all(steps) and not (path.ambiguous or rejected or hidden(path))


def _whole(hop: Hop, again: Container[int]) -> bool:
    return hop.status == "intact" or (hop.status == "faulty" and all(id(change) in again for change in hop.changes))


def _confidence(found: Sequence[Finding]) -> str | None:
    levels = {finding.fault.confidence for finding in found}
    return next((level for level in ("certain", "narrowed", "inconsistent") if level in levels), None)


# --------------------------------------------------------------------------- points, telemetry, labels


def _points(exchanges: Sequence[Exchange], every: Sequence[Path]) -> list[dict[str, Any]]:
    drawn = {recorder: cells for path in every for recorder, cells in draw(path).items()}
    numbers = {path.exchange.id: path.first for path in every}
    reached = {path.records[-1].recorder: counts(path)[1] for path in every if path.records}
    out = []
    for exchange in exchanges:
        first = numbers.get(exchange.id, 0)
        rows = [
            _point(record, drawn.get(record.recorder) or alone(record), reached.get(record.recorder), first)
            for record in exchange.records
        ]
        if exchange.unheard:
            rows += [_absent(exchange, point) for point in exchange.unheard]
            rows.sort(key=lambda row: POINTS.index(row["point"]))
        out += rows
    return out


def _point(record: Record, cells: str, used: int | None, first: int) -> dict[str, Any]:
    return {
        "exchange": record.exchange,
        "attempt": record.attempt,
        "hop": record.hop,
        "witness": record.witness,
        "point": record.point,
        "leg": record.leg,
        "label": words.label(record.point),
        "events": record.events,
        "failed": failed(record),
        "used": record.events if used is None else used,
        "bytes": record.total("bytes"),
        "content": record.total("content"),
        "end": record.end,
        "complete": record.closing.complete if record.closing is not None else None,
        "held": record.held,
        "cells": cells,
        "client": record.told(CLIENT),
        "first": first,
    }


def _absent(exchange: Exchange, point: str) -> dict[str, Any]:
    return {
        "exchange": exchange.id, "attempt": exchange.attempt, "hop": exchange.hop, "witness": "", "point": point,
        "leg": None, "label": words.label(point), "events": 0, "failed": 0, "used": 0, "bytes": 0, "content": 0,
        "end": None, "complete": None, "held": "none", "cells": "", "client": None, "first": 0,
    }  # fmt: skip


def _telemetry(testimony: Testimony, missing: Sequence[tuple[str, str]]) -> dict[str, Any]:
    records = testimony.records
    return {
        "lost_blocks": sum(map(attrgetter("lost"), records)),
        "missing_points": sorted({point for _, point in missing}, key=lambda p: [*POINTS].index(p)),
        "conflicts": testimony.conflicts,
        "refused_blocks": testimony.refused,
        "observer_faults": sum(map(attrgetter("faulted"), records)),
        "dropped_blocks": dropped(records),
    }


def _labels(records: Sequence[Record], main: Path | None) -> dict[str, Any]:
    near = list(dict.fromkeys([*(main.records if main else ()), *records]))
    clients = [r.told(CLIENT) for r in reversed(near) if r.point in CLIENT_POINTS]
    return {
        "provider": _told_first(near, PROVIDER_NAME),
        "model": _told_first(near, RESPONSE_MODEL, REQUEST_MODEL),
        "client": next((client for client in clients if client is not None), None),
        "service": next((name for r in near for b in r.blocks if (name := b.resource.get(_SERVICE)) is not None), None),
    }


def _told_first(records: Sequence[Record], *keys: str) -> object:
    """The first of these attributes that is told, by the first of these records that tells it."""
    for key in keys:
        for record in records:
            if (value := record.told(key)) is not None:
                return value
    return None
