"""Clients with ways of their own: reducers that refuse, put right or want a part only, parsers that cut anew.

None of that is a fault; where one is done besides, it is noted as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from streamwitness.blocks import Block
from streamwitness.semconv import (
    ALL_PARTS,
    ASKED_AGAIN,
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
    SHARED_NUMBERS,
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
from .ways import sorts

_POINTS: Final[tuple[Point, ...]] = ("ingress", "egress", "wire", "parsed", "applied")
_NOWHERE: Final = Ended(frozenset(), None)
_UNPROVABLE: Final = frozenset(("unprovable",))
_FALSE: Final = frozenset(("lying",))
"""A report that the application's own result refutes."""


@dataclass
class _Course:
    """What each point has, and how it tells it; what is not given is handed on as it came."""

    rng: Random
    start: list[Event] = field(default_factory=list)
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


def _nameless(one: _Course) -> None:
    """Reports that do not say which events they are of."""
    one.start = _texts(one.rng)
    rows = used(handed_on(one.start))
    one.applied = [replace(row, of=MISSING) if one.rng.random() < 0.4 else row for row in rows]
    one.notes = _UNPROVABLE


def _one_kind(one: _Course) -> None:
    """An application that has no use for reasoning; it may lose a text besides."""
    start = _texts(one.rng)
    thoughts = [Event(500 + i, REASONING) for i in range(one.rng.randint(1, 6))]
    one.start = [start[0], *thoughts, *start[1:]]
    rows = [row for row in used(handed_on(one.start)) if not row.parts & REASONING]
    if one.rng.random() < 0.4:
        at = one.rng.choice([i for i, row in enumerate(rows) if row.content])
        if sum(bool(row.content) for row in rows) > 1:
            one.deeds.append(Deed("reducer", "drop", (rows[at].of,)))
            due = [str(row.of) for row in rows]
            one.report([*rows[:at], *rows[at + 1 :]], due)
            return
    one.notes = _UNPROVABLE
    one.applied = rows


def _one_choice(one: _Course) -> None:
    """An application that wants one of two choices only."""
    one.start = _texts(one.rng, 4)
    rows = used(handed_on(one.start))
    one.applied = [row for i, row in enumerate(rows) if not row.content or i % 2]
    slots = (_slot(one.start[::2]), _slot(one.start[1::2], "1/text/0"))
    one.hows = {point: _how(point, slots=slots) for point in _POINTS[:4]}
    one.notes = _UNPROVABLE


def _forgets(one: _Course) -> None:
    """A reducer that passes over a few texts, and says nothing of it."""
    one.start = _texts(one.rng, 8)
    rows = used(handed_on(one.start))
    texts = [i for i, row in enumerate(rows) if row.content]
    gone = one.rng.sample(texts, one.rng.randint(1, 3))
    one.deeds.append(Deed("reducer", "drop", tuple(sorted(gone))))
    one.report([row for i, row in enumerate(rows) if i not in gone], [str(row.of) for row in rows])


def _fails_closed(one: _Course) -> None:
    """A reducer that takes nothing more from where something before it was lost or doubled."""
    one.start = _texts(one.rng)
    one.lose(1)
    rows = used(handed_on(one.wire or one.start))
    at, why = one.rng.randint(0, max(0, len(rows) - 1)), one.rng.choice(("gap", "duplicate", "reordered"))
    if one.passages[0].visible:
        one.applied = [*rows[:at], *(replace(row, result=why) for row in rows[at:])]


def _refuses(one: _Course) -> None:
    """A reducer that refuses what came to it as it left the provider: one of the two is wrong."""
    one.start = _texts(one.rng)
    rows = used(handed_on(one.start))
    at = one.rng.choice([i for i, row in enumerate(rows) if row.content])
    why = one.rng.choice(("gap", "duplicate", "wrong_stream", "after_terminal"))
    one.deeds.append(Deed("reducer", _REFUSED.get(why, "refuse"), (rows[at].of,)))
    due = [str(row.of) for row in rows]
    rows[at] = replace(rows[at], result=why)
    one.report(rows, due)
    one.notes = frozenset(("one of two",))


_REFUSED: Final = {"wrong_stream": "foreign", "after_terminal": "late"}
"""What a reducer says of an event that it refuses → what it would be if that were so."""


def _puts_right(one: _Course) -> None:
    """A reducer that brings into order again what the network had displaced."""
    start = answer(range(2000, 2000 + one.rng.randint(4, 20)))
    one.start = start
    at = one.rng.randint(1, len(start) - 4)
    one.wire = [*start[:at], start[at + 1], start[at], *start[at + 2 :]]
    one.deeds.append(Deed("transport", "move", (at,)))
    one.passages.append(Passage("transport", in_bytes(start), in_bytes(one.wire), by_event=True))
    place = {event.text: i for i, event in enumerate(start)}
    one.applied = sorted(used(handed_on(one.wire)), key=lambda row: place.get(row.text, 0))


