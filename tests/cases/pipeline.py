"""A whole path in one process: what each point saw goes through the real observers, hooks and judge, bit by bit.

Gateway in, gateway out and the client's body are fed piece by piece as the reads were cut; the client's parser and
reducer are ordinary code under `watch()` and `applied()`. The blocks travel as OTLP bytes before they are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import httpx

from streamwitness import applied, watch
from streamwitness.client import links
from streamwitness.client.applying import Applied
from streamwitness.client.links import Link
from streamwitness.client.tap import Tap
from streamwitness.demo.scripts import chunk
from streamwitness.gateway.stamp import rewriter
from streamwitness.observer import BodyObserver
from streamwitness.recorder import new_id
from streamwitness.semconv import FIRST_NUMBER, PARTS, STAMPED, Point, Stamp
from streamwitness.stamping import stamp_reader, tag_of
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness
from streamwitness_analyzer.decode import decode_otlp
from streamwitness_analyzer.judge import judge
from tests.analyzer.kit import otlp

Reads = Sequence[bytes]
"""A body as it was cut into reads."""
Parser = Callable[[Iterator[bytes]], Iterator[Any]]
"""Pieces of the body → events, as the application's own code makes them."""
Reducer = Callable[[Iterator[Any], Applied], None]
"""Builds the answer, and reports each event."""

DONE: Final = b"data: [DONE]\n\n"

_ERRORS: dict[str, Callable[[], BaseException]] = {
    "reset": ConnectionResetError,
    "timeout": lambda: httpx.ReadTimeout("nothing more in time"),
    "protocol_error": lambda: httpx.RemoteProtocolError("peer closed the connection without a whole body"),
}


def spoken(*words: str) -> list[bytes]:
    """An answer of Chat Completions: an event for each word, the finish and the terminator."""
    return [*(chunk({"content": word}) for word in words), chunk({}, finish="stop"), DONE]


def everything(events: Iterator[Any], answer: Applied) -> None:
    """The reducer that does what it should."""
    for event in events:
        with answer.event(event):
            pass


HOURS: Final = 3 * 3600
"""By so much the client's clock is ahead of the gateway's."""


@dataclass
class Clock:
    """A process's monotonic clock, in seconds, which goes where the play wants it."""

    seconds: float = 0.0

    def __call__(self) -> int:
        return 10**12 + round(self.seconds * 1e9)


@dataclass(frozen=True)
class Play:
    """One stream: what each point saw. `upstream` None: no hook there, `received` None: the client never spoke.

    The `…_at` are seconds from the beginning, one for each read and one for the end; without them all is at once.
    """

    received: Reads | None
    parser: Parser | None = None
    sent: Reads | None = None
    upstream: Reads | None = None
    upstream_end: str = "eof"
    sent_end: str = "eof"
    received_end: str = "eof"
    upstream_at: Sequence[float] = ()
    sent_at: Sequence[float] = ()
    received_at: Sequence[float] = ()
    path: str = "/v1/chat/completions"
    content_type: str = "text/event-stream"
    profile: str | None = None
    reducer: Reducer = everything
    delivers: tuple[str, ...] = tuple(part for part in PARTS if part != "malformed")
    announced: tuple[Point, ...] = ("wire", "parsed")
    attempt: int = 0
    hop: int = 0
    stamp: Stamp = "none"
    """How the bytes that were sent are numbered (`Stream.numbered`)."""
    first: int = 0
    """The number of the first event, of an exchange that continues another one."""


class Response:
    """What `watch` and `applied` look for on an HTTP library's response."""

    def __init__(self) -> None:
        self.extensions: dict[str, Any] = {}


