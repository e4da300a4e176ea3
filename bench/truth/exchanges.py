"""Streams of several exchanges or processes: resumed, read in two tabs, through two gateways, with a process that dies.

Bytes through real framers, profiles and recorders, as in `recorded.py`. What passes between exchanges accuses nobody;
what passes within one is known as ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from streamwitness.gateway.stamp import rewriter
from streamwitness.semconv import ALL_PARTS, ERROR, TERMINAL, UPSTREAM_EXCHANGE, Component, Point, Stamp
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity

from .harm import Course, anywhere, harm, of_the_answer
from .labels import Deed, Ended, Passage, Trial
from .model import ENDS
from .process import PACES_NS, Process, identity, stamped, told
from .recorded import POINTS, framed, pieces
from .said import spoken, tokens_of
from .sockets.acts import DONE, Event
from .sockets.readers import is_complete
from .sockets.scenario import written

_SSE: Final = ("openai_chat", "openai_responses", "anthropic", "gemini")
_EVERYWHERE: Final = frozenset(POINTS)
_NOWHERE: Final = Ended(frozenset(), None)
_DELIVERS: Final = {"openai_chat": ALL_PARTS & ~TERMINAL & ~ERROR}


@dataclass
class _Scene:
    """What the exchanges of a stream have in common: the provider's answer and who records it."""

    rng: Random
    provider: str
    sink: MemorySink = field(default_factory=MemorySink)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.course = Course(self.provider, self.provider, ENDS["complete"])
        self.pace = self.rng.choice(PACES_NS)
        while len(self.events) < 3:
            answer = written(self.provider, spoken(self.rng, 16))
            self.events = [event._replace(data=event.data) for event in answer if not event.comment]

    def process(self, exchange: Identity, expected: Sequence[Point]) -> Process:
        """A further process that has to do with an exchange."""
        return Process(self.rng, exchange, self.sink, expected, self.pace)

    def frames(self, events: Sequence[Event], tag: str = "", stamp: Stamp = "none") -> list[bytes]:
        """The bytes of these events, numbered if so wished."""
        whole = framed(self.provider, list(events))
        number = rewriter(tag, stamp, "sse") if stamp != "none" else None
        return [number.feed(frame) for frame in whole] if number is not None else whole

    def client(
        self, process: Process, events: Sequence[Event], frames: Sequence[bytes], end: str, stamp: Stamp = "none"
    ) -> None:
        """A client that hands on and applies whatever it receives."""
        wire = process.body("wire", self.provider, pieces(self.rng, frames), end, stamp=stamp)
        objects: list[Any] = [json.loads(event.data) for event in events if event.data != DONE]
        process.parsed(wire, objects, end, _DELIVERS.get(self.provider, ALL_PARTS & ~ERROR))
        process.applied(wire, [(i, value, "applied") for i, value in enumerate(objects)], end)

    def trial(
        self, name: str, sort: str, passages: tuple[Passage, ...], ended: Ended = _NOWHERE, notes: Sequence[str] = ()
    ) -> Trial:
        """The stream, with what was done to it."""
        return Trial(
            name, self.provider, sort, "model", tuple(self.course.deeds), passages, ended, told(self.rng, self.sink),
            _EVERYWHERE, frozenset((sort, *notes)),
        )  # fmt: skip

    def transported(self, came: Sequence[Event], events: Sequence[Event] | None = None) -> Passage:
        """What went over the network and what came."""
        return Passage("transport", _bytes(self.events if events is None else events), _bytes(came))


def _bytes(events: Sequence[Event]) -> tuple[str, ...]:
    return tuple(f"{event.name} {event.data}" for event in events)


def _ended(ending: str, by: str | None) -> Ended:
    return Ended(frozenset((ending,)), by)


# --------------------------------------------------------------------------- a client that came back


