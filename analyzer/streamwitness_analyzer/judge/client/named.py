"""A hop where B names the events of A that it was made from (docs/design.md §7.1): the application's own reducer.

Each row of B holds in `of` the position at A. The block in which the running maximum passes a position owns it: the
event is in that block or it is not there in time. Rejections (`duplicate`, `gap`, …) are seen, and point back.
What was not taken may be taken later: a refusal is the last word only where no later report is lost that may be of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Final

from streamwitness.blocks import Block
from streamwitness.semconv import EARLIER_RECORD, MISSING, PART, PARTS, RESULT, RESULTS, SHARED_RECORD
from streamwitness_analyzer.judge.compare.change import Change, Hop, Proof, faulty
from streamwitness_analyzer.judge.compare.edits import runs
from streamwitness_analyzer.judge.compare.lenient import implied
from streamwitness_analyzer.judge.testimony.parts import CONTENT, all_slots, parts_of, slots_of
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .apart import Kinds, displaced, kind_of, kinds_of, passed

LOSING: Final = {"raised": "gap", "overflow_dropped": "gap", "partial": "partial"}
"""Results at `applied` that lose (a part of) the event, and the kind of finding they make."""
_LOSSES: Final = frozenset(RESULT[name] for name in LOSING)
_IN_NO_HAND: Final = frozenset(("gap", "tail"))
"""What is lost whoever of several had it to take up."""
REJECTIONS: Final = frozenset(
    ("duplicate", "gap", "reordered", "buffered", "stall_flushed", "wrong_stream", "after_terminal", "malformed")
)
"""Final results by which a fail-closed reducer says that what came before it was already broken."""
_ORDINARY: Final = frozenset((RESULT["applied"],))
CONTENT_MASK: Final = sum(PART[name] for name in CONTENT)
_SEVERAL: Final = 2
_NOT_OF_A: Final = "it names events that the point before never had"
_COUNTS_ONLY: Final = "no single events were recorded there, and counts alone prove no equality"
_APART: Final = "kinds of output were taken up one after the other"
_EARLIER: Final = "another record of the application came before this one, and may have what this one has not"
_SHARED: Final = "several report to one record, and each may take up all or a part, in an order of its own"
_MAY_SHOW: Final = "the application may show a result that clears it, and that is not held, or could not be compared"
_NOT_ALL: Final = "the application need not take up every kind or choice of output, and did not"
USED: Final = frozenset(("ok", "applied", "ignored", "partial"))
_WHOLE: Final = frozenset(("ok", "applied"))


@dataclass(slots=True)
class Naming:
    """What B's rows say of A's positions, and what its lost blocks still prove by their counters."""

    results: dict[int, list[str]] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    """Positions in the order in which B has them, the unknown left out."""
    unnamed: int = 0
    """Events at B that name none of A's."""
    lost: list[Lost] = field(default_factory=list)
    late: bool = False
    """Whether a lost block holds events that came after later ones."""
    reach: int = -1
    """Highest position named."""
    again: int = 0
    """How many of `order` stand before a lost block that names events again."""

    def unknown(self, position: int) -> bool:
        """Whether a lost block owns the position."""
        return any(run.low <= position <= run.high for run in self.lost)


@dataclass(frozen=True, slots=True)
class Lost:
    """The positions (inclusive) that a run of lost blocks owns, and how many of them it skipped."""

    low: int
    high: int
    skipped: int


@dataclass(slots=True)
class Named:
    """The hop, and what is no fault of it: `ignored` and `rejected` positions.

    Never changed, as a `Record` is not.
    """

    hop: Hop
    ignored: tuple[int, ...] = ()
    rejected: Mapping[int, str] = field(default_factory=dict)
    used: int | None = 0
    """Rows whose event reached the application; None where reports do not say which events they are of."""
    orderly: bool = False
    """Whether it took up all that it has a use for, once and in order."""


