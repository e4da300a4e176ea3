"""Clients with ways of their own: reducers that refuse, put right or want a part only, parsers that cut anew.

None of that is a fault; where one is done besides, it is noted as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from streamwitness.blocks import Block
from streamwitness.semconv import (
    ALL_PARTS,
    ERROR,
    FINISH,
    FINISH_REASONS_ATTRIBUTE,
    FOREIGN,
    MALFORMED,
    MISSING,
    OTHER,
    PENDING_BYTES,
    READ_OUT,
    REASONING,
    TERMINAL,
    TEXT,
    TOOL_ARGS,
    TOOL_START,
    Point,
)

from .build import (
    CONTENT_BYTES,
    DELIVERED_BY_SDK,
    FINISHED,
    Event,
    How,
    answer,
    handed_on,
    path,
    random_cuts,
    used,
    usual,
)
from .labels import Deed, Ended, Passage, Trial
from .model import damaged, in_bytes, said, words
from .partial import digest_of, joined

_POINTS: Final[tuple[Point, ...]] = ("ingress", "egress", "wire", "parsed", "applied")
_NOWHERE: Final = Ended(frozenset(), None)
_UNPROVABLE: Final = frozenset(("unprovable",))
_FALSE: Final = frozenset(("lying",))
"""A report that the application's own result refutes."""


@dataclass
class _Course:
    """What each point has, and how it tells it; what is not given is handed on as it came."""

    rng: Random
    start: list[Event]
    wire: list[Event] | None = None
    parsed: list[Event] | None = None
    applied: list[Event] | None = None
    hows: dict[str, Any] = field(default_factory=dict)
    deeds: list[Deed] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    notes: frozenset[str] = frozenset()
    points: frozenset[Point] = frozenset(_POINTS)

    def blocks(self) -> list[Block]:
        """What its recorders send."""
        wire = self.start if self.wire is None else self.wire
        parsed = handed_on(wire) if self.parsed is None else self.parsed
        applied = used(parsed) if self.applied is None else self.applied
        start = self.start if "ingress" in self.points else None
        return path(start, start, wire, parsed, applied, cuts=lambda n: random_cuts(self.rng, n), **self.hows)

    def trial(self, name: str, sort: str) -> Trial:
        """The stream."""
        return Trial(
            name, "model", "pass-through", "model", tuple(self.deeds), tuple(self.passages), _NOWHERE, self.blocks(),
            self.points, self.notes | {sort},
        )  # fmt: skip

    def lose(self, count: int) -> None:
        """The transport loses or damages something, where it is to."""
        if not count:
            return
        self.wire = damaged(self.rng, "transport", self.start, count, self.deeds)
        self.passages.append(Passage("transport", in_bytes(self.start), in_bytes(self.wire), by_event=True))

    def report(self, rows: Sequence[Event], due: Sequence[str]) -> None:
        """A reducer at fault: what it reports, and what it ought to have taken."""
        self.applied = list(rows)
        self.passages.append(
            Passage("reducer", tuple(due), tuple(str(e.of) for e in rows if e.result == "applied"))
        )  # fmt: skip


def _how(point: Point, **changes: object) -> How:
    return replace(usual(point), **changes)  # type: ignore[arg-type]


def _slot(events: Sequence[Event], slot: str = "0/text/0", parts: int = TEXT) -> str:
    """What a closing block says of the whole of a text."""
    texts = tuple(str(event.text) for event in events if event.parts & parts)
    return f"{slot} {digest_of(texts)} {CONTENT_BYTES * len(texts)}"


def _texts(rng: Random, least: int = 3) -> list[Event]:
    return answer(words(rng, rng.randint(least, 30)))


# --------------------------------------------------------------------------- reducers


def _nameless(rng: Random) -> _Course:
    """Reports that do not say which events they are of."""
    course = _Course(rng, _texts(rng))
    rows = used(handed_on(course.start))
    course.applied = [replace(row, of=MISSING) if rng.random() < 0.4 else row for row in rows]
    course.notes = _UNPROVABLE
    return course


def _one_kind(rng: Random) -> _Course:
    """An application that has no use for reasoning; it may lose a text besides."""
    start = _texts(rng)
    thoughts = [Event(500 + i, REASONING) for i in range(rng.randint(1, 6))]
    course = _Course(rng, [start[0], *thoughts, *start[1:]])
    rows = [row for row in used(handed_on(course.start)) if not row.parts & REASONING]
    if rng.random() < 0.4:
        at = rng.choice([i for i, row in enumerate(rows) if row.content])
        if sum(bool(row.content) for row in rows) > 1:
            course.deeds.append(Deed("reducer", "drop", (rows[at].of,)))
            due = [str(row.of) for row in rows]
            course.report([*rows[:at], *rows[at + 1 :]], due)
            return course
    course.notes = _UNPROVABLE
    course.applied = rows
    return course