def _puts_right_unseen(one: _Course) -> None:
    """The same, and nobody tells in which order it was sent."""
    _puts_right(one)
    one.points = frozenset(_POINTS[2:])


def _kept(one: _Course) -> None:
    """An application that shows its text: the one that it was given, whatever it reported, or another one."""
    one.start = _texts(one.rng)
    given = handed_on(one.start)
    slot, rows = _slot(given), used(given)
    one.hows = {point: _how(point, slots=(slot,)) for point in _POINTS[:4]}
    of_text = [i for i, row in enumerate(rows) if row.content]
    at, how = one.rng.choice(of_text), one.rng.choice(("raised", "silent", "ignored", "another", "plain"))
    kept = slot
    if how in ("ignored", "another"):
        kept = _slot([row for i, row in enumerate(rows) if i != at])
    if how == "another":
        one.deeds.append(Deed("reducer", "misapply", (at,)))
        due = tuple(str(row.of) for row in rows)
        one.passages.append(Passage("reducer", due, tuple(f"{o}~" if int(o) == at else o for o in due)))
    if how in ("raised", "ignored"):
        rows[at] = replace(rows[at], result=how)
    one.notes = {"raised": _FALSE, "ignored": _UNPROVABLE}.get(how, frozenset())
    one.applied = [] if how == "silent" else rows
    one.hows["applied"] = _how("applied", slots=(kept,))


# --------------------------------------------------------------------------- parsers


def _withholds(one: _Course) -> None:
    """An SDK that does not hand on reasoning, and says so or not; it may lose a text besides."""
    start = _texts(one.rng, 5)
    one.start = [start[0], *(Event(500 + i, REASONING) for i in range(one.rng.randint(1, 6))), *start[1:]]
    said_so = one.rng.random() < 0.5
    one.parsed = [event for event in handed_on(one.start) if not event.parts & REASONING]
    one.hows = {"parsed": _how("parsed", delivers=DELIVERED_BY_SDK & ~REASONING if said_so else 0)}
    one.notes = _UNPROVABLE


def _cuts_anew(one: _Course) -> None:
    """A parser that joins pieces, whatever was promised of it, and may lose one; the whole text may be told or not."""
    one.start = _texts(one.rng, 6)
    texts = [event for event in one.start if event.parts & TEXT]
    kept = list(texts)
    told = one.rng.random() < 0.6
    if told and one.rng.random() < 0.4:
        kept = damaged(one.rng, "parser", kept, 1, one.deeds)
        one.passages.append(Passage("parser", said(texts), said(kept)))
    one.parsed = [one.start[0], *_in_other_pieces(one.rng, kept), Event(FINISHED, one.start[-2].parts)]
    for point in _POINTS[:4]:
        slots = (_slot(kept if point == "parsed" else texts),) if told else ()
        one.hows[point] = _how(point, slots=slots)
    read_out = ((READ_OUT, True),)
    one.hows["parsed"] = replace(one.hows["parsed"], delivers=_promised(one.rng), watched=True, extra=read_out)
    one.notes = frozenset(("recut",) if told else ("recut", "unprovable"))


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


def _cuts_anew_and_stops(one: _Course) -> None:
    """A parser that joins pieces, whatever was promised of it, of which the application has enough before the end."""
    one.start = _texts(one.rng, 8)
    one.notes = frozenset(("recut", "unprovable"))
    one.wire = one.start[: one.rng.randint(5, len(one.start) - 2)]
    pieces = _in_other_pieces(one.rng, one.wire[1:])
    one.parsed = [one.wire[0], *pieces[: one.rng.randint(1, len(pieces))]]
    one.hows["wire"] = _how("wire", end="cancelled")
    one.hows["parsed"] = _how("parsed", delivers=_promised(one.rng), watched=True, end="cancelled")
    one.hows["applied"] = _how("applied", end="cancelled")


def _by_lines(one: _Course) -> None:
    """The body ends without a blank line, and the parser takes the end for one."""
    whole = _texts(one.rng)
    at = one.rng.randint(2, len(whole) - 2)
    one.start = whole[:at]
    one.parsed = handed_on(whole[: at + 1])
    told = ((PENDING_BYTES, 40),)
    one.hows = {point: _how(point, extra=told) for point in _POINTS[:3]}
    one.deeds.append(Deed("source", "cut", tuple(range(at, len(whole)))))


