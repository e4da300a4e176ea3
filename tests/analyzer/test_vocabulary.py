"""The word lists of metrics and filters are those of the judge."""

from __future__ import annotations

from streamwitness_analyzer import vocabulary
from streamwitness_analyzer.counting import ENDED, FINDINGS
from streamwitness_analyzer.filters import WORDS
from streamwitness_analyzer.judge.endings import GROUPS
from streamwitness_analyzer.judge.words import VERBS


def test_endings_are_the_judges() -> None:
    """Each class with its group, and no other."""
    assert vocabulary.ENDINGS == GROUPS
    assert set(GROUPS.values()) <= set(vocabulary.GROUPS)


def test_kinds_are_the_judges() -> None:
    """What the judge can find can be filtered by and counted."""
    assert set(VERBS) <= set(vocabulary.KINDS)


def test_filters_and_metrics_know_every_word() -> None:
    """One list for both."""
    assert set(WORDS["ending"]) == set(vocabulary.ENDINGS)
    assert len(list(ENDED.label_sets())) == len(vocabulary.ENDINGS) + 1
    assert {labels.split('"')[1] for labels in FINDINGS.label_sets()} == {*vocabulary.KINDS, "other"}
