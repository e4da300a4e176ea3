"""One letter an event and point: the picture under a verdict. It decides nothing.

Columns are the events of the first point held, with further ones where a later point has more. A blank means that the
event did not exist yet at this point; the other letters are those of the verdict document.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from streamwitness.semconv import ERROR, FINISH, MISSING, TERMINAL
from streamwitness_analyzer.judge.attribute import Step
from streamwitness_analyzer.judge.client.named import USED, carrying, read
from streamwitness_analyzer.judge.compare.change import LEFT_OPEN, LOSSES, Reason
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.testimony.parts import last_with, parts_of, positions_with
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .pairing import in_its_place, named_pairs, pairs_of, places_told, tokens

MOST: Final = 4_000
"""Longest picture; longer streams have none."""
_WHEREVER: Final = str.maketrans("ocuF", "????")
"""What an event is drawn as that is there, in a column that may be another one's."""
_MOVED: Final = frozenset(("reorder", "mismatch"))
"""Kinds by which events stand in another order."""


@dataclass(slots=True)
class _Grid:
    """Rows of letters over common columns; `places` maps the positions of each point to columns (None: to none)."""

    rows: dict[str, list[str]] = field(default_factory=dict)
    places: dict[str, list[int | None]] = field(default_factory=dict)

    def widen(self, behind: Mapping[int, int]) -> list[int]:
        """Put in so many columns behind each of these (−1: in front); where each old column is now."""
        moved: list[int] = []
        width = behind.get(-1, 0)
        for column in range(max(map(len, self.rows.values()))):
            moved.append(width)
            width += 1 + behind.get(column, 0)
        for recorder, letters in self.rows.items():
            wide = [" "] * width
            for column, letter in zip(moved, letters, strict=True):
                wide[column] = letter
            self.rows[recorder] = wide
        for where in self.places.values():
            where[:] = [None if w is None else moved[w] for w in where]
        return moved


def draw(path: Path) -> dict[str, str]:
    """Recorder → its cells; the event that ends the answer at each point is marked."""
    steps = steps_drawn(path)
    records = [steps[0].before, *[step.after for step in steps]] if steps else path.records[-1:]
    if not records or max([record.events for record in records]) > MOST:
        return {}
    if _nothing_is_odd(path, steps, records[0]):
        return _straight(records)
    drawn: dict[str, str] = {}
    for run in _runs(path, steps, records) if steps else ():
        drawn |= _together(path, run)
    drawn |= {record.recorder: alone(record) for record in records if record.recorder not in drawn}
    return drawn | {recorder: drawn[recorder].translate(_WHEREVER) for recorder in _unplaced(steps)}


def _by_count(step: Step) -> bool:
    """Whether a hop is told by counts alone: which event is which behind it, nobody knows."""
    return any(change.proof.case == "by_count" for change in step.hop.changes)


def _unplaced(steps: Sequence[Step]) -> list[str]:
    """The points behind such a hop."""
    first = next((at for at, step in enumerate(steps) if _by_count(step)), len(steps))
    return [step.after.recorder for step in steps[first:]]


def _together(path: Path, steps: Sequence[Step]) -> dict[str, str]:
    """The cells of points that can be laid below each other."""
    first, records = steps[0].before, [steps[0].before, *(step.after for step in steps)]
    grid = _Grid({first.recorder: _own(first)}, {first.recorder: list(range(first.events))})
    for step in steps:
        _add(grid, path, step)
    _mark_ends(grid, records)
    return {record.recorder: "".join(grid.rows[record.recorder]) for record in records}


def _nothing_is_odd(path: Path, steps: Sequence[Step], first: Record) -> bool:
    """Healthy first: whether each point had the first events of the one before, and the rest was kept back by design.

    Then all that the picture would show is known by the counts.
    """
    if not steps or not (first.every_row and _columns(first)) or (path.named is not None and path.named.ignored):
        return False
    return all(_as_sent(path, step) == step.after.events and _kept_back(step) for step in steps)


def _kept_back(step: Step) -> bool:
    """Whether what did not come behind an intact hop, if anything, need not have come."""
    return step.before.events == step.after.events or (step.peer and step.after.point != "wire")


def _straight(records: Sequence[Record]) -> dict[str, str]:
    """The picture of such a path: nothing is displaced, so the answer ends in the same column everywhere."""
    width, end = records[0].events, _last_end(records)
    rows = {record.recorder: "o" * record.events + "c" * (width - record.events) for record in records}
    return rows if end < 0 else {recorder: f"{row[:end]}F{row[end + 1 :]}" for recorder, row in rows.items()}


