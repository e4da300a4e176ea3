"""Gateways and parsers that put right what came to them wrong: by the body's own numbers, or by its own whole text.

What another one doubled, displaced or left out they give as it was meant. Some lose more than that by the way, and some
know of no numbers: of these the same is a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from streamwitness.semconv import Component, Point

from .ends import SSE, Journey
from .labels import Ended, Passage
from .process import Process
from .recorded import framed, pieces
from .said import UNNUMBERED
from .sockets.acts import Event
from .ways import sorts

_UNPROVABLE: Final = frozenset(("unprovable",))
_HANDING_ON_THE_TERMINATOR: Final = ("anthropic",)
_TELLING_THE_WHOLE: Final = ("openai_responses",)


@dataclass
class _Numbered(Journey):
    """A journey of events with SSE ids, as the provider gave them."""

    owed: dict[Component, Sequence[Event]] = field(default_factory=dict)
    """What an honest one would have handed on, where that is not what came to it."""
    bare: Sequence[Point] = ()
    """Points whose events carry no ids."""

    unclosed: dict[Point, list[bytes]] = field(default_factory=dict)
    """What is left at the end, of an event that no blank line closes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.by("completed", "source")

    def _body(self, process: Process, point: Point, **more: Any) -> Any:
        frames = framed(self.provider, self.seen[point])
        if point not in self.bare:
            numbers = map(self.answer.index, self.seen[point])
            frames = [b"id: %d\n" % number + frame for number, frame in zip(numbers, frames, strict=True)]
        frames = [*frames, *self.unclosed.get(point, ())]
        return process.body(point, self.provider, pieces(self.rng, frames), self.ends[point], **more)

    def _passages(self) -> list[Passage]:
        read = {"gateway": self._said, "parser": self._handed}
        due = {who: read[who](events) for who, events in self.owed.items()}
        found = [replace(each, before=due.get(each.component, each.before)) for each in super()._passages()]
        left = [b"".join(self.unclosed.get(point, ())).decode() for point in ("egress", "wire")]
        return [
            replace(each, before=(*each.before, left[0]), after=(*each.after, left[1]))
            if each.component == "transport" and left[0] else each
            for each in found
        ]  # fmt: skip

    def of(self, providers: Sequence[str]) -> int:
        """Make it an answer of one of these; gives a place in its midst."""
        self.provider = self.rng.choice(providers)
        self.__post_init__()
        return self.midst()

    def wrong(self, who: Component) -> list[Event]:
        """The answer with an event that comes twice, or two that change places."""
        at, out = self.midst(), list(self.answer)
        if self.rng.random() < 0.5:
            behind = at + self.rng.choice((0, 0, 1, 3))
            out.insert(min(behind, self.texts[-1]) + 1, out[at])
            self.did(who, "double", at)
        else:
            out[at], out[at + 1] = out[at + 1], out[at]
            self.did(who, "move", at)
        return out

    def gateway(self, read: Sequence[Event], sent: Sequence[Event]) -> None:
        """It read and sent this; what is behind it is sound."""
        self.at("ingress", read)
        self.at("egress", sent)
        self.client(sent, sent)

    def client(self, came: Sequence[Event], out: Sequence[Event]) -> None:
        """This came to the client, and its parser hands on that."""
        self.at("wire", out)
        self.used()
        self.at("wire", came)


# --------------------------------------------------------------------------- by the numbers


def _gateway_puts_right(one: _Numbered) -> None:
    """The provider, or a queue behind it, says it twice or in another order; the gateway goes by the ids."""
    one.of(UNNUMBERED)
    one.bare = one.rng.choice(((), ("egress", "wire")))
    one.gateway(one.wrong("source"), one.answer)
    one.owed["gateway"], one.notes = one.answer, _UNPROVABLE


def _gateway_loses_more(one: _Numbered) -> None:
    """It drops the copy, and with it what stands behind."""
    one.of(UNNUMBERED)
    at = one.rng.choice(one.texts[1:3])
    one.gateway([*one.answer[:at], *one.answer[at - 1 :]], [*one.answer[: at + 1], *one.answer[at + 4 :]])
    one.did("source", "double", at)
    one.did("gateway", "drop", at + 1, at + 2, at + 3)
    one.owed["gateway"], one.notes = one.answer, frozenset(("recut",))


def _parser_puts_right(one: _Numbered) -> None:
    """The provider says it so, and only the parser goes by the ids."""
    one.of(UNNUMBERED)
    came = one.wrong("source")
    one.gateway(came, came)
    one.client(came, one.answer)
    one.owed["parser"], one.notes = one.answer, _UNPROVABLE


def _parser_puts_right_the_network(one: _Numbered) -> None:
    """The network says it twice or in another order, and loses nothing: that is its fault alone."""
    one.gateway(one.answer, one.answer)
    one.client(one.wrong("transport"), one.answer)
    one.owed["parser"] = one.answer


def _client_puts_right(one: _Numbered) -> None:
    """The same with a client alone, to which it came so from wherever."""
    one.of(UNNUMBERED)
    one.announced = ("wire", "parsed", "applied")
    one.client(one.wrong("source"), one.answer)
    one.owed["parser"], one.notes = one.answer, _UNPROVABLE
    one.by("completed", "source")


def _network_ends_it_early(one: _Numbered) -> None:
    """It exchanges the terminator and the finish before it, which nobody puts right: a digest has neither place."""
    one.of(_HANDING_ON_THE_TERMINATOR)
    one.bare = ("ingress", "egress", "wire")
    *rest, last, end = one.answer
    came = [*rest, end, last]
    one.gateway(one.answer, one.answer)
    one.client(came, came)
    one.did("transport", "move", len(rest))


def _network_drops_an_open_end(one: _Numbered) -> None:
    """The terminator comes without its blank line, so that some readers take it; the network loses some of it."""
    end = framed(one.provider, one.answer[-1:])[0].rstrip(b"\r\n") + b"\n"
    one.answer = one.answer[:-1]
    one.gateway(one.answer, one.answer)
    one.unclosed = {"ingress": [end], "egress": [end], "wire": [end[: one.rng.choice((0, 9))]]}
    one.bare = ("ingress", "egress", "wire")
    one.did("transport", "drop", len(one.answer))
    one.notes, one.ended = _UNPROVABLE, Ended(frozenset(), None)


# --------------------------------------------------------------------------- by the whole text


def _gateway_fills_a_hole(one: _Numbered) -> None:
    """The provider leaves a piece out, and its own whole text has it: so the gateway says it."""
    at = one.of(_TELLING_THE_WHOLE)
    one.gateway([*one.answer[:at], *one.answer[at + 1 :]], one.answer)
    one.did("source", "hole", at)
    one.owed["gateway"], one.notes = one.answer, _UNPROVABLE


def _parser_fills_a_hole(one: _Numbered) -> None:
    """The same, by a parser."""
    at = one.of(_TELLING_THE_WHOLE)
    came = [*one.answer[:at], *one.answer[at + 1 :]]
    one.gateway(came, came)
    one.client(came, one.answer)
    one.did("source", "hole", at)
    one.owed["parser"], one.notes = one.answer, _UNPROVABLE


_WAYS: Final = (
    _gateway_puts_right, _gateway_loses_more, _parser_puts_right, _parser_puts_right_the_network, _client_puts_right,
    _network_ends_it_early, _network_drops_an_open_end, _gateway_fills_a_hole, _parser_fills_a_hole,
)  # fmt: skip

SORTS: Final = sorts("mends", 1, _WAYS, lambda rng: _Numbered(rng, rng.choice(SSE)))
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
