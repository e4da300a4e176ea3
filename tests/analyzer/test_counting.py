"""What a settled stream adds to the counters, from the records of real applications."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamwitness.client import applied, watch
from streamwitness.reducers import Released, Reorder
from streamwitness.testing import recording
from streamwitness_analyzer.counting import METRICS, STALL_FLUSHES, Counts, settled_counts
from streamwitness_analyzer.judge import judge
from streamwitness_analyzer.store import Received
from tests.analyzer.kit import START


def counts(sequences: Iterable[int]) -> Counts:
    """Of a stream whose events come in this order, sorted by a buffer that waits for 2 ns."""
    events: list[Any] = [{"n": n, "choices": [{"index": 0, "delta": {"content": str(n)}}]} for n in sequences]
    buffer: Reorder[Any] = Reorder(max_wait=2)
    with recording() as sink:
        stream = watch(events, profile="openai_chat")
        with applied(stream) as a:

            def report(released: list[Released[Any]]) -> None:
                for each in released:
                    a.report(each.event, each.outcome.result)

            for now, event in enumerate(stream):
                report(buffer.offer(event, sequence=event["n"], now=now))
            report(buffer.close())
    document = judge(sink.blocks, settled=True)
    return settled_counts(document, [Received(block, START) for block in sink.blocks])


def test_events_handed_on_over_a_hole_are_counted() -> None:
    """Each hole that a reordering reducer gave up is one: by its report, not by what is missing."""
    assert counts(range(6))[STALL_FLUSHES.name, ""] == 0
    assert counts([0, 2, 1, 3])[STALL_FLUSHES.name, ""] == 0
    assert counts([0, 2, 3, 4, 5, 7])[STALL_FLUSHES.name, ""] == 2


def test_what_is_counted_is_a_metric() -> None:
    """Nothing is added to a counter that nobody declared."""
    assert {name for name, _ in counts([0, 2, 3, 4])} <= {metric.name for metric in METRICS}
