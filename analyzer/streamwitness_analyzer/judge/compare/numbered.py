"""Gateway out → client where the events came with numbers: no guess about which of two equal events was lost.

A number is the event's place in the stream as it left the gateway (docs/design.md §2), so the client's record names
the events of the gateway's. Answered only where every row of both is held and every number is one that was given: else
the digests decide. Numbers tell what came and where, never that it is what was sent: that takes digests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from streamwitness.semconv import MISSING
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .change import Change, Hop, Proof, faulty
from .edits import longest_rising, runs

NUMBERS_ALONE: Final = "every number came in its place; without digests nobody knows whether the content is the same"


def judge_numbered(before: Record, after: Record, *, peer: bool) -> Hop | None:
    """Rule 9: the hop by its numbers; None where they do not tell everything."""
    first = before.first_number
    if first is None or not before.every_row or not after.every_row:
        return None
    order = [number - first for number in numbers_of(after)]
    if any(number not in (-1, first + i) for i, number in enumerate(numbers_of(before))):
        return None
    if len(order) != after.events or any(not 0 <= place < before.events for place in order):
        return None
    there, here = View(before, "payload"), View(after, "payload")
    foreign = _foreign(order, there.values, here.values)
    own = [(place, here.values[i]) for i, place in enumerate(order) if i not in foreign]
    places = [place for place, _ in own]
    known = there.digests and here.digests
    changes = [*_missing(order, before, peer), *_again(own, "duplicate" if known else "extra")]
    changes += [*_moved(places), *_changed(own, there.values), *_added(foreign, there, here)]
    if changes:
        return faulty(changes, Proof("by_number"), prefix=min(change.span[0] for change in changes))
    reach = max(order, default=-1) + 1
    hop = Hop("intact", prefix=reach, unread=before.events - reach)
    return hop if known else replace(hop, status="unproven", reason=NUMBERS_ALONE)


def numbers_of(record: Record) -> list[int]:
    """The number of each event; -1 (none that was given) where it has none."""
    found: list[int] = []
    for block in record.blocks:
        column = block.columns("sequence").get("sequence") if block.rows is not None else None
        found += [-1 if n == MISSING else n for n in column or [MISSING] * block.row_count]
    return found


def _missing(order: Sequence[int], before: Record, peer: bool) -> Iterator[Change]:
    """Events that never came, although the client read on beyond them (or to the end).

    Of one that stopped by itself nobody knows whether they would have come later.
    """
    here = set(order)
    due = before.events if peer else max(order, default=-1) + 1
    for run in runs([place for place in range(due) if place not in here], range(before.events)):
        span = (run[0], run[-1])
        kind = "gap_or_late" if not peer else "tail" if span[1] == before.events - 1 else "gap"
        yield Change(kind, len(run), peer, "before", span, span, True)


def _again(own: Sequence[tuple[int, int | None]], kind: str) -> Iterator[Change]:
    """Numbers that came more than once: `kind`, or `extra` where the bytes under one are not the same (`_foreign`)."""
    came: dict[int, list[int | None]] = {}
    for place, value in own:
        came.setdefault(place, []).append(value)
    for place, values in sorted(came.items()):
        if len(values) > 1:
            told = kind if len(set(values)) == 1 else "extra"
            yield Change(told, len(values) - 1, True, "before", (place, place), (place, place), True)


def _moved(order: Sequence[int]) -> Iterator[Change]:
    """Events that came after later ones: the fewest that must move to restore the order."""
    once = list(dict.fromkeys(order))
    moved = sorted(set(once) - longest_rising(once))
    if moved:
        span = (moved[0], moved[-1])
        yield Change("reorder", len(moved), len(moved) == 1, "before", span, span)


def _changed(own: Sequence[tuple[int, int | None]], sent: Sequence[int | None]) -> Iterator[Change]:
    """Events that came under their number with other bytes."""
    differ = {place for place, came in own if sent[place] != came and None not in (sent[place], came)}
    for run in runs(sorted(differ), range(len(sent))):
        span = (run[0], run[-1])
        yield Change("corrupt", len(run), True, "before", span, span, True)


def _foreign(order: Sequence[int], sent: Sequence[int | None], came: Sequence[int | None]) -> list[int]:
    """Which events came under the number of another one, whose own bytes came under it as well.

    An SSE id stays in force until the next one: an event that somebody put in without an id has that of the event
    before it.
    """
    whole = {place for place, value in zip(order, came, strict=True) if value is not None and value == sent[place]}
    return [
        i
        for i, (place, value) in enumerate(zip(order, came, strict=True))
        if place in whole and value is not None and value != sent[place]
    ]


def _added(foreign: Sequence[int], there: View, here: View) -> Iterator[Change]:
    """Events that never had a number of their own: copies of others, or inventions."""
    copies = [i for i in foreign if here.values[i] in there.counts]
    new = [i for i in foreign if here.values[i] not in there.counts]
    for kind, places in (("duplicate", copies), ("fabricated", new)):
        for run in runs(places, range(here.n)):
            values = Counter(value for i in run if (value := here.values[i]) is not None)
            span = (run[0], run[-1])
            yield Change(kind, len(run), True, "after", span, span, True, tuple(sorted(values.items())))