def _last_end(records: Sequence[Record]) -> int:
    """The position of the last finish or terminal at any of these points (−1: none is known), as `_mark_ends` looks."""
    found, known = -1, None
    for record in records:
        if record.events == known or found == records[0].events - 1:
            continue  # the same events end alike, and nothing stands behind the last one
        known = record.events if record.every_row else None
        last = last_with(record, FINISH | TERMINAL)
        found = found if last is None else max(found, last)
    return found


def _runs(path: Path, steps: Sequence[Step], records: Sequence[Record]) -> list[list[Step]]:
    """The hops without those at a point that has no rows (level `counters`, or all lost), unless all was the same."""
    bare = {record.recorder for record in records if record.events and not _columns(record)}
    runs: list[list[Step]] = [[]]
    for step in steps:
        nameless = bare & {step.before.recorder, step.after.recorder} or _by_count(step)
        if nameless and _as_sent(path, step) is None:
            runs.append([])
        else:
            runs[-1].append(step)
    return [run for run in runs if run]


def _columns(record: Record) -> bool:
    return any(block.rows is not None for block in record.blocks)


def alone(record: Record) -> str:
    """The cells of a record that stands by itself: an upstream attempt that another one replaced, or was cut anew."""
    row = _own(record) if record.events <= MOST else []
    last = last_with(record, FINISH | TERMINAL) if row else None
    if last is not None and row[last] == "o":
        row[last] = "F"
    return "".join(row)


def steps_drawn(path: Path) -> list[Step]:
    """The hops of the picture: without the gateway's where its events are not those of one upstream answer."""
    upstream = path.upstream
    hop, leg = upstream.hop, upstream.leg
    mixed = hop is not None and leg is not None and (upstream.recut or hop.status == "unproven")
    mixed = mixed and not (hop is not None and hop.status != "intact" and _mostly_the_same(path))
    mixed = mixed or (upstream.joined and bool(upstream.superseded))
    return [step for step in path.steps if not (mixed and step.after.point == "egress")]


def _mostly_the_same(path: Path) -> bool:
    """Whether most of what left the gateway are events of its upstream, so that what is wrong can be seen in place."""
    leg, egress = path.upstream.leg, path.record("egress")
    if leg is None or egress is None:
        return False
    a, b = View(leg, "semantic"), View(egress, "semantic")
    return b.n > 0 and 4 * (a.counts & b.counts).total() >= 3 * b.n


def _own(record: Record) -> list[str]:
    if record.every_row and _columns(record):
        return ["o"] * record.events
    known = parts_of(record)
    return ["o" if position in known else "?" for position in range(record.events)]


def _mark_ends(grid: _Grid, records: Sequence[Record]) -> None:
    """In each row the last finish or terminal that is in place (or kept back by design), as far as parts are known."""
    columns: set[int] = set()
    known: list[int | None] | None = None
    for record in records:
        if grid.places[record.recorder] == known and "~" not in grid.rows[record.recorder]:
            continue  # the same events end alike
        known = grid.places[record.recorder] if record.every_row else None
        last = last_with(record, FINISH | TERMINAL)
        column = grid.places[record.recorder][last] if last is not None else None
        columns |= set() if column is None else {column}
    ends = sorted(columns, reverse=True)
    for row in grid.rows.values():
        for column in ends:
            if row[column] in "oc":
                row[column] = "F"
                break


def _add(grid: _Grid, path: Path, step: Step) -> None:
    """Draw the point behind a hop."""
    there = grid.places[step.before.recorder]
    row = [letter if letter in "xuce? " else "" for letter in grid.rows[step.before.recorder]]
    same = _as_sent(path, step)
    where = _copied(step, row, there, same) if same is not None else _paired(step, row, there)
    _mark_absent(path, step, row, there)
    if not step.after.closed:  # what came behind the end of its record stands in the columns that are left
        used = max((column for column in where if column is not None), default=-1)
        where += [column for column in there if column is not None and column > used]
    grid.rows[step.after.recorder], grid.places[step.after.recorder] = row, where
    if step.after.point != "applied":
        _insert_new(grid, step, _unsure(path, step))