def _parser_swallows(one: _Course) -> None:
    """A parser that hands errors on, and passes over the one that ended the answer."""
    start = _texts(one.rng)
    one.start = [*start[: one.rng.randint(2, len(start) - 1)], Event(parts=ERROR)]
    one.parsed = [event for event in one.start if not event.parts & (ERROR | TERMINAL)]
    one.hows = {"parsed": _how("parsed", delivers=ALL_PARTS & ~TERMINAL)}
    one.deeds.append(Deed("parser", "swallow", (len(one.start) - 1,)))
    one.passages.append(Passage("parser", (*said(one.start), "error"), said(one.parsed)))


# --------------------------------------------------------------------------- what only some readers take


def _odd_bytes(one: _Course) -> None:
    """Texts in which bytes stand that are no UTF-8: this parser leaves some of them out."""
    start = _texts(one.rng, 5)
    odd = [i for i, event in enumerate(start) if event.content and one.rng.random() < 0.3] or [2]
    _left_out_by_right(one, start, odd, TEXT | MALFORMED)


def _implied(one: _Course) -> None:
    """The end of a call without arguments, which this parser has no use for."""
    start = _texts(one.rng, 5)
    start[2] = replace(start[2], parts=TOOL_START)
    _left_out_by_right(one, start, [3], TOOL_ARGS | OTHER)


def _left_out_by_right(one: _Course, start: list[Event], places: Sequence[int], parts: int) -> None:
    """A parser that does not hand on events with these parts, which stand at some places."""
    start = [Event(900 + i, parts) if i in places else event for i, event in enumerate(start)]
    one.start = start
    one.notes = _UNPROVABLE
    one.parsed = [event for event in handed_on(start) if event.parts != parts]


def _kinds_apart(one: _Course) -> None:
    """An application that takes up the whole answer before the thoughts that came before it, and between."""
    start = _texts(one.rng, 6)
    thoughts = [Event(500 + i, REASONING) for i in range(one.rng.randint(2, 6))]
    one.start = [*start[:3], *thoughts, *start[3:]]
    one.notes = _UNPROVABLE
    rows = used(handed_on(one.start))
    one.applied = sorted(rows, key=lambda row: (bool(row.parts & FINISH), bool(row.parts & REASONING)))


def _other_end(one: _Course) -> None:
    """A parser that hands on all, and says of the finish that it was another one."""
    one.start = _texts(one.rng)
    told = [((FINISH_REASONS_ATTRIBUTE, [why]),) for why in ("stop", "length")]
    one.hows.update((point, _how(point, extra=told[0])) for point in _POINTS[:3])
    one.hows["parsed"] = _how("parsed", extra=told[1])
    one.deeds.append(Deed("parser", "alter", (len(one.start) - 2,)))
    one.passages.append(Passage("parser", (*said(one.start), "stop"), (*said(one.start), "length")))


def _joins_choices(one: _Course) -> None:
    """A parser that hands on what two choices say in one event, the ends of both as well; it may keep one to itself."""
    words = _texts(one.rng, 6)[:-2]
    one.start = [*words, Event(FINISHED, FINISH), Event(FINISHED + 1, FINISH), Event(parts=TERMINAL)]
    kept = one.rng.random() < 0.3
    one.parsed = [words[0], *_in_other_pieces(one.rng, words[1:]), Event(FINISHED + 2, FINISH)]
    slots = (_slot(words[1::2]), _slot(words[2::2], "1/text/0"))
    for point in _POINTS[:4]:
        ends = ["stop"] if kept and point == "parsed" else ["stop", "length"]
        one.hows[point] = _how(point, slots=slots, extra=((FINISH_REASONS_ATTRIBUTE, ends),))
    one.hows["parsed"] = replace(one.hows["parsed"], delivers=_promised(one.rng), watched=True)
    one.notes = frozenset(("recut",))
    if kept:
        one.deeds.append(Deed("parser", "drop", (len(words) + 1,)))
        one.passages.append(Passage("parser", ("0/finish:stop", "1/finish:length"), ("0/finish:stop",)))


def _cuts_anew_and_breaks(one: _Course) -> None:
    """The network breaks off an answer that a parser cuts anew."""
    one.start = _texts(one.rng, 8)
    one.wire = one.start[: one.rng.randint(4, len(one.start) - 2)]
    one.parsed = [one.wire[0], *_in_other_pieces(one.rng, one.wire[1:])]
    for point in _POINTS[:4]:
        here = one.start if point in ("ingress", "egress") else one.wire
        one.hows[point] = _how(point, slots=(_slot(here),), end="eof" if here is one.start else "reset")
    one.hows["parsed"] = replace(one.hows["parsed"], delivers=_promised(one.rng), watched=True)
    one.hows["applied"] = _how("applied", end="reset")
    one.notes = frozenset(("recut",))
    one.deeds.append(Deed("transport", "cut", tuple(range(len(one.wire), len(one.start)))))
    one.passages.append(Passage("transport", in_bytes(one.start), in_bytes(one.wire), by_event=True))


