"""Streams in which nothing but time tells: events that are held back, clients that wait in vain, gateways that read on.

Real recorders under clocks of the bench's own. Whoever did not ask for more, or slept, held nothing back and waited for
nobody; that is told by the process itself, and believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Final

from streamwitness.semconv import (
    CLOCK_STEP_MS,
    GATHERED,
    HOLD_AFTER,
    HOLD_MS,
    HOLD_TOTAL_MS,
    LAST_WAIT_MS,
    UNANSWERED,
    Component,
    Point,
)
from streamwitness.testing import MemorySink

from .labels import Deed, Ended, Passage, Trial
from .process import Process, Timed, identity
from .process import told as sent_by
from .recorded import framed
from .said import UNNUMBERED
from .sockets.acts import Act, Event
from .sockets.scenario import written
from .ways import sorts

_PACE_NS: Final = 100_000_000
"""Between two events."""
_S: Final = 10
"""Paces in a second."""
_MS: Final = 100
"""Milliseconds in a pace."""
_NOWHERE: Final = Ended(frozenset(), None)
_GATEWAY: Final[tuple[Point, ...]] = ("ingress", "egress")
_WAY: Final[tuple[Point, ...]] = ("egress", "wire")
_ALL: Final[tuple[Point, ...]] = ("ingress", "egress", "wire")


@dataclass
class _Clocked:
    """An answer whose events come at times, and the processes that see it; times are in paces."""

    rng: Random
    provider: str
    events: list[Event] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    passages: tuple[Passage, ...] = ()
    ended: Ended = _NOWHERE
    notes: frozenset[str] = frozenset()
    points: tuple[Point, ...] = _GATEWAY

    def __post_init__(self) -> None:
        texts = [Act("text", f"w{i} ") for i in range(self.rng.randint(30, 50))]
        self.events = written(self.provider, [Act("role"), *texts, Act("finish", "stop"), Act("terminal")])
        self.sink, self.exchange = MemorySink(), identity(self.rng)
        self.frames = framed(self.provider, self.events)
        self.processes: dict[bool, Process] = {}

    def body(
        self, point: Point, times: Sequence[float], end: str = "eof", until: float = 0, *, leg: int = 0,
        legs: tuple[str, ...] = (), told: Mapping[str, object] = MappingProxyType({}),
    ) -> str:  # fmt: skip
        """Record the first events as they come at these times, and an end at `until`; returns the recorder's id."""
        at_client = point == "wire"
        if at_client not in self.processes:
            self.processes[at_client] = Process(self.rng, self.exchange, self.sink, self.points, _PACE_NS)
        observer = self.processes[at_client].body(
            point, self.provider, self._pieces(times, until), end, leg=leg if point == "ingress" else None, legs=legs,
            extra=dict(told),
        )  # fmt: skip
        return observer.recorder.id

    def _pieces(self, times: Sequence[float], until: float) -> Iterator[Timed]:
        yield from zip(self.frames, times, strict=False)
        if until:
            yield b"", until

    def usual(self, count: int | None = None) -> list[float]:
        """One event a pace: all of them, or so many."""
        return [float(i + 1) for i in range(len(self.frames) if count is None else count)]

    def delayed(self, who: Component, at: int) -> None:
        """Note who held an event back."""
        self.deeds.append(Deed(who, "delay", (at,)))

    def cut(self, who: Component, came: int) -> None:
        """Note that of the answer only so many events came, for one stopped waiting."""
        tokens = tuple(f"{event.name} {event.data}" for event in self.events)
        self.passages = (Passage(who, tokens, tokens[:came], stopped=True),)

    def trial(self, name: str, sort: str) -> Trial:
        """The stream."""
        blocks = sent_by(self.rng, self.sink)
        return Trial(
            name, self.provider, "pass-through", "model", tuple(self.deeds), self.passages, self.ended, blocks,
            frozenset(self.points), self.notes | {sort},
        )  # fmt: skip


# --------------------------------------------------------------------------- held back


def _holds_back(one: _Clocked) -> None:
    """The gateway has an event in hand for seconds before it sends it; or its server did not ask, or it slept."""
    at, late = one.rng.randint(5, 20), one.rng.uniform(3, 9) * _S
    leg = one.body("ingress", one.usual())
    why = one.rng.choice(("", "", HOLD_TOTAL_MS, CLOCK_STEP_MS))
    told = {why: int(late * _MS) + 500} if why else {}
    one.body("egress", [time + late * (i >= at) for i, time in enumerate(one.usual())], legs=(leg,), told=told)
    if not why:
        one.delayed("gateway", at)


def _hedges(one: _Clocked) -> None:
    """Of two attempts that bring the same words, one seconds after the other, the later one is handed on."""
    late = one.rng.uniform(3, 9) * _S
    times = [one.usual(), [time + late for time in one.usual()]]
    order = one.rng.choice(((0, 1), (1, 0)))
    legs = tuple(one.body("ingress", times[which], leg=i) for i, which in enumerate(order))
    one.body("egress", times[1], legs=legs)


def _held_on_the_way(one: _Clocked) -> None:
    """What was sent in seconds came at once, behind an event that was held; or the reader's library gathered it."""
    one.points = _WAY
    at, late = one.rng.randint(5, 10), one.rng.randint(4, 9) * _S
    gathers = one.rng.random() < 0.4
    sent = [3.0 * time for time in one.usual()]
    one.body("egress", sent)
    until = sent[at] + late
    one.body("wire", [max(time, until) if i >= at else time for i, time in enumerate(sent)], told={GATHERED: gathers})
    if not gathers:
        one.delayed("transport", at)


