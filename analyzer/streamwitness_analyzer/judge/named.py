"""A hop where B names the events of A that it was made from (docs/design.md §7.1): the application's own reducer.

Each row of B holds in `of` the position at A. The block in which the running maximum passes a position owns it: the
event is in that block or it is not there in time. Rejections (`duplicate`, `gap`, …) are seen, and point back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from streamwitness.blocks import Block
from streamwitness.semconv import MISSING, RESULTS

from .change import Change, Hop
from .records import Record
from .view import View

LOSSES: Final = {"raised": "gap", "overflow_dropped": "gap", "partial": "partial"}
"""Results at `applied` that lose (a part of) the event, and the kind of finding they make."""
REJECTIONS: Final = frozenset(
    ("duplicate", "gap", "reordered", "buffered", "stall_flushed", "wrong_stream", "after_terminal", "malformed")
)
"""Final results by which a fail-closed reducer says that what came before it was already broken."""
USED: Final = frozenset(("ok", "applied", "ignored", "partial"))


@dataclass(slots=True)
class Naming:
    """What B's rows say of A's positions."""

    results: dict[int, list[str]] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    """Positions in the order in which B has them, the unknown left out."""
    unnamed: int = 0
    """Rows held that name no event, and rows that are lost."""
    lost: list[tuple[int, int]] = field(default_factory=list)
    """Positions (inclusive) that lost blocks own."""
    reach: int = -1
    """Highest position named."""

    def unknown(self, position: int) -> bool:
        """Whether a lost block owns the position."""
        return any(low <= position <= high for low, high in self.lost)


@dataclass(frozen=True, slots=True)
class Named:
    """The hop, and what is no fault of it: `ignored` and `rejected` positions."""

    hop: Hop
    ignored: tuple[int, ...] = ()
    rejected: Mapping[int, str] = field(default_factory=dict)
    used: int = 0
    """Rows whose event reached the application."""


def compare_named(a: Record, content: Mapping[int, int], b: Record, *, peer: bool) -> Named:
    """Judge A → B. `content` maps the positions of A that carry model output to its bytes; others may come or not."""
    naming = read(b)
    told = {p: results[-1] for p, results in naming.results.items()}
    ignored = tuple(sorted(p for p, r in told.items() if r == "ignored"))
    rejected = {p: r for p, r in sorted(told.items()) if r in REJECTIONS}
    used = sum(1 for results in naming.results.values() for r in results if r in USED)
    if a.closed and naming.reach >= a.events:
        reason = "it names events that the point before never had"
        return Named(Hop("unproven", reason=reason), ignored, rejected, used)
    changes = [*_told_losses(told), *_absent(a, content, naming, b, peer), *_repeated(naming), *_displaced(naming)]
    return Named(_hop(changes, naming, a, content, b, peer), ignored, rejected, used)


def _hop(changes: list[Change], naming: Naming, a: Record, content: Mapping[int, int], b: Record, peer: bool) -> Hop:
    unread = sum(1 for p in content if p > naming.reach) if b.closed and not peer else 0
    if changes:
        return Hop("faulty", tuple(changes), unread=unread)
    if not b.closed:
        return Hop("unproven", reason="its closing block is not held")
    if naming.unnamed or naming.lost:
        return Hop("unproven", reason="some rows name no event, or are lost")
    if peer and (not a.closed or a.lost):
        return Hop("unproven", reason="what was handed to it is not wholly known")
    return Hop("intact", prefix=naming.reach + 1, unread=unread)


def read(b: Record) -> Naming:
    """Collect what the rows name, and which positions lost blocks own."""
    naming = Naming()
    index, events, highest = 0, 0, -1
    for block in b.blocks:
        if block.index > index or block.position > events:
            _note_lost(naming, block.position - events, highest + 1, block.max_before)
        _note_rows(naming, block)
        index, events, highest = block.index + 1, block.totals["events"], block.max_after
    naming.reach = max(naming.reach, highest)
    return naming


def _note_lost(naming: Naming, events: int, low: int, high: int) -> None:
    naming.unnamed += events
    if high >= low:
        naming.lost.append((low, high))


def _note_rows(naming: Naming, block: Block) -> None:
    rows = block.totals["events"] - block.position
    columns = block.columns() if block.rows is not None and block.row_count == rows else {}
    named = columns.get("of")
    if named is None:
        if rows:
            _note_lost(naming, rows, block.max_before + 1, block.max_after)
        return
    results = columns.get("result") or [0] * rows
    for position, result in zip(named, results, strict=True):
        if position == MISSING:
            naming.unnamed += 1
        else:
            naming.results.setdefault(position, []).append(RESULTS[result] if result < len(RESULTS) else "ok")
            naming.order.append(position)
            naming.reach = max(naming.reach, position)


def _told_losses(told: Mapping[int, str]) -> Iterable[Change]:
    """Losses that the reducer itself reports."""
    for position, result in sorted(told.items()):
        if kind := LOSSES.get(result):
            span = (position, position)
            yield Change(kind, 1, True, "before", span, span, True, note=f"reported as {result}")


def _absent(a: Record, content: Mapping[int, int], naming: Naming, b: Record, peer: bool) -> Iterable[Change]:
    """Events with model output that B provably went past (or was due to reach) without naming them."""
    if naming.unnamed:
        return []
    due = a.events - 1 if peer and b.closed else naming.reach
    missing = [p for p in sorted(content) if p <= due and p not in naming.results and not naming.unknown(p)]
    ended = peer and b.closed and a.closed
    late = not (peer and b.closed)
    return [_run(run, content, ended and run[-1] == max(content), late) for run in _runs(missing, sorted(content))]


def _run(run: list[int], content: Mapping[int, int], at_end: bool, late: bool) -> Change:
    span = (run[0], run[-1])
    kind = "gap_or_late" if late else "tail" if at_end else "gap"
    return Change(kind, len(run), not late, "before", span, span, True)


def _runs(missing: list[int], candidates: list[int]) -> list[list[int]]:
    """Missing positions grouped where no other candidate stands between two of them."""
    rank = {position: i for i, position in enumerate(candidates)}
    runs: list[list[int]] = []
    for position in missing:
        if runs and rank[position] == rank[runs[-1][-1]] + 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    return runs


def _repeated(naming: Naming) -> Iterable[Change]:
    """Events that the reducer took in more than once."""
    for position, results in sorted(naming.results.items()):
        taken = sum(1 for r in results if r in ("ok", "applied", "partial"))
        if taken > 1:
            span = (position, position)
            yield Change("duplicate", taken - 1, not naming.unnamed, "before", span, span, True, note="applied twice")


def _displaced(naming: Naming) -> Iterable[Change]:
    """Events applied after later ones: the fewest that must move to restore the order."""
    times = Counter(naming.order)
    order = [p for p in naming.order if times[p] == 1 and naming.results[p][0] in USED]
    kept = _longest_rising(order)
    moved = [p for p in order if p not in kept]
    if moved:
        span = (min(moved), max(moved))
        yield Change("reorder", len(moved), not naming.unnamed and len(moved) == 1, "before", span, span)


def _longest_rising(order: list[int]) -> frozenset[int]:
    """A longest rising subsequence (patience sorting)."""
    tops: list[int] = []
    piles: list[tuple[int, int]] = []
    for position in order:
        pile = bisect_left(tops, position)
        tops[pile : pile + 1] = [position]
        piles.append((pile, position))
    kept: list[int] = []
    want = len(tops) - 1
    for pile, position in reversed(piles):
        if pile == want and (not kept or position < kept[-1]):
            kept.append(position)
            want -= 1
    return frozenset(kept)


def carrying(view: View) -> dict[int, int]:
    """Positions of a record that carry model output → its bytes, as far as rows are held."""
    sizes = view.content
    return {
        position: sizes[value]
        for position, value in zip(view.positions, view.values, strict=True)
        if position is not None and value is not None and sizes.get(value)
    }
