"""What a parser handed on, beside what it read: it may hand on the same content in other pieces (docs/design.md §7.2).

Of a hooked SDK's parser it is known that it hands on event by event. One that somebody watches may cut the content
anew, whatever he says of it: then only the digests of all of it, at both points, tell whether it is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from streamwitness.semconv import ASKED_AGAIN, FINISH, FINISH_REASONS_ATTRIBUTE, SHARED_NUMBERS, TERMINAL, UNREAD
from streamwitness_analyzer.judge.compare.change import LOSSES, NEW, Change, Hop, Proof, faulty
from streamwitness_analyzer.judge.compare.lenient import but_for_implied, but_for_odd_bytes
from streamwitness_analyzer.judge.compare.mended import unless_mended
from streamwitness_analyzer.judge.compare.places import judge_views
from streamwitness_analyzer.judge.testimony.finishes import (
    OTHER_CHOICES,
    OTHER_ENDS,
    finishes,
    of_other_choices,
    only_finishes,
    several_choices,
    silent_choices,
)
from streamwitness_analyzer.judge.testimony.parts import (
    CONTENT,
    UNREAD_OUTPUT,
    all_slots,
    event_by_event,
    goes_on_behind_finish,
    kind_of_slot,
    may_go_on_behind_terminal,
    output_behind_terminal,
    parts_of,
    positions_with,
    same_slots,
    says_more,
    slots_of,
    stopped_within_an_event,
)
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .resumed import but_for_the_head

_SAYING_NOTHING: Final = ("other", "role", "snapshot")
"""Parts of events of which no output was understood."""
_RECOGNISED: Final = (*CONTENT, "finish")
_PERHAPS_MISREAD: Final = (
    "nothing in it was recognised as output, and the end of its record, which tells whether it was what it was"
    " announced as, is missing"
)
_FINISH_TOO_EARLY: Final = "the content is the same, and some of it came out behind the finish"
_OTHER_TURNS: Final = "the content is the same, and its calls came out in another order"
_END_NOT_HELD: Final = "no record tells where the answer ended, and not every finish came out"
_BEHIND: Final = "what the gateway sent behind the terminator nobody has to hand on, and it may have sent some"
_READ_ON: Final = "it may have handed on what came behind the terminator, which nobody has to and anybody may"
_ASKED_AGAIN: Final = "its parser asked again by itself, and may have handed on what another answer brought"
_OTHER_PIECES: Final = "its parser may hand on the same content in other pieces"
_CUT: Final = "the body ended without a blank line; the parser may have read on to there"
_IN_PLACE: Final = LOSSES | {"duplicate", "fabricated"}
"""Kinds of changes that leave every other event as and where it was."""
_ONE_NUMBER: Final = "calls came out under one number that had each its own; some readers make one of them"
_DIFFERS: Final = "the content differs, and was cut into other events"
_LESS: Final = "less content came, and was cut into other events"
_FINISHES: Final = "the content is the same, and was cut into other events; the finishes are not as many"
_FINISHES_IN_ONE: Final = "the content is the same, and nobody told how many choices finished in each event"
_OTHER_FINISH: Final = "why it ended came out as something else"
_ENDED_OTHERWISE: Final = "the content is the same, and it is told otherwise why the answer ended"
_OTHER_END: Final = "it is told otherwise why the answer ended, and lost rows hide whether more stood behind its end"


@dataclass(frozen=True, slots=True)
class Handing:
    """What came to a parser (`before`: at the client, or as it left the gateway), and otherwise what it handed on."""

    before: Record
    after: Record
    peer: bool
    """Whether the parser read to the end, so that all was due."""
    read: View
    """What was read."""
    out: View
    """What was handed on."""
    hop: Hop
    """The comparison event by event, but for what readers may take otherwise: a fault."""
    proven: Hop
    """The same, but for what may be an event that the body broke off within."""

    def unproven(self, reason: str) -> Hop:
        """Not proven, and why."""
        return Hop("unproven", prefix=self.hop.prefix, reason=reason)


def judge_handed_on(before: Record, after: Record, *, peer: bool) -> Hop:
    """Judge what came to a parser → what it handed on."""
    hop = unless_mended(_judged(before, after, peer=peer), before, after)
    hop = but_for_the_head(hop, before, after)
    return _with_unread(hop, before, after) if peer and hop.status == "intact" and says_more(before) else hop


def _with_unread(hop: Hop, before: Record, after: Record) -> Hop:
    """The hop, with output that nobody reads here: as many such events came out, or a known parser's objects."""
    fewer = any(after.part(name) < before.part(name) for name in _SAYING_NOTHING)
    as_many = before.told(UNREAD) is not None and after.told(UNREAD) == before.told(UNREAD)
    untouched = not fewer and (as_many or event_by_event(after))
    return hop if untouched else Hop("unproven", prefix=hop.prefix, reason=UNREAD_OUTPUT)


