"""The point `parsed`: the objects that a parser hands to the application, each recorded just before it is handed on.

Before, not after as with bytes: the application may change the object, and its reducer may name it at once. No I/O
and no iterator here; `watch` and the SDK hooks drive it.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any, Final

from streamwitness import faults
from streamwitness.backlog import Backlog
from streamwitness.events import Reading
from streamwitness.ledger import Event
from streamwitness.observer import is_opaque
from streamwitness.semconv import (
    ASKED_AGAIN,
    CLIENT_ENDS,
    ERROR,
    FINISH_REASONS_ATTRIBUTE,
    MISSING,
    OUT_OF_TURN,
    READ_OUT,
    RESULT,
    RESUMES,
    SHARED_NUMBERS,
    TERMINAL,
    UNREAD,
)

from . import ends
from .links import Link
from .reader import UNREADABLE, NotAnEventError, Reader
from .tap import safely

UNDECLARED: Final = 0
"""A parser that nobody described is held to the kinds of output of which it did hand on something."""

MAX_WAITING: Final = 32
"""Items that wait at most until what they say is recorded."""

_OK: Final = RESULT["ok"]
_RAISED: Final = RESULT["raised"]
_AFTER_TERMINAL: Final = RESULT["after_terminal"]
_UNREADABLE: Final = "a watched iterator hands on objects that are not its provider's events; they count as unknown"


def is_error_event(error: BaseException) -> bool:
    """Whether it is the provider's error event, as openai's parser raises it, and others after it.

    Its subclasses are of the connection, or of the status.
    """
    return type(error).__name__ == "APIError"


class Parsed:
    """Records what one iterator hands on. Never raises into the host.

    `link` is the response's, `name` the profile (None: the one found at `wire`), `delivers` the parts that the
    parser hands on, `client` whose parser it is, `raises` which of its exceptions are error events handed on.
    """

    def __init__(
        self,
        link: Link,
        *,
        name: str | None = None,
        delivers: int = UNDECLARED,
        client: str | None = None,
        raises: Callable[[BaseException], bool] = is_error_event,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.link = link
        self.inside = False
        """Whether the parser is at work: what its response does meanwhile is the parser's doing."""
        self.on_end: list[Callable[[str], None]] = []
        link.witness.expect("parsed")
        self.recorder = link.witness.recorder("parsed", delivers=delivers, client=client)
        if link.resumes:
            self.recorder.marks[RESUMES] = True
        link.parsed = self
        self._clock, self._raises = clock, raises
        self.profile = name
        """Name of the provider's format, where it was given."""
        self._reader = Reader(link, name)
        self._waiting = Backlog(MAX_WAITING)
        self._waiting.behind.append(self._flush)
        self._noted: list[Event] = []
        self._references: list[tuple[int, weakref.ref[Any]]] = []
        self._held = 0
        self._last = -1
        """When the last event was handed on."""
        self._loops: set[weakref.ref[object]] = set()
        self._stopped = self._asked = False
        self.recorder.before_tick = self._tick
        self._snapshot: Callable[[Any], Any] | None = None
        self._vouched = client is not None
        self._broken = False
        self._terminal = False
        self.output = -1
        """Position of the last event with content that was handed on."""
        self._judged = self._opaque = 0
        self._late = False
        """Whether somebody else has read from the open body before."""
        if link.tap is not None:
            link.tap.look()
            self._late = link.tap.end is None and link.tap.observer.first is not None
            link.tap.on_end.append(self._on_body_end)

    @property
    def end(self) -> str | None:
        """The end at this point, once there is one."""
        return self.recorder.end

    def handing_on(self, item: Any) -> None:
        """Record `item`, which is handed to the application next."""
        if self._broken or self.recorder.closed:
            return
        self._asked = True
        try:
            if self._snapshot is not None and (said := self._snapshot(item)) is not None:
                waiting = self._waiting.items
                waiting.append((self._record_plain, self._clock(), id(item), weakref.ref(item), said))
                if len(waiting) >= MAX_WAITING:
                    self._waiting.settle()
            else:
                self._waiting.settle()
                self._record(item)
        except Exception as error:
            self._fail(error)

    def asks_again(self) -> None:
        """The iterator opens another response by itself, and goes on with what that brings."""
        self.settle()
        self.recorder.marks[ASKED_AGAIN] = True

    def settle(self) -> None:
        """Record what was handed on and only noted."""
        self._waiting.settle()

    def finished(self) -> None:
        """The iterator is exhausted: at the body's end, or at the terminal that the parser stopped at."""
        tap = self.link.tap
        stopped = tap is not None and tap.end != "eof" and tap.stopped
        self._close("stopped_at_terminal" if stopped else "eof")

    def failed(self, error: BaseException) -> None:
        """The iterator raised: the transport's failure, the provider's error as an exception, or its own."""
        if self._raises(error):
            self.settle()
            self._guarded(lambda: self._record_error(error))
            self._close("stopped_at_terminal", "error event, handed on as an exception")
        else:
            self._close(ends.of_parser(error), type(error).__name__)

    def closed(self) -> None:
        """The application closed the iterator, or the response under it.

        Only a terminal that was handed on makes this a stop at the terminal: one that the body observer saw may lie
        behind events that the parser still held.
        """
        self._close("stopped_at_terminal" if self._terminal else "cancelled")

    def dropped(self) -> None:
        """Nobody closed the iterator: it was garbage collected, or the interpreter exits."""
        if self.link.tap is not None and not self.recorder.closed:
            self.link.tap.own_stop = "abandoned"
        self._close("abandoned")

    def _record(self, item: Any) -> None:
        position = self.recorder.events
        reading = self._reader.read(item)
        if not position:
            self._check_first(reading)
            self._snapshot = self._reader.snapshot
        result = _AFTER_TERMINAL if self._terminal else _OK
        self._last = self._clock()
        self.recorder.event(self._last, 0, reading.parts, reading.pieces, result=result)
        self.link.handed.add(item, position)
        if any(piece.content for piece in reading.pieces):
            self.output = position
        self._judged += bool(reading.pieces) and not self._terminal
        self._opaque += is_opaque(reading)
        self._terminal = self._terminal or bool(reading.parts & TERMINAL)

    def _record_plain(self, noted: tuple[Any, int, int, weakref.ref[Any], Any]) -> None:
        _, now, key, reference, said = noted
        try:
            parts, pieces = self._reader.read_snapshot(said)
            result = _AFTER_TERMINAL if self._terminal else _OK
            self._noted.append((now, 0, parts, pieces, b"", None, MISSING, result, MISSING, MISSING, MISSING, None))
            self._references.append((key, reference))
            self._held += len(pieces[0][2])
        except Exception as error:
            self._fail(error)

    def _flush(self) -> None:
        """Record what was only noted, all at once."""
        noted, references, held = self._noted, self._references, self._held
        if not noted:
            return
        self._noted, self._references, self._held = [], [], 0
        try:
            self.link.handed.add_references(references, self.recorder.events)
            self._judged += 0 if self._terminal else len(noted)
            self.recorder.extend(noted, held)
            self._last = noted[-1][0]
            if held:
                self.output = self.recorder.events - 1
        except Exception as error:
            self._fail(error)

    def _check_first(self, reading: Reading) -> None:
        """Raise where the open body was read by somebody else before, and this is not its first event."""
        tap = self.link.tap
        if self._late and tap is not None and reading != tap.observer.first:
            raise NotAnEventError("the first events were read by somebody else")

    def _compare(self) -> None:
        """Raise where what was handed on cannot be laid beside the body: that would read as a loss.

        Too little that the profile can read, and instead of it more that it cannot, are events of the application's
        own making; of an iterator that nobody vouches for, also nothing else than what the profile cannot read. (An
        SDK's may just be left early: some answers begin with events that say nothing.) What was too large to be read
        at the body is read here.
        """
        tap = self.link.tap
        if tap is None:
            return
        tap.look()
        missing, strange = tap.observer.judged - self._judged, self._opaque - tap.observer.opaque
        mute = self._opaque and not self._judged and not self._vouched
        if tap.observer.oversize or (missing > 0 and (strange > 0 or mute)):
            raise NotAnEventError("events that the body did not have, or that could not be read there")

    def _record_error(self, error: BaseException) -> None:
        """An error event reaches the application as an exception: it was handed on, and says what it said at wire."""
        tap = self.link.tap
        if tap is not None:
            tap.look()
        reading = tap.observer.error if tap is not None else None
        if reading is None:
            reading = self._reader.read({"error": getattr(error, "body", None) or {}})
        self.recorder.event(self._clock(), 0, reading.parts | ERROR, reading.pieces, result=_RAISED)

    def _on_body_end(self, end: str) -> None:
        """The response was closed over the parser's head: `stream.close()`, the end of a `with` block.

        Within a loop that asks on, what has come is handed on all the same: then the record goes on until the iterator
        ends, the loop is left, or has not asked between two ticks.
        """
        if self.inside or CLIENT_ENDS.get(end) != "own":
            return
        self.settle()
        if end == "abandoned":
            self._close(end)
        elif self._terminal or not self._loops or self._has_all():
            self.closed()
        else:
            self._stopped, self._asked = True, True

    def looped(self, loop: object) -> None:
        """A loop goes over the events by this object, and has it as long as it does."""
        self._loops.add(weakref.ref(loop, self._left))

    def _left(self, loop: weakref.ref[object]) -> None:
        self._loops.discard(loop)
        if self._stopped and not self._loops:
            safely("client.parsed", self.closed)

    def _has_all(self) -> bool:
        """Whether all output that has come was handed on."""
        tap = self.link.tap
        return tap is None or tap.observer.judged <= self._judged

    def _tick(self) -> None:
        self.settle()
        if self._stopped and not (self._asked or self.inside):
            self.closed()
        self._asked = False

    def _guarded(self, action: Callable[[], None]) -> None:
        if self._broken or self.recorder.closed:
            return
        try:
            action()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """From here on this point is unknown; an item that cannot be read is no fault of ours."""
        self._broken = True
        self.recorder.fault(error)
        if isinstance(error, UNREADABLE):
            faults.limited("client.watch", "%s", _UNREADABLE)
        else:
            faults.fault("client.parsed", error)

    def _close(self, end: str, detail: str = "") -> None:
        if self._stopped and end != "stopped_at_terminal":  # whatever asking on ended in
            end, detail = "stopped_at_terminal" if self._terminal else "cancelled", ""
        if not self.recorder.closed:
            self._waiting.last(lambda: self._report(end, detail))

    def _report(self, end: str, detail: str) -> None:
        if self.recorder.closed:
            return
        self._guarded(self._compare)
        complete = None if self._broken else self._reader.complete
        self.recorder.close(self._clock(), end, detail=detail, complete=complete, extra=self._known(end))
        listeners, self.on_end = self.on_end, []
        for listener in listeners:
            listener(end)

    def _known(self, end: str) -> dict[str, Any]:
        """What only a closing block can say."""
        tap = self.link.tap
        read_out = tap is not None and (
            (end == "eof" and tap.end == "eof") or (end == "stopped_at_terminal" and tap.asked_since(self._last))
        )
        known = {
            READ_OUT: read_out,
            OUT_OF_TURN: tap.observer.out_of_turn if tap is not None else 0,
            SHARED_NUMBERS: self._reader.shared_numbers,
            UNREAD: self._reader.unread,
            FINISH_REASONS_ATTRIBUTE: self._reader.finish_reasons,
        }
        return {key: value for key, value in known.items() if value}
