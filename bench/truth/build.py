"""Blocks from plain lists: what a recorder would have sent for these events, cut where the test wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from random import Random

from streamwitness import rows
from streamwitness.blocks import Block
from streamwitness.semconv import (
    ALL_PARTS,
    CLIENT,
    FINISH,
    MISSING,
    PARTS,
    POINTS,
    REASONING,
    RESULT,
    ROLE,
    TERMINAL,
    TEXT,
    Point,
)
from streamwitness.sums import P, mix, power

STREAM = "5" * 32
EXCHANGE = "e" * 16
_UNREAD = ("malformed", "oversize", "after_terminal")
"""Results of events that were not read as a part of the answer."""
CONTENT_BYTES = 3
_KINDS = (("text", TEXT), ("reasoning", REASONING))


@dataclass(frozen=True)
class Event:
    """One event: what it says (`text` 0 for nothing), its parts, and what happened to it."""

    text: int = 0
    parts: int = TEXT
    of: int = MISSING
    result: str = "ok"
    payload: int | None = None

    @property
    def judged(self) -> bool:
        return self.text != 0 and self.result not in _UNREAD

    @property
    def semantic(self) -> int:
        return self.text * 2654435761 % 0xFFFFFFFE if self.judged else MISSING

    @property
    def digest(self) -> int:
        if self.payload is not None:
            return self.payload
        return (self.text * 40503 + self.parts * 977 + 11) % 0xFFFFFFFE

    @property
    def content(self) -> int:
        return CONTENT_BYTES if self.text and self.parts & (TEXT | REASONING) else 0


FINISHED = 900_000


def answer(words: Iterable[int], *, finish: bool = True, done: bool = True) -> list[Event]:
    """A healthy answer: role, texts, finish, terminator."""
    events = [Event(parts=ROLE), *(Event(word) for word in words)]
    events += [Event(FINISHED, FINISH)] if finish else []
    return events + ([Event(parts=TERMINAL)] if done else [])


@dataclass(frozen=True)
class How:
    """How a point's blocks are made; every field has the value of a healthy, fully instrumented path."""

    point: Point
    end: str = "eof"
    complete: bool | None = None
    witness: str = ""
    recorder: str = ""
    leg: int | None = None
    legs: tuple[str, ...] = ()
    of: str | None = None
    delivers: int = ALL_PARTS
    watched: bool = False
    """Whether this parser is one that somebody watches: no hook, which knows its SDK's parser, tells of it."""
    expected: tuple[Point, ...] = ()
    exchange: str = EXCHANGE
    attempt: int = 0
    level: str = "digests"
    role: str | None = "any"
    slots: tuple[str, ...] | None = None
    """What the closing block tells of each slot; None: as a recorder would."""
    extra: tuple[tuple[str, object], ...] = ()
    size: int = 512

    def blocks(self, events: Sequence[Event], cuts: Sequence[int] | None = None) -> list[Block]:
        """The blocks of these events, cut behind the given counts (default: every `size`)."""
        return list(_Maker(self, events).make(cuts))