def _copied(step: Step, row: list[str], there: Sequence[int | None], same: int) -> list[int | None]:
    """The columns of a point's events, the first so many of which are those of the point before."""
    for column in there[:same]:
        if column is not None:
            row[column] = "o"
    return [*there[:same], *[None] * (step.after.events - same)]


def _paired(step: Step, row: list[str], there: Sequence[int | None]) -> list[int | None]:
    """The same, where each event has to be found."""
    by_name = step.after.point == "applied"
    a, b = ([], []) if by_name else (tokens(step.before, step), tokens(step.after, step))
    pairs, displaced = named_pairs(step) if by_name else pairs_of(a, b)
    if not any(change.kind in _MOVED for change in step.hop.changes):
        displaced = set()
    if step.hop.status == "unproven" and 2 * len(pairs) < len(b):
        pairs, displaced = [], set()  # nothing is known by so little
    a = [*a, *[(step.before.point, i) for i in range(len(a), len(there))]]
    where: list[int | None] = [None] * step.after.events
    for p, q in pairs:
        column = there[p] if p < len(there) else None
        where[q] = column
        if column is not None:
            row[column] = "m" if q in displaced else "o"
    for p, q, letter in in_its_place(step, pairs, a, b):
        column = there[p] if p < len(there) else None
        if column is not None:
            where[q], row[column] = column, letter
    return where


def _mark_absent(path: Path, step: Step, row: list[str], there: Sequence[int | None]) -> None:
    """Put a letter into each column that has none yet, and what the application tells of single events over it."""
    if "" in row:
        absent = _absent_behind(path, step, row, there)
        for position, column in enumerate(there):
            if column is not None and not row[column]:
                row[column] = absent.letter(position, column)
        if "u" in row and not step.peer:  # nor did what the point before had kept back come that far
            row[:] = ["u" if letter == "c" and i > row.index("u") else letter for i, letter in enumerate(row)]
    for position, letter in _told_by_name(path, step).items():
        at = there[position] if position < len(there) else None
        if at is not None:
            row[at] = letter


@dataclass(frozen=True, slots=True)
class _Absent:
    """What is known of the events that did not come behind a hop."""

    step: Step
    quiet: Container[int]
    lost: Container[int]
    filtered: Container[int]
    reach: int
    """The last column of an event that came."""
    due: bool
    """Whether all that the point before had was due."""
    cut: bool
    """Whether events that were due are missing behind the last one that came."""

    def letter(self, position: int, column: int) -> str:
        """Of the event at this position: never due, left out on purpose, kept back by design, not known, or lost."""
        unread, closed = column > self.reach and self._never_due(position), self.step.after.closed
        letters = (
            (unread and closed, "u"),
            (unread, "?"),
            (position in self.filtered, "e"),
            (position in self.quiet, "c"),
            (position not in self.lost, "?"),
        )
        return next((letter for fits, letter in letters if fits), "x")

    def _never_due(self, position: int) -> bool:
        quiet, after = position in self.quiet, self.step.after
        if quiet and after.end == "stopped_at_terminal":
            return False  # it came as an exception, or by the end
        with_the_rest = quiet and self.cut and self.step.hop.status == "faulty"
        return not self.due or not after.closed or with_the_rest


def _absent_behind(path: Path, step: Step, row: Sequence[str], there: Sequence[int | None]) -> _Absent:
    quiet = _quiet(step)
    reach = max((i for i, letter in enumerate(row) if letter in ("o", "m")), default=-1)
    missing = (p for p, column in enumerate(there) if column is not None and column > reach and not row[column])
    cut = any(p not in quiet for p in missing)
    return _Absent(
        step,
        quiet,
        lost=_named_lost(step) if _unsure(path, step) else places_told(step, "before"),
        filtered=_filtered(path, step),
        reach=reach,
        due=step.peer and step.hop.reason not in LEFT_OPEN and not (cut and _all_are_placed(step, row)),
        cut=cut,
    )


def _filtered(path: Path, step: Step) -> set[int]:
    """Positions with output, where all that is missing of them was left out on purpose, as the gateway says."""
    says = step.after.point == "egress" and any(edit.kind == "filter" for edit in path.upstream.edited)
    if not says or step.hop.status != "intact":
        return set()
    return {position for position in View(step.before, "semantic").positions if position is not None}