def _judged(before: Record, after: Record, *, peer: bool) -> Hop:
    """What the first of the rules says that answers."""
    read, out = View(before, "semantic"), View(after, "semantic")
    hop = _by_event(read, out, peer=peer)
    if hop.status != "faulty":
        return _one_for_one(hop, read, out, peer=peer)
    proven = _before_the_cut(hop, out) if stopped_within_an_event(before) else hop
    handing = Handing(before, after, peer, read, out, hop, proven)
    return next((answer for rule in RULES if (answer := rule(handing)) is not None), proven)


def cut_anew(before: Record, after: Record, *, peer: bool) -> bool:
    """Whether what was handed on is not, event by event, what was read, whatever all of it holds."""
    return _by_event(View(before, "semantic"), View(after, "semantic"), peer=peer).status == "faulty"


def _one_for_one(hop: Hop, read: View, out: View, *, peer: bool) -> Hop:
    """The hop without a difference of events; its finish and calls may have come out as something else all the same."""
    if hop.status == "intact" and read.closed and out.closed and peer:
        hop = _with_finish(hop, read.record, out.record)
    return _with_numbers(hop, read.record, out.record)


def _by_event(read: View, out: View, *, peer: bool) -> Hop:
    return but_for_implied(but_for_odd_bytes(judge_views(read, out, peer=peer), read), out)


def _perhaps_misread(handing: Handing) -> Hop | None:
    """The body may not be what it was announced as, and then whoever looks finds other events in it."""
    return handing.unproven(_PERHAPS_MISREAD) if _may_be_misread(handing.read, handing.out) else None


def _the_same_content(handing: Handing) -> Hop | None:
    """Every slot holds the same, however it was cut."""
    if not (handing.peer and same_slots(handing.before, handing.after)):
        return None
    return _same_content(handing.hop, handing.before, handing.after)


def _behind_the_end(handing: Handing) -> Hop | None:
    """What the gateway sent behind its terminator may be what is missing; what came behind it, what is too many."""
    if not may_go_on_behind_terminal(handing.before):
        return None
    if handing.before.point == "egress":
        return handing.unproven(_BEHIND)
    more = any(change.kind not in LOSSES for change in handing.proven.changes)
    return handing.unproven(_READ_ON) if more and output_behind_terminal(handing.before) else None


def _of_another_answer(handing: Handing) -> Hop | None:
    """The parser asked again by itself: what came more may be what it was answered then."""
    more = any(change.kind not in LOSSES for change in handing.proven.changes)
    return handing.unproven(_ASKED_AGAIN) if more and handing.after.told(ASKED_AGAIN) else None


def _broken_off(handing: Handing) -> Hop | None:
    """The body ended within an event, and nothing else is proven."""
    return handing.proven if handing.proven.status != "faulty" else None


def _perhaps_other_pieces(handing: Handing) -> Hop | None:
    """We do not know the parser, and no digest of all content tells whether it is the same in other pieces."""
    told = handing.peer and _whole_content_told(handing.before) and _whole_content_told(handing.after)
    if told or event_by_event(handing.after):
        return None
    more = any(change.kind not in LOSSES for change in handing.proven.changes)
    return handing.unproven(_OTHER_PIECES) if more or _new_pieces(handing.read, handing.out) else None


def _other_content(handing: Handing) -> Hop | None:
    """The parser cuts the content anew, and it is another one."""
    if event_by_event(handing.after) or not _cut_anew(handing.proven, handing.read, handing.out):
        return None
    return _as_a_whole(handing.proven, handing.before, handing.after)


def _of_silent_choices(handing: Handing) -> Hop | None:
    """Only ends of choices changed places, and of one that said nothing no digest tells that it was not its turn."""
    changes, before = handing.proven.changes, handing.before
    moved = bool(changes) and all(change.kind == "reorder" for change in changes)
    only = moved and silent_choices(before) and all(only_finishes(before, change.span) for change in changes)
    return handing.unproven(OTHER_ENDS) if only else None


