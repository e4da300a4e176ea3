"""Applications that report otherwise than event by event: joined in place with the text shown, and one behind another.

None of them is at fault. With every block it is seen, or unproven; with blocks lost it may be less, and never a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from streamwitness.blocks import Block
from streamwitness.semconv import EARLIER_RECORD, REASONING, RESUMES, SHARED_RECORD, TEXT, Point

from .build import CONTENT_BYTES, Event, How, answer, handed_on, path, random_cuts, used, usual
from .labels import Ended, Trial
from .model import words
from .partial import digest_of
from .ways import sorts

_POINTS: Final[tuple[Point, ...]] = ("ingress", "egress", "wire", "parsed", "applied")
_SHOWN: Final = "0/text/0"
_LATER: Final = "6" * 16
"""The recorder that comes behind another one."""


@dataclass
class _Desk:
    """An answer that came through whole, and how the application reports of it."""

    rng: Random
    start: list[Event] = field(default_factory=list)
    end: str = "eof"
    read: int | None = None
    """How many events it read before it stopped; None: all."""
    shows: bool = False
    shared: bool = False
    """Whether several report to one record."""
    title: bool = False
    """Whether the text shown is not all that it was given."""
    had: int = 0
    """How many events its parser leaves out because they were had in an exchange before; it had asked to go on."""
    goes_on: bool = False
    reports: Sequence[Event] = ()
    later: Sequence[Event] = ()
    """What a second recorder has, that begins behind the closed first one."""
    notes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.start = answer(words(self.rng, self.rng.randint(4, 30)))

    @property
    def handed(self) -> list[Event]:
        """A report of each event that the application was handed."""
        return used(handed_on(self.start[self.had : self.read]))

    def trial(self, name: str, sort: str) -> Trial:
        """The stream."""
        return Trial(
            name, "model", "pass-through", "model", (), (), Ended(frozenset(), None), self._blocks(),
            frozenset(_POINTS), self.notes | {sort},
        )  # fmt: skip

    def _blocks(self) -> list[Block]:
        start, came = self.start, self.start[: self.read]
        hows: dict[str, Any] = {point: replace(usual(point), slots=_slots(start)) for point in _POINTS[:2]}
        for point in _POINTS[2:4]:
            end = "eof" if self.read is None else "cancelled"
            hows[point] = replace(usual(point), slots=_slots(came), end=end)
        extra = ((SHARED_RECORD, True),) if self.shared else ()
        if self.goes_on:
            extra = ((RESUMES, True), *extra)
            hows["parsed"] = replace(hows["parsed"], slots=_slots(came[self.had :]), extra=((RESUMES, True),))
        slots = _slots(came[: len(came) // 2 if self.title else None]) if self.shows else ()
        hows["applied"] = How("applied", of="parsed", end=self.end, slots=slots, extra=extra)
        blocks = path(start, start, came, handed_on(came[self.had :]), self.reports, cuts=self._cuts, **hows)
        if self.later:
            how = How("applied", of="parsed", recorder=_LATER, extra=((EARLIER_RECORD, True),), expected=_POINTS)
            blocks += how.blocks(self.later, self._cuts(len(self.later)))
        return blocks

    def _cuts(self, events: int) -> list[int]:
        return random_cuts(self.rng, events, 1, 6)


def _slots(events: Sequence[Event]) -> tuple[str, ...]:
    texts = tuple(str(event.text) for event in events if event.parts & TEXT)
    return (f"{_SHOWN} {digest_of(texts)} {CONTENT_BYTES * len(texts)}",)


# --------------------------------------------------------------------------- what it shows


def _joins_in_place(desk: _Desk) -> None:
    """It puts the texts of a frame into the last event of it, reports that one, and shows its text at the end."""
    desk.shows = True
    desk.reports = [row for row in desk.handed if not row.content or desk.rng.random() < 0.4]


def _renders_twice(desk: _Desk) -> None:
    """It reports some events whenever they are drawn, and shows its text at the end."""
    desk.shows = True
    desk.reports = [row for row in desk.handed for _ in range(desk.rng.choice((1, 1, 2)))]


def _joins_and_leaves(desk: _Desk) -> None:
    """It joins in place, and stops in the midst: what it shows is a beginning, that nothing can be compared with."""
    desk.shows, desk.end = True, "cancelled"
    desk.notes = frozenset(("unprovable",))
    desk.read = desk.rng.randint(2, len(desk.start) - 3)
    desk.reports = [row for row in desk.handed if not row.content or desk.rng.random() < 0.4]


def _leaves_thoughts_for_later(desk: _Desk) -> None:
    """It takes up the answer before the thoughts, and is left when it has come to a few of these."""
    start, desk.end = desk.start, "cancelled"
    desk.read = -2
    desk.notes = frozenset(("unprovable",))
    desk.start = [*start[:3], *(Event(500 + i, REASONING) for i in range(desk.rng.randint(3, 9))), *start[3:]]
    thoughts = [row for row in desk.handed if row.parts & REASONING]
    desk.reports = [row for row in desk.handed if not row.parts & REASONING] + thoughts[: len(thoughts) // 2]


# --------------------------------------------------------------------------- what it calls it


def _waits_in_vain(desk: _Desk) -> None:
    """It holds events back, waits for one before them that never was, and takes them up after a while."""
    rows, at = desk.handed, desk.rng.randint(1, len(desk.handed) - 1)
    held = [replace(row, result="buffered") for row in rows[at:]]
    desk.reports = [*rows[:at], *held, *(replace(row, result="stall_flushed") for row in rows[at:])]
    desk.notes = frozenset(("unprovable",))


def _in_parts(desk: _Desk) -> None:
    """It takes some events up in two steps, and reports each of them."""
    rows = [(row, desk.rng.random() < 0.3) for row in desk.handed]
    desk.reports = [
        replace(row, result=result)
        for row, both in rows
        for result in (("partial", "applied") if both else ("applied",))
    ]


# --------------------------------------------------------------------------- one behind another


def _another_goes_on(desk: _Desk) -> None:
    """One component is left after some events and its record closed; another shows the rest, or a part of it."""
    at = desk.rng.randint(1, len(desk.handed) - 2)
    desk.end, desk.reports = "cancelled", desk.handed[:at]
    desk.later = [row for row in desk.handed[at:] if desk.rng.random() < 0.8] or desk.handed[-1:]
    desk.notes = frozenset(("unprovable",))


def _two_at_once(desk: _Desk) -> None:
    """A log and a page write one record: each takes up all, or one of them what the other left out."""
    desk.shared, rows = True, desk.handed
    other = [row for row in rows if desk.rng.random() < 0.5]
    desk.reports = desk.rng.choice(
        ([row for row in rows for _ in range(2)], [*rows, *other], [*(row for row in rows if row not in other), *other])
    )
    desk.notes = frozenset(("unprovable",))


def _two_of_which_one_shows(desk: _Desk) -> None:
    """A page reports what it likes of the whole answer, and another shows the title that it makes of it, or its part.

    Whether the page has all of it then nobody knows, unless all is reported once.
    """
    desk.shared = desk.shows = desk.title = True
    desk.reports = [row for row in desk.handed if not row.content or desk.rng.random() < 0.6]
    desk.notes = frozenset(("unprovable",))


def _had_the_first(desk: _Desk) -> None:
    """It goes on where a connection broke, with what it had sent again: the parser or the application leaves it out.

    It may show all of the answer, what it had before included.
    """
    desk.goes_on, had = True, desk.rng.randint(1, 3)
    if desk.rng.random() < 0.5:
        desk.had, had = had, 0
    desk.start = [*desk.start[:-2], *(Event(600 + i) for i in range(4)), *desk.start[-2:]]
    if desk.had:
        desk.start = desk.start[1:]  # nobody says again whose words they are
    rows = desk.handed
    desk.reports = rows[had + 1 :] if had else rows
    if desk.rng.random() < 0.4:
        desk.shows = desk.title = True
    desk.notes = frozenset(("unprovable",))


def _shows_again(desk: _Desk) -> None:
    """All was taken up; a second record is of what was drawn anew, in any order, some of it not at all."""
    desk.reports = desk.handed
    desk.later = desk.rng.sample(desk.handed, desk.rng.randint(1, len(desk.handed)))
    desk.notes = frozenset(("unprovable",))


_WAYS: Final[tuple[Callable[[_Desk], None], ...]] = (
    _joins_in_place, _renders_twice, _joins_and_leaves, _another_goes_on, _two_at_once, _shows_again,
    _two_of_which_one_shows, _had_the_first,
    _leaves_thoughts_for_later, _waits_in_vain, _in_parts,
)  # fmt: skip

SORTS: Final = sorts("reporters", 1, _WAYS, _Desk)
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
