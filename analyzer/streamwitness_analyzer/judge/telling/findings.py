"""A fault as people and programs read it: its place in the sequence, its evidence, its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from streamwitness.semconv import COMPONENTS, POINTS, Point
from streamwitness_analyzer.judge.attribute import Fault, Step
from streamwitness_analyzer.judge.client.named import CONTENT_MASK
from streamwitness_analyzer.judge.compare.change import LOSSES, Change, Span
from streamwitness_analyzer.judge.compare.places import Mapper, back, same
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.refused import is_refusal
from streamwitness_analyzer.judge.testimony.parts import parts_of
from streamwitness_analyzer.judge.testimony.records import Exchange, Record
from streamwitness_analyzer.judge.testimony.view import Axis, View

from . import words
from .evidence import evidence, evidence_of_one

_RAISED: Final = ("raised",)
"""What the application reports of events at which its code raised."""


@dataclass(frozen=True)
class Finding:
    """A fault, placed on the path's axis. `about`: the place is the shortest story, not proven."""

    fault: Fault
    sequence: Span
    about: bool
    axis: Point
    content_bytes: int | None
    same_as: Point | None = None
    """An earlier point that provably had the same as the point that saw it."""
    rows: Mapping[str, str] = field(default_factory=dict)
    """Recorder → what the picture calls it, where its point has several."""
    neighbours: Span = (-1, -1)
    """Which events on the axis stood before and behind it, at the point that saw it."""
    same_content: bool | None = None
    """Whether events of which the bytes changed say the same, as far as rows tell."""
    inward: Mapper | None = None
    """From `axis` to the numbers that the picture has, where it counts as the gateway read (`numbering.py`)."""

    @cached_property
    def _place(self) -> tuple[Span, bool]:
        """The place as people are told of it, and whether it is the shortest story only."""
        if self.inward is None:
            return self.sequence, self.about
        (low, _, first), (_, high, last) = self.inward(self.sequence[0]), self.inward(self.sequence[1])
        return (low, max(low, high)), self.about or not (first and last)

    @property
    def _around(self) -> Span:
        """The numbers of the events that stood before and behind it."""
        before, behind = self.neighbours
        if self.inward is None:
            return before, behind
        return self.inward(before)[0] if before >= 0 else before, self.inward(behind)[1]

    @property
    def key(self) -> tuple[object, ...]:
        """Two paths through one gateway tell its faults once."""
        change = self.fault.change
        return (
            self.fault.seen.recorder, self.fault.missing.recorder, change.kind, change.side, change.span, change.count,
        )  # fmt: skip

    @property
    def _in_words(self) -> Change:
        """The change as it is told: not everything from there on is lost of an end that repeats itself, or of which
        what is no output came.
        """
        change = self.fault.change
        wider = self.sequence[1] - self.sequence[0] + 1 > change.count
        some = change.kind == "tail" and change.exact and (wider or _came_behind(self.fault))
        return replace(change, kind="gap") if some else change

    @property
    def manner(self) -> str:
        """What it is told as: its kind, or one of the few that the kind alone would tell badly (`words.SPECIAL`)."""
        change = self._in_words
        if change.results == _RAISED:
            return words.RAISED_AT
        if change.error:
            return words.SWALLOWED
        if change.proof.case == "by_attempts":
            return words.BEGUN_ANEW
        if change.proof.case != "envelope" or self.fault.by_itself:
            return change.kind
        return {"fabricated": words.MADE_UP, "altered": words.OTHER_FINISH}.get(change.kind, change.kind)

    @property
    def short(self) -> str:
        """For a list."""
        return words.short_finding(self.manner, self.fault.suspects, self.where)

    @property
    def where(self) -> str:
        """Its place, for a list."""
        change = self._in_words
        if self.fault.by_itself and change.kind == "gap":
            return words.hole_in_short(self.sequence, change.count)
        return words.place_in_short(change.kind, *self._place, change.count)

    @property
    def sentence(self) -> str:
        """In plain language."""
        change = self._in_words
        places = words.told_between(self.fault.seen.point, self.fault.missing.point)
        places |= {"first": str(self._place[0][0]), "note": change.note, "which": self._which()}
        places["hidden"] = words.HIDDEN[_is_short(self.fault.seen) or _is_short(self.fault.missing)]
        if self.fault.by_itself:
            return words.explained_by_itself(change.kind, change.count, change.exact, places)
        if is_refusal(change):
            return words.explained_refusal(change.kind, change.count, change.exact, places)
        text = words.explained(self.manner, change.count, change.exact, places)
        if self.same_content is None:
            return text
        return f"{text} {(words.CONTENT if change.count == 1 else words.CONTENTS)[self.same_content]}"

    @cached_property
    def evidence(self) -> dict[str, str]:
        """What both points testify."""
        fault = self.fault
        if fault.by_itself:
            told = evidence_of_one(fault.change, self.sequence, fault.seen)
        else:
            told = self._evidence_of_two()
        return {part: f"{text}{self._row(text)}" for part, text in told.items()}

    def _which(self) -> str:
        """What a single event that is missing was, if it held no output: otherwise nobody knows why it matters."""
        change, (first, last) = self.fault.change, self.fault.change.span
        if not (change.kind in LOSSES and change.placed and change.count == 1 and first == last):
            return ""
        parts = parts_of(self.fault.seen).get(first, 0)
        return "" if parts & CONTENT_MASK else words.without_output(parts)

    def _evidence_of_two(self) -> dict[str, str]:
        fault, (sequence, about) = self.fault, self._place
        return evidence(
            self._in_words, sequence, about, fault.seen, fault.missing, self.same_as,
            manner=self.manner, around=self._around,
        )  # fmt: skip

    def _row(self, text: str) -> str:
        """Which row of the picture it is about, where several have the same name."""
        records = (record for record in (self.fault.seen, self.fault.missing) if record.recorder in self.rows)
        told = (self.rows[record.recorder] for record in records if text.startswith(words.label(record.point)))
        return next((f" (row: {row})" for row in told), "")

    def document(self) -> dict[str, Any]:
        """The finding in JSON types."""
        fault, change = self.fault, self.fault.change
        return {
            "kind": change.kind,
            "suspects": [c for c in COMPONENTS if c in fault.suspects],
            "confidence": fault.confidence,
            "count": change.count,
            "exact": change.exact,
            "sequence": list(self.sequence),
            "about": self.about,
            "axis": self.axis,
            "exchange": fault.seen.exchange,
            "between": ["source" if fault.by_itself else fault.seen.point, fault.missing.point],
            "witnesses": [fault.seen.witness, fault.missing.witness],
            "roles": [_role(fault.seen), _role(fault.missing)],
            "content_bytes": self.content_bytes,
            "evidence": dict(self.evidence),
            "proof": self._proof(),
            "short": self.short,
            "sentence": self.sentence,
        }

    def _proof(self) -> dict[str, Any]:
        """What was compared, so that the finding can be checked without us."""
        proof = self.fault.change.proof
        seen, missing = self.fault.seen, self.fault.missing
        return {
            "case": proof.case,
            "axis": proof.axis,
            "equal_prefix": proof.prefix,
            "equal_suffix": proof.suffix,
            "seen": _compared(seen, proof.axis, proof.unheld[0]),
            "missing": _compared(missing, proof.axis, proof.unheld[1]),
        }


