"""link() and linked(): an upstream that another process of the gateway reads, and hands over a queue.

    token = link()                        # in the request's handler
    await queue.put({"ask": …, "link": token})

    with linked(job["link"]):             # in the worker
        async with client.stream("POST", …) as response: …

The leg is listed among the answer's at once; its record comes from the worker. Until it has come, and if it never does,
nobody can be accused of what the gateway did to the answer. A worker that reads more than one response under a token
(a retry, a fallback) records each: the first one's closing block lists the others.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

from streamwitness import faults
from streamwitness import runtime as process
from streamwitness.headers import ResponseHeader
from streamwitness.observer import BodyObserver
from streamwitness.recorder import new_id
from streamwitness.selection import profile_named
from streamwitness.semconv import EDITED, EDITS, UNANSWERED, Edit
from streamwitness.tracing import host_span
from streamwitness.witness import Identity, Witness

from . import token as tokens
from .context import MAX_LEGS, MAX_REFUSALS, GatewayExchange, LinkedLeg, Refusal, answering, bound

if TYPE_CHECKING:
    from streamwitness.client.tap import Tap
    from streamwitness.runtime import Runtime

NOTHING: Final = ""
"""The token where there is nothing to link."""


def link(*, scope: Mapping[str, Any] | None = None) -> str:
    """A token for the process that will read an upstream response for the answer being given here.

    An ASCII text of 84 characters; "" outside of a request, after its answer, with mode `off`, or of a stream that is
    not sampled, which `linked` takes for nothing. It holds the stream's key, a secret: it is for the gateway's own
    queue. `scope` as in `edited`. Never raises.
    """
    try:
        exchange = answering(scope)
        told = exchange.linked_leg() if isinstance(exchange, GatewayExchange) else None
        return NOTHING if told is None else tokens.write(told)
    except Exception as error:
        faults.fault("gateway.link", error)
        return NOTHING


@contextmanager
def linked(token: str, *, runtime: Runtime | None = None) -> Iterator[None]:
    """Requests of a client of `upstream()` made in this block are made for the answer that the token is of.

    What is no token (of another version, cut, empty) is as if it were not there, and counted unless it is empty.
    `runtime` None means the process-wide one. Raises only what the block raises.
    """
    exchange = _taken_up(token, runtime)
    with ExitStack() as stack:
        if exchange is not None:
            stack.callback(exchange.over)
            stack.enter_context(bound(exchange))
        yield


def _taken_up(token: str, runtime: Runtime | None) -> LinkedExchange | None:
    if token == NOTHING:
        return None
    try:
        runtime = runtime or process.current()
        return None if runtime.settings.mode == "off" else LinkedExchange(runtime, tokens.read(token))
    except Exception as error:
        with faults.quiet():  # a queue's old message is no fault that a test of the host must see
            faults.fault("gateway.linked", error)
        return None


class LinkedExchange:
    """An exchange that another process answers, as the worker sees it that reads upstream for it."""

    __slots__ = ("_edits", "_first", "_leg", "_lock", "_more", "_unanswered", "_witness", "ended", "runtime")

    def __init__(self, runtime: Runtime, leg: LinkedLeg) -> None:
        self.runtime = runtime
        self.ended = False
        self._leg = leg
        self._witness: Witness | None = None
        self._first: _First | None = None
        self._more: list[str] = []
        self._edits: set[Edit] = set()
        self._unanswered = 0
        self._lock = threading.RLock()

    @property
    def identity(self) -> Identity:
        """As the gateway told it."""
        return self._leg.identity

    def leg(self, path: str, content_type: str, client: str | None = None) -> BodyObserver | None:
        """The observer of an upstream response: the first one has the recorder that the gateway has listed."""
        with self._lock:
            if self.ended:
                return None
            if len(self._more) >= MAX_LEGS:
                self.unseen_leg()
                return None
            witness, named = self._witnessed(), profile_named(path, self.runtime.settings.profiles)
            recorder = witness.recorder("ingress", leg=self._leg.number, client=client, id=self._next_id())
            body = (recorder, path, content_type, witness.clock, named)
            if self._first is not None:
                return BodyObserver(*body)
            self._first = _First(self, *body)
            return self._first

    def unseen_leg(self) -> None:
        """A leg is listed whose record never comes."""
        with self._lock:
            if not self.ended and len(self._more) <= MAX_LEGS:
                self._more.append(new_id())

    def refused(self, refusal: Refusal) -> None:
        """An upstream answered with an error status: a leg that is over, without an event."""
        with self._lock:
            if len(self._more) < MAX_REFUSALS and (observer := self.leg("", "", refusal.client)) is not None:
                observer.close("eof", extra=refusal.told)

    def awaits(self, more: int) -> None:
        """A request is under way, or (−1) no longer: what no response has come to is told by the first leg."""
        with self._lock:
            self._unanswered += more

    def reading(self, tap: Tap) -> None:
        """Nothing is sent here whose order beside what is read would matter."""

    def behind(self, inner: ResponseHeader, key: bytes | None) -> None:
        """Which hop it is was told by the gateway, and cannot change here."""

    def edited(self, kind: Edit) -> None:
        """The worker edits: the leg's closing block says so."""
        with self._lock:
            self._edits.add(kind)

    def over(self) -> None:
        """The block has ended: no further response is read for this answer."""
        with self._lock:
            self.ended = True
            first = self._first
        if first is not None:
            first.release()

    def told(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """What the first leg's closing block says: the further legs, the edits, and requests without a response."""
        with self._lock:
            edits = [kind for kind in EDITS if kind in self._edits]
            told = {EDITED: edits, UNANSWERED: max(0, self._unanswered)}
            return tuple(self._more), {key: value for key, value in told.items() if value}

    def _next_id(self) -> str:
        """The recorder that was listed, then further ones, in the order of their numbers."""
        if self._first is None:
            return self._leg.recorder
        self._more.append(f"{(int(self._leg.recorder, 16) + len(self._more) + 1) % (1 << 64):016x}")
        return self._more[-1]

    def _witnessed(self) -> Witness:
        if self._witness is None:
            level = tokens.less(self._leg.level, self.runtime.settings.level)
            self._witness = Witness(self.identity, self.runtime.sink, level=level, host=host_span())
        return self._witness


class _First(BodyObserver):
    """The observer of the leg that was listed. It closes when its body and the block have both ended.

    Earlier it cannot say which further responses were read.
    """

    __slots__ = ("_link", "_waiting")

    def __init__(self, link: LinkedExchange, *of_the_body: Any) -> None:
        super().__init__(*of_the_body)
        self._link = link
        self._waiting: tuple[str, str, dict[str, Any] | None] | None = None

    def close(
        self, end: str, detail: str = "", *, legs: tuple[str, ...] = (), extra: dict[str, Any] | None = None
    ) -> None:
        """End now, or once the block has ended, with the time of now; the first end wins."""
        if self._waiting is None:
            now = self._clock()
            self._clock = lambda: now
            self._waiting = (end, detail, extra)
        if self._link.ended:
            self.release()

    def release(self) -> None:
        """The block has ended."""
        if self._waiting is not None:
            (end, detail, extra), (more, told) = self._waiting, self._link.told()
            super().close(end, detail, legs=more, extra={**(extra or {}), **told})
