"""The totals of the database as Prometheus text: the same from every analyzer, so aggregate with max. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Final

from .config import NANOSECONDS
from .counting import METRICS, NOBODY, text
from .limits import MEASURES
from .vocabulary import STATES

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

GAUGES: Final = {
    "streams": "Streams, by the state of their verdict.",
    "stream_cut_streams": "Streams first seen in the last hour that were cut at the same moment as others of their "
    "service: a limit on the way.",
    "stream_watermark_seconds": "How far time has come on each partition (Unix time); the least of them settles.",
}
"""Metrics that are read off the tables instead of counted."""
_ENDED_BY: Final = ("source", "gateway", "transport", "client", NOBODY)


def render(
    totals: Mapping[tuple[str, str], int],
    states: Mapping[str, int],
    watermarks: Mapping[tuple[str, int], int],
    cuts: Mapping[tuple[str, str], int] | None = None,
) -> str:
    """The whole page; every label set is there from the start, at 0."""
    lines: list[str] = []
    for metric in METRICS:
        samples = dict.fromkeys(metric.label_sets(), 0)
        samples.update((labels, value) for (name, labels), value in totals.items() if name == metric.name)
        lines += _family(metric.name, "counter", metric.help, samples)
    by_state = {text({"state": state}): states.get(state, 0) for state in STATES}
    lines += _family("streams", "gauge", GAUGES["streams"], by_state)
    every = itertools.product(MEASURES, _ENDED_BY)
    by_limit = {text({"measure": measure, "by": by}): (cuts or {}).get((measure, by), 0) for measure, by in every}
    lines += _family("stream_cut_streams", "gauge", GAUGES["stream_cut_streams"], by_limit)
    seconds = {
        text({"topic": topic, "partition": str(partition)}): when / NANOSECONDS
        for (topic, partition), when in sorted(watermarks.items())
    }
    lines += _family("stream_watermark_seconds", "gauge", GAUGES["stream_watermark_seconds"], seconds)
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, help_text: str, samples: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples.items():
        yield f"{name}{{{labels}}} {value!r}" if labels else f"{name} {value!r}"
