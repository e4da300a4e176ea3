"""The gateway hook: an ASGI middleware that witnesses what the gateway hands to its server (point `egress`).

    app.add_middleware(StreamWitness)        # Starlette, FastAPI
    app = StreamWitness(app)                 # any ASGI app

Each piece of a body is passed on before it is looked at, and passed unchanged unless its events are to be numbered
(mode `stamp`, at the client's wish: `stamp.py`). With `replay` a client that comes back goes on where it was
(`replay.py`). What ends an answer, in this order of
proof (docs/design.md §5 rule 7; a protocol terminal seen beats all but an exception):

    exception from the app           raised         handed on unchanged
    cancelled from outside           shutdown
    http.disconnect before the       disconnected   a client that cancelled and a dead network look alike from here
    final body, or `send` failed
    the final body                   eof            a disconnect after it is nothing
    the app returned without one     raised
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from streamwitness import faults
from streamwitness import runtime as process
from streamwitness.backlog import MOST_BYTES
from streamwitness.decoding import Decoder, UnknownEncodingError, decoder
from streamwitness.runtime import Runtime
from streamwitness.selection import chosen, is_stream
from streamwitness.stamping import stamp_reader

from .asgi import App, Header, Message, Receive, Scope, Send, announced, stripped, value_of
from .asked import Asked, asked_for
from .context import IN_SCOPE, bound
from .lifespan import flushing
from .numbering import Numbering
from .receiving import SharedReceive
from .replay import Replay, Shelf

if TYPE_CHECKING:
    from streamwitness.observer import BodyObserver

Buffer = bytes | bytearray | memoryview

GRACE_SECONDS: Final = 1.0
"""How long an unfinished answer with a final body waits for its app to return before it counts as `eof`.

