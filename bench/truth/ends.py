"""Ends that are not at the end: errors in the midst, by whom they were put in, and clients of which no record comes.

Real recorders of every point; the answers say something new in every event, so that nothing but the end is in question.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from streamwitness.semconv import ALL_PARTS, ERROR, STATUS_CODE, TERMINAL, Component, Point
from streamwitness.testing import MemorySink

from .labels import Deed, Ended, Passage, Trial
from .process import PACES_NS, Process, identity, told
from .recorded import framed, pieces
from .said import tokens_of, told_by
from .sockets.acts import DONE, Act, Event
from .sockets.scenario import written
from .ways import sorts

SSE: Final = ("openai_chat", "openai_responses", "anthropic", "gemini")
_GATEWAY: Final[tuple[Point, ...]] = ("ingress", "egress")
_CLIENT: Final[tuple[Point, ...]] = ("wire", "parsed", "applied")
_UNPROVABLE: Final = frozenset(("unprovable",))
_NOWHERE: Final = Ended(frozenset(), None)


@dataclass
class Journey:
    """An answer, what of it each point had, and how that ended there."""

    rng: Random
    provider: str
    seen: dict[Point, list[Event]] = field(default_factory=dict)
    ends: dict[Point, str] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    """What gateway in says besides at its end."""
    refused: tuple[int, ...] = ()
    """Statuses of upstreams that refused before one answered (where one did), and behind that."""
    refused_behind: tuple[int, ...] = ()
    beside: list[Event] | None = None
    """What another attempt answered, which was read to its end and of which nothing was passed on."""
    raised: str = ""
    """The class of the error that ended gateway in, and gateway out as well."""
    announced: tuple[Point, ...] = (*_GATEWAY, *_CLIENT)
    """Points that are said to come; those that `seen` does not have never do."""
    stopped: frozenset[Component] = frozenset()
    deeds: list[Deed] = field(default_factory=list)
    ended: Ended = _NOWHERE
    notes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        texts = [Act("text", f"w{i} ") for i in range(self.rng.randint(8, 30))]
        self.answer = written(self.provider, [Act("role"), *texts, Act("finish", "stop"), Act("terminal")])
        self.error = written(self.provider, [Act("error", "overloaded")])
        self.texts = [i for i, event in enumerate(self.answer) if tokens_of(self.provider, [event])][:-1]

    def midst(self) -> int:
        """A place with texts before and behind it."""
        return self.rng.choice(self.texts[4:-2])

    def at(self, point: Point, events: Sequence[Event], end: str = "eof") -> None:
        """What this point had, each as an event of its own, and how it ended there."""
        self.seen[point] = list(events)
        self.ends[point] = end

    def used(self, end: str = "eof") -> None:
        """What its parser hands on of what the client received, and the application takes up; of errors nothing."""
        read = [event for event in self.seen["wire"] if event.data != DONE and event not in self.error]
        self.at("parsed", read, end)
        self.at("applied", read, end)

    def by(self, ending: str, whose: str | None, *others: str) -> None:
        """The true ending, and how else it may be called."""
        self.ended = Ended(frozenset((ending, *others)), whose)

    def did(self, who: Component, act: str, *at: int) -> None:
        """Note who did what."""
        self.deeds.append(Deed(who, act, at))

    def trial(self, name: str, sort: str) -> Trial:
        """The stream."""
        sink, one = MemorySink(), identity(self.rng)
        pace = self.rng.choice(PACES_NS)
        if "ingress" in self.seen or "egress" in self.seen:
            self._gateway(Process(self.rng, one, sink, self.announced, pace))
        if "wire" in self.seen:
            self._client(Process(self.rng, one, sink, self.announced, pace))
        return Trial(
            name, self.provider, "pass-through", "model", tuple(self.deeds), tuple(self._passages()), self.ended,
            told(self.rng, sink), frozenset(self.seen), self.notes | {sort},
        )  # fmt: skip

    def _gateway(self, process: Process) -> None:
        legs = [self._refused(process, number, status) for number, status in enumerate(self.refused)]
        if "ingress" in self.seen:
            legs.append(self._body(process, "ingress", leg=len(legs), extra=self.told, detail=self.raised).recorder.id)
        if self.beside is not None:
            frames = pieces(self.rng, framed(self.provider, self.beside))
            legs.append(process.body("ingress", self.provider, frames, "eof", leg=len(legs)).recorder.id)
        legs += [self._refused(process, len(legs) + i, status) for i, status in enumerate(self.refused_behind)]
        if "egress" in self.seen:
            self._body(process, "egress", legs=tuple(legs), detail=self.raised)

    def _refused(self, process: Process, number: int, status: int) -> str:
        """An upstream that gave an error status in place of an answer."""
        extra = {STATUS_CODE: status}
        return process.body("ingress", self.provider, (), "eof", leg=number, extra=extra).recorder.id

    def _client(self, process: Process) -> None:
        wire = self._body(process, "wire")
        if "parsed" not in self.seen:
            return
        objects = [json.loads(event.data) for event in self.seen["parsed"]]
        lacks = ERROR | (TERMINAL if self.provider == "openai_chat" else 0)
        process.parsed(wire, objects, self.ends["parsed"], ALL_PARTS & ~lacks)
        process.applied(wire, [(i, value, "applied") for i, value in enumerate(objects)], self.ends["applied"])

    def _body(self, process: Process, point: Point, **more: Any) -> Any:
        frames = framed(self.provider, self.seen[point])
        return process.body(point, self.provider, pieces(self.rng, frames), self.ends[point], **more)

    def _passages(self) -> list[Passage]:
        """Between two points that testify, each as its comparison goes by it."""
        sides: tuple[tuple[Component, Point, Point, Callable[[Sequence[Event]], tuple[str, ...]]], ...] = (
            ("gateway", "ingress", "egress", self._said),
            ("transport", "egress", "wire", _bytes),
            ("parser", "wire", "parsed", self._handed),
            ("reducer", "parsed", "applied", self._handed),
        )
        return [
            Passage(who, read(self.seen[a]), read(self.seen[b]), who in self.stopped, by_event=who == "transport")
            for who, a, b, read in sides
            if a in self.seen and b in self.seen
        ]  # fmt: skip

    def _said(self, events: Sequence[Event]) -> tuple[str, ...]:
        """What a gateway has to hand on: how it tells of an error is its own affair."""
        return tokens_of(self.provider, [event for event in events if event not in self.error])

    def _handed(self, events: Sequence[Event]) -> tuple[str, ...]:
        """What a parser has to: no terminator, and an error as an exception."""
        return tuple(told_by(self.provider, [event for event in events if event not in self.error], done=False))


def _bytes(events: Sequence[Event]) -> tuple[str, ...]:
    return tuple(f"{event.name} {event.data}" for event in events)


_BEHIND_THE_GATEWAY: Final[frozenset[Component]] = frozenset(("transport", "parser", "reducer"))


# --------------------------------------------------------------------------- an error in the midst


def _reads_to_the_error(one: Journey, sent: Sequence[Event]) -> None:
    """An SDK stops at the error event and raises; what of the rest has come by then is chance."""
    at = sent.index(one.error[-1]) + 1
    came = sent[: at if one.rng.random() < 0.7 else one.rng.randint(at, len(sent))]
    one.at("wire", came, one.rng.choice(("abandoned", "stopped_at_terminal")))
    before = [event for event in sent[:at] if event not in one.error]
    one.at("parsed", before, "raised")
    one.at("applied", before, "raised")
    one.stopped = _BEHIND_THE_GATEWAY


def _source_errs_and_goes_on(one: Journey) -> None:
    """The provider sends an error event, and all the rest behind it; an SDK stops there."""
    at = one.midst()
    sent = [*one.answer[:at], *one.error, *one.answer[at:]]
    one.at("ingress", sent)
    one.at("egress", sent)
    _reads_to_the_error(one, sent)
    one.by("upstream_error", "source")


def _source_errs_and_all_read_on(one: Journey) -> None:
    """The same, and the client's own parser passes over it: then it ended as it should, or with an error."""
    at = one.midst()
    sent = [*one.answer[:at], *one.error, *one.answer[at:]]
    for point in ("ingress", "egress", "wire"):
        one.at(point, sent)
    one.used()
    one.by("upstream_error", "source", "completed")


