"""Which upstream response feeds the answer, where a gateway read several: attempts, fallbacks, guardrails, parts.

A leg feeds the answer if most of the answer's content is its own, or if both have one response id and an event in
common as it was written. What another leg could explain, nobody is accused of; it explains nothing where the answer is
written as the one that feeds it, and shows nothing of the other (docs/design.md §7.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from streamwitness.semconv import FINISH, OTHER, RESPONSE_ID, ROLE, TOOL_ARGS, TOOL_START, USAGE
from streamwitness_analyzer.judge.compare.change import MOST, NEW, Change, Hop, Proof, faulty
from streamwitness_analyzer.judge.compare.open_ends import anchor
from streamwitness_analyzer.judge.testimony.parts import other_calls, parts_of
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .crossing import Crossing
from .verbatim import Row, Verbatim

_KEPT_BACK: Final = TOOL_START | TOOL_ARGS | FINISH | ROLE | USAGE | OTHER
"""Parts of what a gateway may keep to itself of a response from which another one goes on."""
_SOME: Final = 5
"""Events that stand once at both points, of which no accident makes all in order, in an answer that has no others."""
_SHARE: Final = 3
"""So many times as much may have been read as was sent of it."""
FEW: Final = 2
"""Events that two answers may well begin with alike."""
_BEGINNING: Final = 3
"""So many different contents with which two responses begin are no accident."""
_ANEW: Final = "the answer is put together of several upstream responses, and a later one begins as the first one did"
_OTHERWISE: Final = NEW | {"altered"}


def replaced(legs: Sequence[Record], feeding: Record | None) -> tuple[Record, ...]:
    """Legs that broke and were followed by another one."""
    return tuple(leg for leg in legs[:-1] if leg is not feeding and not leg.complete)


def equal_legs(legs: Sequence[Record], egress: Record) -> list[Record]:
    """Legs whose judged events are the answer's, all of them in order, the last first. Empty answers are all alike."""
    after = View(egress, "semantic")
    views = [View(leg, "semantic") for leg in reversed(legs)] if after.n or len(legs) == 1 else []
    equal = [v.record for v in views if v.digests and after.digests and (v.n, v.o) == (after.n, after.o)]
    return [leg for leg in equal if not other_calls(leg, egress)]


def related(before: View, after: View) -> bool:
    """Whether the answer is made of this leg's content: mostly its words, and a run of them that is no accident."""
    return mostly_its_words(before, after) and anchor(before, after) > 0


def mostly_its_words(before: View, after: View) -> bool:
    """Whether half of the answer's events, at least, are this leg's, in whatever order."""
    there, here = Counter(_said(before)), Counter(_said(after))
    return 2 * (there & here).total() >= here.total()


def left_of_the_only_one(crossing: Crossing) -> bool:
    """Whether all that was sent stands, in order, in the only response that was read, and is no small part of it.

    Where every second event is gone, no run of neighbours came through by which the answer could be known.
    """
    before, after = crossing.before, crossing.after
    if not (crossing.only and before.whole and after.whole):
        return False
    read, sent = _said(before), _said(after)
    rest, once = iter(read), sum(before.counts[value] == 1 == after.counts[value] for value in set(sent))
    return once >= _SOME and _SHARE * len(sent) >= len(read) and all(value in rest for value in sent)


def _said(view: View) -> list[int]:
    """The events with content, as far as they are known."""
    return [value for value in view.values if value is not None and view.content.get(value)]


def passed_on(crossing: Crossing) -> bool:
    """Whether a response and the answer have one id, and an event of one came through as it was written."""
    told = crossing.leg.told(RESPONSE_ID)
    return bool(told) and told == crossing.egress.told(RESPONSE_ID) and bool(crossing.verbatim.same)


def explained_by(hop: Hop, crossing: Crossing, others: Sequence[View]) -> bool:
    """Whether another attempt's content could explain what looks like a fault of the leg that feeds the answer."""
    ends = _ends_moved(hop, crossing)
    if any(ends & set(other.values) for other in others):
        return True  # an end of another attempt, which is written alike, may stand there
    new = _OTHERWISE if crossing.leg.complete else _OTHERWISE | {"duplicate"}
    return any(_explains(other, hop, new) for other in others if not shows_nothing_of(other, crossing))


def _ends_moved(hop: Hop, crossing: Crossing) -> set[int]:
    """Finishes of the leg that may be what is told to stand in another place."""
    before, spans = crossing.before, [change.span for change in hop.changes if change.kind == "reorder"]
    places = zip(before.positions, before.values, strict=True)
    moved = {value for at, value in places if at is not None and any(low <= at <= high for low, high in spans)}
    return {value for value in moved if value is not None and crossing.content_of(value) == 0}


def _explains(other: View, hop: Hop, new: frozenset[str]) -> bool:
    if any(not change.values for change in hop.changes):
        return True
    brought = other.record.total("content") or other.record.part("finish")
    if brought and any(change.kind in new for change in hop.changes):
        return True  # a piece of it may stand in an event that joins both
    known = set(other.values)
    return None in known or any(v in known for change in hop.changes for v, _ in change.values)


