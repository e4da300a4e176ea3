"""applied(): the point `applied`, reported by the application's own code that builds the answer.

    with streamwitness.applied(stream) as a:
        for chunk in stream:
            with a.event(chunk):
                answer.add(chunk)
        a.result(answer.text)

A record at `applied` is judged by `of` alone: the position, at the point before, of the event that was applied. It is
found by the identity of the object among the last 512 handed on; an object that was not handed on (a copy), or that
may be two of them (equal one-letter texts are one object in Python), has none, and then says nothing about loss.
Pass `of=` where the application knows better. What it shows as its result is compared with what it was given; only a
keyed digest of it leaves the process (`kept.py`).

All who report of one stream share one record: of two that had a part of it each, one might be lost, and what is left
would read as if nobody had taken up the rest. So a record ends when nobody reports any more and the stream is over. Who
comes behind that has a record of its own, and each of its blocks says that there was another; but by then the first has
said that nobody took up what it left out. So begin each before the others are done.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from streamwitness import faults
from streamwitness.events import Reading, mask_of
from streamwitness.recorder import Recorder
from streamwitness.semconv import (
    CLIENT_ENDS,
    EARLIER_RECORD,
    FOREIGN,
    MAX_SLOTS,
    MISSING,
    OTHER,
    PART,
    RESULT,
    RESUMES,
    SHARED_RECORD,
    Point,
)

from . import derived, ends, links
from .kept import Kept, Kind, digested
from .reader import UNREADABLE, Reader

RESULTS: Final = frozenset(
    ("applied", "ignored", "partial", "raised", "overflow_dropped", "duplicate", "gap", "reordered", "buffered",
     "stall_flushed", "wrong_stream", "after_terminal", "malformed")
)  # fmt: skip
"""What can be reported of an event here (docs/design.md §3)."""

_TAKEN_UP: Final = frozenset(("applied", "partial", "stall_flushed"))
"""Results by which the event's content reached the answer."""

_Note = Callable[[str, int | None, str], None]
"""Called with an event's result, the parts applied (None: all or nothing), and the class of what was raised."""


def applied(stream: Any) -> Applied:
    """The applied point of a stream: an instrumented SDK's stream, a watched iterator, or an observed response.

    Where nothing observes the stream (mode `off`, not sampled, not instrumented) the result does nothing. Close it,
    use it as a context manager, or let go of it; where the application applies each event before it asks for the
    next, it also closes with the stream, or, in a `with` block, with the block, but as the stream ended. Several of one
    stream write one record, which closes with the last of them, and not before the stream is over.
    """
    try:
        link = links.of(stream)
        return Applied(*_sharing(link, derived.follow(stream, link))) if link is not None else Applied()
    except Exception as error:
        faults.fault("client.applied", error)
        return Applied()


class Applied:
    """Reports what became of each event. Never raises, except what the application's own block raised."""

    def __init__(self, state: _State | None = None, hold: _Hold | None = None) -> None:
        self._state, self._hold = state, hold
        self._dropped = weakref.finalize(self, state.leave, hold) if state is not None and hold is not None else None

    @contextmanager
    def event(self, chunk: Any, *, of: int | None = None) -> Iterator[None]:
        """The block applies `chunk`: recorded as `applied` when it ends, as `raised` when it raises."""
        note = self._begin(chunk, of)
        try:
            yield
        except Exception as error:  # not what interrupts from outside (a cancelled task, Ctrl-C): that blames nobody
            note("raised", None, type(error).__name__)
            raise
        note("applied", None, "")

    def report(
        self, chunk: Any, result: str = "applied", *, parts: Iterable[str] | None = None, of: int | None = None
    ) -> None:
        """Report the final result of `chunk`; `parts` names what was applied of it, where that is not all or nothing.

        Raises ValueError for an unknown result or part.
        """
        if result not in RESULTS:
            raise ValueError(f"unknown result {result!r}; known: {', '.join(sorted(RESULTS))}")
        mask = None if parts is None else mask_of(parts)
        self._begin(chunk, of)(result, mask, "reducer")

    def result(self, result: Any, choice: int = 0, *, kind: Kind = "text", ordinal: int = 0, name: str = "") -> None:
        """Show what the application has of the answer now, so that it can be compared with what it was given.

        `result` is a text (of a tool call the arguments' JSON text as it came, with the call's `name`), or an
        `Answer` of streamwitness.reducers with all its slots. `choice`, `kind` and `ordinal` say which of the answer's
        texts it is; the newest of each counts, and of several who report of one stream the longest of theirs. Show it
        before the record closes: within the `with` block, or while the stream is read. An own stop compares nothing.
        Anything else than a text is ignored.
        """
        if self._state is not None and self._hold is not None:
            self._state.show(self._hold, result, choice, kind, ordinal, name)

    def close(self) -> None:
        """The application is done with the stream. Idempotent."""
        if self._dropped is not None:
            self._dropped()  # once

    def __enter__(self) -> Applied:
        if self._hold is not None:
            self._hold.entered = True
        return self

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        """What the stream raised only passes through here: the record then ends as the stream did."""
        if self._state is not None and isinstance(error, Exception) and ends.of_parser(error) == "raised":
            self._state.raised = type(error).__name__
        self.close()

    def _begin(self, chunk: Any, of: int | None) -> _Note:
        if self._state is None or self._hold is None:
            return _nothing
        return self._state.begin(self._hold, chunk, of)


