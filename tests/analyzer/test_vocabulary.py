"""The word lists of metrics and filters are those of the judge."""

from __future__ import annotations

from streamwitness_analyzer import vocabulary
from streamwitness_analyzer.counting import ENDED, FINDINGS
from streamwitness_analyzer.filters import WORDS
from streamwitness_analyzer.judge import table
from streamwitness_analyzer.judge.telling.words import VERBS


def test_endings_are_the_judges() -> None:
    """Its table ends in these classes, and in all of them."""
    assert {row.ending for *_, row in table() if row.ending is not None} == set(vocabulary.ENDINGS)
    assert set(vocabulary.ENDINGS.values()) == set(vocabulary.GROUPS)


def test_kinds_are_the_judges() -> None:
    """What the judge can find can be filtered by and counted."""
    assert set(VERBS) <= set(vocabulary.KINDS)


def test_filters_and_metrics_know_every_word() -> None:
    """One list for both."""
    assert set(WORDS["ending"]) == set(vocabulary.ENDINGS)
    assert len(list(ENDED.label_sets())) == len(vocabulary.ENDINGS) + 1
    assert {labels.split('"')[1] for labels in FINDINGS.label_sets()} == {*vocabulary.KINDS, "other"}
