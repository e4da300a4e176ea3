"""What `/metrics` counts: one table of metrics with their labels, and how a verdict adds to them.

Totals live in the database and move in the transaction that settles a stream, so that every analyzer answers the
same (aggregate with max) and a stream is counted once. A finding that is narrowed to several components counts under
each of them; alerts therefore look at `confidence="certain"`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from streamwitness import semconv as sc

from .store.records import Counts, Document, Received
from .vocabulary import CONFIDENCES, ENDINGS, INTEGRITIES, KINDS

OTHER: Final = "other"
"""The label of a value outside the table: label sets are closed, whatever a record claims."""
NOBODY: Final = "none"
"""The component of a finding that accuses nobody."""

_COMPONENTS: Final = (*sc.COMPONENTS, NOBODY)
_LOSSES: Final = ("gap", "tail", "gap_or_late")


@dataclass(frozen=True, slots=True)
class Metric:
    """A counter; `labels` is label → every value it can have, or `sets` lists the combinations that exist."""

    name: str
    help: str
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sets: Sequence[Mapping[str, str]] = ()

    def label_sets(self) -> Iterator[str]:
        """Every label set, as Prometheus writes it: each starts at 0."""
        if self.sets:
            yield from map(text, self.sets)
            return
        for values in itertools.product(*self.labels.values()):
            yield text(dict(zip(self.labels, values, strict=True)))


def text(labels: Mapping[str, str]) -> str:
    """Labels as Prometheus writes them, without the braces."""
    return ",".join(f'{name}="{value}"' for name, value in labels.items())


GAPS: Final = Metric(
    "stream_seq_gaps_total",
    "Events lost inside or at the end of settled streams, by the component that lost them.",
    {"component": _COMPONENTS, "confidence": CONFIDENCES},
)
STALL_FLUSHES: Final = Metric(
    "stream_stall_flushes_total", "Events that a reordering reducer handed on without the one before, after waiting."
)
FINDINGS: Final = Metric(
    "stream_findings_total",
    "Findings in settled streams.",
    {"kind": (*KINDS, OTHER), "component": _COMPONENTS, "confidence": CONFIDENCES},
)
ENDED: Final = Metric(
    "stream_endings_total",
    "Settled streams, by how they ended.",
    sets=[{"class": ending, "group": group} for ending, group in (*ENDINGS.items(), (OTHER, "unknown"))],
)
INTEGRITY: Final = Metric(
    "stream_integrity_total", "Settled streams, by integrity.", {"integrity": (*INTEGRITIES, OTHER)}
)
CORRECTIONS: Final = Metric(
    "stream_corrections_total", "Settled verdicts that a late record, or a judge that has learnt, changed."
)
LOST_BLOCKS: Final = Metric("stream_telemetry_lost_blocks_total", "Blocks of settled streams that never arrived.")
MISSING_POINTS: Final = Metric(
    "stream_telemetry_missing_points_total",
    "Expected observation points that settled streams have no closed record of.",
    {"point": (*sc.POINTS, OTHER)},
)
CONFLICTS: Final = Metric("stream_telemetry_conflicts_total", "Witnesses set aside because they contradict themselves.")
OBSERVER_FAULTS: Final = Metric("stream_telemetry_observer_faults_total", "Points whose own observer failed.")
DROPPED_BLOCKS: Final = Metric("stream_telemetry_dropped_blocks_total", "Blocks that full export queues dropped.")
EXCESS_BLOCKS: Final = Metric(
    "stream_telemetry_excess_blocks_total", "Blocks that came beyond `max_blocks` of their stream, and were not stored."
)
UNDECODABLE: Final = Metric("stream_undecodable_messages_total", "Kafka messages moved to the dead topic.")
REFUSED_SPANS: Final = Metric("stream_refused_spans_total", "Invalid spans left out of otherwise good messages.")
JUDGE_FAILURES: Final = Metric(
    "stream_judge_failures_total",
    "Failures of the judge, a defect of ours: one for a stream without a verdict, each for one whose verdict stands.",
)

METRICS: Final = (
    GAPS,
    STALL_FLUSHES,
    FINDINGS,
    ENDED,
    INTEGRITY,
    CORRECTIONS,
    LOST_BLOCKS,
    MISSING_POINTS,
    CONFLICTS,
    OBSERVER_FAULTS,
    DROPPED_BLOCKS,
    EXCESS_BLOCKS,
    UNDECODABLE,
    REFUSED_SPANS,
    JUDGE_FAILURES,
)


def one(metric: Metric, n: int = 1) -> Counts:
    """`n` more of a metric without labels."""
    return {(metric.name, ""): n}


def add(total: Counts, more: Counts) -> None:
    """Add `more` into `total`."""
    for key, n in more.items():
        total[key] = total.get(key, 0) + n


def settled_counts(document: Document, received: Sequence[Received]) -> Counts:
    """What a stream adds when it is first settled."""
    out: Counts = {}
    ending = document["ending"]["class"]
    ending, group = (ending, ENDINGS[ending]) if ending in ENDINGS else (OTHER, "unknown")
    add(out, {(ENDED.name, text({"class": ending, "group": group})): 1})
    add(out, {(INTEGRITY.name, text({"integrity": _known(document["integrity"], INTEGRITIES)})): 1})
    for finding in document["findings"]:
        add(out, _finding_counts(finding))
    add(out, _telemetry_counts(document["telemetry"]))
    add(out, one(STALL_FLUSHES, _stall_flushes(received)))
    return out


def _finding_counts(finding: Document) -> Counts:
    out: Counts = {}
    confidence = _known(finding["confidence"], CONFIDENCES, CONFIDENCES[-1])
    kind = _known(finding["kind"], KINDS)
    for suspect in finding["suspects"] or (NOBODY,):
        component = _known(suspect, _COMPONENTS, NOBODY)
        add(out, {(FINDINGS.name, text({"kind": kind, "component": component, "confidence": confidence})): 1})
        if kind in _LOSSES:
            add(out, {(GAPS.name, text({"component": component, "confidence": confidence})): int(finding["count"])})
    return out


def _telemetry_counts(telemetry: Document) -> Counts:
    out: Counts = {}
    for metric, name in (
        (LOST_BLOCKS, "lost_blocks"),
        (CONFLICTS, "conflicts"),
        (OBSERVER_FAULTS, "observer_faults"),
        (DROPPED_BLOCKS, "dropped_blocks"),
    ):
        add(out, one(metric, int(telemetry[name])))
    for point in telemetry["missing_points"]:
        add(out, {(MISSING_POINTS.name, text({"point": _known(str(point), sc.POINTS)})): 1})
    return out


def _stall_flushes(received: Sequence[Received]) -> int:
    """Rows that say so, at the one point where reducers testify."""
    flushed = sc.RESULT["stall_flushed"]
    applied = (item.block for item in received if item.block.point == "applied" and item.block.rows is not None)
    return sum(list(block.columns().get("result", ())).count(flushed) for block in applied)


def _known(value: object, values: Sequence[str], otherwise: str = OTHER) -> str:
    return str(value) if value in values else otherwise
