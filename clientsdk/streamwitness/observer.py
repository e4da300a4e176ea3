"""The bytes of one response body, framed, read and recorded at one point, without ever disturbing who owns them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from . import faults
from . import semconv as sc
from .events import Frame, Reading
from .framing import SSEFramer
from .providers import Profile, detect
from .recorder import Recorder

_OK: Final = sc.RESULT["ok"]
_RESULT_OF_FRAME: Final = {
    "oversize": sc.RESULT["oversize"],
    "malformed": sc.RESULT["malformed"],
    "after_terminal": sc.RESULT["after_terminal"],
}
_NO_LEG: Final = (sc.MISSING, sc.MISSING)
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


class BodyObserver:
    """Frames body pieces, reads them with the provider's profile and records each event at one point.

    Pieces may be cut anywhere. Nothing here raises into the host: a failure is counted, marks the record
    (`stream.observer_fault`) and ends the observation; the body itself is never touched.
    """

    __slots__ = (
        "_broken",
        "_clock",
        "_comments",
        "_content_type",
        "_framer",
        "_path",
        "on_close",
        "on_event",
        "profile",
        "recorder",
        "terminal",
    )

    def __init__(self, recorder: Recorder, path: str, content_type: str, clock: Callable[[], int]) -> None:
        self.recorder = recorder
        self.profile: Profile | None = None
        self.terminal = False
        """Whether the protocol's terminal event (`[DONE]`) has been seen."""
        self.on_event: Callable[[Frame, Reading], tuple[int, int] | None] | None = None
        """Called for each event about to be recorded; at egress it gives the row's (leg, leg_read)."""
        self.on_close: Callable[[str], None] | None = None
        """Called once with how this point ended."""
        self._framer = SSEFramer()
        self._path, self._content_type, self._clock = path, content_type, clock
        self._comments = 0
        self._broken = False

    def feed(self, piece: bytes | bytearray | memoryview) -> None:
        """Observe a piece of the (content-decoded) body."""
        if self._broken:
            return
        try:
            frames = self._framer.feed(piece)
            now = self._clock()
            for frame in frames:
                self._record(frame, now)
            self._count_read()
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
        try:
            pending = 0 if self._broken else self._framer.finish()
            known = self._known() | _error_type(end, detail) | (extra or {})
            complete = self.profile.complete if self.profile is not None else None
            self.recorder.close(
                self._clock(), end, detail=detail, complete=complete, pending=pending, legs=legs, extra=known
            )
            if self.on_close is not None:
                self.on_close(end)
        except Exception as error:
            self.recorder.fault(error)
            self.recorder.close(self._clock(), end, detail=detail, legs=legs)
            faults.fault(f"observer.{self.recorder.point}", error)

    def _record(self, frame: Frame, now: int) -> None:
        if self.profile is None:
            self.profile = detect(self._path, self._content_type, frame.data)
        reading = self.profile.read(frame.name, frame.data) if not frame.oversize else Reading(sc.MALFORMED)
        leg, leg_read = (self.on_event and self.on_event(frame, reading)) or _NO_LEG
        self.recorder.event(
            now,
            frame.size,
            reading.parts,
            reading.pieces,
            name=frame.name,
            data=frame.data,
            result=self._result(frame, reading),
            leg=leg,
            leg_read=leg_read,
        )
        if reading.parts & sc.TERMINAL:
            self.terminal = True

    def _result(self, frame: Frame, reading: Reading) -> int:
        if frame.oversize:
            return _RESULT_OF_FRAME["oversize"]
        if self.terminal:
            return _RESULT_OF_FRAME["after_terminal"]
        if reading.parts & sc.MALFORMED:
            return _RESULT_OF_FRAME["malformed"]
        return _OK

    def _count_read(self) -> None:
        comments = self._framer.comments
        self.recorder.observed(comments=comments - self._comments, read_calls=1)
        self._comments = comments

    def _known(self) -> dict[str, Any]:
        """What the profile knows in the field's own words (`gen_ai.*`)."""
        profile = self.profile
        if profile is None:
            return {}
        reasons = profile.finish_reasons or (("error",) if profile.complete is False else ())
        known = {
            sc.PROVIDER_NAME: profile.provider,
            sc.RESPONSE_MODEL: profile.model,
            sc.RESPONSE_ID: profile.response_id,
            sc.FINISH_REASONS_ATTRIBUTE: reasons or None,
            sc.USAGE_INPUT: profile.usage[0],
            sc.USAGE_OUTPUT: profile.usage[1],
        }
        return {key: value for key, value in known.items() if value is not None}