def _all_are_placed(step: Step, row: Sequence[str]) -> bool:
    """Whether a hop is unproven, and yet each event behind it is known: then no other came that far."""
    placed = sum(letter in ("o", "m") for letter in row)
    return step.hop.status == "unproven" and placed == step.after.events


def _unsure(path: Path, step: Step) -> bool:
    """Whether an event that is not found behind the hop may be there all the same, as it was or in other pieces."""
    return step.hop.status == "unproven" or (step.after.point == "egress" and path.upstream.recut)


def _told_by_name(path: Path, step: Step) -> dict[int, str]:
    """What the application reports of single events, and the error that it was told by an exception."""
    if step.after.point != "applied" or path.named is None:
        return {}
    results = read(step.after).results
    errors = [position for position in positions_with(step.before, ERROR) if position not in results]
    often = [p for p, told in results.items() if p != MISSING and sum(result in USED for result in told) > 1]
    part = [p for p, told in results.items() if told[-1] == "partial"]
    lost = places_told(step, "before")
    raised = [p for p, told in results.items() if told[-1] == "raised" and p in lost]
    letters = (
        ("c", path.named.ignored), ("r", path.named.rejected), ("u", errors), ("x", raised), ("+", often), ("~", part),
    )  # fmt: skip
    return {position: letter for letter, positions in letters for position in positions}


def _quiet(step: Step) -> Container[int]:
    """Positions before the hop that need not come behind it; on an intact hop nothing else is absent."""
    if step.after.point == "wire":
        return ()
    if step.hop.status == "intact":
        return range(step.before.events)
    view = View(step.before, "semantic")
    due = {p for p in (carrying(view) if step.after.point == "applied" else view.positions) if p is not None}
    return set(range(step.before.events)) - due - _named_lost(step) if view.whole else ()


def _named_lost(step: Step) -> set[int]:
    """Events without output that a finding is about all the same: an error, a finish."""
    lost = [c.span for c in step.hop.changes if c.kind in LOSSES and c.proof.case == "envelope" and c.placed]
    return {position for first, last in lost for position in range(first, last + 1)}


def _insert_new(grid: _Grid, step: Step, unsure: bool) -> None:
    """Events that the point before did not have get columns of their own, where they stand here."""
    where = grid.places[step.after.recorder]
    if None not in where:
        return
    new: dict[int, list[int]] = {}
    behind = -1
    for q, column in enumerate(where):
        if column is None:
            new.setdefault(behind, []).append(q)
        else:
            behind = column
    moved = grid.widen({column: len(events) for column, events in new.items()})
    row, letters = grid.rows[step.after.recorder], _letters_of_new(step, unsure)
    for column, events in new.items():
        for at, q in enumerate(events, 0 if column < 0 else moved[column] + 1):
            where[q], row[at] = at, letters.get(q, "o")


def _letters_of_new(step: Step, unsure: bool) -> dict[int, str]:
    """Positions behind the hop → the letter of what is one too many there; what says nothing may come by design."""
    hop, after = step.hop, step.after
    if hop.reason == Reason.OWN_WORD:
        read = step.before.part("finish") + step.before.part("terminal")
        return {} if read else dict.fromkeys(positions_with(after, FINISH | TERMINAL), "+")
    if hop.status == "intact" or hop.reason in LEFT_OPEN:
        return {}
    every = unsure or after.point == "wire"
    places = range(after.events) if every else (p for p in View(after, "semantic").positions if p is not None)
    made_up = any(change.kind == "fabricated" and change.proof.case == "envelope" for change in hop.changes)
    ends = positions_with(after, FINISH) if made_up else ()
    return dict.fromkeys(places, "?") | dict.fromkeys((*ends, *places_told(step, "after")), "+")


def _as_sent(path: Path, step: Step) -> int | None:
    """An intact hop without a look at the rows: how many events are the same; None where the rows must tell.

    All are, or all that were read, or all but the terminator that ends them; at `applied`, all and in order.
    """
    before, after = step.before.events, step.after.events
    if step.hop.status != "intact" or (step.after.point == "egress" and path.upstream.edited):
        return None
    if step.after.point == "applied":
        last, named = step.after.blocks[-1], path.named
        in_order = not last.regressions and last.max_after + 1 == after == before
        return after if in_order and named is not None and named.used == after and not named.rejected else None
    if before == after or (not step.peer and after < before):
        return after
    consumed = step.before.part("terminal") - step.after.part("terminal")
    return min(before, after) if before - after == consumed else None