def _one_of_two_errs(one: Journey) -> None:
    """Of two attempts that begin alike the one that sends an error is passed on, the whole one is not."""
    at = one.midst()
    sent = [*one.answer[:at], *one.error]
    one.at("ingress", sent)
    one.beside = one.answer
    one.at("egress", sent)
    one.at("wire", sent)
    one.used("raised")
    one.did("source", "cut", *range(at, len(one.answer)))
    one.by("upstream_error", "source")


def _gateway_errs_and_goes_on(one: Journey) -> None:
    """The error event in the midst is the gateway's."""
    at = one.midst()
    sent = [*one.answer[:at], *one.error, *one.answer[at:]]
    one.at("ingress", one.answer)
    one.at("egress", sent)
    _reads_to_the_error(one, sent)
    one.by("gateway_error", "gateway")


def _proxy_errs_instead(one: Journey) -> None:
    """All has left the gateway; a proxy behind it sends an error in place of an event, and nothing more."""
    at = one.midst()
    one.at("ingress", one.answer)
    one.at("egress", one.answer)
    one.at("wire", [*one.answer[:at], *one.error])
    one.used("raised")
    one.did("transport", "cut", *range(at, len(one.answer)))
    one.did("transport", "invent", at)
    one.by("protocol_violation", "transport")