def shows_nothing_of(other: View, crossing: Crossing) -> bool:
    """Whether the answer, as it is written, is made of its leg without anything of the other."""
    verbatim = crossing.verbatim
    theirs = verbatim.of(other.record)
    if not crossing.leg.complete or not other.whole or _stands_in_it(theirs, verbatim):
        return False
    if verbatim.whole:
        return True
    broke = not other.record.complete and (other.record.leg or 0) < (crossing.leg.leg or 0)
    return broke and verbatim.mostly and not _begins_with(theirs, crossing)


def _stands_in_it(theirs: Sequence[Row], verbatim: Verbatim) -> bool:
    """Whether an event of another attempt may be one of the answer's; an end may be written alike in both.

    Where rows are lost, it may be any that is not held. An answer that is the leg's bytes, in whatever order, has just
    what the leg has.
    """
    if not verbatim.held:
        known = verbatim.whole and len(verbatim.before) == verbatim.leg.total("judged")
        same = {row.writing for row in verbatim.before}
        return any(not known or row.writing in same for row in theirs)
    read, sent = (Counter(row.writing for row in rows) for rows in (verbatim.before, verbatim.after))
    return any(sent[row.writing] and (row.content or sent[row.writing] > read[row.writing]) for row in theirs)


def _begins_with(theirs: Sequence[Row], crossing: Crossing) -> bool:
    """Whether something new at the very beginning may be a run of an attempt that broke, joined to what replaces it.

    Who goes on with another response has sent all that he sends of the first one by then. A lone piece of it is known
    by its digest (`spliced`); of a run only the size is known.
    """
    verbatim = crossing.verbatim
    kept = next((row.position for row in verbatim.after if row.writing in verbatim.read), -1)
    new = [row for row in verbatim.after if row.position < kept]
    if len(new) * max(1, len(verbatim.gone)) > MOST:
        return True
    sizes = {*(row.content for row in new), sum(row.content for row in new)}
    beside = {row.content - other.content for row in new for other in verbatim.gone}
    return any(_is_run(size, theirs, 2) for size in sizes) or any(_is_run(size, theirs, 1) for size in beside)


def _is_run(size: int, theirs: Sequence[Row], least: int) -> bool:
    """Whether so many neighbouring pieces, at least, are of this size together."""
    ends = list(accumulate((row.content for row in theirs), initial=0))
    last = {end: place for place, end in enumerate(ends)}
    return size > 0 and any(last.get(end + size, 0) >= place + least for place, end in enumerate(ends))


def spliced(feeding: View, others: Sequence[View], after: View) -> bool:
    """Whether content that only another attempt brought stands in the answer: it is made of several then."""
    here = {value for value in after.values if after.content.get(value or 0)} - set(feeding.values)
    return any(here & set(view.values) for view in others)


def continued(views: Sequence[View], after: View) -> bool:
    """Whether the answer is all that was read of each earlier response, and then the whole of the last one.

    Only calls, which a gateway may make itself, and what closes a part may be kept back.
    """
    return _begins(views, after) is not None


def _begins(views: Sequence[View], after: View) -> list[int] | None:
    """Where each response begins in the answer, if it is made of one behind the other."""
    if not after.whole or not all(view.whole for view in views):
        return None
    at, begins = 0, [0]
    for view in views[:-1]:
        parts = parts_of(view.record)
        for position, value in zip(view.positions, view.values, strict=True):
            if at < len(after.values) and value == after.values[at]:
                at += 1
            elif position is None or parts.get(position, 0) & ~_KEPT_BACK:
                return None  # read and not sent: lost, or left for the next one to say again
        begins.append(at)
    return begins if after.values[at:] == views[-1].values else None


def begun_anew(views: Sequence[View], after: View) -> Hop | None:
    """What is wrong with an answer that is `continued`, where a later response says again how the answer began.

    Whoever asks again has to leave out what he has sent. All that was sent of an attempt that broke, said once more
    from its first event on, was sent twice; less may be an accident, or what the provider repeats. None: nothing.
    """
    begins = _begins(views, after) or [0]
    ends = [*begins[1:], len(after.values)]
    again = [_as_it_began(after, begin, end) for begin, end in zip(begins, ends, strict=True)]
    if not any(_texts(after, begin, count) for begin, count in zip(begins, again, strict=True)):
        return None
    first = next(end for end in ends if end)  # behind what was sent of the first one that said anything
    twice = [
        _sent_twice(after, begin, count, exact=len(views) == 2)
        for begin, count in zip(begins, again, strict=True)
        if count >= first and len(_texts(after, begin, count)) >= _BEGINNING
    ]
    broke = all(view.record.complete is False for view in views[:-1])
    return faulty(twice, Proof("by_attempts", "semantic")) if twice and broke else Hop("unproven", reason=_ANEW)


def _as_it_began(after: View, begin: int, end: int) -> int:
    """How many of the events from this place on are those with which the answer began."""
    pairs = zip(after.values[:begin], after.values[begin:end], strict=False)
    return next((i for i, (one, other) in enumerate(pairs) if one != other), min(begin, end - begin))


def _texts(after: View, begin: int, count: int) -> set[int]:
    """The different contents in so many events from this place on."""
    return {value for value in after.values[begin : begin + count] if value and after.content.get(value)}


def _sent_twice(after: View, begin: int, count: int, *, exact: bool) -> Change:
    span = (begin, begin + count - 1)
    values = Counter(value for value in after.values[begin : begin + count] if value is not None)
    return Change("duplicate", count, exact, "after", span, span, placed=True, values=tuple(values.items()))