def _keeps_running(one: _Clocked) -> None:
    """Its client is gone, and the gateway reads on for seconds; or it only works off what it had in hand."""
    sent = one.rng.randint(2, 6)
    waited = one.rng.random() < 0.6
    told = {} if waited else {HOLD_TOTAL_MS: len(one.frames) * _MS}
    leg = one.body("ingress", one.usual(), told=told)
    one.body("egress", one.usual(sent), "disconnected", sent + 1.0, legs=(leg,))
    if waited:
        one.deeds.append(Deed("gateway", "keep_running", (sent,)))


def _reads_beside(one: _Clocked) -> None:
    """It lets go of its upstream when its client is gone; a call beside the answer, or somebody else's, goes on."""
    sent = one.rng.randint(4, 8)
    own = one.body("ingress", one.usual(sent), "cancelled", sent + 1.5)
    begun = one.rng.choice((0, sent))
    beside = one.body("ingress", [begun + time for time in one.usual()], leg=1)
    one.body("egress", one.usual(sent), "disconnected", sent + 1.0, legs=(own, beside))


# --------------------------------------------------------------------------- in vain


def _came(one: _Clocked) -> int:
    """How many events came before nothing did any more; in one stream of four not even the first."""
    return one.rng.choice((0, *(one.rng.randint(4, 20) for _ in range(3))))


def _stalled(came: int, where: str) -> Ended:
    return Ended(frozenset(("stalled" if came else "stalled_before_first",)), where)


def _waits_for_the_way(one: _Clocked) -> None:
    """The gateway sent all, and the client asked in vain for the rest."""
    one.points = _WAY
    came = _came(one)
    one.body("egress", one.usual())
    until = len(one.frames) + one.rng.randint(5, 20) * _S
    one.body("wire", one.usual(came), "timeout", until, told={LAST_WAIT_MS: int((until - came) * _MS)})
    one.cut("transport", came)
    one.ended = _stalled(came, "transport")


def _did_not_ask(one: _Clocked) -> None:
    """The same, but the client did not ask: the time that it had for all of it was up."""
    one.points = _WAY
    came = one.rng.randint(4, 20)
    one.body("egress", one.usual())
    until = len(one.frames) + one.rng.randint(5, 20) * _S
    one.body("wire", one.usual(came), "timeout", until, told={HOLD_TOTAL_MS: int((until - came) * _MS) + 500})
    one.cut("transport", came)
    one.ended = Ended(frozenset(("client_timeout",)), "client")


def _waits_for_the_gateway(one: _Clocked) -> None:
    """The gateway read on, and sent nothing of it."""
    one.points = _ALL
    came = _came(one)
    until = came + one.rng.randint(5, 20) * _S
    leg = one.body("ingress", one.usual(came + 5), "cancelled", until)
    one.body("egress", one.usual(came), "disconnected", until, legs=(leg,))
    one.body("wire", one.usual(came), "timeout", until, told={LAST_WAIT_MS: int((until - came) * _MS)})
    one.ended = _stalled(came, "gateway")


def _waits_for_the_source(one: _Clocked) -> None:
    """The gateway asked in vain as well."""
    one.points = _ALL
    came = _came(one)
    until = came + one.rng.randint(5, 20) * _S
    told = {LAST_WAIT_MS: int((until - came) * _MS)}
    leg = one.body("ingress", one.usual(came), "cancelled", until, told=told)
    one.body("egress", one.usual(came), "disconnected", until, legs=(leg,))
    one.body("wire", one.usual(came), "timeout", until, told=told)
    one.ended = _stalled(came, "source")


def _keeps_the_first(one: _Clocked) -> None:
    """The gateway has one event in hand, sends nothing, and asks for no more."""
    one.points = _ALL
    until = one.rng.randint(5, 20) * _S
    held = int(until * _MS) - 200
    told = {HOLD_MS: held, HOLD_TOTAL_MS: held, HOLD_AFTER: 0}
    leg = one.body("ingress", one.usual(1), "cancelled", until, told=told)
    one.body("egress", (), "disconnected", until, legs=(leg,))
    one.body("wire", (), "timeout", until, told={LAST_WAIT_MS: int(until * _MS)})
    one.ended = _stalled(0, "gateway")


def _waits_for_the_next_step(one: _Clocked) -> None:
    """The gateway has read what it needs before it asks its provider, who has not even begun to answer."""
    one.points = _ALL
    until = one.rng.randint(5, 20) * _S
    leg = one.body("ingress", one.usual(one.rng.randint(3, 12)), one.rng.choice(("eof", "cancelled")))
    one.body("egress", (), "disconnected", until, legs=(leg,), told={UNANSWERED: 1})
    one.body("wire", (), "timeout", until, told={LAST_WAIT_MS: int(until * _MS)})
    one.ended = Ended(frozenset(("stalled_before_first", "client_timeout")), "source")


_MAKERS: Final = (
    _holds_back, _hedges, _held_on_the_way, _keeps_running, _reads_beside, _waits_for_the_way, _did_not_ask,
    _waits_for_the_gateway, _waits_for_the_source, _keeps_the_first, _waits_for_the_next_step,
)  # fmt: skip


SORTS: Final = sorts("timed", 1, _MAKERS, lambda rng: _Clocked(rng, rng.choice(UNNUMBERED)))
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