def _proxy_errs_and_hangs_up(one: Journey) -> None:
    """A proxy sends an error of its own, and hangs up on the gateway, which has more to send."""
    at = one.midst()
    one.at("ingress", one.answer[: at + one.rng.randint(1, 2)], "cancelled")
    one.at("egress", one.answer[: at + one.rng.randint(0, 1)], "disconnected")
    one.at("wire", [*one.answer[:at], *one.error])
    one.used("raised")
    one.stopped = frozenset(("gateway",))
    one.did("transport", "invent", at)
    one.by("protocol_violation", "transport", "network_lost")


def _proxy_puts_an_error_in(one: Journey) -> None:
    """A proxy puts an error between two events, and hands on all the rest; an SDK stops there."""
    at = one.midst()
    one.at("ingress", one.answer)
    one.at("egress", one.answer)
    _reads_to_the_error(one, [*one.answer[:at], *one.error, *one.answer[at:]])
    one.did("transport", "invent", at)
    one.by("protocol_violation", "transport")


# --------------------------------------------------------------------------- no answer


def _rejected(one: Journey) -> None:
    """The upstream refuses, as a gateway knows that records it by its status; it says so in an event."""
    one.told = {STATUS_CODE: one.rng.choice((429, 500, 503))}
    one.at("ingress", one.error)
    told_of_a_refusal(one)


def told_of_a_refusal(one: Journey) -> None:
    """The gateway says in an event that its upstream refused, and its client raises."""
    one.at("egress", one.error)
    one.at("wire", one.error)
    one.used("raised")
    one.did("source", "cut", 0)
    one.by("upstream_rejected", "source")


def _upstream_alone(one: Journey) -> None:
    """What the gateway read is recorded, and nothing behind it: nobody can tell how it ended."""
    one.announced = ("ingress",)
    one.at("ingress", one.answer)
    one.by("unwitnessed", None)
    one.notes = _UNPROVABLE


def _source_is_too_slow(one: Journey) -> None:
    """The gateway waits no longer for its upstream, and raises, or ends what it had begun."""
    at = one.midst()
    one.at("ingress", one.answer[:at], "timeout")
    sent, came = one.rng.choice((("raised", "protocol_error"), ("eof", "eof")))
    one.at("egress", one.answer[:at], sent)
    one.at("wire", one.answer[:at], came)
    one.used(came)
    one.did("source", "cut", *range(at, len(one.answer)))
    one.by("upstream_timeout", "source")


def _breaks_behind_the_finish(one: Journey) -> None:
    """The upstream's connection breaks behind the finish; a gateway that gathers first lets that error pass."""
    told = len(one.answer) if one.provider == "gemini" else len(one.answer) - 1  # others tell an end behind the finish
    one.raised = one.rng.choice(("ReadError", "RemoteProtocolError"))
    one.at("ingress", one.answer[:told], "reset" if one.raised == "ReadError" else "protocol_error")
    one.at("egress", (), "raised")
    one.at("wire", (), "protocol_error")
    one.used("protocol_error")
    one.stopped = frozenset(("gateway",))
    one.did("source", "cut", *range(told, len(one.answer)))
    one.by("upstream_truncated", "source")
    one.notes = _UNPROVABLE


