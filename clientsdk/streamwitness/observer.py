"""The bytes of one response body, framed, read and recorded at one point, without ever disturbing who owns them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Final

from . import faults
from . import semconv as sc
from .events import Frame, Piece, Reading
from .framing import FRAMINGS, Framer, SSEFramer, framing_of
from .framing.suspicion import is_whole
from .ledger import Event, Said
from .providers import Profile, detect, profile
from .providers.unread import SILENT, says_more
from .recorder import Recorder
from .stamping import ANOTHERS

_OK: Final = sc.RESULT["ok"]
_MALFORMED: Final = sc.RESULT["malformed"]
_WRONG_STREAM: Final = sc.RESULT["wrong_stream"]
_AFTER_TERMINAL_RESULT: Final = sc.RESULT["after_terminal"]
_UNREADABLE: Final = Reading(sc.MALFORMED)
_NO_LEG: Final = (sc.MISSING, sc.MISSING)
_RARE: Final = sc.TERMINAL | sc.ERROR | sc.MALFORMED
_OPAQUE: Final = sc.OTHER | sc.MALFORMED
_ANYBODYS: Final = _OPAQUE | sc.TERMINAL | sc.PING
"""What an event of any format may be taken for."""
_AFTER_TERMINAL: Final[dict[str, str]] = {
    **dict.fromkeys(("reset", "protocol_error", "cancelled", "timeout", "abandoned", "unknown"), "stopped_at_terminal"),
    **dict.fromkeys(("disconnected", "shutdown"), "eof"),
}
"""A protocol terminal seen beats any later disconnect (docs/design.md §5): what an end is called after one."""


_FAULTS: Final = frozenset(("reset", "protocol_error", "timeout", "raised"))
"""Ends that are errors to whoever looks at the span; a deliberate stop is none."""


def _error_type(end: str, detail: str) -> dict[str, Any]:
    """`error.type` (OpenTelemetry): the exception's class where it is known, else the end's name."""
    return {sc.ERROR_TYPE: detail if detail.isidentifier() else end} if end in _FAULTS else {}


def _is_broken(data: bytes) -> bool:
    """Whether this is the beginning of an object that no reader of JSON takes, nor one that reads line by line."""
    if not data.lstrip().startswith(b"{") or is_whole(data):
        return False
    return not all(is_whole(line) for line in data.split(b"\n") if line.strip())


def _is_text(data: bytes) -> bool:
    """Whether these bytes are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_opaque(reading: Reading) -> bool:
    """Whether an event says nothing that its profile reads."""
    return not reading.pieces and not reading.parts & ~_OPAQUE


def _position_in(observer: BodyObserver) -> Callable[[], int]:
    """Asks how many events came before the one that is read, and keeps nothing alive by it."""
    found = weakref.ref(observer)

    def position() -> int:
        alive = found()
        return -1 if alive is None else alive.events

    return position


