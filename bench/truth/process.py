"""A process of the model that records with the real framers, profiles and recorders, under a clock of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final

from streamwitness.blocks import Block
from streamwitness.observer import BodyObserver
from streamwitness.providers import profile
from streamwitness.semconv import ALL_PARTS, FIRST_NUMBER, OUT_OF_TURN, RESULT, STAMPED, TERMINAL, Level, Point, Stamp
from streamwitness.stamping import stamp_reader
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness

from .sockets.bodies import FRAMING, PATHS, TYPES

PACES_NS: Final = (1_000, 20_000_000, 150_000_000)
"""What passes between two events: from a whole answer in one block to a few events in each."""
Timed = tuple[bytes, float]
"""A read, and how many paces after the body's beginning it comes."""
_HOURS_NS: Final = 3_600_000_000_000
_BASE_NS: Final = 1_800_000_000_000_000_000


class Process:
    """One process's witness of one exchange."""

    def __init__(
        self,
        rng: Random,
        identity: Identity,
        sink: MemorySink,
        expected: Iterable[Point],
        pace: int,
        level: Level = "digests",
    ) -> None:
        self._begun, self._pace = rng.randrange(10**12, 10**13), pace
        self._now = self._begun
        self._identity = identity
        self.witness = Witness(identity, sink, expected=tuple(expected), clock=self._clock, level=level)

    def _clock(self) -> int:
        self._now += 1_000
        return self._now

    def _at(self, paces: float) -> int:
        """Set the clock to so many paces after the beginning; points of one process stand at the same time there."""
        self._now = self._begun + int(paces * self._pace)
        return self._now

    def body(
        self, point: Point, provider: str, pieces: Iterable[Timed], end: str, *, leg: int | None = None,
        legs: tuple[str, ...] = (), stamp: Stamp = "none", extra: dict[str, Any] | None = None, closes: bool = True,
        path: str = "", detail: str = "",
    ) -> BodyObserver:  # fmt: skip
        """Observe a body, from the process's beginning on. `closes` False: it dies, and nobody says how it ended.

        `path`: that of the request, where it is not the provider's own. `detail`: the class of the error that ended it.
        """
        self._at(0)
        observer = self.witness.body(
            point, path=path or PATHS[provider], content_type=TYPES[FRAMING[provider]], leg=leg, client="model"
        )
        observer.stamp = stamp_reader(self._identity.exchange, stamp)
        for piece, paces in pieces:
            observer.feed(piece, self._at(paces))
        if closes:
            observer.close(end, detail, legs=legs, extra=extra)
        return observer

    def parsed(self, observer: BodyObserver, objects: Sequence[Any], end: str, delivers: int = ALL_PARTS) -> None:
        """What a parser hands on, of a body that was observed."""
        recorder = self.witness.recorder("parsed", delivers=delivers, client="model")
        reader = profile(observer.profile.name if observer.profile is not None else "generic")
        over = False
        for i, value in enumerate(objects):
            reading = reader.read_object(value)
            result = RESULT["after_terminal"] if over else RESULT["ok"]
            recorder.event(self._at(i), 0, reading.parts, reading.pieces, result=result)
            over = over or bool(reading.parts & TERMINAL)
        odd = observer.out_of_turn
        recorder.close(self._clock(), end, complete=reader.complete, extra={OUT_OF_TURN: odd} if odd else None)

    def applied(self, observer: BodyObserver, rows: Sequence[tuple[int, Any, str]], end: str) -> None:
        """What an application reports: (position at parsed, the event, its result)."""
        recorder = self.witness.recorder("applied", of="parsed")
        reader = profile(observer.profile.name if observer.profile is not None else "generic")
        for i, (position, value, result) in enumerate(rows):
            reading = reader.read_object(value)
            taken = result == "applied"
            recorder.event(
                self._at(i), 0, reading.parts if taken else 0, reading.pieces if taken else (), of=position,
                result=RESULT[result],
            )  # fmt: skip
        recorder.close(self._clock(), end)


def stamped(kind: Stamp, first: int = 0) -> dict[str, Any]:
    """What a gateway that numbers its events says at the end."""
    return {} if kind == "none" else {STAMPED: kind, FIRST_NUMBER: first}


def identity(rng: Random, attempt: int = 0, hop: int = 0, like: Identity | None = None) -> Identity:
    """An exchange of a new stream, or a further one of the same stream."""
    digits = f"{rng.getrandbits(64):016x}"
    if like is None:
        return Identity(f"{rng.getrandbits(128):032x}", digits, rng.randbytes(32))
    exchange = like.exchange[:8] + digits[8:] if attempt else digits
    return replace(like, exchange=exchange, attempt=attempt, hop=hop)


def told(rng: Random, sink: MemorySink) -> list[Block]:
    """The blocks, with ids and times that are the same at every run; clocks of processes are hours apart."""
    for recorder in list(sink.tracked):
        recorder.tick(1 << 62)  # of one that never closed, what it had is sent in the end
    names: dict[str, str] = {}
    skews: dict[str, int] = {}
    for block in sink.blocks:
        for old in (block.witness, block.recorder, *block.legs):
            names.setdefault(old, f"{rng.getrandbits(64):016x}")
        skews.setdefault(block.witness, _BASE_NS + rng.randint(-9, 9) * _HOURS_NS - block.start_ns)
    return [
        replace(
            block, witness=names[block.witness], recorder=names[block.recorder], role="any",
            legs=tuple(names[leg] for leg in block.legs),
            start_ns=block.start_ns + skews[block.witness], end_ns=block.end_ns + skews[block.witness],
        )
        for block in sink.blocks
    ]  # fmt: skip