def _gateway_is_stopped(one: Journey) -> None:
    """The gateway's process is told to end."""
    at = one.midst()
    one.at("ingress", one.answer[: at + 1], "cancelled")
    one.at("egress", one.answer[:at], "shutdown")
    one.at("wire", one.answer[:at], "reset")
    one.used("reset")
    one.stopped = frozenset(("gateway",))
    one.by("gateway_shutdown", "gateway")


# --------------------------------------------------------------------------- code of the client that raises


def _raises(one: Journey, parsed: str) -> None:
    at = one.midst()
    one.at("ingress", one.answer)
    one.at("egress", one.answer)
    one.at("wire", one.answer[: at + one.rng.randint(1, 2)], "abandoned")
    one.at("parsed", one.answer[: at + (parsed != "raised")], parsed)
    one.at("applied", one.answer[:at], "raised")
    one.stopped = _BEHIND_THE_GATEWAY


def _parser_raises(one: Journey) -> None:
    """The client's parser raises at an event that is in order."""
    _raises(one, "raised")
    one.by("client_parser_abort", "client")


def _application_raises(one: Journey) -> None:
    """The application's code raises, and lets go of what it has not read."""
    _raises(one, "abandoned")
    one.by("client_reducer_abort", "client")


# --------------------------------------------------------------------------- clients that leave, and say nothing


def _leaves(one: Journey) -> None:
    """The gateway sends until it sees its client go, some of them before the first event."""
    at = one.rng.choice((0, one.midst()))
    one.at("ingress", one.answer[: at + one.rng.randint(0, 2) if at else 0], "cancelled")
    one.at("egress", one.answer[:at], "disconnected")
    one.stopped = frozenset(("gateway",))


def _goes(one: Journey) -> None:
    """A client without any record leaves."""
    one.announced = _GATEWAY
    _leaves(one)
    one.by("client_gone", "client")


def _vanishes(one: Journey) -> None:
    """A client that was to testify leaves and dies: its record never comes, and nothing of it was lost on the way."""
    _leaves(one)
    one.by("client_vanished", "client")
    one.notes = _UNPROVABLE


def _fails_to_read(one: Journey) -> None:
    """The connection dies so that the client's library names neither a reset nor a stop of the client's own."""
    at = one.midst()
    one.at("ingress", one.answer[: at + one.rng.randint(0, 2)], "cancelled")
    one.at("egress", one.answer[: at + one.rng.randint(0, 1)], "disconnected")
    one.at("wire", one.answer[:at], "unknown")
    one.used("unknown")
    one.stopped = frozenset(("gateway", *_BEHIND_THE_GATEWAY))
    one.by("client_gone", "transport", "network_lost")


def _is_never_heard(one: Journey) -> None:
    """All has left the gateway, and no record tells what became of it."""
    one.at("ingress", one.answer)
    one.at("egress", one.answer)
    one.by("completed", None)
    one.notes = _UNPROVABLE


def _leaves_before_the_first(one: Journey) -> None:
    """A client with its records leaves before any event has come."""
    how, ending = one.rng.choice((("cancelled", "client_cancelled"), ("abandoned", "client_abandoned")))
    one.at("ingress", (), "cancelled")
    one.at("egress", (), "disconnected")
    one.at("wire", (), how)
    one.used(how)
    one.stopped = frozenset((*_BEHIND_THE_GATEWAY, "gateway"))
    one.by(ending, "client")


_MAKERS: Final = (
    _source_errs_and_goes_on, _gateway_errs_and_goes_on, _proxy_puts_an_error_in, _rejected,
    _source_errs_and_all_read_on, _proxy_errs_instead, _proxy_errs_and_hangs_up, _upstream_alone, _goes, _vanishes,
    _is_never_heard, _fails_to_read, _leaves_before_the_first, _source_is_too_slow, _gateway_is_stopped, _parser_raises,
    _application_raises, _one_of_two_errs, _breaks_behind_the_finish,
)  # fmt: skip


SORTS: Final = sorts("ends", 1, _MAKERS, lambda rng: Journey(rng, rng.choice(SSE)))
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