RULES: Final[tuple[Callable[[Handing], Hop | None], ...]] = (
    _perhaps_misread,
    _the_same_content,
    _behind_the_end,
    _of_another_answer,
    _broken_off,
    _of_silent_choices,
    _perhaps_other_pieces,
    _other_content,
)
"""In this order: the first that answers decides, and what none of them excuses is a fault as it stands."""


def _before_the_cut(hop: Hop, after: View) -> Hop:
    """The hop of a body that broke off within an event, which a parser may take for one: behind all others.

    What else came more, of which no copy stands there, came more all the same.
    """
    if all(change.kind in LOSSES for change in hop.changes):
        return hop
    added = sum(change.count for change in hop.changes if change.side == "after")
    last = set(after.values[max(0, after.n - added) :])
    proven = tuple(c for c in hop.changes if c.kind in LOSSES or (c.values and last.isdisjoint(v for v, _ in c.values)))
    known = after.whole and all(change.exact and change.kind in _IN_PLACE for change in hop.changes)
    return replace(hop, changes=proven) if known and proven else Hop("unproven", prefix=hop.prefix, reason=_CUT)


def _may_be_misread(a: View, b: View) -> bool:
    """Whether the body may not be what it was announced as, which only a closing block tells.

    Then whoever looks finds other events in it: nothing was recognised as output, and not one event is the same.
    """
    record = a.record
    recognised = any(record.part(name) for name in _RECOGNISED)
    return (
        record.closing is None and not recognised and a.digests and b.digests and not a.counts.keys() & b.counts.keys()
    )


def _cut_anew(hop: Hop, a: View, b: View) -> bool:
    """Whether new pieces came where others are missing, or may have where lost rows leave only bounds."""
    if not all(change.exact for change in hop.changes) and _new_pieces(a, b):
        return True
    kinds = {change.kind for change in hop.changes}
    return bool(kinds & NEW) and bool(kinds & LOSSES)


def _as_a_whole(hop: Hop, before: Record, after: Record) -> Hop:
    """The fault of a parser that cuts the content anew: that it differs, or how it ends, but never piece by piece."""
    if same_slots(before, after):
        return faulty([_other_finishes(before, after)], Proof("envelope"), prefix=hop.prefix)
    everywhere = (hop.prefix, max(hop.prefix, before.events - 1))
    kind, note = ("gap", _LESS) if _broke_off(before, after) else ("altered", _DIFFERS)
    spans = [change.span for change in hop.changes if change.side == "before"] or [everywhere]
    span = (min(low for low, _ in spans), max(high for _, high in spans))
    return faulty([Change(kind, 1, False, "before", span, span, note=note)], Proof("by_content"))


def _other_finishes(before: Record, after: Record) -> Change:
    """More finishes than were read, or fewer, or others."""
    if after.part("finish") > before.part("finish"):
        places, last = positions_with(after, FINISH), after.events - 1
        span = (places[0], places[-1]) if places else (0, last)
        return Change("extra", 1, False, "after", span, (0, last), note=_FINISHES)
    places = positions_with(before, FINISH)
    span = (places[0], places[-1]) if places else (0, before.events - 1)
    fewer = finishes(before) > finishes(after) or before.part("finish") > after.part("finish")
    return Change("gap" if fewer else "altered", 1, False, "before", span, span, note=_FINISHES)


def _broke_off(before: Record, after: Record) -> bool:
    """Whether the answer is known to have ended before its end, with less than there was: so much is missing."""
    there, here = (sum(size for _, size in slots_of(record).values()) for record in (before, after))
    return not after.complete and here < there


def _with_finish(hop: Hop, before: Record, after: Record) -> Hop:
    """A finish that came out as another one under the same digest, which does not tell whether tools are wanted."""
    same_calls = before.part("tool_start") == after.part("tool_start")
    if not _ended_otherwise(before, after) or not same_calls:
        return hop
    if may_go_on_behind_terminal(before):
        goes_on = before.part("terminal") > 1 or before.blocks[-1].rows_held
        return hop if goes_on else Hop("unproven", prefix=hop.prefix, reason=_OTHER_END)
    places = positions_with(before, FINISH)
    span = (places[0], places[-1]) if places else (0, before.events - 1)
    change = Change("altered", 1, len(places) == 1, "before", span, span, len(places) == 1, note=_OTHER_FINISH)
    return faulty([change], Proof("envelope"), prefix=hop.prefix)