def _is_short(record: Record) -> bool:
    """Whether some of a record is lost, be it a block, its details or its end."""
    return bool(record.lost or not record.closed or not record.every_row)


def _came_behind(fault: Fault) -> bool:
    """Whether what ended the answer came, with an event that stood behind those that were lost."""
    place = fault.change.span[1]
    behind = {mask for position, mask in parts_of(fault.seen).items() if position > place}
    last = parts_of(fault.missing).get(fault.missing.events - 1)
    return fault.change.side == "before" and last in behind and fault.missing.closed


def _compared(record: Record, axis: Axis | None, unheld: int) -> dict[str, Any]:
    """One side of a comparison: `unheld` are the rows between the equal ends that are lost."""
    view = View(record, axis) if axis is not None else None
    return {
        "events": record.events,
        "judged": record.total("judged"),
        "s": f"{view.s:016x}" if view is not None and view.s is not None else None,
        "o": f"{view.o:016x}" if view is not None and view.o is not None else None,
        "closed": record.closed,
        "lost_rows": unheld,
    }


def _role(record: Record) -> str:
    """What the ingest key may testify for; `none` where a block came without one."""
    roles = {block.role or "none" for block in record.blocks}
    return "none" if "none" in roles else min(roles, default="none")


def findings_of(path: Path) -> list[Finding]:
    """The faults of a path in path order, each with its place."""
    if not path.faults:
        return []
    order = sorted(path.faults, key=lambda f: (POINTS.index(f.missing.point), f.change.span, f.change.kind))
    records = _Records(path)
    return [_finding(records, fault) for fault in order]


