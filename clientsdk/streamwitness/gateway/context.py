"""The exchange that a gateway is answering: a context variable that makes upstream requests under it its legs.

Tasks copy the context they are made in, and so do threads that anyio or `asyncio.to_thread` start, so the upstream may
be read anywhere below the request's handler. A leg keeps its exchange, so it may even be read elsewhere (a thread of
the app's own, a queue); only the *request* must be made under the exchange.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from streamwitness.backlog import Backlog
from streamwitness.events import Frame, Piece, Reading
from streamwitness.headers import RequestHeader, ResponseHeader
from streamwitness.ledger import Said, Shared
from streamwitness.observer import BodyObserver
from streamwitness.recorder import new_id
from streamwitness.selection import profile_named
from streamwitness.semconv import (
    EDITED,
    EDITS,
    ERROR_TYPE,
    SERVER_ADDRESS,
    STATUS_CODE,
    UNANSWERED,
    Edit,
    Level,
    Point,
    Stamp,
)
from streamwitness.tracing import host_span
from streamwitness.witness import Identity, Witness

if TYPE_CHECKING:
    from streamwitness.client.tap import Tap
    from streamwitness.runtime import Runtime

MAX_LEGS: Final = 64
"""Legs recorded of one exchange; of all further ones the record says only that there was something unseen."""

MAX_REFUSALS: Final = 8
"""Refusals recorded of one exchange: a gateway may ask an upstream that is over its limit again and again."""

_CLIENT_POINTS: Final[tuple[Point, ...]] = ("wire", "parsed")
"""What a client hook may announce; `applied` joins by the client's own closing block."""

_WAITING: Final = 32
"""Pieces read and sent that wait at most until they are looked at."""

IN_SCOPE: Final = "streamwitness.gateway"
"""Key, in the scope of a request that has a StreamWitness around it, of its exchange."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An upstream's error status in place of an answer; of its body nothing is known."""

    status: int
    host: str
    client: str

    @property
    def told(self) -> dict[str, Any]:
        """What the closing block of its leg says, in the words of OpenTelemetry."""
        return {STATUS_CODE: self.status, SERVER_ADDRESS: self.host, ERROR_TYPE: str(self.status)}


class Answering(Protocol):
    """What upstream requests are made for: an exchange of this process, or one that another process answers."""

    runtime: Runtime
    ended: bool

    @property
    def identity(self) -> Identity:
        """The stream and the exchange."""

    def leg(self, path: str, content_type: str, client: str | None = None) -> BodyObserver | None:
        """The observer of a further upstream response; None where it is not to be recorded."""

    def unseen_leg(self) -> None:
        """An upstream answered in a form that cannot be observed, and its answer may be in ours."""

    def refused(self, refusal: Refusal) -> None:
        """An upstream answered with an error status."""

    def awaits(self, more: int) -> None:
        """So many more requests (fewer: a response came) wait for an upstream to answer."""

    def reading(self, tap: Tap) -> None:
        """A leg's body is read through this tap."""

    def behind(self, inner: ResponseHeader, key: bytes | None) -> None:
        """An instrumented gateway answered this one."""

    def edited(self, kind: Edit) -> None:
        """The answer is edited on purpose."""


_current: ContextVar[Answering | None] = ContextVar("streamwitness_gateway_exchange", default=None)


def current() -> Answering | None:
    """The exchange being answered here; None outside of one, or once its answer has ended."""
    exchange = _current.get()
    return None if exchange is None or exchange.ended else exchange


def answering(scope: Mapping[str, Any] | None) -> Answering | None:
    """The exchange of this ASGI scope, or without one that of the context; None where nothing is witnessed."""
    if scope is None:
        return current()
    exchange: GatewayExchange | None = scope.get(IN_SCOPE)
    return None if exchange is None or exchange.ended else exchange


@contextmanager
def bound(exchange: Answering) -> Iterator[None]:
    """Make upstream requests under this block legs of `exchange`."""
    token = _current.set(exchange)
    try:
        yield
    finally:
        # a coroutine that is closed by the garbage collector ends in another context, where there is nothing to reset
        with suppress(ValueError):
            _current.reset(token)


