"""What is answered about streams: limits that several share, and the history of a verdict; on each database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from streamwitness.blocks import Block
from streamwitness_analyzer import answers
from streamwitness_analyzer.settle import Life, Patience
from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import Received, Store, queries
from tests.analyzer.kit import SECOND, START, PlainJudge, block, stream_id

HOUR = 3600 * SECOND


@dataclass
class Cutting(PlainJudge):
    """Says that every stream was cut by the transport after a minute."""

    def judge(self, blocks: Sequence[Block], **how: Any) -> dict[str, Any]:
        """The verdict by counting, with that ending."""
        verdict = super().judge(blocks, **how)
        cut = {"class": "network_lost", "group": "network", "by": "transport", "at_point": "wire", "at_ms": 60_010}
        return verdict | {"ending": verdict["ending"] | cut}


def settle(store: Store, judge: PlainJudge, *numbers: int, at: int = START) -> None:
    steps = Steps(store, Life(judge, Patience()), lambda: START)
    for n in numbers:
        steps.ingest([Received(block(n, point, final=True), at) for point in ("egress", "wire")])


def test_a_stream_that_was_cut_as_others_were_says_so(store: Store) -> None:
    """With how many, within a day; one that ended well says nothing of the kind."""
    settle(store, Cutting(), 1, 2, 3, 4)
    settle(store, PlainJudge(), 5)
    with store.read() as connection:
        limit = answers.show(connection, stream_id(1))["limit"]
        assert "limit" not in answers.show(connection, stream_id(5))
    assert limit["line"].startswith("Cut after 60.0 s, as 3 others of this service within a day were: a time limit")
    assert limit["streams"] == [stream_id(n) for n in (1, 2, 3, 4)]


def test_what_was_cut_days_before_is_no_neighbour(store: Store) -> None:
    """Two and two with a week between them are no four."""
    settle(store, Cutting(), 1, 2)
    settle(store, Cutting(), 3, 4, at=START + 168 * HOUR)
    with store.read() as connection:
        assert "limit" not in answers.show(connection, stream_id(1))


def test_cuts_since_a_time(store: Store) -> None:
    """The clusters, and how many streams were looked at."""
    settle(store, Cutting(), 1, 2, 3, 4)
    settle(store, PlainJudge(), 5, 6)
    with store.read() as connection:
        found = answers.cuts(connection, START - HOUR)
        later = answers.cuts(connection, START + HOUR)
    assert (found["streams"], found["cut"], found["whole"], len(found["cuts"])) == (6, 4, True, 1)
    assert found["cuts"][0]["sentence"].startswith("4 of 4 cut streams of service shop from openai ended after 60.0 s")
    assert later == {"cuts": [], "streams": 0, "cut": 0, "whole": True}


def test_a_provisional_stream_is_not_compared(store: Store) -> None:
    """Its ending is not final."""
    steps = Steps(store, Life(Cutting(), Patience()), lambda: START)
    steps.ingest([Received(block(n, "egress", final=True), START) for n in range(1, 6)])
    with store.read() as connection:
        assert answers.cuts(connection, 0)["streams"] == 0


def test_the_metric_counts_the_last_hour(store: Store) -> None:
    """Streams in clusters, by measure and by who ended them."""
    settle(store, Cutting(), 1, 2, 3, 4)
    with store.read() as connection:
        assert answers.cut_now(connection, START + HOUR // 2) == {("time", "transport"): 4}
        assert answers.cut_now(connection, START + 2 * HOUR) == {}


def test_history_has_every_revision(store: Store) -> None:
    """A judge that has learnt corrects with its own version; what the old one said stays, with its time."""
    settle(store, PlainJudge(), 1)
    learnt = Steps(store, Life(Cutting(JUDGE_VERSION=7), Patience()), lambda: START + HOUR)
    assert learnt.rejudge(0) == (1, 1, 0)
    with store.read() as connection:
        history = answers.history(connection, stream_id(1)[:31])
    told = [(r["revision"], r["state"], r["judge_version"], r["judged_ns"], r["ending"]) for r in history["revisions"]]
    assert told == [
        (1, "settled", 1, START, "completed"),
        (2, "corrected", 7, START + HOUR, "network_lost"),
    ]
    assert (history["stream"], history["state"]) == (stream_id(1), "corrected")


class Wordy(PlainJudge):
    """Says the same in other words, and tells one thing more."""

    def judge(self, blocks: Sequence[Block], **how: Any) -> dict[str, Any]:
        document = super().judge(blocks, **how)
        document["findings"] = [finding | {"sentence": "in other words", "new": 1} for finding in document["findings"]]
        return document | {"summary": "in other words"}


def test_a_new_judge_that_says_the_same_is_no_revision(store: Store) -> None:
    """Its document, with its version, stands where the old one stood; nothing is counted, or told as a change."""
    steps = Steps(store, Life(PlainJudge(), Patience()), lambda: START)
    steps.ingest(
        [Received(block(1, "egress", final=True), START), Received(block(1, "wire", rows=2, final=True), START)]
    )
    learnt = Steps(store, Life(Wordy(JUDGE_VERSION=2), Patience()), lambda: START + HOUR)
    assert [learnt.rejudge(0), learnt.rejudge(0)] == [(1, 0, 0), (1, 0, 0)]
    with store.read() as connection:
        revisions = answers.history(connection, stream_id(1))["revisions"]
        corrections = queries.totals(connection).get(("stream_corrections_total", ""), 0)
    told = [(r["revision"], r["state"], r["judge_version"], r["summary"], r["judged_ns"]) for r in revisions]
    assert told == [(1, "settled", 2, "in other words", START + HOUR)]
    assert corrections == 0


def test_a_provisional_revision_is_replaced(store: Store) -> None:
    """It is nobody's history: metrics and alerts never saw it."""
    steps = Steps(store, Life(PlainJudge(), Patience()), lambda: START)
    steps.ingest([Received(block(1, "egress", final=True), START)])
    steps.ingest([Received(block(1, "wire", final=True), START)])
    with store.read() as connection:
        revisions = answers.history(connection, stream_id(1))["revisions"]
    assert [(r["revision"], r["state"]) for r in revisions] == [(1, "settled")]