def compare_named(a: Record, b: Record, *, peer: bool, before: Sequence[Record] = ()) -> Named:
    """Judge A → B. Events of A without model output may come or not.

    `before` are the points on the way to A, which tell what the answer was made of where A's closing block is lost.
    A record that is not the first of its point says nothing by itself: what it lacks, refuses or names out of order may
    stand in the other.
    """
    if _behind_another(b):
        return Named(Hop("unproven", reason=_EARLIER), used=None)
    if as_handed(a, b, peer):
        return Named(Hop("intact", prefix=b.events), used=b.events, orderly=True)
    said, naming = _said(a), read(b)
    content = _taken_up(said, a, b)
    left_out = any(peer or position <= naming.reach for position in said.keys() - content.keys())
    told = _told(naming, b, peer)
    if shared(b):  # what one of them lost, another may have taken up
        told = {p: last for p, last in told.items() if len(naming.results[p]) == 1 or last not in LOSING}
    if a.closed and naming.reach >= a.events:
        return _reported(Hop("unproven", reason=_NOT_OF_A), naming, told)
    choices, kinds = _choices((a, *before)), kinds_of(a, b)
    in_one_hand = not shared(b)
    held_to = []
    if choices is None or choices < _SEVERAL:
        held_to = [*_absent(a, content, naming, b, peer, kinds), *_displaced(naming, kinds)]
    inferred = [*_repeated(naming), *(held_to if choices is not None else ())]
    if not in_one_hand:  # each has an order of its own, and late is nothing
        inferred = [change for change in inferred if change.kind in _IN_NO_HAND]
    refutable = bool(inferred) and _may_be_refuted(a, b, peer)
    changes = [*_told_losses(told), *(inferred if not refutable else ())]
    hop = _hop(changes, naming, a, content, b, peer)
    several = choices >= _SEVERAL if choices is not None else bool(held_to)
    apart = kinds is not None and not _in_turn(naming, content)
    orderly = hop.status == "intact" and in_one_hand and not (several or apart)
    if not changes and (left_out or several or apart):
        hop = Hop("unproven", reason=_NOT_ALL if left_out or several else _APART, unread=hop.unread)
    elif not changes and refutable:
        hop = Hop("unproven", reason=_MAY_SHOW, unread=hop.unread)
    elif hop.status == "intact" and not in_one_hand and not _once_in_order(naming):
        hop = Hop("unproven", reason=_SHARED, unread=hop.unread)
    return replace(_reported(hop, naming, told), orderly=orderly)


def _behind_another(b: Record) -> bool:
    """Whether another record of the application was closed before this one began."""
    return b.told(EARLIER_RECORD) is not None


def shared(b: Record) -> bool:
    """Whether several report to it, so that how often and in which order it names events proves nothing."""
    return b.told(SHARED_RECORD) is not None


def _once_in_order(naming: Naming) -> bool:
    return all(one < other for one, other in pairwise(naming.order))


def _may_be_refuted(a: Record, b: Record, peer: bool) -> bool:
    """Whether a result that equals what was given may be shown, and clear what only follows from reports.

    The closing block tells it, and without that nobody knows: many show it at the very end. One that stopped by itself
    has read too little to compare it, and what was given is not always told.
    """
    if b.closing is None or not b.closed:
        return True
    return bool(b.closing.slot_digests) and not (peer and a.closed and all_slots(a))


def _reported(hop: Hop, naming: Naming, told: Mapping[int, str]) -> Named:
    """The hop, with what the reports say of single events: `told` is what became of each in the end."""
    ignored = tuple(sorted(p for p, result in told.items() if result == "ignored"))
    rejected = {p: result for p, result in sorted(told.items()) if result in REJECTIONS}
    taken = sum(1 for results in naming.results.values() for result in results if result in USED)
    return Named(hop, ignored, rejected, None if naming.unnamed else taken)


def _told(naming: Naming, b: Record, peer: bool) -> dict[int, str]:
    """What became of each event in the end; left out where it was not taken, and may have been before or after.

    What was taken once is in the answer, whatever was refused after that. What an application that stopped by itself
    held back was in its hand.
    """
    final = frozenset(naming.order[naming.again :] if b.closed else ())
    told = {}
    for position, results in naming.results.items():
        last = results[-1]
        if last in REJECTIONS:
            last = next(filter(_WHOLE.__contains__, results), last)
        refused = last in REJECTIONS
        hidden = refused and (naming.late or naming.unknown(position) or (last == "buffered" and not peer))
        if not hidden and (position in final or not (refused or last in LOSING)):
            told[position] = last
    return told


def _said(a: Record) -> dict[int, int]:
    """The events of A with output, but for the ends of calls that only imply that these have no arguments."""
    content = carrying(View(a, "semantic"))
    if not (a.part("other") and a.part("tool_args")):
        return content
    masks = parts_of(a)
    return {position: size for position, size in content.items() if not implied(masks.get(position, 0))}


def _taken_up(content: dict[int, int], a: Record, b: Record) -> dict[int, int]:
    """The content of which the application ever took up that kind.

    An application that has no use for reasoning passes over it and reports nothing: that loses no event.
    """
    kinds = {kind_of(name) for name in CONTENT if a.part(name)}
    if not content or (len(kinds) < 2 and all(b.part(name) or not a.part(name) for name in CONTENT)):
        return content
    masks = parts_of(a)
    joined = Counter(name for mask in masks.values() for name in _joined(mask))
    taken = sum(PART[name] for name in PARTS if b.part(name) > joined[name])
    return {position: size for position, size in content.items() if masks.get(position, 0) & taken & CONTENT_MASK}


