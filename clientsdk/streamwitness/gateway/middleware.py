"""The gateway hook: an ASGI middleware that witnesses what the gateway hands to its server (point `egress`).

    app.add_middleware(StreamWitness)        # Starlette, FastAPI
    app = StreamWitness(app)                 # any ASGI app

Each piece of a body is passed on before it is looked at, and passed unchanged. What ends an answer, in this order of
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
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from streamwitness import faults
from streamwitness import runtime as process
from streamwitness.decoding import Decoder, UnknownEncodingError, decoder
from streamwitness.headers import parse_request
from streamwitness.runtime import Runtime
from streamwitness.selection import chosen, is_stream
from streamwitness.semconv import HEADER

from .asgi import App, Header, Message, Receive, Scope, Send, announced, stripped, value_of
from .context import GatewayExchange, bound
from .lifespan import flushing
from .receiving import SharedReceive

if TYPE_CHECKING:
    from streamwitness.observer import BodyObserver

Buffer = bytes | bytearray | memoryview

GRACE_SECONDS: Final = 1.0
"""How long an unfinished answer with a final body waits for its app to return before it counts as `eof`.

Some middleware (Starlette's BaseHTTPMiddleware) turns a crash inside it into a clean end of the body, and raises the
exception only afterwards."""

_HEADER: Final = HEADER.encode("ascii")
_STOPS: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)
"""How a server that stops ends its apps. A timeout of a middleware outside looks the same: anyio hands the one on as
the other."""
_INSIDE: Final = "streamwitness.gateway"
"""Key in the scope of a request that has a StreamWitness around it; a second one inside passes it on untouched."""


class StreamWitness:
    """Pure ASGI middleware. `runtime` None means the process-wide one, made from the environment on first use.

    Put it innermost (with `add_middleware`: add it first), so that no other middleware rewrites what it has seen.
    """

    def __init__(self, app: App, runtime: Runtime | None = None) -> None:
        self.app = app
        self._runtime = runtime
        self._open: set[_Answer] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI scope: requests are witnessed, lifespan ends with a flush, all else passes untouched."""
        if scope["type"] == "lifespan":
            send = flushing(send, self._end_open_answers, self._flush)
        exchange = self._exchange(scope) if scope["type"] == "http" else None
        if exchange is None:
            await self.app(scope, receive, send)
        else:
            await _Answer(exchange, scope, receive, send, self._open).run(self.app)

    def _exchange(self, scope: Scope) -> GatewayExchange | None:
        """The exchange that a request begins; None where it is not to be witnessed."""
        try:
            if scope["method"] == "HEAD" or _INSIDE in scope:
                return None
            runtime = self._current_runtime()
            settings = runtime.settings
            if settings.mode == "off" or not chosen(scope["path"], settings.include, settings.exclude):
                return None
            scope[_INSIDE] = True
            return GatewayExchange(runtime, parse_request(value_of(scope["headers"], _HEADER)))
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

    __slots__ = ("_decode", "_exchange", "_final", "_observer", "_open", "_receive", "_scope", "_send", "_timer")

    def __init__(
        self, exchange: GatewayExchange, scope: Scope, receive: Receive, send: Send, open_answers: set[_Answer]
    ) -> None:
        self._exchange = exchange
        self._scope = scope
        self._receive = SharedReceive(receive, self._disconnected)
        self._send = send
        self._open = open_answers
        self._observer: BodyObserver | None = None
        self._decode: Decoder | None = None
        self._final = False
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

    async def send(self, message: Message) -> None:
        """The app's `send`: on to the server first, only then a look at it."""
        kind = message["type"]
        piece = message.get("body", b"")  # a middleware outside may put another into the message (Starlette's GZip)
        if kind == "http.response.start":
            message = self._start(message)
        elif kind == "http.response.body" and not message.get("more_body", False):
            self._final = True  # before it is sent: the disconnect that servers report once it is out is nothing
        try:
            await self._send(message)
        except OSError:
            self.close("disconnected", "send failed")
            raise
        if self._observer is not None:
            self._sent(self._observer, kind, piece)

    def close(self, end: str, detail: str = "") -> None:
        """The answer has ended; the first end wins."""
        if self._timer is not None:
            self._timer.cancel()
        self._open.discard(self)
        legs = self._exchange.leg_ids()
        if self._observer is not None:
            self._observer.close(end, detail, legs=legs)

    def _start(self, message: Message) -> Message:
        """The response's head with our headers in it and foreign ones of ours out of it."""
        try:
            headers = [(bytes(name), bytes(value)) for name, value in message.get("headers", ())]
            kept = stripped(headers)
            if is_stream(message["status"], self._scope["path"], value_of(kept, b"content-type")):
                kept = self._begin(kept)
            return message if kept == headers else {**message, "headers": kept}
        except Exception as error:
            faults.fault("gateway.response", error)
            return message

    def _begin(self, headers: list[Header]) -> list[Header]:
        exchange = self._exchange
        cross_origin = exchange.announced and bool(value_of(self._scope["headers"], b"origin"))
        with_key = exchange.announced and exchange.identity.sampled
        head = announced(headers, exchange.identity, with_key=with_key, cross_origin=cross_origin)
        self._observer = exchange.egress(self._scope["path"], value_of(headers, b"content-type"))
        if self._observer is not None:
            self._open.add(self)
            self._look_through(self._observer, value_of(headers, b"content-encoding"))
        return head

    def _look_through(self, observer: BodyObserver, content_encoding: str) -> None:
        """Decode what a middleware inside has encoded; where that cannot be, the point is unknown."""
        try:
            self._decode = decoder(content_encoding)
        except UnknownEncodingError as error:
            observer.recorder.fault(error)
            self._decode = _nothing

    def _sent(self, observer: BodyObserver, kind: str, piece: Buffer) -> None:
        try:
            if kind == "http.response.start":
                self._receive.watch()
            elif kind == "http.response.body":
                self._observe(observer, piece)
            elif kind in ("http.response.pathsend", "http.response.zerocopysend"):
                observer.fail(NotImplementedError(kind))
        except Exception as error:
            observer.fail(error)

    def _observe(self, observer: BodyObserver, piece: Buffer) -> None:
        if observer.recorder.closed:
            return
        self._exchange.catch_up()
        if piece:
            self._feed(observer, piece)
        if self._final:
            self._finish(observer)

    def _feed(self, observer: BodyObserver, piece: Buffer) -> None:
        if self._decode is None:
            observer.feed(piece)
            return
        try:
            for content in self._decode(piece):
                observer.feed(content)
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
            self.close("disconnected")


def _nothing(_: Buffer) -> Iterator[bytes]:
    return iter(())