def resumed(rng: Random, name: str) -> Trial:
    """The connection breaks; what was lost comes in a second exchange, or from a later event on, or with a loss."""
    scene = _Scene(rng, rng.choice(_SSE))
    events = scene.events
    stamp: Stamp = rng.choice(("id", "id", "field"))
    sent = rng.randint(1, len(events) - 1)
    received = rng.randint(0, sent)
    first = rng.randint(0, received) if received == len(events) or rng.random() < 0.75 else rng.randint(received, sent)
    one = identity(rng)
    two = identity(rng, 1, like=one)
    frames = scene.frames(events, one.exchange, stamp)
    gateway = scene.process(one, POINTS)
    leg = gateway.body("ingress", scene.provider, pieces(rng, scene.frames(events)), "eof", leg=0)
    gateway.body("egress", scene.provider, pieces(rng, frames[:sent]), "disconnected", legs=(leg.recorder.id,),
                 stamp=stamp, extra=stamped(stamp))  # fmt: skip
    scene.client(scene.process(one, POINTS), events[:received], frames[:received], "reset", stamp)
    again = scene.process(two, POINTS[1:])
    again.body("egress", scene.provider, pieces(rng, frames[first:]), "eof", stamp=stamp, extra=stamped(stamp, first))
    lost = rng.randrange(first, len(events)) if rng.random() < 0.3 else None
    rest = [(event, frame) for i, (event, frame) in enumerate(zip(events, frames, strict=True))
            if i >= first and i != lost]  # fmt: skip
    scene.client(scene.process(two, POINTS[1:]), [e for e, _ in rest], [f for _, f in rest], "eof", stamp)
    came = [event for event, _ in rest]
    made_good = first <= received and lost is None
    scene.course.deeds += [Deed("transport", "cut", tuple(range(received, sent)))] if received < sent else []
    scene.course.deeds += [Deed("transport", "drop", (lost,))] if lost is not None else []
    ended = _ended("completed", "source") if lost is None and is_complete(scene.provider, came, choices=1) else _NOWHERE
    passage = replace(
        scene.transported([*events[:received], *came], [*events[:sent], *events[first:]]),
        again=max(0, sent - max(received, first)),
    )
    notes = (f"stamped {stamp}", *(("recovered",) if made_good else ()))
    return scene.trial(name, "resumed", (passage,), ended, notes)


# --------------------------------------------------------------------------- two tabs


def tabs(rng: Random, name: str) -> Trial:
    """Two clients read one exchange; to one of them something may be lost."""
    scene = _Scene(rng, rng.choice((*_SSE, "ollama")))
    one, course = identity(rng), scene.course
    gateway = scene.process(one, POINTS)
    frames = scene.frames(scene.events)
    leg = gateway.body("ingress", scene.provider, pieces(rng, frames), "eof", leg=0)
    gateway.body("egress", scene.provider, pieces(rng, frames), "eof", legs=(leg.recorder.id,))
    came = harm(rng, "transport", scene.events, course, rng.choice((0, 1, 1)), anywhere)
    came = [*(e for e in came if e.data != DONE), *[e for e in came if e.data == DONE][:1]]
    for read in (came, scene.events):
        scene.client(scene.process(one, POINTS), read, scene.frames(read), "eof")
    return scene.trial(name, "two tabs", (scene.transported(came),))


# --------------------------------------------------------------------------- a gateway behind a gateway