def _one_choice(rng: Random) -> _Course:
    """An application that wants one of two choices only."""
    course = _Course(rng, _texts(rng, 4))
    rows = used(handed_on(course.start))
    course.applied = [row for i, row in enumerate(rows) if not row.content or i % 2]
    slots = (_slot(course.start[::2]), _slot(course.start[1::2], "1/text/0"))
    course.hows = {point: _how(point, slots=slots) for point in _POINTS[:4]}
    course.notes = _UNPROVABLE
    return course


def _forgets(rng: Random) -> _Course:
    """A reducer that passes over a few texts, and says nothing of it."""
    course = _Course(rng, _texts(rng, 8))
    rows = used(handed_on(course.start))
    texts = [i for i, row in enumerate(rows) if row.content]
    gone = rng.sample(texts, rng.randint(1, 3))
    course.deeds.append(Deed("reducer", "drop", tuple(sorted(gone))))
    course.report([row for i, row in enumerate(rows) if i not in gone], [str(row.of) for row in rows])
    return course


def _fails_closed(rng: Random) -> _Course:
    """A reducer that takes nothing more from where something before it was lost or doubled."""
    course = _Course(rng, _texts(rng))
    course.lose(1)
    rows = used(handed_on(course.wire or course.start))
    at, why = rng.randint(0, max(0, len(rows) - 1)), rng.choice(("gap", "duplicate", "reordered"))
    if course.passages[0].visible:
        course.applied = [*rows[:at], *(replace(row, result=why) for row in rows[at:])]
    return course


def _refuses(rng: Random) -> _Course:
    """A reducer that refuses what came to it as it left the provider: one of the two is wrong."""
    course = _Course(rng, _texts(rng))
    rows = used(handed_on(course.start))
    at = rng.choice([i for i, row in enumerate(rows) if row.content])
    why = rng.choice(("gap", "duplicate", "wrong_stream", "after_terminal"))
    course.deeds.append(Deed("reducer", _REFUSED.get(why, "refuse"), (rows[at].of,)))
    due = [str(row.of) for row in rows]
    rows[at] = replace(rows[at], result=why)
    course.report(rows, due)
    course.notes = frozenset(("one of two",))
    return course


_REFUSED: Final = {"wrong_stream": "foreign", "after_terminal": "late"}
"""What a reducer says of an event that it refuses → what it would be if that were so."""


def _puts_right(rng: Random) -> _Course:
    """A reducer that brings into order again what the network had displaced."""
    start = answer(range(2000, 2000 + rng.randint(4, 20)))
    course = _Course(rng, start)
    at = rng.randint(1, len(start) - 4)
    course.wire = [*start[:at], start[at + 1], start[at], *start[at + 2 :]]
    course.deeds.append(Deed("transport", "move", (at,)))
    course.passages.append(Passage("transport", in_bytes(start), in_bytes(course.wire), by_event=True))
    place = {event.text: i for i, event in enumerate(start)}
    course.applied = sorted(used(handed_on(course.wire)), key=lambda row: place.get(row.text, 0))
    return course


def _puts_right_unseen(rng: Random) -> _Course:
    """The same, and nobody tells in which order it was sent."""
    course = _puts_right(rng)
    course.points = frozenset(_POINTS[2:])
    return course


def _kept(rng: Random) -> _Course:
    """An application that shows its text: the one that it was given, whatever it reported, or another one."""
    course = _Course(rng, _texts(rng))
    given = handed_on(course.start)
    slot, rows = _slot(given), used(given)
    course.hows = {point: _how(point, slots=(slot,)) for point in _POINTS[:4]}
    of_text = [i for i, row in enumerate(rows) if row.content]
    at, how = rng.choice(of_text), rng.choice(("raised", "silent", "ignored", "another", "plain"))
    kept = slot
    if how in ("ignored", "another"):
        kept = _slot([row for i, row in enumerate(rows) if i != at])
    if how == "another":
        course.deeds.append(Deed("reducer", "misapply", (at,)))
        due = tuple(str(row.of) for row in rows)
        course.passages.append(Passage("reducer", due, tuple(f"{o}~" if int(o) == at else o for o in due)))
    if how in ("raised", "ignored"):
        rows[at] = replace(rows[at], result=how)
    course.notes = {"raised": _FALSE, "ignored": _UNPROVABLE}.get(how, frozenset())
    course.applied = [] if how == "silent" else rows
    course.hows["applied"] = _how("applied", slots=(kept,))
    return course