class _Maker:
    def __init__(self, how: How, events: Sequence[Event]) -> None:
        self.how, self.events = how, events
        self.max = -1
        self.regressions = self.gaps = 0

    def make(self, cuts: Sequence[int] | None) -> Iterable[Block]:
        n = len(self.events)
        edges = sorted({c for c in (cuts if cuts is not None else range(self.how.size, n, self.how.size)) if 0 < c < n})
        edges.append(n)
        start = 0
        for index, stop in enumerate(edges):
            yield self._block(index, start, stop, final=stop == n)
            start = stop

    def _block(self, index: int, start: int, stop: int, final: bool) -> Block:
        how = self.how
        seen, here = self.events[:stop], self.events[start:stop]
        before = self.max
        self._follow(here, start)
        witness = how.witness or {"ingress": "a", "egress": "a"}.get(how.point, "c") * 16
        digests = how.level == "digests"
        payload = digests and how.point not in ("parsed", "applied")
        semantic = digests and how.point != "applied"
        columns = self._columns(here, payload, semantic) if how.level != "counters" and here else None
        ps, po = sums([e.digest for e in seen]) if payload else (None, None)
        ss, so = sums([e.semantic for e in seen if e.judged]) if semantic else (None, None)
        return Block(
            stream=STREAM, exchange=how.exchange, witness=witness,
            recorder=how.recorder or recorder_id(how.point, how.leg, witness),
            point=how.point, index=index, position=start, row_count=len(here) if columns else 0,
            rows=rows.encode(columns, len(here)) if columns else None,
            final=final, leg=how.leg, legs=how.legs if final else (), of=how.of, delivers=how.delivers,
            expected=sum(1 << POINTS.index(p) for p in {how.point, *how.expected}), attempt=how.attempt,
            max_before=before, max_after=self.max, regressions=self.regressions,
            totals=self._totals(seen),
            total_parts=tuple(sum(1 for e in seen if e.parts >> bit & 1) for bit in range(len(PARTS))),
            payload_s=ps, payload_o=po, semantic_s=ss, semantic_o=so,
            complete=self._complete() if final else None, end=how.end if final else None,
            slot_digests=self._slots() if final else (), extra=self._extra(),
            start_ns=1000 + index, end_ns=2000 + index, role=how.role,
        )  # fmt: skip

    def _extra(self) -> dict[str, object]:
        hooked = self.how.point == "parsed" and self.how.delivers and not self.how.watched
        return dict(self.how.extra) | ({CLIENT: "model"} if hooked else {})

    def _columns(self, here: Sequence[Event], payload: bool, semantic: bool) -> dict[str, list[int]]:
        columns = {
            "of": [e.of for e in here],
            "parts": [e.parts for e in here],
            "content": [e.content for e in here],
            "payload": [e.digest if payload else MISSING for e in here],
            "semantic": [e.semantic if semantic else MISSING for e in here],
            "result": [RESULT[e.result] for e in here],
        }
        return {name: values for name, values in columns.items() if set(values) != {MISSING}}

    def _follow(self, here: Sequence[Event], start: int) -> None:
        for i, event in enumerate(here):
            of = start + i if self.how.point == "egress" else event.of
            if of == MISSING or (self.how.of is None and self.how.point != "egress"):
                continue
            if of > self.max:
                self.gaps += of - self.max - 1
                self.max = of
            else:
                self.regressions += 1

    def _totals(self, seen: Sequence[Event]) -> dict[str, int]:
        return dict.fromkeys(
            ("bytes", "duplicates", "reorders", "malformed", "comments", "pings", "read_calls", "dropped_rows"), 0
        ) | {
            "events": len(seen),
            "content": sum(e.content for e in seen),
            "judged": sum(e.judged for e in seen),
            "gaps": self.gaps,
        }

    def _slots(self) -> tuple[str, ...]:
        """What is told of each slot: all that was said of one kind, in order. At `applied` only what is shown."""
        if self.how.slots is not None:
            return self.how.slots
        if self.how.level != "digests" or self.how.point == "applied":
            return ()
        spoken = [event for event in self.events if event.judged and event.content]
        said = {kind: [event.text for event in spoken if event.parts & part] for kind, part in _KINDS}
        return tuple(
            f"0/{kind}/0 {blake2s(repr(texts).encode(), digest_size=4).hexdigest()} {CONTENT_BYTES * len(texts)}"
            for kind, texts in said.items()
            if texts
        )

    def _complete(self) -> bool | None:
        if self.how.point == "applied":
            return None
        return self.how.complete if self.how.complete is not None else any(e.parts & FINISH for e in self.events)


def recorder_id(point: Point, leg: int | None = None, witness: str = "") -> str:
    """The recorder id that `How` gives a point unless told otherwise."""
    return f"{POINTS.index(point):x}{leg or 0:x}{witness[:1] or 'a'}".ljust(16, "0")


def sums(digests: Sequence[int]) -> tuple[int, int]:
    """S and O of a sequence of digests."""
    mixed = [mix(d) for d in digests]
    return sum(mixed) % P, sum(m * power(i) for i, m in enumerate(mixed)) % P


def summary(block: Block) -> Block:
    """The later copy of a closing block, without its rows."""
    return replace(block, rows=None, summary=True)


LEG = recorder_id("ingress", 0, "a")
DELIVERED_BY_SDK = ALL_PARTS & ~TERMINAL


def path(
    ingress: Sequence[Event] | None,
    egress: Sequence[Event] | None,
    wire: Sequence[Event] | None,
    parsed: Sequence[Event] | None = None,
    applied: Sequence[Event] | None = None,
    /,
    *,
    expected: tuple[Point, ...] | None = None,
    cuts: Callable[[int], Sequence[int]] | None = None,
    **changes: How,
) -> list[Block]:
    """The blocks of a whole path; `changes` replace how a point is made, by its name."""
    given: dict[Point, Sequence[Event] | None] = {
        "ingress": ingress, "egress": egress, "wire": wire, "parsed": parsed, "applied": applied,
    }  # fmt: skip
    announced = expected if expected is not None else tuple(p for p, events in given.items() if events is not None)
    out: list[Block] = []
    for point, events in given.items():
        if events is None:
            continue
        how = changes.get(point) or usual(point, legs=ingress is not None)
        how = replace(how, expected=how.expected or announced)
        out += how.blocks(events, cuts(len(events)) if cuts else None)
    return out


def usual(point: Point, *, legs: bool = True) -> How:
    """A point as it is on a healthy path."""
    table: dict[Point, How] = {
        "ingress": How("ingress", leg=0),
        "egress": How("egress", legs=(LEG,) if legs else ()),
        "wire": How("wire"),
        "parsed": How("parsed", delivers=DELIVERED_BY_SDK),
        "applied": How("applied", of="parsed"),
    }
    return table[point]


def handed_on(events: Sequence[Event]) -> list[Event]:
    """What an SDK's parser hands on: all but the terminator."""
    return [event for event in events if not event.parts & TERMINAL]


def used(events: Sequence[Event]) -> list[Event]:
    """What an application that applies everything reports."""
    return [replace(event, of=i, result="applied") for i, event in enumerate(events)]


def random_cuts(rng: Random, n: int, low: int = 2, high: int = 16) -> list[int]:
    """Block ends at random distances."""
    out, at = [], 0
    while at < n:
        at += rng.randint(low, high)
        out.append(at)
    return out