class BodyObserver:
    """Frames body pieces, reads them with the provider's profile and records each event at one point.

    Pieces may be cut anywhere. Nothing here raises into the host: a failure is counted, marks the record
    (`stream.observer_fault`) and ends the observation; the body itself is never touched.
    """

    __slots__ = (
        "__weakref__",
        "_broken",
        "_clock",
        "_comments",
        "_content_type",
        "_framer",
        "_framing",
        "_held",
        "_known_format",
        "_noise",
        "_noted",
        "_path",
        "_reads",
        "_unread",
        "error",
        "events",
        "first",
        "judged",
        "learned",
        "on_close",
        "on_event",
        "opaque",
        "oversize",
        "profile",
        "recorder",
        "rest",
        "share",
        "stamp",
        "terminal",
    )

    def __init__(
        self, recorder: Recorder, path: str, content_type: str, clock: Callable[[], int], named: str | None = None
    ) -> None:
        self.recorder = recorder
        self.events = 0
        """Events observed so far."""
        self.profile: Profile | None = None
        self.terminal = False
        """Whether the protocol's terminal event (`[DONE]`) has been seen."""
        self.share: Callable[[bytes, bytes, tuple[Piece, ...]], Said | None] | None = None
        """Gives what another point of this witness has in common with an event of this name, data and pieces."""
        self.error: Reading | None = None
        """The provider's newest error event, once one was seen."""
        self.first: Reading | None = None
        """The first event."""
        self.judged = self.opaque = 0
        """Events with content or a finish before the terminal, and events that say nothing which the profile reads."""
        self.oversize = False
        """Whether an event was too large to be read."""
        self.on_event: Callable[[Frame, Reading], tuple[int, int] | None] | None = None
        """Called for each event about to be recorded; at egress it gives the row's (leg, leg_read)."""
        self.on_close: Callable[[str], None] | None = None
        """Called once with how this point ended."""
        self.stamp: Callable[[Frame], tuple[int, bytes]] | None = None
        """Of a stamped body: the sequence that a frame is stamped with (or MISSING), and its data without the stamp."""
        self.rest: Callable[[], bool] | None = None
        """Of a body that carries only the rest of an answer: whether the whole of it is known to be complete."""
        self.learned: dict[str, Any] = {}
        """Attributes for the closing block that its hook learned on the way."""
        self._framing = framing_of(path, content_type) or "sse"
        self._framer: Framer = FRAMINGS[self._framing]()
        self._path, self._content_type, self._clock = path, content_type, clock
        if named is not None:
            self._take(profile(named))
        self._noted: list[Event] = []
        self._held = self._comments = self._reads = self._noise = self._unread = 0
        self._broken = self._known_format = False

    def feed(self, piece: bytes | bytearray | memoryview, now: int | None = None) -> None:
        """Observe a piece of the (content-decoded) body, which came at `now` (ns; None: just now)."""
        self.look(piece, self._clock() if now is None else now)
        self.flush()

    def look(self, piece: bytes | bytearray | memoryview, now: int) -> None:
        """The same, but for recording: whoever has several pieces to be looked at calls `flush` after the last."""
        if self._broken:
            return
        try:
            for frame in self._framer.feed(piece):
                self._record(frame, now)
            self._reads += 1
        except Exception as error:
            self.fail(error)

    def flush(self) -> None:
        """Record what was only looked at."""
        try:
            if self._noted:
                noted, held, self._noted, self._held = self._noted, self._held, [], 0
                self.recorder.extend(noted, held)
            if self._reads:
                comments, reads = self._framer.comments - self._comments, self._reads
                self._comments, self._reads = self._framer.comments, 0
                self.recorder.observed(comments=comments, read_calls=reads)
        except Exception as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Stop observing: what comes from here on is unknown at this point."""
        self._broken = True
        self.recorder.fault(error)
        faults.fault(f"observer.{self.recorder.point}", error)

    def close(
        self, end: str, detail: str = "", *, legs: tuple[str, ...] = (), extra: dict[str, Any] | None = None
    ) -> None:
        """Send the closing block with this end (the first one wins)."""
        if self.recorder.closed:
            return
        if self.terminal and end in _AFTER_TERMINAL:
            end, detail = _AFTER_TERMINAL[end], detail or f"{end} after the terminator"
        self.flush()
        try:
            pending = 0 if self._broken else self._finish()
            known = self._known() | _error_type(end, detail) | self.learned | (extra or {})
            self.recorder.close(
                self._clock(), end, detail=detail, complete=self._complete(), pending=pending, legs=legs, extra=known
            )
            if self.on_close is not None:
                self.on_close(end)
        except Exception as error:
            self.recorder.fault(error)
            self.recorder.close(self._clock(), end, detail=detail, legs=legs)
            faults.fault(f"observer.{self.recorder.point}", error)

    def _complete(self) -> bool | None:
        """Whether the answer is complete; None where that is not known. The rest of one says nothing against it.

        A body of words, of which no event was one of the format, is of another format.
        """
        complete = self.profile.complete if self.profile is not None else None
        if self._noise and not (self.judged or self._known_format):
            return complete or None
        if self.rest is None or complete:
            return complete
        return True if self.rest() else None

    def _finish(self) -> int:
        """Record the frames that only the end completes; returns the bytes of one that never was."""
        frames, pending = self._framer.finish()
        now = self._clock()
        for frame in frames:
            self._record(frame, now)
        self._reads += 1
        self.flush()
        return pending

    def _take(self, profile: Profile) -> Profile:
        self.profile = profile
        profile.placed(_position_in(self))
        return profile

    def _record(self, frame: Frame, now: int) -> None:
        name, data, size, fault, _ = frame
        profile = self.profile or self._take(detect(self._path, self._content_type, data))
        sequence = sc.MISSING
        if self.stamp is not None:
            sequence, data = self.stamp(frame)
        reading = _UNREADABLE if fault else profile.read(name, data)
        if not data.isascii() and reading.pieces and not _is_text(data):
            reading = reading._replace(parts=reading.parts | sc.MALFORMED)  # which strict readers cannot decode
        leg, leg_read = _NO_LEG if self.on_event is None else self.on_event(frame, reading) or _NO_LEG
        parts, pieces = reading
        result = _OK
        if fault or self.terminal or parts & _RARE or not pieces:
            result = self._note(fault, reading, data)
        else:
            self.judged += 1
        if sequence == ANOTHERS:
            sequence, result = sc.MISSING, result or _WRONG_STREAM
        data = frame[1]  # with its stamp, as it is sent: of equal events it makes two that can be told apart
        said = None if self.share is None else self.share(name, data, pieces)
        self._noted.append((now, size, parts, pieces, name, data, sc.MISSING, result, leg, leg_read, sequence, said))
        self._held += size
        self.events += 1
        if self.first is None:
            self.first = reading

    def _note(self, fault: str, reading: Reading, data: bytes) -> int:
        """The result of an event other than a mere piece of the answer, and what points further down ask about it."""
        parts, terminal = reading.parts, self.terminal
        self.judged += bool(reading.pieces) and not terminal
        self.opaque += is_opaque(reading)
        if not (reading.pieces or parts & ~SILENT) and self.profile is not None:
            self._unread += says_more(self.profile.name, data)
        self._known_format = self._known_format or bool(parts & ~_ANYBODYS)
        self.oversize = self.oversize or fault == "oversize"
        if parts & sc.ERROR:
            self.error = reading
        if parts & sc.TERMINAL:
            self.terminal = True
        if fault:
            return sc.RESULT[fault]
        if terminal:
            return _AFTER_TERMINAL_RESULT
        if not parts & sc.MALFORMED or reading.pieces:
            return _OK
        self._noise += not parts & sc.ERROR and not _is_broken(data)
        return _MALFORMED

    def _pending_parts(self) -> int | None:
        """What the event carries that the end of the body left open; None where nobody could read it as one."""
        rest = None if self._broken else self._framer.rest
        if rest is None:
            return None
        known = self.profile
        reader = profile(known.name) if known is not None else detect(self._path, self._content_type, rest.data)
        parts = reader.read(rest.name, rest.data).parts
        return None if parts & sc.MALFORMED else parts

    @property
    def out_of_turn(self) -> int:
        """Events so far that came again, or late, by numbers that the body itself carries."""
        numbers = self.profile.numbers if self.profile is not None else None
        by_id = self._framer.out_of_turn if isinstance(self._framer, SSEFramer) else 0
        return max(by_id, numbers.again + numbers.late if numbers is not None else 0)

    def _known(self) -> dict[str, Any]:
        """What framing and profile know: ours, and in the field's own words (`gen_ai.*`)."""
        profile = self.profile
        framed = {
            sc.FRAMING: self._framing,
            sc.MISFRAMED: self._framer.wrong or None,
            sc.PENDING_PARTS: self._pending_parts(),
            sc.OUT_OF_TURN: self.out_of_turn or None,
        }
        if profile is None:
            return {key: value for key, value in framed.items() if value is not None}
        numbers = profile.numbers
        reasons = profile.finish_reasons or (("error",) if self._complete() is False else ())
        known = framed | {
            sc.UPSTREAM_FIRST: numbers and numbers.first,
            sc.UPSTREAM_LAST: numbers and numbers.last,
            sc.UPSTREAM_HOLES: numbers and numbers.holes,
            sc.UPSTREAM_MISMATCHES: profile.snapshot_mismatches or None,
            sc.UPSTREAM_BREAKS: profile.grammar_breaks or None,
            sc.UPSTREAM_FAULTS: profile.contradictions or None,
            sc.UPSTREAM_NOISE: self._noise or None,
            sc.UNREAD: self._unread + profile.beside or None,
            sc.SHARED_NUMBERS: profile.shared_numbers or None,
            sc.PROVIDER_NAME: profile.provider,
            sc.RESPONSE_MODEL: profile.model,
            sc.RESPONSE_ID: profile.response_id,
            sc.FINISH_REASONS_ATTRIBUTE: reasons or None,
            sc.USAGE_INPUT: profile.usage[0],
            sc.USAGE_OUTPUT: profile.usage[1],
        }
        return {key: value for key, value in known.items() if value is not None}