def gateways(rng: Random, name: str) -> Trial:
    """Two gateways in a row, one of which, or the way between them, may lose something."""
    scene = _Scene(rng, rng.choice((*_SSE, "ollama")))
    inner = identity(rng)
    outer, course = identity(rng, hop=1, like=inner), scene.course
    guilty = rng.choice(("nobody", "nobody", "inner", "outer", "between"))
    seen = [scene.events]
    for who in ("inner", "between", "outer"):
        before = seen[-1]
        seen.append(harm(rng, _WHO[who], before, course, 1, of_the_answer) if who == guilty else before)
    behind = scene.process(inner, POINTS[:2])
    leg = behind.body("ingress", scene.provider, pieces(rng, scene.frames(seen[0])), "eof", leg=0)
    behind.body("egress", scene.provider, pieces(rng, scene.frames(seen[1])), "eof", legs=(leg.recorder.id,))
    front = scene.process(outer, POINTS)
    leg = front.body("ingress", scene.provider, pieces(rng, scene.frames(seen[2])), "eof", leg=0,
                     extra={UPSTREAM_EXCHANGE: inner.exchange})  # fmt: skip
    front.body("egress", scene.provider, pieces(rng, scene.frames(seen[3])), "eof", legs=(leg.recorder.id,))
    scene.client(scene.process(outer, POINTS), seen[3], scene.frames(seen[3]), "eof")
    before, after = (seen[2], seen[3]) if guilty == "outer" else (seen[0], seen[1])
    passage = Passage("gateway", tokens_of(scene.provider, before), tokens_of(scene.provider, after))
    done = guilty == "nobody" and is_complete(scene.provider, scene.events, choices=1)
    ended = _ended("completed", "source") if done else _NOWHERE
    return scene.trial(name, "two gateways", (passage, scene.transported(seen[3], seen[3])), ended)


_WHO: Final[dict[str, Component]] = {"inner": "gateway", "between": "source", "outer": "gateway"}
"""Between two gateways nobody is accused: to the outer one it is what is before it."""


# --------------------------------------------------------------------------- processes that die


def killed(rng: Random, name: str) -> Trial:
    """The gateway's or the client's process ends without a word; the other one goes on as it can."""
    scene = _Scene(rng, rng.choice((*_SSE, "ollama")))
    one, who = identity(rng), rng.choice(("gateway", "client"))
    at = rng.randint(0, len(scene.events) - 1)
    frames, alive = scene.frames(scene.events), who == "client"
    gateway = scene.process(one, POINTS)
    sent = frames if alive else frames[:at]
    leg = gateway.body("ingress", scene.provider, pieces(rng, sent), "eof" if alive else "", leg=0, closes=alive)
    gateway.body("egress", scene.provider, pieces(rng, sent), "disconnected", legs=(leg.recorder.id,), closes=alive)
    came = scene.events[: at if alive else rng.randint(0, at)]
    if alive:
        client = scene.process(one, POINTS)
        client.body("wire", scene.provider, pieces(rng, frames[: len(came)]), "", closes=False)
        passage = Passage("transport", _bytes(scene.events), _bytes(came), stopped=True)
    else:
        scene.client(scene.process(one, POINTS), came, frames[: len(came)], rng.choice(("reset", "protocol_error")))
        passage = Passage("transport", _bytes(scene.events[:at]), _bytes(came))
        scene.course.deeds.append(Deed("gateway", "cut", tuple(range(at, len(scene.events)))))
        if len(came) < at:
            scene.course.deeds.append(Deed("transport", "cut", tuple(range(len(came), at))))
    return scene.trial(name, "a process dies", (passage,), notes=("undone",))


def lines(rng: Random, name: str) -> Trial:
    """The gateway sends events under the type of lines, or the other way; a parser that looks has it all."""
    scene = _Scene(rng, rng.choice(("openai_chat", "gemini", "ollama", "ollama")))
    one = identity(rng)
    events = [event for event in scene.events if event.data != DONE]
    before, behind = (b"data: ", b"\n\n") if scene.provider == "ollama" else (b"", b"\n")
    frames = [before + event.data.encode() + behind for event in events]
    points: tuple[Point, ...] = ("egress", "wire", "parsed", "applied")
    scene.process(one, points).body("egress", scene.provider, pieces(rng, frames), "eof")
    scene.client(scene.process(one, points), events, frames, "eof")
    return replace(scene.trial(name, "lines", (), notes=("unprovable",)), points=frozenset(points))


SORTS: Final[dict[str, tuple[Callable[[Random, str], Trial], int]]] = {
    "resumed": (resumed, 1),
    "tabs": (tabs, 1),
    "gateways": (gateways, 1),
    "killed": (killed, 1),
    "lines": (lines, 1),
}
"""Name → what makes such a stream, and how often beside the others."""
