"""A stream without a verdict is told in the shape of a verdict."""

from __future__ import annotations

from typing import Any

from bench.truth.build import answer, path
from streamwitness_analyzer.documents import unjudged
from streamwitness_analyzer.judge import judge


def test_it_has_the_shape_of_a_verdict() -> None:
    """Whoever reads the one can read the other, key by key."""
    events = answer([1, 2, 3])
    assert _shape(unjudged("5" * 32, "open", 1)) == _shape(judge(path(events, events, None), settled=False))


def _shape(document: dict[str, Any]) -> dict[str, Any]:
    """The keys; `labels` is empty where nothing was told."""
    return {
        key: _shape(value) if isinstance(value, dict) and key != "labels" else None for key, value in document.items()
    }
