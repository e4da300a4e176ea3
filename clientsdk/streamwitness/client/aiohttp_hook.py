"""The hook for the client of `aiohttp`: trace signals see requests and responses, a wrapped `content` the bytes.

Trace signals rather than a middleware: they can be added to a session that exists (`session.trace_configs`), and a
request that brings its own `middlewares=` loses those of its session. `response.content` becomes a StreamReader that
reads through the real one. The response tells it that it is let go (`close`, `release`, the end of `async with`) by
setting an exception on it, so nothing is wrapped on the response.
The bytes are observed as the application gets them, decoded by aiohttp unless the session has `auto_decompress` off.

Two things aiohttp does by itself: bytes that had come but were not read when the connection broke are thrown away
with the error, so they were not received here either; and RST and FIN are the same ClientPayloadError.
"""

from __future__ import annotations

import asyncio
import functools
import sys
import weakref
from collections.abc import Awaitable, Callable
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from streamwitness.observer import BodyObserver
from streamwitness.semconv import FIRST_ERROR_STATUS, KEY_HEADER, SERVER_ADDRESS, STATUS_CODE

from .classes import base_of
from .everywhere import Patches
from .tap import Tap, safely
from .views import RequestView, ResponseView, Url, tie

LIBRARIES: Final = ("aiohttp",)

_CLASS: Final = "ClientSession"
_DECODED: Final = frozenset(("gzip", "deflate", "br", "zstd"))
"""Content codings that aiohttp decodes, so named and alone; others (`x-gzip`, two of them) it hands on as they are."""
_VERBS: Final = ("request", "get", "options", "head", "post", "put", "patch", "delete")
"""Every request begins with one of these."""

_Request = Callable[[RequestView], None]
_Response = Callable[[ResponseView], BodyObserver | None]
_OnTap = Callable[[ResponseView, Tap], None]


def library(client: object) -> tuple[str, bool]:
    """`("aiohttp", True)` for a `ClientSession`, or one of a class made from it; else TypeError."""
    if base_of(client, LIBRARIES, (_CLASS,)) is not None:
        return LIBRARIES[0], True
    raise TypeError(f"{type(client).__name__} is no ClientSession of aiohttp")


def install(
    client: Any, *, on_request: _Request | None = None, on_response: _Response, on_tap: _OnTap | None = None
) -> Callable[[], None]:
    """Hook a `ClientSession`; returns the function that unhooks it.

    The callbacks are those of `httpx_hook.install`; they are given a RequestView and a ResponseView.
    """
    hooked = weakref.ref(client)
    signals = _Signals(hooked, on_request, on_response, on_tap)
    config = sys.modules["aiohttp"].TraceConfig()
    config.on_request_start.append(signals.starting)
    config.on_request_redirect.append(signals.redirected)
    config.on_request_end.append(signals.answered)
    config.on_request_exception.append(signals.raised)
    config.freeze()
    client.trace_configs.append(config)

    def uninstall() -> None:
        session = hooked()
        if session is not None and config in session.trace_configs:
            session.trace_configs.remove(config)

    return uninstall