@dataclass
class Stream:
    """Several plays on one stream are its exchanges; `outcomes` are the exceptions that the application saw."""

    identity: Identity = field(default_factory=Identity.new)
    sink: MemorySink = field(default_factory=MemorySink)
    outcomes: list[Exception | None] = field(default_factory=list)

    def play(self, play: Play) -> Stream:
        """Record one exchange at all of its points."""
        identity = self._identity(play)
        if play.sent is not None:
            self._gateway(play, play.sent, identity)
        if play.received is not None:
            self.outcomes.append(self._client(play, play.received, identity))
        return self

    def numbered(self, reads: Reads, kind: Stamp = "id") -> list[bytes]:
        """The body with the stamps of this stream's gateway, as many pieces as reads."""
        numbers = rewriter(self.identity.exchange, kind, "sse")
        if numbers is None:
            raise ValueError(f"events cannot be numbered by {kind!r}")
        return [numbers.feed(read) for read in reads]

    def _identity(self, play: Play) -> Identity:
        """Exchanges of one gateway have a tag in common; another gateway's has none."""
        if not play.attempt and not play.hop:
            return self.identity
        tag = tag_of(self.identity.exchange) if play.attempt else new_id()[:8]
        return replace(self.identity, exchange=tag + new_id()[:8], attempt=play.attempt, hop=play.hop)

    def verdict(self, *, settled: bool = True) -> dict[str, Any]:
        """What the analyzer says of all that was recorded, after its way as OTLP."""
        blocks, refused = decode_otlp(otlp(self.sink.blocks), "any")
        if refused:
            raise ValueError(refused[0])
        return judge(blocks, settled=settled)

    def _gateway(self, play: Play, sent: Reads, identity: Identity) -> None:
        seen: tuple[Point, ...] = ("egress",) if play.upstream is None else ("ingress", "egress")
        clock = Clock()
        witness = Witness(identity, self.sink, expected=(*seen, *play.announced), clock=clock)
        legs = ()
        if play.upstream is not None:
            leg = witness.body("ingress", path=play.path, content_type=play.content_type, leg=0, named=play.profile)
            _feed(leg, play.upstream, clock, play.upstream_at)
            leg.close(play.upstream_end)
            clock.seconds = 0.0
            legs = (leg.recorder.id,)
        out = witness.body("egress", path=play.path, content_type=play.content_type, named=play.profile)
        out.stamp = stamp_reader(identity.exchange, play.stamp)
        _feed(out, sent, clock, play.sent_at)
        known = {} if play.stamp == "none" else {STAMPED: play.stamp, FIRST_NUMBER: play.first}
        out.close(play.sent_end, legs=legs, extra=known)

    def _client(self, play: Play, received: Reads, identity: Identity) -> Exception | None:
        beyond: tuple[Point, ...] = ("egress",) if play.sent is not None else ()
        clock = Clock(HOURS)
        witness = Witness(identity, self.sink, expected=("wire", *beyond), clock=clock)
        observer = witness.body(
            "wire", path=play.path, content_type=play.content_type, client="httpx", named=play.profile
        )
        observer.stamp = stamp_reader(identity.exchange, play.stamp)
        tap, response = Tap(observer, clock=clock), Response()
        links.attach(response, Link(witness, play.path, play.content_type, tap))
        pieces = _pieces(tap, _when(received, clock, play.received_at, HOURS), play.received_end)
        try:
            _application(play, pieces, response)
        except Exception as error:
            return error
        finally:
            tap.closed()
        return None


def _when(reads: Reads, clock: Clock, at: Sequence[float], begun: float = 0.0) -> Iterator[bytes]:
    """The reads, each at its time; once they are over it is the time of the end."""
    times = iter(at)
    for read in reads:
        clock.seconds = begun + next(times, 0.0)
        yield read
    clock.seconds = begun + next(times, 0.0)


def _feed(observer: BodyObserver, reads: Reads, clock: Clock, at: Sequence[float]) -> None:
    for read in _when(reads, clock, at):
        observer.feed(read)


def _application(play: Play, pieces: Iterator[bytes], response: Response) -> None:
    if play.parser is None:
        for _ in pieces:
            pass
        return
    events = watch(play.parser(pieces), response=response, profile=play.profile, delivers=play.delivers)
    with applied(response) as answer:
        play.reducer(events, answer)


def _pieces(tap: Tap, reads: Iterable[bytes], end: str) -> Iterator[bytes]:
    """The body as an HTTP library hands it on, under our tap (the order of calls is that of `httpx_hook`)."""
    tap.asked()
    for piece in reads:
        tap.passed(piece)
        yield piece
        tap.asked()
    if end in _ERRORS:
        error = _ERRORS[end]()
        tap.failed(error)
        raise error
    if end == "eof":
        tap.finished()


def told(verdict: dict[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """The findings of a verdict as (kind, suspects)."""
    return [(finding["kind"], tuple(finding["suspects"])) for finding in verdict["findings"]]