# --------------------------------------------------------------------------- parsers


def _withholds(rng: Random) -> _Course:
    """An SDK that does not hand on reasoning, and says so or not; it may lose a text besides."""
    start = _texts(rng, 5)
    course = _Course(rng, [start[0], *(Event(500 + i, REASONING) for i in range(rng.randint(1, 6))), *start[1:]])
    said_so = rng.random() < 0.5
    course.parsed = [event for event in handed_on(course.start) if not event.parts & REASONING]
    course.hows = {"parsed": _how("parsed", delivers=DELIVERED_BY_SDK & ~REASONING if said_so else 0)}
    course.notes = _UNPROVABLE
    return course


def _cuts_anew(rng: Random) -> _Course:
    """A parser that joins pieces, whatever was promised of it, and may lose one; the whole text may be told or not."""
    course = _Course(rng, _texts(rng, 6))
    texts = [event for event in course.start if event.parts & TEXT]
    kept = list(texts)
    told = rng.random() < 0.6
    if told and rng.random() < 0.4:
        kept = damaged(rng, "parser", kept, 1, course.deeds)
        course.passages.append(Passage("parser", said(texts), said(kept)))
    course.parsed = [course.start[0], *_in_other_pieces(rng, kept), Event(FINISHED, course.start[-2].parts)]
    for point in _POINTS[:4]:
        slots = (_slot(kept if point == "parsed" else texts),) if told else ()
        course.hows[point] = _how(point, slots=slots)
    read_out = ((READ_OUT, True),)
    course.hows["parsed"] = replace(course.hows["parsed"], delivers=_promised(rng), watched=True, extra=read_out)
    course.notes = frozenset(("recut",) if told else ("recut", "unprovable"))
    return course


def _promised(rng: Random) -> int:
    """What somebody says that the parser which he watches hands on: nothing, or as if it did so event by event."""
    return rng.choice((0, DELIVERED_BY_SDK))


def _in_other_pieces(rng: Random, texts: Sequence[Event]) -> list[Event]:
    pieces: list[Event] = []
    at = 0
    while at < len(texts):
        run = tuple(event.text for event in texts[at : at + rng.randint(1, 4)])
        pieces.append(texts[at] if len(run) == 1 else Event(joined(run)))
        at += len(run)
    return pieces


def _cuts_anew_and_stops(rng: Random) -> _Course:
    """A parser that joins pieces, whatever was promised of it, of which the application has enough before the end."""
    course = _Course(rng, _texts(rng, 8), notes=frozenset(("recut", "unprovable")))
    course.wire = course.start[: rng.randint(5, len(course.start) - 2)]
    pieces = _in_other_pieces(rng, course.wire[1:])
    course.parsed = [course.wire[0], *pieces[: rng.randint(1, len(pieces))]]
    course.hows["wire"] = _how("wire", end="cancelled")
    course.hows["parsed"] = _how("parsed", delivers=_promised(rng), watched=True, end="cancelled")
    course.hows["applied"] = _how("applied", end="cancelled")
    return course


def _by_lines(rng: Random) -> _Course:
    """The body ends without a blank line, and the parser takes the end for one."""
    whole = _texts(rng)
    at = rng.randint(2, len(whole) - 2)
    course = _Course(rng, whole[:at])
    course.parsed = handed_on(whole[: at + 1])
    told = ((PENDING_BYTES, 40),)
    course.hows = {point: _how(point, extra=told) for point in _POINTS[:3]}
    course.deeds.append(Deed("source", "cut", tuple(range(at, len(whole)))))
    return course


def _parser_swallows(rng: Random) -> _Course:
    """A parser that hands errors on, and passes over the one that ended the answer."""
    start = _texts(rng)
    course = _Course(rng, [*start[: rng.randint(2, len(start) - 1)], Event(parts=ERROR)])
    course.parsed = [event for event in course.start if not event.parts & (ERROR | TERMINAL)]
    course.hows = {"parsed": _how("parsed", delivers=ALL_PARTS & ~TERMINAL)}
    course.deeds.append(Deed("parser", "swallow", (len(course.start) - 1,)))
    course.passages.append(Passage("parser", (*said(course.start), "error"), said(course.parsed)))
    return course


