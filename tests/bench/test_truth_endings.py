"""bench.truth: every way in which a stream can end is the true one of some stream, and what is scored of it is said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.truth import ends, numbers, report, timed
from bench.truth.gates import Tally, counts_against
from bench.truth.labels import Ended, Trial
from bench.truth.loss import WHOLE
from bench.truth.run import every, settled, tally, verdict_on
from bench.truth.streams import SORTS, of_sort
from streamwitness_analyzer.vocabulary import ENDINGS

STREAMS = 4
"""Of each sort."""


def streams(*sorts: str) -> Iterator[Trial]:
    """Some of each of these sorts."""
    return (of_sort(sort, seed) for sort in sorts for seed in range(STREAMS))


def test_each_class_of_ending_is_the_true_one_of_some_stream() -> None:
    """Where it is the only one that is true: what the judge may not take for another."""
    told = (*streams(*ends.SORTS, *timed.SORTS), *(of_sort("path", seed) for seed in range(100)))
    assert {min(one.ended.ending) for one in told if len(one.ended.ending) == 1} == {*ENDINGS}


@pytest.mark.parametrize("sort", [sort for sort in (*ends.SORTS, *numbers.SORTS) if SORTS[sort][1]])
def test_nothing_false_is_said_of_ends_and_numbers_whatever_is_lost(sort: str) -> None:
    """Of none that is drawn, under no loss."""
    found = {
        (one.name, loss): against
        for one in (of_sort(sort, seed) for seed in range(3 * STREAMS))
        for loss in every(0)
        if (against := counts_against(verdict_on(one, loss)[1], loss))
    }
    assert found == {}


def test_how_many_endings_are_scored_is_printed() -> None:
    """Of the verdicts for which all records are held; of a stream whose end nobody knows it is none."""
    known, unknown = streams("goes"), streams("goes")
    found = tally(known, lambda _: (WHOLE[0], "30 %"), settled)
    found.join(tally((_of_unknown_end(one) for one in unknown), lambda _: WHOLE, settled))
    assert f"endings scored: {STREAMS} of {3 * STREAMS} whole verdicts" in report.text(found)
    assert report.document(found)["endings_scored"] == {"scored": STREAMS, "whole": 3 * STREAMS}
    assert "endings scored: 0 of 0 whole verdicts" in report.text(Tally())


def _of_unknown_end(one: Trial) -> Trial:
    one.ended = Ended(frozenset(), None)
    return one
