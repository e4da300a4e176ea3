"""One body on its way to the application: passed on first, looked at afterwards, its end reported once.

No I/O and no library: the hooks call this from their sync and async streams alike. A piece that was passed on waits
here with its times; once there are 16 of them or 16 KiB, when somebody wants to know, at the exporter's tick and at the
end they are decoded and observed together.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from streamwitness import faults
from streamwitness.backlog import MOST_BYTES, Backlog
from streamwitness.decoding import Decoder, UnknownEncodingError, decoder
from streamwitness.observer import BodyObserver
from streamwitness.semconv import GATHERED

from . import ends


class Tap:
    """The state of one observed body.

    `coding` is the body's Content-Encoding, `known` attributes for the closing block. Safe to call from a finalizer
    and from another thread: a waiting piece is taken exactly once and in order, and the observer takes the first end
    only. Inert in a forked child.
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
        """Set by who knows better why the reader stops, whatever reading then ends in (`abandoned`, `cancelled`)."""
        self.gathers = False
        """Set where a read waits until it has as many bytes as were asked for: what has come meanwhile is not seen."""
        self._backlog = Backlog()
        self._backlog.behind.append(observer.flush)
        self._blind = False
        self._asked, self._seen = 0, clock()
        self._held = 0
        observer.recorder.before_tick = self.look
        self._read_wait = self._hold = 0  # the longest so far
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
        self.look()
        return self.observer.terminal or self.observer.error is not None

    def asked_since(self, time: int) -> bool:
        """Whether the reader has asked for more since then, or was told that there is no more."""
        return self.end == "eof" or self._asked > time

    def asked(self) -> None:
        """The reader asks for the next piece; it has finished with those before. Never raises in a host."""
        self._asked = self._now()
        backlog = self._backlog
        if len(backlog.items) >= backlog.most or backlog.size >= MOST_BYTES:  # `full`, without a call for each piece
            try:
                backlog.settle()
            except Exception as error:
                faults.fault("client.body", error)

    def passed(self, piece: bytes) -> None:
        """A piece has come and is about to be passed on; never raises."""
        if type(piece) is not bytes:  # the reader may use its buffer again
            piece = bytes(piece)
        backlog = self._backlog
        backlog.items.append((self._look, self._asked, self._now(), piece))
        backlog.size += len(piece)

    def join(self, backlog: Backlog) -> None:
        """Wait with others from now on, so that what passes here and there is looked at in the order it passed in."""
        self.look()
        self._backlog = backlog
        backlog.behind.append(self.observer.flush)

    def decoded(self) -> None:
        """The pieces come decoded already: this library decodes under its reader's hands."""
        if self._decode is not None:
            self.look()
            self._decode = None

    def look(self) -> None:
        """Observe what was passed on and not looked at yet."""
        self._backlog.settle()

    def _look(self, waiting: tuple[Any, int, int, bytes]) -> None:
        _, asked, came, piece = waiting
        held = asked - self._seen  # negative where a piece came that nobody had asked for
        if held > 0:
            self._held += held
        if came - asked > self._read_wait or held > self._hold:
            self._waited(asked, came)
        self._seen = came
        if self._decode is None and not self._blind:
            self.observer.look(piece, came)
        else:
            self._observe(piece, came)

    def _waited(self, asked: int, came: int) -> None:
        """The longest wait so far, of one kind or of both."""
        after, recorder = self.observer.events - 1, self.observer.recorder
        self._read_wait = max(self._read_wait, came - asked)
        self._hold = max(self._hold, asked - self._seen)
        recorder.waited(read_wait=self._read_wait, hold=self._hold, after=after)

    def finished(self) -> None:
        """The body was read to its end, or to where the reader itself shut the connection."""
        self._close(self.own_stop or "eof")

    def failed(self, error: BaseException) -> None:
        """Reading raised `error`."""
        self._close(self.own_stop or ends.of_transport(error), type(error).__name__)

    def closed(self) -> None:
        """The application closed the body."""
        self._close(self.own_stop or "cancelled")

    def dropped(self) -> None:
        """Nobody closed the body: it was garbage collected, or the interpreter exits."""
        self._close(self.own_stop or "abandoned")

    def _observe(self, piece: bytes, now: int) -> None:
        if self._blind:
            return
        if self._decode is None:
            self.observer.look(piece, now)
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
            self.observer.look(decoded, now)

    def _stop_looking(self, error: Exception) -> None:
        """The body cannot be decoded here, which is no fault of ours: this point is unknown, never missing."""
        self._blind = True
        self.observer.recorder.fault(error)

    def _close(self, end: str, detail: str = "") -> None:
        if not self.observer.recorder.closed:
            self._backlog.last(lambda: self._report(end, detail))

    def _report(self, end: str, detail: str) -> None:
        if self.observer.recorder.closed:
            return
        self._last_waits()
        if self.observer.error is not None and end not in ("eof", "raised"):
            # A client stops at the provider's error event as it does at the terminator.
            detail, end = detail or f"{end} after an error event", "stopped_at_terminal"
        gathered = {GATHERED: True} if self.gathers else {}
        self.observer.close(end, detail, extra=(self._known or {}) | gathered)
        listeners, self.on_end = self.on_end, []
        for listener in listeners:
            listener(self.end or end)

    def _last_waits(self) -> None:
        """At the end the reader was waiting for a piece, or had not asked for another one."""
        now, recorder, asking = self._now(), self.observer.recorder, self._asked >= self._seen
        held = (self._asked if asking else now) - self._seen
        last_wait = now - self._asked if asking else 0
        recorder.waited(read_wait=last_wait, hold=held)
        recorder.ended_waiting(held=self._held + held, last_wait=last_wait)


def safely(where: str, action: Callable[[], None]) -> None:
    """Run an action of ours in the host's code path: a failure is counted, the host goes on."""
    try:
        action()
    except Exception as error:
        faults.fault(where, error)
