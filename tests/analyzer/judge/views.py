"""Views of plain lists, as a judge opens them: some blocks lost, and what stood in them known to the test alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bench.truth.build import Event, How
from streamwitness.semconv import Point
from streamwitness_analyzer.judge.testimony.records import collect
from streamwitness_analyzer.judge.testimony.view import View


def view(
    point: Point,
    words: Sequence[int],
    cuts: Sequence[int] | None = None,
    lost: Collection[int] = (),
    *,
    closed: bool = True,
) -> View:
    """A payload view of these words, cut behind the given counts; blocks with these indices never came."""
    blocks = How(point).blocks([Event(word) for word in words], cuts)
    kept = [block for block in blocks if block.index not in lost and (closed or not block.final)]
    return View(collect(kept).records[0], "payload")


def digests(words: Sequence[int]) -> list[int]:
    """What the words look like in a view."""
    return [Event(word).digest for word in words]