@dataclass(frozen=True, slots=True)
class LinkedLeg:
    """An upstream response that another process reads: whose it is, its number, its recorder's id, how much is said."""

    identity: Identity
    number: int
    recorder: str
    level: Level


class GatewayExchange:
    """One answer of this gateway: its identity, its egress observer and its legs.

    Nothing is made until a leg or a stream appears, for most requests are neither. Legs may be made and read in
    other threads than the answer is written in.
    """

    __slots__ = (
        "_edits", "_egress", "_header", "_host", "_identity", "_leg_ids", "_legs", "_lock", "_refusals", "_refused",
        "_shared", "_unanswered", "_witness", "backlog", "ended", "last_read", "runtime",
    )  # fmt: skip

    def __init__(self, runtime: Runtime, header: RequestHeader | None, identity: Identity | None = None) -> None:
        self.runtime = runtime
        self.last_read: tuple[int, int] | None = None
        """The leg read last, and how many of its events have been read."""
        self.ended = False
        self._header = header
        self._host = host_span()
        self._identity = identity  # given where the answer continues a stream
        self._witness: Witness | None = None
        self._egress: BodyObserver | None = None
        self._legs: list[BodyObserver] = []
        self._leg_ids: list[str] = []
        self._refusals: list[tuple[int, Refusal]] = []
        """Those of which there is no record yet, each with the number of its leg."""
        self._refused = self._unanswered = 0
        self._edits: set[Edit] = set()
        self.backlog = Backlog(_WAITING)
        """What was read of legs and sent of the answer, in this order, and not looked at yet."""
        self._shared: Shared | None = None
        self._lock = threading.RLock()

    @property
    def announced(self) -> bool:
        """Whether the client announced itself, and so may be told the key."""
        return self._header is not None

    @property
    def identity(self) -> Identity:
        """The client's stream id where it proposed one, else a fresh one; the exchange and the key are ours."""
        with self._lock:
            if self._identity is None:
                made = Identity.new(self._header.id if self._header else None)
                self._identity = replace(made, sampled=self.runtime.sampled(made.stream))
            return self._identity

    @property
    def asked(self) -> Stamp:
        """How the client would have its events numbered."""
        return self._header.stamp if self._header is not None else "none"

    def behind(self, inner: ResponseHeader, key: bytes | None) -> None:
        """An instrumented gateway answered this one: it is the next hop outwards, and shares the stream's key.

        Only as long as nothing was said or recorded under the identity: an answer that begins before its upstream has
        answered keeps its own.
        """
        with self._lock:
            if self._witness is None and self._identity is not None and self._identity.stream == inner.id:
                hop = max(self._identity.hop, inner.hop + 1)
                self._identity = replace(self._identity, hop=hop, key=key or self._identity.key)

    def egress(self, path: str, content_type: str) -> BodyObserver | None:
        """The observer of the answer that now starts; None where the stream is not sampled."""
        with self._lock:
            if not self.identity.sampled:
                return None
            witness = self._witnessed()
            observer = witness.body("egress", path=path, content_type=content_type, named=self._named(path))
            observer.on_event = self._leg_of_event
            observer.recorder.before_tick = self.backlog.settle
            self.backlog.behind.append(observer.flush)
            observer.share = self._sharing()
            self._egress = observer
            announced = self._header.points if self._header else ()
            for point in ("egress", *(point for point in _CLIENT_POINTS if point in announced)):
                self._expect(point)
            if self._leg_ids:
                observer.recorder.expect("ingress")
            self._tell_refusals()
            return observer

    def leg(self, path: str, content_type: str, client: str | None = None) -> BodyObserver | None:
        """The observer of a further upstream response; None where it is not to be recorded."""
        with self._lock:
            if self.ended or not self.identity.sampled:
                return None
            number = len(self._leg_ids)
            if number >= MAX_LEGS:
                self.unseen_leg()
                return None
            witness = self._witnessed()
            observer = witness.body(
                "ingress", path=path, content_type=content_type, client=client, leg=number, named=self._named(path)
            )
            observer.on_event = self._note_read(number, observer)
            observer.share = self._sharing()
            self._legs.append(observer)
            self._add_leg(observer.recorder.id)
            return observer

    def linked_leg(self) -> LinkedLeg | None:
        """A leg that another process will read and record; None where it is not to be recorded."""
        with self._lock:
            if self.ended or not self.identity.sampled:
                return None
            number = len(self._leg_ids)
            if number >= MAX_LEGS:
                self.unseen_leg()
                return None
            self._witnessed()  # from here on the identity stays as it is told
            told = LinkedLeg(self.identity, number, new_id(), self.runtime.settings.level)
            self._add_leg(told.recorder)
            return told

    def edited(self, kind: Edit) -> None:
        """The answer is edited on purpose: its closing block says so."""
        with self._lock:
            self._edits.add(kind)

    def edits(self) -> dict[str, Any]:
        """What was declared, as the closing block says it."""
        with self._lock:
            told = [kind for kind in EDITS if kind in self._edits]
        return {EDITED: told} if told else {}

    def waiting(self) -> dict[str, Any]:
        """Upstream requests that are not answered, as the closing block says it."""
        return {UNANSWERED: self._unanswered} if self._unanswered > 0 else {}

    def unseen_leg(self) -> None:
        """An upstream answered in a form that cannot be observed, and its answer may be in ours.

        A leg is listed whose record never comes, so that the hop counts as unproven: without it, what the gateway
        made of this answer would look invented.
        """
        with self._lock:
            if not self.ended and self.identity.sampled and len(self._leg_ids) <= MAX_LEGS:
                self._add_leg(new_id())

    def refused(self, refusal: Refusal) -> None:
        """An upstream answered with an error status: a leg that is over, without an event.

        It is recorded once there is a stream: a gateway that refuses in its turn begins none.
        """
        with self._lock:
            number = len(self._leg_ids)
            if self.ended or number >= MAX_LEGS or self._refused == MAX_REFUSALS:
                return
            self._refused += 1
            self._add_leg(new_id())
            self._refusals.append((number, refusal))
            if self._egress is not None:
                self._tell_refusals()

    def awaits(self, more: int) -> None:
        """So many more requests (fewer: a response came) wait for an upstream to answer."""
        with self._lock:
            self._unanswered += more

    def reading(self, tap: Tap) -> None:
        """A leg's body is read through this tap.

        What is read and what is sent is looked at in the order it passed in, whatever thread reads: so a row at egress
        names the events of the leg that had been read by then.
        """
        tap.join(self.backlog)

    def leg_ids(self) -> tuple[str, ...]:
        """Recorder ids of the legs, as the egress closing block lists them. No leg is added from here on."""
        with self._lock:
            self.ended = True
            return tuple(self._leg_ids)

    def _add_leg(self, recorder: str) -> None:
        self._leg_ids.append(recorder)
        if self._egress is not None:
            self._egress.recorder.expect("ingress")

    def _tell_refusals(self) -> None:
        refusals, self._refusals = self._refusals, []
        for number, refusal in refusals:
            witness = self._witnessed()
            recorder = witness.recorder("ingress", leg=number, client=refusal.client, id=self._leg_ids[number])
            recorder.close(witness.clock(), "eof", extra=refusal.told)

    def _witnessed(self) -> Witness:
        if self._witness is None:
            settings = self.runtime.settings
            self._witness = Witness(self.identity, self.runtime.sink, level=settings.level, host=self._host)
        return self._witness

    def _sharing(self) -> Callable[[bytes, bytes, tuple[Piece, ...]], Said | None] | None:
        """Where digests are made, those of an event that came in and goes out unchanged are made once."""
        if self.runtime.settings.level != "digests":
            return None
        if self._shared is None:
            self._shared = Shared()
        return self._shared.of

    def _named(self, path: str) -> str | None:
        return profile_named(path, self.runtime.settings.profiles)

    def _expect(self, point: Point) -> None:
        """Say so in the records there are, and in those of legs to come."""
        self._witnessed().expect(point)
        for observer in (self._egress, *self._legs):
            if observer is not None:
                observer.recorder.expect(point)

    def _note_read(self, number: int, observer: BodyObserver) -> Callable[[Frame, Reading], None]:
        def note(_frame: Frame, _reading: Reading) -> None:
            self.last_read = (number, observer.events + 1)

        return note

    def _leg_of_event(self, _frame: Frame, _reading: Reading) -> tuple[int, int] | None:
        return self.last_read
