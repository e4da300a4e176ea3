"""One body on its way to the application: passed on first, looked at afterwards, its end reported once.

No I/O and no library: `httpx_hook` calls this from its sync and async streams alike. A piece that was passed on waits
here until the reader asks for the next one, or ends; then it is decoded and observed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from streamwitness import faults
from streamwitness.decoding import Decoder, UnknownEncodingError, decoder
from streamwitness.events import Frame, Reading
from streamwitness.observer import BodyObserver
from streamwitness.semconv import ERROR, MALFORMED, OTHER

from . import ends


class Tap:
    """The state of one observed body.

    `coding` is the body's Content-Encoding, `known` attributes for the closing block. Safe to call from a finalizer
    and from another thread: a waiting piece is taken exactly once, and the observer takes the first end only.
    """

    def __init__(
        self,
        observer: BodyObserver,
        coding: str = "",
        *,
        known: dict[str, Any] | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.observer = observer
        self._known = known
        self._now = clock
        self.on_end: list[Callable[[str], None]] = []
        """Called with the end when the reader stopped it (close, drop), for points further down."""
        self.own_stop: str | None = None
        """Set by a point further down that knows better why the reader stops (`abandoned`)."""
        self.error: Reading | None = None
        """The provider's newest error event, once one was seen."""
        self.first: Reading | None = None
        """The first event."""
        self.judged = self.opaque = 0
        """Events with content or a finish, and events that say nothing which the profile reads."""
        self.oversize = False
        """Whether an event was too large to be read."""
        self._waiting: list[bytes] = []
        self._blind = False
        self._since = 0
        self._note_event, observer.on_event = observer.on_event, self._on_event
        self._decode: Decoder | None = None
        try:
            self._decode = decoder(coding)
        except UnknownEncodingError as error:
            self._stop_looking(error)

    @property
    def end(self) -> str | None:
        """The end at this point, once there is one."""
        return self.observer.recorder.end

    @property
    def stopped(self) -> bool:
        """Whether the answer is over as the protocol sees it: its terminal or an error event was seen."""
        return self.observer.terminal or self.error is not None

    def asked(self) -> None:
        """The reader asks for the next piece: look at the one it has now finished with."""
        self.look()
        now = self._now()
        if self._since:
            self.observer.recorder.waited(hold=now - self._since)
        self._since = now

    def passed(self, piece: bytes) -> None:
        """A piece has come and is about to be passed on; never raises."""
        self._waiting.append(piece)
        now = self._now()
        self.observer.recorder.waited(read_wait=now - self._since)
        self._since = now

    def decoded(self) -> None:
        """The pieces come decoded already: this library decodes under its reader's hands."""
        self._decode = None

    def look(self) -> None:
        """Observe what was passed on and not looked at yet."""
        while True:
            try:
                piece = self._waiting.pop(0)
            except IndexError:
                return
            self._observe(piece)

    def finished(self) -> None:
        """The body was read to its end."""
        self._close("eof")

    def failed(self, error: BaseException) -> None:
        """Reading raised `error`."""
        self._close(ends.of_transport(error), type(error).__name__)

    def closed(self) -> None:
        """The application closed the body."""
        self._close(self.own_stop or "cancelled")

    def dropped(self) -> None:
        """Nobody closed the body: it was garbage collected, or the interpreter exits."""
        self._close(self.own_stop or "abandoned")

    def _observe(self, piece: bytes) -> None:
        if self._blind:
            return
        if self._decode is None:
            self.observer.feed(piece)
            return
        decoding = self._decode(piece)
        while True:
            try:
                decoded = next(decoding, None)
            except Exception as error:  # the coding libraries' errors have no common base
                self._stop_looking(error)
                return
            if decoded is None:
                return
            self.observer.feed(decoded)

    def _stop_looking(self, error: Exception) -> None:
        """The body cannot be decoded here, which is no fault of ours: this point is unknown, never missing."""
        self._blind = True
        self.observer.recorder.fault(error)

    def _close(self, end: str, detail: str = "") -> None:
        if self.observer.recorder.closed:
            return
        self.look()
        if self.error is not None and end not in ("eof", "raised"):
            # A client stops at the provider's error event as it does at the terminator.
            detail, end = detail or f"{end} after an error event", "stopped_at_terminal"
        self.observer.close(end, detail, extra=self._known)
        self.observer.on_event = self._note_event
        listeners, self.on_end = self.on_end, []
        for listener in listeners:
            listener(self.end or end)

    def _on_event(self, frame: Frame, reading: Reading) -> tuple[int, int] | None:
        if reading.parts & ERROR:
            self.error = reading
        if self.first is None:
            self.first = reading
        self.judged += bool(reading.pieces) and not self.observer.terminal
        self.opaque += is_opaque(reading)
        self.oversize = self.oversize or frame.fault == "oversize"
        return self._note_event(frame, reading) if self._note_event is not None else None


def is_opaque(reading: Reading) -> bool:
    """Whether an event says nothing that its profile reads."""
    return not reading.pieces and not reading.parts & ~(OTHER | MALFORMED)


def safely(where: str, action: Callable[[], None]) -> None:
    """Run an action of ours in the host's code path: a failure is counted, the host goes on."""
    try:
        action()
    except Exception as error:
        faults.fault(where, error)
