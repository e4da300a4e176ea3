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

from .harm import Course, anywhere, harm, kinds_of, of_the_answer
from .labels import Deed, Ended, Passage, Trial, known_to_feed
from .model import ENDS
from .process import PACES_NS, Process, identity, stamped, told
from .recorded import POINTS, framed, pieces
from .said import SSE, spoken, tokens_of
from .sockets.acts import DONE, Event
from .sockets.readers import is_complete
from .sockets.scenario import written

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
    scene = _Scene(rng, rng.choice(SSE))
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


def forgets(rng: Random, name: str) -> Trial:
    """The connection breaks, and of what the client still lacks the gateway has forgotten an event."""
    scene = _Scene(rng, rng.choice(SSE))
    events = scene.events
    lost = rng.choice([i for i, event in enumerate(events) if i and _says(scene.provider, event)])
    sent = rng.randint(1, lost)
    scene.course.deeds.append(Deed("gateway", "drop", (lost,)))
    rest = [i for i in range(sent, len(events)) if i != lost]
    _comes_back(scene, events, sent, rest)
    came = [*events[:sent], *(events[i] for i in rest)]
    passage = Passage("gateway", tokens_of(scene.provider, events), tokens_of(scene.provider, came))
    return scene.trial(name, "forgets", (passage,), notes=("unprovable",))


def _says(provider: str, event: Event) -> bool:
    """Whether an event is one of those that are compared."""
    return bool({"text", "reason", "refusal", "finish"} & kinds_of(provider, event)) and bool(
        tokens_of(provider, [event])
    )


def cut_before(rng: Random, name: str) -> Trial:
    """The upstream ends too early, then the connection breaks; a further exchange brings what there was."""
    scene = _Scene(rng, rng.choice(SSE))
    finish = _finish(scene)
    events = scene.events[: rng.randint(1, finish)]
    scene.course.deeds.append(Deed("source", "cut", tuple(range(len(events), len(scene.events)))))
    sent = rng.randint(0, len(events) - 1)
    _comes_back(scene, events, sent, range(sent, len(events)))
    return scene.trial(name, "cut before", (), _ended("upstream_truncated", "source"))


def _finish(scene: _Scene) -> int:
    """Where the answer finishes."""
    return next(i for i, event in enumerate(scene.events) if "finish" in kinds_of(scene.provider, event))


def _comes_back(scene: _Scene, events: Sequence[Event], sent: int, rest: Sequence[int]) -> None:
    """The first events in one exchange, whose connection breaks, and those at some places in a further one."""
    one = identity(scene.rng)
    two = identity(scene.rng, 1, like=one)
    frames = scene.frames(events, one.exchange, "id")
    gateway = scene.process(one, POINTS)
    leg = gateway.body("ingress", scene.provider, pieces(scene.rng, scene.frames(events)), "eof", leg=0)
    gateway.body("egress", scene.provider, pieces(scene.rng, frames[:sent]), "disconnected", legs=(leg.recorder.id,),
                 stamp="id", extra=stamped("id"))  # fmt: skip
    scene.client(scene.process(one, POINTS), events[:sent], frames[:sent], "reset", "id")
    left = [frames[i] for i in rest]
    scene.process(two, POINTS[1:]).body("egress", scene.provider, pieces(scene.rng, left), "eof", stamp="id",
                                        extra=stamped("id", rest[0] if rest else len(events)))  # fmt: skip
    scene.client(scene.process(two, POINTS[1:]), [events[i] for i in rest], left, "eof", "id")


# --------------------------------------------------------------------------- two tabs


def tabs(rng: Random, name: str) -> Trial:
    """Two clients read one exchange; to one of them something may be lost."""
    scene = _Scene(rng, rng.choice((*SSE, "ollama")))
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
    scene = _Scene(rng, rng.choice((*SSE, "ollama")))
    inner = identity(rng)
    outer, course = identity(rng, hop=1, like=inner), scene.course
    guilty = rng.choice(("nobody", "nobody", "inner", "outer", "between"))
    seen = [scene.events]
    for who in ("inner", "between", "outer"):
        before = seen[-1]
        seen.append(harm(rng, _WHO[who], before, course, 1, of_the_answer) if who == guilty else before)
    _in_a_row(scene, inner, outer, seen)
    before, after = (seen[2], seen[3]) if guilty == "outer" else (seen[0], seen[1])
    passage = Passage("gateway", tokens_of(scene.provider, before), tokens_of(scene.provider, after))
    done = guilty == "nobody" and is_complete(scene.provider, scene.events, choices=1)
    ended = _ended("completed", "source") if done else _NOWHERE
    between = scene.transported(seen[2], seen[1])
    notes = ("unprovable",) if between.visible else ()
    return scene.trial(name, "two gateways", (passage, between, scene.transported(seen[3], seen[3])), ended, notes)


_WHO: Final[dict[str, Component]] = {"inner": "gateway", "between": "source", "outer": "gateway"}
"""Between two gateways nobody is accused: to the outer one it is what is before it."""


def cut_behind(rng: Random, name: str) -> Trial:
    """Of two gateways in a row the one behind ends its answer too early; the other one hands on what it read."""
    scene = _Scene(rng, rng.choice(SSE))
    inner = identity(rng)
    outer = identity(rng, hop=1, like=inner)
    finish = _finish(scene)
    short = scene.events[: rng.randint(1, finish)]
    scene.course.deeds.append(Deed("gateway", "cut", tuple(range(len(short), len(scene.events)))))
    passage = Passage("gateway", tokens_of(scene.provider, scene.events), tokens_of(scene.provider, short))
    _in_a_row(scene, inner, outer, (scene.events, short, short, short))
    known = known_to_feed("pass-through", scene.provider, passage)
    return scene.trial(name, "cut behind", (passage,), _ended("gateway_truncated", "gateway") if known else _NOWHERE)


def _in_a_row(scene: _Scene, inner: Identity, outer: Identity, seen: Sequence[Sequence[Event]]) -> None:
    """Two gateways and a client; `seen` is what each of the four ends of the gateways saw."""
    rng = scene.rng
    behind = scene.process(inner, POINTS[:2])
    leg = behind.body("ingress", scene.provider, pieces(rng, scene.frames(seen[0])), "eof", leg=0)
    behind.body("egress", scene.provider, pieces(rng, scene.frames(seen[1])), "eof", legs=(leg.recorder.id,))
    front = scene.process(outer, POINTS)
    leg = front.body("ingress", scene.provider, pieces(rng, scene.frames(seen[2])), "eof", leg=0,
                     extra={UPSTREAM_EXCHANGE: inner.exchange})  # fmt: skip
    front.body("egress", scene.provider, pieces(rng, scene.frames(seen[3])), "eof", legs=(leg.recorder.id,))
    scene.client(scene.process(outer, POINTS), seen[3], scene.frames(seen[3]), "eof")


# --------------------------------------------------------------------------- processes that die


def killed(rng: Random, name: str) -> Trial:
    """The gateway's or the client's process ends without a word; the other one goes on as it can."""
    scene = _Scene(rng, rng.choice((*SSE, "ollama")))
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
    "forgets_the_rest": (forgets, 1),
    "cut_before": (cut_before, 1),
    "gateways": (gateways, 1),
    "cut_behind": (cut_behind, 1),
    "killed": (killed, 1),
    "lines": (lines, 1),
}
"""Name → what makes such a stream, and how often beside the others."""