def everywhere(module: ModuleType, patches: Patches) -> None:
    """Patch what begins a request: a session is hooked when it makes its next one."""

    def adopting(begin: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(begin)
        def beginning(session: Any, *args: Any, **kwargs: Any) -> Any:
            safely("client.everywhere", lambda: patches.adopt(session))
            return begin(session, *args, **kwargs)

        return beginning

    for name in _VERBS:
        patches.put(module.ClientSession, name, adopting)


class _Signals:
    """What aiohttp calls while it makes a request of the session; the context is one request with its redirects."""

    def __init__(
        self,
        session: Callable[[], Any],
        on_request: _Request | None,
        on_response: _Response,
        on_tap: _OnTap | None,
    ) -> None:
        self._session = session
        self._on_request, self._on_response, self._on_tap = on_request, on_response, on_tap

    async def starting(self, session: Any, context: SimpleNamespace, params: Any) -> None:
        safely("client.on_request", lambda: self._begin(session, context, params.url, params.headers))

    async def redirected(self, session: Any, context: SimpleNamespace, params: Any) -> None:
        safely("client.on_request", lambda: self._go_on(session, context, params))

    async def answered(self, session: Any, context: SimpleNamespace, params: Any) -> None:
        safely("client.on_response", lambda: self._attach(session, context, params.response))

    async def raised(self, _session: Any, context: SimpleNamespace, params: Any) -> None:
        safely("client.on_response", lambda: self._refused(context, params.exception))

    def _begin(self, session: Any, context: SimpleNamespace, url: Any, headers: Any) -> None:
        if session is not self._session():
            return  # sessions made with one list of trace configs share it, and so ours
        before = getattr(context, "streamwitness", None)
        view = RequestView(_url(url), headers, before.extensions if before is not None else {})
        context.streamwitness = view
        if self._on_request is not None:
            self._on_request(view)

    def _go_on(self, session: Any, context: SimpleNamespace, params: Any) -> None:
        """The next request has the headers of this one, ours among them: it may go to somebody else."""
        answer = params.response
        location = answer.headers.get("location") or answer.headers.get("uri") or ""
        self._begin(session, context, answer.url.join(type(answer.url)(location)), params.headers)

    def _refused(self, context: SimpleNamespace, error: Any) -> None:
        """With `raise_for_status` an error status is an exception, and no response is ever shown."""
        request = getattr(context, "streamwitness", None)
        if request is not None and _of_a_response(error) and error.status >= FIRST_ERROR_STATUS:
            self._on_response(ResponseView(request, error.status, error.headers.copy()))

    def _attach(self, session: Any, context: SimpleNamespace, response: Any) -> None:
        request = getattr(context, "streamwitness", None)
        if request is None or isinstance(response.content, _Content):
            return
        view = ResponseView(request, response.status, response.headers.copy())
        observer = self._on_response(view)
        if KEY_HEADER in response.headers:
            _take_off(response, KEY_HEADER)
        if observer is None:
            return
        coding = response.headers.get("content-encoding", "")
        if session.auto_decompress and coding.lower() in _DECODED:
            coding = ""
        known = {STATUS_CODE: response.status, SERVER_ADDRESS: request.url.host}
        tap = Tap(observer, coding, known=known)
        tie(view, response)
        _observe(response, tap, self._session)
        if self._on_tap is not None:
            self._on_tap(view, tap)


def _of_a_response(error: Any) -> bool:
    """Whether it tells the status of a response that was read.

    What aiohttp cannot parse it raises by the same class, with a status (400) that nobody sent and from the parser's
    own error; an application's error may have any status.
    """
    aiohttp = sys.modules["aiohttp"]
    unparsed = isinstance(error.__cause__, aiohttp.http.HttpProcessingError)
    return isinstance(error, aiohttp.ClientResponseError) and error.headers is not None and not unparsed


def _url(url: Any) -> Url:
    return Url(url.scheme, url.host or "", url.port, url.path)


def _take_off(response: Any, name: str) -> None:
    """Remove a header. A response has its headers twice and offers no way to change them."""
    kept = response.headers.copy()
    del kept[name]
    response._headers = type(response.headers)(kept)
    raw = name.lower().encode()
    response._raw_headers = tuple(header for header in response._raw_headers if header[0].lower() != raw)
    for cached in (response.__dict__, getattr(response, "_cache", {})):
        cached.pop("headers", None)
        cached.pop("raw_headers", None)


def _observe(response: Any, tap: Tap, session: Callable[[], Any]) -> None:
    reader: type = type(response.content)
    response.content = _reader(reader)(response.content, tap, session)


class _State:
    """What a finalizer needs to tell a body's end. Not its reader: that holds its response until the body's end."""

    def __init__(self, tap: Tap) -> None:
        self.tap = tap
        self.exhausted = False
        """Whether all was read, though nobody has asked for more yet."""
        self.interrupted: type[BaseException] | None = None
        """Class of what interrupted the last read: the body can be read further (`asyncio.wait_for` in a loop)."""

    def ended(self, otherwise: Callable[[], None]) -> None:
        if self.exhausted:
            self.tap.finished()
        elif self.interrupted is not None:
            self.tap.failed(self.interrupted())
        else:
            otherwise()

    def dropped(self) -> None:
        safely("client.body", lambda: self.ended(self.tap.dropped))


class _Content:
    """Reads through a response's StreamReader; iteration and whole lines are inherited from that class."""

    def __init__(self, inner: Any, tap: Tap, session: Callable[[], Any]) -> None:
        self._streamwitness = _State(tap)
        self._streamwitness_inner = inner
        self._streamwitness_session = session
        self._streamwitness_dropped = weakref.finalize(self, self._streamwitness.dropped)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_streamwitness"):  # not set yet: an object half made has nothing to delegate to
            raise AttributeError(name)
        return getattr(self._streamwitness_inner, name)

    def __repr__(self) -> str:
        return repr(self._streamwitness_inner)

    def set_exception(self, *error: Any) -> None:
        """Called by the response when it is closed or released; what breaks the connection is set on the real one."""
        self._streamwitness_inner.set_exception(*error)
        state = self._streamwitness
        self._streamwitness_over(lambda: state.ended(state.tap.closed))

    async def read(self, n: int = -1) -> bytes:
        if n >= 0:
            piece: bytes = await self._streamwitness_read(lambda inner: inner.read(n), n != 0)
            return piece
        if (unlimit := getattr(self._streamwitness_inner, "set_read_chunk_size", None)) is not None:
            unlimit(sys.maxsize)  # as aiohttp does where everything is asked for
        pieces = []
        while piece := await self.readany():
            pieces.append(piece)
        return b"".join(pieces)

    async def readany(self) -> bytes:
        piece: bytes = await self._streamwitness_read(lambda inner: inner.readany())
        return piece

    async def readline(self, **options: Any) -> bytes:
        piece: bytes = await self._streamwitness_read(lambda inner: inner.readline(**options))
        return piece

    async def readuntil(self, *separator: bytes, **options: Any) -> bytes:
        piece: bytes = await self._streamwitness_read(lambda inner: inner.readuntil(*separator, **options))
        return piece

    async def readexactly(self, n: int) -> bytes:
        self._streamwitness.tap.gathers = True
        piece: bytes = await self._streamwitness_read(lambda inner: inner.readexactly(n), n != 0)
        return piece

    async def readchunk(self) -> tuple[bytes, bool]:
        piece: tuple[bytes, bool] = await self._streamwitness_read(lambda inner: inner.readchunk())
        return piece

    def read_nowait(self, n: int = -1) -> bytes:
        tap = self._streamwitness.tap
        safely("client.body", tap.asked)
        piece: bytes = self._streamwitness_inner.read_nowait(n)
        self._streamwitness_got(piece)
        return piece

    async def _streamwitness_read(self, read: Callable[[Any], Awaitable[Any]], some: bool = True) -> Any:
        safely("client.body", self._streamwitness.tap.asked)
        try:
            got = await read(self._streamwitness_inner)
        except BaseException as error:
            fault = error
            safely("client.body", lambda: self._streamwitness_failed(fault))
            raise
        self._streamwitness_got(got[0] if isinstance(got, tuple) else got, some)
        return got

    def _streamwitness_got(self, piece: bytes, some: bool = True) -> None:
        state = self._streamwitness
        state.interrupted, state.exhausted = None, self._streamwitness_inner.at_eof()
        if piece:
            state.tap.passed(piece)
        elif some and state.exhausted:
            self._streamwitness_over(state.tap.finished)

    def _streamwitness_failed(self, error: BaseException) -> None:
        state = self._streamwitness
        if isinstance(error, asyncio.IncompleteReadError):
            state.tap.passed(error.partial)
            self._streamwitness_over(state.tap.finished)
        elif self._streamwitness_inner.exception() is None:
            kinds = (asyncio.CancelledError, TimeoutError)
            state.interrupted = next((kind for kind in kinds if isinstance(error, kind)), None)
        elif getattr(self._streamwitness_session(), "closed", True):
            self._streamwitness_over(state.tap.closed)  # with its session, which raises what a dead peer does
        else:
            self._streamwitness_over(lambda: state.tap.failed(error))

    def _streamwitness_over(self, report: Callable[[], None]) -> None:
        safely("client.body", report)
        self._streamwitness_dropped.detach()


_INHERITED: Final = ("iter_any", "iter_chunked", "iter_chunks")
"""Made of the reading methods, so they read through ours."""


@cache
def _reader(base: type) -> Callable[[Any, Tap, Callable[[], Any]], _Content]:
    """Our reader as a class of aiohttp's own, all of whose other methods are the real reader's."""
    names = {name for cls in base.__mro__[:-1] for name, value in vars(cls).items() if callable(value)}
    passed = {name: _delegated(name) for name in names if not name.startswith("__") and name not in _INHERITED}
    kept = {name: method for name, method in passed.items() if name not in vars(_Content)}
    return type("ObservedStreamReader", (_Content, base), kept)


def _delegated(name: str) -> Callable[..., Any]:
    def method(self: _Content, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._streamwitness_inner, name)(*args, **kwargs)

    method.__name__ = name
    return method