def _same_content(hop: Hop, before: Record, after: Record) -> Hop | None:
    """The hop where every slot holds the same: how it was cut, and how it ended; None where a finish is in doubt."""
    if not _finished_alike(before, after):
        if after.part("finish") and several_choices(before) and not _finishes_told(after):
            return Hop("unproven", prefix=hop.prefix, reason=_FINISHES_IN_ONE)
        due = _finishes_due(before)
        if due is None:
            return Hop("unproven", prefix=hop.prefix, reason=_END_NOT_HELD)
        if not due <= after.part("finish") <= before.part("finish"):
            return None
    elif _ended_otherwise(before, after):
        alone = len(hop.changes) == 1 and hop.changes[0].kind == "altered" and hop.changes[0].count == 1
        return hop if alone else Hop("unproven", prefix=hop.prefix, reason=_ENDED_OTHERWISE)
    a, b = View(before, "semantic"), View(after, "semantic")
    if bool(after.delivers) and (a.n, a.s) == (b.n, b.s):
        return hop
    if of_other_choices(a, b):
        return Hop("unproven", prefix=hop.prefix, reason=OTHER_CHOICES)
    if goes_on_behind_finish(after) and not goes_on_behind_finish(before):
        return Hop("unproven", prefix=hop.prefix, reason=_FINISH_TOO_EARLY)
    if _calls(before) != _calls(after):
        return Hop("unproven", prefix=hop.prefix, reason=_OTHER_TURNS)
    return _with_numbers(Hop("intact", prefix=hop.prefix), before, after)


def _with_numbers(hop: Hop, before: Record, after: Record) -> Hop:
    """The hop; not intact where calls came out under one number that had each its own.

    They are told apart by their ids as well, so that not everybody makes one of them.
    """
    if hop.status != "intact" or _shared_numbers(after) <= _shared_numbers(before):
        return hop
    return Hop("unproven", prefix=hop.prefix, unread=hop.unread, reason=_ONE_NUMBER)


def _shared_numbers(record: Record) -> int:
    told = record.told(SHARED_NUMBERS)
    return told if isinstance(told, int) else 0


def _calls(record: Record) -> list[tuple[str, int]]:
    """What the calls hold, in the order in which they began; each choice has its own."""
    told = slots_of(record)
    calls = [slot for slot in told if kind_of_slot(slot) == "tool"]
    return [told[slot] for slot in sorted(calls, key=lambda slot: (slot.partition("/")[0], len(slot), slot))]


def _finishes_due(record: Record) -> int | None:
    """How many finishes stand up to the first terminator, where readers stop; None where lost rows hide it."""
    if not may_go_on_behind_terminal(record):
        return record.part("finish")
    masks = sorted(parts_of(record).items())
    first = next((position for position, mask in masks if mask & TERMINAL), None)
    if first is None or len(masks) < record.events:
        return None
    return sum(1 for position, mask in masks if mask & FINISH and position <= first)


def _finished_alike(before: Record, after: Record) -> bool:
    """Whether as many choices finished, each in an event of its own or several in one."""
    if before.part("finish") == after.part("finish"):
        return True
    once = all(_finishes_told(record) and record.part("finish") <= finishes(record) for record in (before, after))
    return once and finishes(before) == finishes(after)


def _finishes_told(record: Record) -> bool:
    return isinstance(record.told(FINISH_REASONS_ATTRIBUTE), (list, tuple))


def _ended_otherwise(before: Record, after: Record) -> bool:
    """Whether a finish came out as another one."""
    one, other = before.told(FINISH_REASONS_ATTRIBUTE), after.told(FINISH_REASONS_ATTRIBUTE)
    if not (isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and before.part("finish")):
        return False
    return list(one) != list(other)


def _new_pieces(a: View, b: View) -> bool:
    """Whether pieces may have been handed on that were not read as such."""
    return not (a.digests and b.digests and b.whole and b.counts <= a.counts)


def _whole_content_told(record: Record) -> bool:
    """Whether the digests of all content are held, so that another cut of it can be told from other content."""
    closing = record.closing
    return record.closed and closing is not None and bool(closing.slot_digests) and all_slots(record)