def _joined(mask: int) -> list[str]:
    """The kinds of output in an event of several: to apply it may be to apply one of them."""
    names = [name for name in CONTENT if mask & PART[name]]
    return names if len({kind_of(name) for name in names}) > 1 else []


def _choices(records: Sequence[Record]) -> int | None:
    """How many choices the answer has: rows do not tell them apart, and an application may want one only."""
    told = next((record for record in records if record.closed and all_slots(record)), None)
    return None if told is None else len({slot.partition("/")[0] for slot in slots_of(told)})


def as_handed(a: Record, b: Record, peer: bool) -> bool:
    """Healthy first: by its counters B names all of A once and in order, and its results are the ordinary one."""
    last = b.blocks[-1] if b.blocks else None
    if last is None or not (peer and a.closed and b.every_row):
        return False
    in_order = last.regressions == last.totals["gaps"] == 0 and last.max_after + 1 == a.events == b.events
    return in_order and _results(b) <= _ORDINARY


def _hop(changes: list[Change], naming: Naming, a: Record, content: Mapping[int, int], b: Record, peer: bool) -> Hop:
    unread = sum(1 for p in content if p > naming.reach) if b.closed and not peer else 0
    unknown = bool(naming.unnamed or naming.lost)
    doubt = (peer and not a.closed) or _in_doubt(a, naming, a.events if peer else naming.reach + 1)
    if changes:
        if unknown or doubt or not b.closed:  # more of the kind may be in what is not known
            changes = [replace(change, exact=False) for change in changes]
        return faulty(changes, Proof("by_name"), unread=unread)
    if not b.closed:
        return Hop("unproven", reason="the end of its record is missing")
    if unknown and not (b.lost or any(block.rows is not None for block in b.blocks)):
        return Hop("unproven", reason=_COUNTS_ONLY)
    if unknown:
        return Hop("unproven", reason="some of what it reported is lost, or is of no event that was handed to it")
    if doubt:
        return Hop("unproven", reason="what was handed to it is not wholly known")
    return Hop("intact", prefix=naming.reach + 1, unread=unread)


def _in_doubt(a: Record, naming: Naming, due: int) -> bool:
    """Whether an event that B does not name may have carried output: its row at A is lost."""
    unnamed = [position for position in range(due) if position not in naming.results]
    known = parts_of(a) if unnamed else {}
    return any(position not in known for position in unnamed)


def read(b: Record) -> Naming:
    """What the rows name, and what the counters say of the blocks that are lost."""
    return b.once("naming", lambda: _read(b))


def reports_losses(b: Record) -> bool:
    """Whether any report is of an event that was lost here."""
    return not _LOSSES.isdisjoint(_results(b))


def _results(b: Record) -> frozenset[int]:
    """All results that its rows tell, of whichever events: asked of whole columns, which costs little."""
    columns = (block.columns("result").get("result") or () for block in b.blocks)
    return b.once("results", lambda: frozenset(chain.from_iterable(columns)))


def _read(b: Record) -> Naming:
    naming = Naming()
    at = _State(0, -1, 0, 0)
    for block in b.blocks:
        end = _State(block.totals["events"], block.max_after, block.totals["gaps"], block.regressions)
        rows = _rows(block)
        if rows is None:
            _note_lost(naming, at, end)
        else:
            _note_lost(naming, at, _start(block, rows, end))
            _note_rows(naming, rows)
        at = end
    naming.reach = at.highest
    return naming


@dataclass(frozen=True, slots=True)
class _State:
    """A recorder's counters at one place between two of its rows."""

    events: int
    highest: int
    skipped: int
    regressions: int


_Rows = list[tuple[int, int]]
"""The `of` and the result of each row."""


def _rows(block: Block) -> _Rows | None:
    """The block's rows; None where they are lost."""
    count = block.totals["events"] - block.position
    if not count:
        return []
    if block.rows is None or block.row_count != count:
        return None
    columns = block.columns("of", "result")
    return list(zip(columns.get("of") or [MISSING] * count, columns.get("result") or [0] * count, strict=True))


def _start(block: Block, rows: _Rows, end: _State) -> _State:
    """The counters at the block's first row: those at its end, less what its rows added."""
    highest, skipped, regressions = block.max_before, 0, 0
    for position, _ in rows:
        if position == MISSING:
            continue
        if position > highest:
            skipped += position - highest - 1
            highest = position
        else:
            regressions += 1
    return _State(block.position, block.max_before, end.skipped - skipped, end.regressions - regressions)


def _note_lost(naming: Naming, at: _State, to: _State) -> None:
    """What lies between two known places: nothing, or lost rows of which the counters still tell."""
    events = to.events - at.events
    if not events:
        return
    span, skipped, regressions = to.highest - at.highest, to.skipped - at.skipped, to.regressions - at.regressions
    naming.unnamed += max(0, events - (span - skipped) - regressions)
    if regressions > 0:
        naming.late, naming.again = True, len(naming.order)
    naming.lost.append(Lost(at.highest + 1, to.highest, skipped))