Some middleware (Starlette's BaseHTTPMiddleware) turns a crash inside it into a clean end of the body, and raises the
exception only afterwards."""

_NOTICED: Final = 1_000_000
"""ns that a server may take a piece in without its being counted as a wait for the client."""

_STOPS: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)
"""How a server that stops ends its apps. A timeout of a middleware outside looks the same: anyio hands the one on as
the other."""


class StreamWitness:
    """Pure ASGI middleware. `runtime` None means the process-wide one, made from the environment on first use.

    Put it innermost (with `add_middleware`: add it first), so that no other middleware rewrites what it has seen.
    `replay` keeps stamped answers for clients that lose their connection; None: none is kept.
    """

    def __init__(self, app: App, runtime: Runtime | None = None, *, replay: Replay | None = None) -> None:
        self.app = app
        self._runtime = runtime
        self._shelf = Shelf(replay) if replay is not None else None
        self._open: set[_Answer] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI scope: requests are witnessed, lifespan ends with a flush, all else passes untouched."""
        if scope["type"] == "lifespan":
            send = flushing(send, self._end_open_answers, self._flush)
        request = self._request(scope) if scope["type"] == "http" else None
        if request is None:
            await self.app(scope, receive, send)
        else:
            await _Answer(request, scope, receive, send, self._open, self._shelf).run(request.follower or self.app)

    def _request(self, scope: Scope) -> Asked | None:
        """What a request begins or continues; None where it is not to be witnessed."""
        try:
            if scope["method"] == "HEAD" or IN_SCOPE in scope:
                return None
            runtime = self._current_runtime()
            settings = runtime.settings
            if settings.mode == "off" or not chosen(scope["path"], settings.include, settings.exclude):
                return None
            scope[IN_SCOPE] = None  # a second StreamWitness inside passes it on untouched
            asked = asked_for(runtime, scope, self._shelf)
            scope[IN_SCOPE] = asked.exchange
            return asked
        except Exception as error:
            faults.fault("gateway.request", error)
            return None

    def _end_open_answers(self) -> None:
        for answer in tuple(self._open):
            answer.close("shutdown", "lifespan.shutdown")

    def _flush(self, timeout: float) -> None:
        if self._runtime is not None:
            self._runtime.flush(timeout)
        else:
            process.flush(timeout)

    def _current_runtime(self) -> Runtime:
        return self._runtime or process.current()


class _Answer:
    """One request and its answer, between the app's `send` and the server's."""

    __slots__ = (
        "_decode", "_exchange", "_final", "_held", "_numbering", "_observer", "_open", "_receive", "_request", "_scope",
        "_send", "_sending", "_timer",
    )  # fmt: skip

    def __init__(
        self,
        request: Asked,
        scope: Scope,
        receive: Receive,
        send: Send,
        open_answers: set[_Answer],
        shelf: Shelf | None,
    ) -> None:
        self._request = request
        self._exchange = request.exchange
        self._scope = scope
        self._receive = SharedReceive(receive, self._disconnected)
        self._send = send
        self._open = open_answers
        self._numbering = Numbering(
            request, scope, self._receive, shelf, on_continued=self._continued, complete=self._complete
        )
        self._observer: BodyObserver | None = None
        self._decode: Decoder | None = None
        self._final = False
        self._held = self._sending = 0  # how long the server took pieces in all, and since when it is taking one
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, app: App) -> None:
        """Let the app answer; what it raises goes on unchanged."""
        with bound(self._exchange):
            try:
                await app(self._scope, self._receive, self.send)
            except _STOPS as stop:
                self.close("shutdown", type(stop).__name__)
                raise
            except BaseException as error:
                self.close("raised", type(error).__name__)
                raise
            else:
                self.close(*(("eof",) if self._final else ("raised", "no final body")))
            finally:
                self._receive.stop()
                self._numbering.ended()

    async def send(self, message: Message) -> None:
        """The app's `send`: on to the server first, only then a look at it."""
        kind, numbering = message["type"], self._numbering
        if kind == "http.response.start":
            message = self._start(message)
        elif kind == "http.response.body":
            # before it is sent: the disconnect that servers report once it is out is nothing
            self._final = self._final or not message.get("more_body", False)
            if numbering.rewriter is not None:
                message = numbering.passing(numbering.rewriter, message, last=self._final)
        piece = message.get("body", b"")  # a middleware outside may put another into the message (Starlette's GZip)
        if numbering.is_held:
            await numbering.drained()
            if self._observer is not None:  # its record is closed: only for whether the answer becomes complete
                self._observer.feed(piece)
            return
        if numbering.is_continued:  # what comes now would stand behind a hole
            return
        self._sending = begun = time.monotonic_ns()
        try:
            await self._send(message)
        except OSError:
            self._lost("send failed")
            if not numbering.is_kept:
                raise
        self._sending = 0
        if self._observer is not None:
            self._sent(self._observer, kind, piece, begun)

    def close(self, end: str, detail: str = "") -> None:
        """The answer has ended; the first end wins."""
        if self._timer is not None:
            self._timer.cancel()
        self._open.discard(self)
        legs = self._exchange.leg_ids()
        observer = self._observer
        if observer is not None and not observer.recorder.closed:
            extra = self._numbering.attributes() | self._exchange.edits() | self._exchange.waiting()
            held = time.monotonic_ns() - self._sending if self._sending else 0  # the server still has a piece in hand

            def report() -> None:
                observer.recorder.ended_waiting(held=self._held + held)
                observer.close(end, detail, legs=legs, extra=extra)

            self._exchange.backlog.last(report)

    def _start(self, message: Message) -> Message:
        """The response's head with our headers in it and foreign ones of ours out of it."""
        try:
            headers = [(bytes(name), bytes(value)) for name, value in message.get("headers", ())]
            kept = stripped(headers)
            if is_stream(message["status"], self._scope["path"], value_of(kept, b"content-type")):
                kept = self._begin(kept)
            elif self._request.follower is not None:  # all of it was had: no body, and so no record
                kept = self._named(kept)
            return message if kept == headers else {**message, "headers": kept}
        except Exception as error:
            self._numbering.abandon()
            faults.fault("gateway.response", error)
            return message

    def _begin(self, headers: list[Header]) -> list[Header]:
        exchange, request = self._exchange, self._request
        self._numbering.begin(headers)
        head = self._named(headers)
        self._observer = exchange.egress(self._scope["path"], value_of(headers, b"content-type"))
        if self._observer is not None:
            self._open.add(self)
            self._observer.stamp = stamp_reader(exchange.identity.exchange, self._numbering.kind)
            if request.follower is not None:
                self._observer.rest = request.follower.complete
            self._look_through(self._observer, value_of(headers, b"content-encoding"))
            if self._receive.gone:  # before there was an answer; what the app still does about it is its own matter
                self.close("disconnected", "before the answer began")
        return head

    def _named(self, headers: list[Header]) -> list[Header]:
        """The headers, and which stream and exchange it is."""
        exchange, request = self._exchange, self._request
        return announced(
            headers,
            exchange.identity,
            with_key=request.header is not None and request.header.key and exchange.identity.sampled,
            cross_origin=exchange.announced and bool(value_of(self._scope["headers"], b"origin")),
            stamp=self._numbering.kind,
            first=request.follower.first if request.follower is not None else 0,
            linked=request.linked,
        )

    def _look_through(self, observer: BodyObserver, content_encoding: str) -> None:
        """Decode what a middleware inside has encoded; where that cannot be, the point is unknown."""
        try:
            self._decode = decoder(content_encoding)
        except UnknownEncodingError as error:
            observer.recorder.fault(error)
            self._decode = _nothing

    def _sent(self, observer: BodyObserver, kind: str, piece: Buffer, begun: int) -> None:
        try:
            if kind == "http.response.body":
                if not observer.recorder.closed:
                    self._passed(observer, piece, begun)
            elif kind == "http.response.start":
                self._receive.watch()
            elif kind in ("http.response.pathsend", "http.response.zerocopysend"):
                observer.fail(NotImplementedError(kind))
        except Exception as error:
            observer.fail(error)

    def _passed(self, observer: BodyObserver, piece: Buffer, begun: int) -> None:
        """A piece is out: it is looked at with others. This is on the way of each piece, and so calls little."""
        backlog = self._exchange.backlog
        if piece:
            if type(piece) is not bytes:  # the app may use its buffer again
                piece = bytes(piece)
            backlog.items.append((self._look, observer, piece, begun, time.monotonic_ns()))
            backlog.size += len(piece)
        if self._final:
            backlog.settle()
            self._finish(observer)
        elif len(backlog.items) >= backlog.most or backlog.size >= MOST_BYTES:
            backlog.settle()

    def _look(self, sent: tuple[Any, BodyObserver, bytes, int, int]) -> None:
        _, observer, piece, begun, now = sent
        if (held := now - begun) > _NOTICED:
            self._held += held
            observer.recorder.waited(hold=held, after=observer.events - 1)
        if self._decode is None:
            observer.look(piece, now)
        else:
            self._look_decoded(self._decode, observer, piece, now)

    def _look_decoded(self, decode: Decoder, observer: BodyObserver, piece: bytes, now: int) -> None:
        try:
            for content in decode(piece):
                observer.look(content, now)
        except Exception as error:  # the coding libraries' errors have no common base; the body is broken, not we
            observer.recorder.fault(error)
            self._decode = _nothing

    def _finish(self, observer: BodyObserver) -> None:
        """The final body is out. Only an answer that lacks its ending can still turn out to be a crash."""
        if observer.terminal or (observer.profile is not None and observer.profile.complete):
            self.close("eof")
            return
        with suppress(RuntimeError):  # no asyncio (trio): the app's return decides
            self._timer = asyncio.get_running_loop().call_later(GRACE_SECONDS, self.close, "eof")

    def _disconnected(self) -> None:
        if not self._final:
            self._lost()

    def _lost(self, detail: str = "") -> None:
        """The client has gone before the answer was over; it may come back."""
        self.close("disconnected", detail)
        self._numbering.left()

    def _continued(self) -> None:
        """Another request continues this answer: whoever reads it here is no longer given any."""
        self.close("disconnected", "continued by another request")

    def _complete(self) -> bool:
        self._exchange.backlog.settle()
        profile = self._observer.profile if self._observer is not None else None
        return profile is not None and profile.complete is True


def _nothing(_: Buffer) -> Iterator[bytes]:
    return iter(())