def _asks_again(one: _Course) -> None:
    """A parser that asks again where its answer broke off, and hands on what comes then, which is another stream."""
    one.start = _texts(one.rng, 8)[: one.rng.randint(4, 8)]
    one.parsed = [*one.start, *(Event(700 + i) for i in range(one.rng.randint(2, 6))), Event(FINISHED, FINISH)]
    for point in _POINTS[:3]:
        one.hows[point] = _how(point, end="reset" if point != "egress" else "raised")
    one.hows["parsed"] = _how("parsed", watched=True, delivers=_promised(one.rng), extra=((ASKED_AGAIN, True),))
    one.notes = _UNPROVABLE
    one.deeds.append(Deed("source", "cut", (len(one.start),)))


def _finishes_twice(one: _Course) -> None:
    """A parser that hands on the end of the only choice twice."""
    one.start = _texts(one.rng)
    handed = handed_on(one.start)
    one.parsed = [*handed, handed[-1]]
    for point in _POINTS[:4]:
        one.hows[point] = _how(point, extra=((FINISH_REASONS_ATTRIBUTE, ["stop"]),))
    one.hows["parsed"] = replace(one.hows["parsed"], delivers=_promised(one.rng), watched=True)
    one.deeds.append(Deed("parser", "double", (len(handed) - 1,)))
    one.passages.append(Passage("parser", said(handed), said(one.parsed)))


def _one_number(one: _Course) -> None:
    """A parser that hands on the pieces of two calls under the number of the first, as both have an id of their own."""
    start = _texts(one.rng, 5)
    calls = [Event(800 + i, TOOL_ARGS if i % 3 else TOOL_START) for i in range(6)]
    one.start = [*start[:-2], *calls, *start[-2:]]
    one.notes = _UNPROVABLE
    one.hows["parsed"] = _how("parsed", watched=one.rng.random() < 0.5, extra=((SHARED_NUMBERS, 1),))
    first = len(start) - 2
    one.deeds.append(Deed("parser", "alter", tuple(range(first + 3, first + 6))))
    numbered = [f"{i // 3}/tool:{call.text}" for i, call in enumerate(calls)]
    one.passages.append(Passage("parser", tuple(numbered), tuple(f"0{told[1:]}" for told in numbered)))


def _returns_early(one: _Course) -> None:
    """The application has enough, and its parser, whatever was promised of it, ends as if that were all."""
    one.start = _texts(one.rng, 8)
    one.notes = _UNPROVABLE
    one.wire = one.start[: one.rng.randint(4, len(one.start) - 2)]
    one.hows["wire"] = _how("wire", end="cancelled")
    one.hows["parsed"] = _how("parsed", delivers=_promised(one.rng), watched=True, end="eof")


def _returns_though_all_came(one: _Course) -> None:
    """So it does, and the terminator had come in the piece that held the last event that was wanted."""
    one.start = _texts(one.rng, 8)
    one.parsed = handed_on(one.start)[: one.rng.randint(4, len(one.start) - 3)]
    one.hows["wire"] = _how("wire", end="stopped_at_terminal")
    if one.rng.random() < 0.4:  # or it has lost the rest, and nobody can tell
        one.deeds.append(Deed("parser", "cut", tuple(range(len(one.parsed), len(one.start) - 1))))
        one.passages.append(Passage("parser", said(one.start), said(one.parsed)))
    promised = _promised(one.rng)
    one.hows["parsed"] = _how("parsed", delivers=promised, watched=True, end="stopped_at_terminal")
    one.notes = _UNPROVABLE


def _mixed_up(one: _Course) -> None:
    """A reducer that builds events of another stream into this answer."""
    one.start, count = _texts(one.rng), one.rng.randint(1, 3)
    rows = used(handed_on(one.start))
    one.hows = {"applied": _how("applied", extra=((FOREIGN, count),))}
    one.deeds.append(Deed("reducer", "foreign", (0,)))
    due = tuple(str(row.of) for row in rows)
    one.passages.append(Passage("reducer", due, (*due, *(f"another's {i}" for i in range(count)))))


_REDUCERS: Final = (
    _nameless, _one_kind, _one_choice, _forgets, _fails_closed, _refuses, _kept, _kept, _puts_right, _puts_right_unseen,
    _kinds_apart,
    _mixed_up,
)  # fmt: skip
_PARSERS: Final = (_withholds, _by_lines, _parser_swallows, _cuts_anew, _cuts_anew_and_stops, _odd_bytes, _implied,
                   _other_end, _returns_early, _returns_though_all_came, _one_number, _joins_choices, _finishes_twice,
                   _cuts_anew_and_breaks, _asks_again)  # fmt: skip

SORTS: Final = {**sorts("reducers", 1, _REDUCERS, _Course), **sorts("parsers", 1, _PARSERS, _Course)}