def _note_rows(naming: Naming, rows: _Rows) -> None:
    for position, result in rows:
        if position == MISSING:
            naming.unnamed += 1
        else:
            naming.results.setdefault(position, []).append(RESULTS[result] if result < len(RESULTS) else "ok")
            naming.order.append(position)


def _told_losses(told: Mapping[int, str]) -> Iterable[Change]:
    """Losses that the reducer itself reports, neighbours together."""
    for result, kind in LOSING.items():
        positions = sorted(p for p, r in told.items() if r == result)
        for run in runs(positions, sorted(told)):
            span = (run[0], run[-1])
            yield Change(
                kind, len(run), True, "before", span, span, True, note=f"reported as {result}", results=(result,)
            )


def _absent(
    a: Record, content: Mapping[int, int], naming: Naming, b: Record, peer: bool, kinds: Kinds | None
) -> Iterable[Change]:
    """Events with model output that B provably went past (or was due to reach) without naming them."""
    if naming.unnamed:
        return []
    ended = peer and b.closed
    due = a.events - 1 if ended else naming.reach
    missing = [p for p in sorted(content) if p <= due and p not in naming.results and not naming.unknown(p)]
    late = not ended or naming.late
    apart = kinds is not None and late
    if kinds is not None and apart:  # what came late in a lost block may be another kind's, in its order
        missing = [p for p in missing if not naming.late and passed(naming.results, kinds, p)]
    last = max(content, default=-1) if ended and a.closed else -1
    absent = [_run(run, run[-1] == last, late) for run in runs(missing, sorted(content))]
    unnamed = {p: size for p, size in content.items() if p not in naming.results}
    return [*absent, *(change for run in naming.lost if not apart for change in _skipped(run, unnamed, late))]


def _skipped(run: Lost, unnamed: Mapping[int, int], late: bool) -> Iterable[Change]:
    """Positions that a lost block skipped: how many is known, which are not. All but `unnamed` may be skipped."""
    inside = [p for p in range(run.low, run.high + 1) if p in unnamed]
    count = run.skipped - (run.high - run.low + 1 - len(inside))
    if count > 0:
        span = (inside[0], inside[-1])
        yield Change(
            "gap_or_late" if late else "gap", count, False, "before", span, span, note="skipped in a lost block"
        )


def _run(run: list[int], at_end: bool, late: bool) -> Change:
    span = (run[0], run[-1])
    kind = "gap_or_late" if late else "tail" if at_end else "gap"
    return Change(kind, len(run), not late, "before", span, span, True)


def _repeated(naming: Naming) -> Iterable[Change]:
    """Events that the reducer took in more than once, whole: of parts of one the next report may be of the others."""
    for position, results in sorted(naming.results.items()):
        taken = sum(1 for r in results if r in _WHOLE)
        if taken > 1:
            span = (position, position)
            yield Change(
                "duplicate",
                taken - 1,
                not (naming.unnamed or naming.late),
                "before",
                span,
                span,
                True,
                note="applied twice",
            )


def _displaced(naming: Naming, kinds: Kinds | None) -> Iterable[Change]:
    """Events applied after later ones of their kind: the fewest that must move to restore the order.

    Where reports are lost, one that seems displaced may be a copy of one that was reported there, or may have been
    refused there at first: of one whose owner is lost nobody knows.
    """
    moved = displaced([p for p in used_once(naming) if not naming.unknown(p)], kinds)
    if moved:
        span = (min(moved), max(moved))
        exact = len(moved) == 1 and not (naming.unnamed or naming.late)
        kind = "mismatch" if naming.lost or naming.unnamed else "reorder"
        yield Change(kind, len(moved), exact, "before", span, span)


def used_once(naming: Naming) -> list[int]:
    """The positions of the events that were taken up, but for those that were so more than once, in B's order."""
    times = Counter(naming.order)
    return [p for p in naming.order if times[p] == 1 and naming.results[p][0] in USED]


def _in_turn(naming: Naming, content: Iterable[int]) -> bool:
    """Whether what was taken up was so in the order in which it came, and nothing was left for later."""
    rising = all(one < other for one, other in pairwise(used_once(naming)))
    return rising and all(p in naming.results for p in content if p < naming.reach)


def carrying(view: View) -> dict[int, int]:
    """Positions of a record that carry model output → its bytes, as far as rows are held."""
    sizes = view.content
    return {
        position: sizes[value]
        for position, value in zip(view.positions, view.values, strict=True)
        if position is not None and value is not None and sizes.get(value)
    }
