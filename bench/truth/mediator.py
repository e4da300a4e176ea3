"""A gateway of the model alone: what it read, what it sent and what it owed, as bytes through real recorders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from streamwitness.semconv import Point
from streamwitness.testing import MemorySink

from .harm import Course, harm, of_the_answer
from .labels import Deed, Ended, Passage, Trial
from .model import ENDS
from .process import PACES_NS, Process, identity, told
from .recorded import framed, pieces
from .said import spoken, tokens_of
from .sockets.acts import Event
from .sockets.readers import acts_of
from .sockets.scenario import written

_POINTS: Final[frozenset[Point]] = frozenset(("ingress", "egress"))


@dataclass
class Leg:
    """An upstream response: what was read of it, and how that ended."""

    frames: list[bytes]
    end: str = "eof"


@dataclass
class Scene:
    """What a gateway read and sent. `before` and `after`: what it owed and what it gave, in tokens."""

    rng: Random
    provider: str
    answer: list[Event] = field(default_factory=list)
    legs: list[Leg] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    end: str = "eof"
    extra: dict[str, Any] = field(default_factory=dict)
    deeds: list[Deed] = field(default_factory=list)
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    stopped: bool = False
    notes: frozenset[str] = frozenset()
    level: Any = "digests"
    path: str = ""

    def __post_init__(self) -> None:
        self.answer = self.say(self.rng)

    def say(self, rng: Random, least: int = 6) -> list[Event]:
        """An answer that says enough to be known by."""
        while True:
            events = [e._replace(data=e.data) for e in written(self.provider, spoken(rng, 20)) if not e.comment]
            if sum(bool(e) for e in self.tokens(events)) >= least and self.finish(events) is not None:
                return events

    def tokens(self, events: Sequence[Event]) -> tuple[str, ...]:
        """What these say."""
        return tokens_of(self.provider, events)

    def finish(self, events: Sequence[Event]) -> int | None:
        """Where the answer finishes."""
        found = (i for i, e in enumerate(events) if self.has(e, "finish"))
        return next(found, None)

    def has(self, event: Event, *kinds: str) -> bool:
        """Whether an event says something of these kinds."""
        return any(act.kind in kinds for act in acts_of(self.provider, event.data))

    def leg(self, events: Sequence[Event], end: str = "eof") -> None:
        """Read this."""
        self.legs.append(Leg(framed(self.provider, list(events)), end))

    def send(self, events: Sequence[Event], owed: Sequence[Event] | None = None) -> None:
        """Send this, where that (the whole answer) was owed."""
        self.sent = framed(self.provider, list(events))
        self.before = self.tokens(self.answer if owed is None else owed)
        self.after = self.tokens(events)

    def of_its_own(self, ends: Sequence[Event]) -> None:
        """The last of what is sent are these, and the gateway made them up."""
        count = len(self.tokens(ends))
        self.after = (
            *self.after[: len(self.after) - count],
            *(f"{end} made up" for end in self.after[-count:] if count),
        )

    def broken(self, share: float = 0.5) -> list[Event]:
        """The answer, in half of the streams with something lost, doubled or changed by the gateway."""
        if self.rng.random() >= share:
            return self.answer
        course = Course(self.provider, self.provider, ENDS["complete"])
        events = harm(self.rng, "gateway", self.answer, course, 1, of_the_answer)
        self.deeds += course.deeds
        return events

    def guilty(self, act: str, *at: int) -> None:
        """Note what the gateway did."""
        self.deeds.append(Deed("gateway", act, at))

    def trial(self, name: str, sort: str) -> Trial:
        """The stream."""
        sink, one = MemorySink(), identity(self.rng)
        process = Process(self.rng, one, sink, ("ingress", "egress"), self.rng.choice(PACES_NS), self.level)
        legs = tuple(
            process.body("ingress", self.provider, pieces(self.rng, leg.frames), leg.end, leg=i, path=self.path)
            .recorder.id
            for i, leg in enumerate(self.legs)
        )  # fmt: skip
        process.body("egress", self.provider, pieces(self.rng, self.sent), self.end, legs=legs, path=self.path,
                     extra=self.extra)  # fmt: skip
        passage = Passage("gateway", self.before, self.after, self.stopped)
        return Trial(
            name, self.provider, "ways of its own", "none", tuple(self.deeds), (passage,), Ended(frozenset(), None),
            told(self.rng, sink), _POINTS, self.notes | {sort},
        )  # fmt: skip