# --------------------------------------------------------------------------- what only some readers take


def _odd_bytes(rng: Random) -> _Course:
    """Texts in which bytes stand that are no UTF-8: this parser leaves some of them out."""
    start = _texts(rng, 5)
    odd = [i for i, event in enumerate(start) if event.content and rng.random() < 0.3] or [2]
    return _left_out_by_right(rng, start, odd, TEXT | MALFORMED)


def _implied(rng: Random) -> _Course:
    """The end of a call without arguments, which this parser has no use for."""
    start = _texts(rng, 5)
    start[2] = replace(start[2], parts=TOOL_START)
    return _left_out_by_right(rng, start, [3], TOOL_ARGS | OTHER)


def _left_out_by_right(rng: Random, start: list[Event], places: Sequence[int], parts: int) -> _Course:
    """A parser that does not hand on events with these parts, which stand at some places."""
    start = [Event(900 + i, parts) if i in places else event for i, event in enumerate(start)]
    course = _Course(rng, start, notes=_UNPROVABLE)
    course.parsed = [event for event in handed_on(start) if event.parts != parts]
    return course


def _kinds_apart(rng: Random) -> _Course:
    """An application that takes up the whole answer before the thoughts that came before it, and between."""
    start = _texts(rng, 6)
    thoughts = [Event(500 + i, REASONING) for i in range(rng.randint(2, 6))]
    course = _Course(rng, [*start[:3], *thoughts, *start[3:]], notes=_UNPROVABLE)
    rows = used(handed_on(course.start))
    course.applied = sorted(rows, key=lambda row: (bool(row.parts & FINISH), bool(row.parts & REASONING)))
    return course


def _other_end(rng: Random) -> _Course:
    """A parser that hands on all, and says of the finish that it was another one."""
    course = _Course(rng, _texts(rng))
    told = [((FINISH_REASONS_ATTRIBUTE, [why]),) for why in ("stop", "length")]
    course.hows.update((point, _how(point, extra=told[0])) for point in _POINTS[:3])
    course.hows["parsed"] = _how("parsed", extra=told[1])
    course.deeds.append(Deed("parser", "alter", (len(course.start) - 2,)))
    course.passages.append(Passage("parser", (*said(course.start), "stop"), (*said(course.start), "length")))
    return course


def _returns_early(rng: Random) -> _Course:
    """The application has enough, and its parser, whatever was promised of it, ends as if that were all."""
    course = _Course(rng, _texts(rng, 8), notes=_UNPROVABLE)
    course.wire = course.start[: rng.randint(4, len(course.start) - 2)]
    course.hows["wire"] = _how("wire", end="cancelled")
    course.hows["parsed"] = _how("parsed", delivers=_promised(rng), watched=True, end="eof")
    return course


def _mixed_up(rng: Random) -> _Course:
    """A reducer that builds events of another stream into this answer."""
    course, count = _Course(rng, _texts(rng)), rng.randint(1, 3)
    rows = used(handed_on(course.start))
    course.hows = {"applied": _how("applied", extra=((FOREIGN, count),))}
    course.deeds.append(Deed("reducer", "foreign", (0,)))
    due = tuple(str(row.of) for row in rows)
    course.passages.append(Passage("reducer", due, (*due, *(f"another's {i}" for i in range(count)))))
    return course


_REDUCERS: Final = (
    _nameless, _one_kind, _one_choice, _forgets, _fails_closed, _refuses, _kept, _kept, _puts_right, _puts_right_unseen,
    _kinds_apart,
    _mixed_up,
)  # fmt: skip
_PARSERS: Final = (_withholds, _by_lines, _parser_swallows, _cuts_anew, _cuts_anew_and_stops, _odd_bytes, _implied,
                   _other_end, _returns_early)  # fmt: skip


def _one_of(*makers: Callable[[Random], _Course]) -> Callable[[Random, str], Trial]:
    def stream(rng: Random, name: str) -> Trial:
        make = rng.choice(makers)
        return make(rng).trial(name, _called(make).replace("_", " "))

    return stream


def _called(make: Callable[[Random], _Course]) -> str:
    return make.__name__.strip("_")


SORTS: Final[dict[str, tuple[Callable[[Random, str], Trial], int]]] = {
    "reducers": (_one_of(*_REDUCERS), 1),
    "parsers": (_one_of(*_PARSERS), 1),
    **{_called(make): (_one_of(make), 0) for make in (*_REDUCERS, *_PARSERS)},
}
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