class _Hold:
    """One `Applied` that reports to a record."""

    def __init__(self) -> None:
        self.entered = False
        """Whether a `with` block stands around it, so that the record may wait for what is shown behind the stream."""
        self.reached = -1
        """Highest position that it reported."""
        self.kept: Kept | None = None
        """What it shows; None: nothing so far."""


def _sharing(link: links.Link, made: derived.Derived | None) -> tuple[_State, _Hold]:
    """The stream's open record, or where there is none a new one, with a hold on it. From any thread: one is made."""
    hold, number = _Hold(), max(0, len(link.applied) - 1)
    while True:
        state = link.applied.get(number) or link.applied.setdefault(number, _State(link, later=number > 0))
        if state.share(hold, made):
            return state, hold
        number += 1


class _State:
    """What a finalizer can still close once the application has let go of its `Applied`."""

    def __init__(self, link: links.Link, *, later: bool, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.raised = ""
        """Class of the exception that the reducer raised last, or that left the application's block."""
        self._holds: set[_Hold] = set()
        """Who reports here."""
        self._begun = False
        """Whether anybody has begun to: all others share the record."""
        self._left: tuple[str, str, int] | None = None
        """How and when the last of them was done with it, while the stream goes on."""
        self._over: tuple[str, str] | None = None
        """How it ended with the stream, while the block goes on."""
        self._shown: list[Kept] = []
        """What those show who show anything, the newest last."""
        self._foreign = self._behind = 0
        """Events of another stream that were built into this one; and those that came when it was over."""
        self._link, self._clock = link, clock
        self._made: derived.Derived | None = None
        link.witness.expect("applied")
        of: Point = "parsed" if link.parsed is not None else "wire"
        self.recorder: Recorder = link.witness.recorder("applied", of=of)
        if later:
            self.recorder.marks[EARLIER_RECORD] = True
        if link.resumes:
            self.recorder.marks[RESUMES] = True
        self._reader = Reader(link, link.parsed.profile if link.parsed is not None else None)
        self._in_step = True
        self._last, self._reading = -1, Reading(OTHER)
        self._reached = -1
        """Highest position that was reported."""
        self._broken = False
        if link.parsed is not None:
            link.parsed.on_end.append(self._on_stream_end)

    def share(self, hold: _Hold, made: derived.Derived | None) -> bool:
        """Take on one more who reports, as long as the record is open."""
        self._holds.add(hold)
        if self._begun:
            self.recorder.marks[SHARED_RECORD] = True
        self._begun = True
        self._made = self._made or made
        self._left = None
        return not self.recorder.closed

    def leave(self, hold: _Hold) -> None:
        """One of them is done with it: the last, or the last that had more to say, ends the record."""
        self._holds.discard(hold)
        if self._over is not None and not self._waits:
            self._close(*self._over)
        elif not self._holds:
            self._stop()

    @property
    def _waits(self) -> bool:
        """Whether one of them goes on behind the stream: in its block, or with what it has not come to yet."""
        output = self._link.parsed.output if self._link.parsed is not None else -1
        return any(hold.entered or hold.reached < output for hold in tuple(self._holds))

    def begin(self, hold: _Hold, chunk: Any, of: int | None) -> _Note:
        """Look at `chunk` before the application may change it; the result is reported by calling what is returned."""
        if self._broken or self.recorder.closed:
            return _nothing
        try:
            parsed = self._link.parsed
            if parsed is not None:
                parsed.settle()
            position, event = self._origin(chunk)
            position = self._checked(of) if of is not None else position
            again = self._made is not None and position != MISSING and position == self._last
            reading = self._reading if again else self._read(event)
            if position == MISSING and reading.pieces and links.is_of_another(chunk, self._link):
                return self._record_foreign
            self._last, self._reading = position, reading
            self._in_step = self._in_step and parsed is not None and position == parsed.recorder.events - 1
            if position != MISSING:
                self._foreign, self._behind = self._foreign + self._behind, 0
                hold.reached = max(hold.reached, position)
                self._reached = max(self._reached, position)
        except Exception as error:
            self._fail(error)
            return _nothing
        if again:  # another object that the helper made of the same event
            return lambda result, parts, detail: self._record_failure(position, reading, result, parts, detail)
        return lambda result, parts, detail: self._record(position, reading, result, parts, detail)

    def _origin(self, chunk: Any) -> tuple[int, Any]:
        """Position and event of what was handed on, or of what a helper made of it."""
        position = self._link.handed.position(chunk)
        if position == MISSING and self._made is not None and (found := self._made.origin(chunk)) is not None:
            return found
        return position, chunk

    def _checked(self, of: int) -> int:
        """The application's own position, if an event of that number has come: else it numbers them otherwise."""
        parsed, tap = self._link.parsed, self._link.tap
        if parsed is None and tap is not None:
            tap.look()
        before = parsed.recorder if parsed is not None else tap.observer.recorder if tap is not None else None
        return of if before is None or 0 <= of < before.events else MISSING

    def show(self, hold: _Hold, *said: Any) -> None:
        """Take a result of the application's."""
        if self._broken or self.recorder.closed:
            return
        try:
            if hold.kept is None:
                hold.kept = Kept()
                self._shown.append(hold.kept)
                del self._shown[:-MAX_SLOTS]
            hold.kept.take(*said)
        except Exception as error:
            self._fail(error)

    def _stop(self) -> None:
        """End as the stream did; before the stream's end it is the application that stopped.

        It may go on by another `applied` as long as the stream does.
        """
        parsed = self._link.parsed
        before = parsed or self._link.tap
        end = (before.end if before is not None else None) or "cancelled"
        stopped = ("raised", self.raised) if self.raised else (end, "")
        if parsed is not None and parsed.end is None:
            self._left = (*stopped, self._clock())
        if parsed is None or parsed.end is not None:  # it may have ended this very moment, in another thread
            self._close(*(self._left or stopped))

    def _record_failure(self, position: int, reading: Reading, result: str, parts: int | None, detail: str) -> None:
        """Of an event that was reported before only a failure is news."""
        if result not in _TAKEN_UP:
            self._record(position, reading, result, parts, detail)

    def _record_foreign(self, result: str, parts: int | None, detail: str) -> None:
        """It is no event of this stream, whatever is reported of it; as one it would only hide what is missing.

        Behind its last one it is of an answer that the application goes on with, and mixed into nothing.
        """
        over = self._link.parsed is not None and self._link.parsed.end is not None
        self._behind += over and result in _TAKEN_UP
        self._foreign += not over and result in _TAKEN_UP
        self.raised = detail if result == "raised" else ""

    def _record(self, position: int, reading: Reading, result: str, parts: int | None, detail: str) -> None:
        try:
            if parts is None:
                parts = reading.parts if result in _TAKEN_UP else 0
            pieces = tuple(piece for piece in reading.pieces if PART[piece.part] & parts)
            self.raised = detail if result == "raised" else ""
            self.recorder.event(self._clock(), 0, parts, pieces, of=position, result=RESULT[result])
        except Exception as error:
            self._fail(error)

    def _read(self, chunk: Any) -> Reading:
        try:
            return self._reader.read(chunk)
        except UNREADABLE:  # the application's own object: only what is named by `of` counts
            return Reading(OTHER)

    def _on_stream_end(self, end: str) -> None:
        """Close with the stream, unless the application may still be working off what it collected or held back."""
        if self._left is not None and not self._holds:
            self._close(*self._left)
            return
        parsed = self._link.parsed
        behind = parsed is not None and self._reached < parsed.output
        if self.recorder.events and self._in_step and not behind:
            self._over = ("raised", self.raised) if self.raised and CLIENT_ENDS.get(end) == "own" else (end, "")
            if not self._waits:
                self._close(*self._over)

    def _close(self, end: str, detail: str = "", now: int | None = None) -> None:
        if self.recorder.closed:
            return
        try:
            if not (self._broken or self._behind) and (key := self._link.witness.key) is not None:
                self.recorder.kept = digested(self._shown, key)
        except Exception as error:  # the application's answer is an object of its own: only its text is not compared
            faults.fault("client.applied", error)
        extra = {FOREIGN: self._foreign} if self._foreign else None
        self.recorder.close(self._clock() if now is None else now, end, detail=detail, extra=extra)

    def _fail(self, error: Exception) -> None:
        self._broken = True
        self.recorder.fault(error)
        faults.fault("client.applied", error)


def _nothing(_result: str, _parts: int | None, _detail: str) -> None:
    """Nothing observes this stream."""
