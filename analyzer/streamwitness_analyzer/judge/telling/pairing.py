"""Which event at one point is which at the next, for the picture: pairs of positions, and what stands between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from streamwitness.semconv import MISSING
from streamwitness_analyzer.judge.attribute import Step
from streamwitness_analyzer.judge.client.named import CONTENT_MASK, USED, read
from streamwitness_analyzer.judge.compare.change import LEFT_OPEN, Side
from streamwitness_analyzer.judge.compare.edits import matching
from streamwitness_analyzer.judge.testimony.parts import parts_of
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

Pairs = list[tuple[int, int]]
_CHANGED: Final = frozenset(("altered", "corrupt", "malformed"))
"""Kinds by which an event is there, and says something else."""


def tokens(record: Record, step: Step) -> list[object]:
    """What an event is told by on this hop; unknown rows match nothing."""
    if step.after.point == "wire" and step.before.point == "egress":
        values: Sequence[object] = View(record, "payload").values
        return [(record.point, i) if value is None else value for i, value in enumerate(values)]
    view = View(record, "semantic")
    judged = {p: v for p, v in zip(view.positions, view.values, strict=True) if p is not None}
    masks = parts_of(record)
    return [judged.get(i, ("quiet", masks[i]) if i in masks else (record.point, i)) for i in range(record.events)]


def pairs_of(a: Sequence[object], b: Sequence[object]) -> tuple[Pairs, set[int]]:
    """Positions at both points of the same event, and those after that are there but displaced."""
    pairs = matching(a, b)
    if pairs is None:
        same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        return [(i, i) for i in range(same)], set()
    moved = _moved(a, b, pairs)
    return sorted(pairs + moved, key=lambda pair: pair[1]), {q for _, q in moved}


def _moved(a: Sequence[object], b: Sequence[object], pairs: Pairs) -> Pairs:
    """Leftovers of both sides that are the same event in another place."""
    left = {p for p, _ in pairs}
    right = {q for _, q in pairs}
    free: dict[object, list[int]] = {}
    for p, token in enumerate(a):
        if p not in left:
            free.setdefault(token, []).append(p)
    return [(free[token].pop(0), q) for q, token in enumerate(b) if q not in right and free.get(token)]


def named_pairs(step: Step) -> tuple[Pairs, set[int]]:
    """The same at `applied`, where each row says which event it is about."""
    naming = read(step.after)
    good = {p for p, results in naming.results.items() if results[-1] in USED and p != MISSING}
    seen, pairs, late, highest = set(), [], set(), -1
    for q, position in enumerate(naming.order):
        if position in good and position not in seen:
            seen.add(position)
            pairs.append((position, q))
            if position < highest:
                late.add(q)
            highest = max(highest, position)
    return pairs, late if step.hop.status != "intact" else set()  # what it put right stands in its place


def places_told(step: Step, side: Side) -> set[int]:
    """The places that the changes of a hop are about, with all those that look the same.

    What else an alignment finds missing or new there is the shortest story at most.
    """
    spans = [span for c in step.hop.changes if c.side == side for span in (c.span, c.copies)]
    return {position for first, last in spans for position in range(first, last + 1)}


def in_its_place(step: Step, pairs: Pairs, a: Sequence[object], b: Sequence[object]) -> list[tuple[int, int, str]]:
    """What stands between the same two neighbours at both points: changed there, or not known at one of them."""
    if step.after.point == "applied" or step.hop.status == "intact":
        return []
    if (unproven := step.hop.status == "unproven") and step.hop.reason in LEFT_OPEN:
        return []
    changed = any(change.kind in _CHANGED for change in step.hop.changes)
    lost, new = places_told(step, "before"), places_told(step, "after")
    silent = parts_of(step.before) if step.after.point != "wire" else {}
    out: list[tuple[int, int, str]] = []
    for (p, q), (p_end, q_end) in pairwise([(-1, -1), *sorted(pairs), (len(a), len(b))]):
        here, there = range(p + 1, p_end), range(q + 1, q_end)
        for i, j in zip(here, there, strict=False):
            if unproven or (step.before.point, i) == a[i] or (step.after.point, j) == b[j]:
                out.append((i, j, "?"))
            elif changed and len(here) == len(there):
                out.append((i, j, "~"))
            elif i not in lost and j not in new and not silent.get(i, CONTENT_MASK) & CONTENT_MASK:
                out.append((i, j, "o"))  # an end in other words
    return out
