"""The life of one answer: one completion, a finish reason by then, and an abort that lets go of the connection.

The table is the protocol; what it does not list is refused and changes nothing. `finish` may come again, and content
after it, for a finish is provisional until the terminator or the end of the body; usage may follow it.

    waiting ──▶ streaming ──▶ finished ──▶ completed
       └───────────┴──────────────┴──▶ truncated (the end came first), failed (an error event), aborted (by us)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from streamwitness.semconv import ERROR, FINISH, PING, TERMINAL, USAGE

from .results import Outcome, Result

State = Literal["waiting", "streaming", "finished", "completed", "truncated", "failed", "aborted"]
Signal = Literal["event", "usage", "finish", "terminal", "eof", "error", "abort"]

STATES: Final[dict[State, dict[Signal, State]]] = {
    "waiting": {
        "event": "streaming", "usage": "streaming", "finish": "finished",
        "terminal": "truncated", "eof": "truncated", "error": "failed", "abort": "aborted",
    },
    "streaming": {
        "event": "streaming", "usage": "streaming", "finish": "finished",
        "terminal": "truncated", "eof": "truncated", "error": "failed", "abort": "aborted",
    },
    "finished": {
        "event": "finished", "usage": "finished", "finish": "finished",
        "terminal": "completed", "eof": "completed", "error": "failed", "abort": "aborted",
    },
    "completed": {"eof": "completed", "usage": "completed"},
    "truncated": {"eof": "truncated"},
    "failed": {"eof": "failed"},
    "aborted": {"eof": "aborted"},
}  # fmt: skip
"""State × signal → next state."""

SIGNALS: Final[tuple[tuple[int, Signal], ...]] = (
    (USAGE, "usage"),
    (FINISH, "finish"),
    (ERROR, "error"),
    (TERMINAL, "terminal"),
)
"""Bit of a parts mask → signal, in the order in which an event that says several of them means them."""

OPEN: Final = frozenset(("waiting", "streaming", "finished"))
"""States in which something may still come."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing has come for `ns`: since the request (`after` is None), or since event `after` (counted from 0)."""

    after: int | None
    ns: int

    def __str__(self) -> str:
        seconds = f"{self.ns / 1e9:.1f} s"
        return f"no event in {seconds}" if self.after is None else f"nothing for {seconds} after event {self.after}"


class Lifecycle:
    """Where one answer stands. No clock: `now` is a monotonic time in ns.

    `release` closes the upstream connection; `abort` calls it, once, and returns what it returns (a coroutine is the
    caller's to await).
    """

    def __init__(self, now: int, release: Callable[[], Any] | None = None) -> None:
        self.state: State = "waiting"
        self.finish: str | None = None
        """The finish reason, as last said."""
        self.events = 0
        """Events so far."""
        self._last = now
        self._release = release

    @property
    def is_open(self) -> bool:
        """Whether something may still come."""
        return self.state in OPEN

    def note(self, signal: Signal, now: int, finish: str | None = None, *, complete: bool | None = None) -> Outcome:
        """A signal has come; refused as `after_terminal` where the answer is over.

        `complete` is the provider's own rule (`Answer.is_complete`), which decides what an end means where it is given.
        """
        outcome = self._turn(signal, finish, complete)
        if outcome.is_applied and signal not in ("eof", "abort"):
            self._progressed(now)
        return outcome

    def follow(self, parts: int, now: int, finish: str | None = None, *, complete: bool | None = None) -> Outcome:
        """An event with these parts (a mask, `Answer.parts`) has come; `finish` is its reason where it has one.

        A keep-alive shows that the peer lives, and is no progress: `ignored`.
        """
        if parts == PING:
            return Outcome(Result.IGNORED, "a keep-alive")
        signals: list[Signal] = [signal for bit, signal in SIGNALS if parts & bit] or ["event"]
        outcomes = [self._turn(signal, finish, complete) for signal in signals]
        if outcomes[0].is_applied:
            self._progressed(now)
        return outcomes[0]

    def _turn(self, signal: Signal, finish: str | None, complete: bool | None) -> Outcome:
        following = STATES[self.state].get(signal)
        if following is None:
            return Outcome(Result.AFTER_TERMINAL, f"{signal} comes after the answer was {self.state}")
        if complete is not None and self.is_open and following in ("completed", "truncated"):
            following = "completed" if complete else "truncated"
        if signal == "finish":
            self.finish = finish
        self.state = following
        return Outcome(Result.APPLIED, f"{signal}: the answer is {following}")

    def _progressed(self, now: int) -> None:
        self.events += 1
        self._last = now

    def silence(self, now: int, budget: int) -> Stall | None:
        """The stall, where nothing has come for more than `budget` ns; None where something has, or it is over."""
        waited = now - self._last
        if not self.is_open or waited <= budget:
            return None
        return Stall(self.events - 1 if self.events else None, waited)

    def abort(self, now: int) -> Any:
        """Give the answer up and let go of its connection; the first call does it, and only while it is open."""
        if not self.note("abort", now).is_applied or self._release is None:
            return None
        release, self._release = self._release, None
        return release()