@pytest.mark.parametrize("answer", [answers.show, answers.history])
def test_a_stream_without_verdict(store: Store, answer: Any) -> None:
    """It is known, and nothing is claimed of it."""
    Steps(store, Life(PlainJudge(), Patience()), lambda: START).ingest([Received(block(1, "egress"), START)])
    with store.read() as connection:
        assert answer(connection, stream_id(1))["state"] == "open"


def test_a_provisional_verdict_that_the_judge_then_failed_on_is_none(store: Store) -> None:
    """What is shown says that the stream was not judged, not what was thought of its first blocks."""
    Steps(store, Life(PlainJudge(), Patience()), lambda: START).ingest(
        [Received(block(1, "egress", final=True), START)]
    )
    broken = Steps(store, Life(PlainJudge(fails_on=stream_id(1)), Patience()), lambda: START)
    broken.ingest([Received(block(1, "wire", final=True), START)])
    with store.read() as connection:
        shown = answers.show(connection, stream_id(1))
    assert (shown["state"], shown["headline"], shown["integrity"]) == ("failed", "NOT JUDGED", "unproven")


class Twice(PlainJudge):
    """Tells two findings with one sentence."""

    def judge(self, blocks: Sequence[Block], **how: Any) -> dict[str, Any]:
        document = super().judge(blocks, **how)
        (found,) = document["findings"]
        places = [found | {"short": f"TRANSPORT lost event {n}", "sentence": "1 event was lost."} for n in (3, 9)]
        return document | {"findings": places}


def test_findings_with_one_sentence_are_told_apart_in_the_history(store: Store) -> None:
    """By their places; a document of an older judge, which has no such words, has the sentence alone."""
    for judge, n in ((Twice(), 1), (PlainJudge(), 2)):
        received = [
            Received(block(n, "egress", final=True), START),
            Received(block(n, "wire", rows=2, final=True), START),
        ]
        Steps(store, Life(judge, Patience()), lambda: START).ingest(received)
    with store.read() as connection:
        told = [answers.history(connection, stream_id(n))["revisions"][0]["findings"] for n in (1, 2)]
    assert told == [["TRANSPORT lost event 3: 1 event was lost.", "TRANSPORT lost event 9: 1 event was lost."], [""]]