class _Records:
    """The records of a path, each opened once however many findings there are, and the way back along them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = _numbered(path.exchange)
        self._opened: dict[tuple[str, Axis], View] = {}
        self._mappers: dict[str, Mapper] = {}

    def view(self, record: Record, axis: Axis) -> View:
        """A record on one axis."""
        key = (record.recorder, axis)
        if key not in self._opened:
            self._opened[key] = View(record, axis)
        return self._opened[key]

    def views(self, before: Record, after: Record) -> tuple[View, View]:
        """Two points as they are compared."""
        axis: Axis = "payload" if (before.point, after.point) == ("egress", "wire") else "semantic"
        return self.view(before, axis), self.view(after, axis)

    def back(self, step: Step) -> Mapper:
        """From positions behind a hop to those before it."""
        if step.after.point == "applied":
            return same
        key = step.after.recorder
        if key not in self._mappers:
            self._mappers[key] = back(*self.views(step.before, step.after), step.hop.status == "intact")
        return self._mappers[key]

    def way_back(self, record: Record) -> tuple[Point, list[Mapper]]:
        """The axis of a record's positions, and the hops back to it: gateway out, else the first point held."""
        if record.point in ("source", "ingress"):
            return record.point, []
        mappers: list[Mapper] = []
        at = record
        while at.point != "egress":
            step = next((s for s in self.path.steps if s.after is at and s.before.point != "ingress"), None)
            if step is None:
                break
            mappers.append(self.back(step))
            at = step.before
        return at.point, mappers


def way_back(path: Path, record: Record) -> tuple[Point, list[Mapper]]:
    """The same of one record of a path."""
    return _Records(path).way_back(record)


def _numbered(exchange: Exchange) -> dict[str, str]:
    """What the picture calls the rows of a point that has several: `client received 2`."""
    several = (found for point in POINTS if len(found := exchange.at(point)) > 1)
    return {r.recorder: f"{words.label(r.point)} {n}" for found in several for n, r in enumerate(found, start=1)}


def _finding(records: _Records, fault: Fault) -> Finding:
    change = fault.change
    record = fault.seen if change.side == "before" else fault.missing
    span, sure = change.span, change.placed
    if original := _original(records, fault):
        span, record = original, fault.seen
        sure = span[1] - span[0] + 1 == len(change.values)
    axis, mappers = records.way_back(record)
    before, behind = span[0] - 1, span[1] + 1
    for mapper in mappers:
        before, behind = mapper(before)[0] if before >= 0 else before, mapper(behind)[1]
        (low, _, first), (_, high, last) = mapper(span[0]), mapper(span[1])
        span, sure = (low, max(low, high)), sure and first and last
    if axis == "egress":  # positions of an exchange that goes on are numbers of the stream from its first one on
        begin = records.path.first
        span, before, behind = (span[0] + begin, span[1] + begin), before + begin, behind + begin
    same_as, content = _same_as(records.path, fault), _content(records, fault)
    same_content = _says_the_same(records, fault)
    return Finding(fault, span, not sure, axis, content, same_as, records.rows, (before, behind), same_content)


def _says_the_same(records: _Records, fault: Fault) -> bool | None:
    """Whether events of which the bytes changed say the same: only where nothing else on that hop moved a place."""
    seen, missing, (low, high) = fault.seen, fault.missing, fault.change.span
    beside = [f.change for f in records.path.faults if (f.seen, f.missing) == (seen, missing)]
    if not fault.change.placed or any(change.kind != "corrupt" for change in beside):
        return None
    if seen.events != missing.events or not (seen.every_row and missing.every_row):
        return None
    here, there = (records.view(record, "semantic") for record in (seen, missing))
    if not (here.digests and there.digests):
        return None
    said, came = (dict(zip(view.positions, view.values, strict=True)) for view in (here, there))
    pairs = [(said.get(place), came.get(place)) for place in range(low, high + 1)]
    return all(one == other for one, other in pairs) if any(map(any, pairs)) else None


def _same_as(path: Path, fault: Fault) -> Point | None:
    step = next((step for step in path.steps if step.after is fault.seen), None)
    return step.before.point if step is not None and step.hop.status == "intact" and not path.upstream.recut else None


def _original(records: _Records, fault: Fault) -> Span | None:
    """The event that was doubled, where it stood once: which of the copies is the surplus one, nobody can tell."""
    if fault.change.kind != "duplicate" or fault.change.side != "after":
        return None
    before, _ = records.views(fault.seen, fault.missing)
    wanted = {value for value, _ in fault.change.values}
    places = [p for p, v in zip(before.positions, before.values, strict=True) if v in wanted and p is not None]
    return (places[0], places[-1]) if places and len(places) == len(wanted) else None


def _content(records: _Records, fault: Fault) -> int | None:
    """Content bytes concerned; None where it is not known which events they are."""
    change = fault.change
    if change.values:
        before, after = records.views(fault.seen, fault.missing)
        sizes = [before.content.get(value, after.content.get(value)) for value, _ in change.values]
        counts = [count for _, count in change.values]
        known = [count * size for count, size in zip(counts, sizes, strict=True) if size is not None]
        return sum(known) if len(known) == len(sizes) else None
    if not change.placed:
        return None
    low, high = change.span
    judged = records.view(fault.seen if change.side == "before" else fault.missing, "semantic")
    here = zip(judged.positions, judged.values, strict=True)
    return sum(judged.content.get(v, 0) for p, v in here if p is not None and v is not None and low <= p <= high)
