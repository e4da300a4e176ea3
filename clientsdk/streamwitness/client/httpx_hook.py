"""The hook for httpx and httpx2, sync and async: event hooks see requests and responses, a wrapped stream the bytes.

Event hooks rather than a transport: a client that is given a transport stops honouring the proxies of its
environment. The response hook runs first, so that an application's own hook that reads the body reads through ours.
`uninstall` takes the hooks out again; responses already open are observed to their end.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import cache, wraps
from types import ModuleType
from typing import Any, Final

from streamwitness.observer import BodyObserver
from streamwitness.semconv import SERVER_ADDRESS, STATUS_CODE

from .classes import base_of
from .everywhere import Carrying, Patches
from .tap import Tap, safely

Request = Any
Response = Any
"""`httpx.Request`, `httpx.Response` or those of httpx2; typed loosely because neither is a dependency."""

LIBRARIES: Final = ("httpx", "httpx2")
_CLASSES: Final = ("Client", "AsyncClient")


def install(
    client: Any,
    *,
    on_request: Callable[[Request], None] | None = None,
    on_response: Callable[[Response], BodyObserver | None],
    on_tap: Callable[[Response, Tap], None] | None = None,
) -> Callable[[], None]:
    """Hook a `Client` or `AsyncClient` of httpx or httpx2; returns the function that unhooks it.

    `on_request` is called with every request about to be sent (each redirect and each retry anew), `on_response`
    with every response before its body is read; it gives the observer for the body, or None. `on_tap` is then told
    of the observed body. What they raise is counted as an observer fault. Raises TypeError for any other client.
    """
    name, asynchronous = library(client)
    before = _request_hook(on_request)
    after = _response_hook(on_response, on_tap, _stream_class(name, asynchronous))
    if asynchronous:
        before, after = _awaitable(before), _awaitable(after)
    hooks = client.event_hooks
    after.streamwitness = True  # type: ignore[attr-defined]
    hooks["request"].append(before)
    hooks["response"].insert(0, after)

    hooked = weakref.ref(client)  # no cycle: a client that is dropped closes its connections at once

    def uninstall() -> None:
        hooks = getattr(hooked(), "event_hooks", {})
        for name, hook in (("request", before), ("response", after)):
            if hook in hooks.get(name, ()):
                hooks[name].remove(hook)

    return uninstall


def everywhere(module: ModuleType, patches: Patches) -> None:
    """Patch `send` of both clients: a client is hooked when it sends its next request, unless it has our hooks."""

    def sending(send: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(send)
        def sending_sync(client: Any, *args: Any, **kwargs: Any) -> Any:
            safely("client.everywhere", lambda: _adopt(client, patches))
            with Carrying():
                return send(client, *args, **kwargs)

        return sending_sync

    def sending_async(send: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(send)
        async def sending_async(client: Any, *args: Any, **kwargs: Any) -> Any:
            safely("client.everywhere", lambda: _adopt(client, patches))
            with Carrying():
                return await send(client, *args, **kwargs)

        return sending_async

    patches.put(module.Client, "send", sending)
    patches.put(module.AsyncClient, "send", sending_async)


def _adopt(client: Any, patches: Patches) -> None:
    hooked = any(getattr(hook, "streamwitness", False) for hook in client.event_hooks["response"])
    if not hooked:
        patches.adopt(client)


def library(client: object) -> tuple[str, bool]:
    """Which of LIBRARIES a client is of, or its class was made from, and whether it is asynchronous; else TypeError."""
    if (base := base_of(client, LIBRARIES, _CLASSES)) is not None:
        return base[0], base[1] == "AsyncClient"
    raise TypeError(f"{type(client).__name__} is no Client or AsyncClient of {' or '.join(LIBRARIES)}")


def _request_hook(on_request: Callable[[Request], None] | None) -> Callable[[Request], Any]:
    def before(request: Request) -> None:
        if on_request is not None:
            safely("client.on_request", lambda: on_request(request))

    return before


def _response_hook(
    on_response: Callable[[Response], BodyObserver | None],
    on_tap: Callable[[Response, Tap], None] | None,
    stream_class: Callable[[Any, Tap], Any],
) -> Callable[[Response], Any]:
    def attach(response: Response) -> None:
        if isinstance(response.stream, _Observed):
            return  # a client and its gateway hook, say: one body has one tap
        observer = on_response(response)
        if observer is None:
            return
        known = {STATUS_CODE: response.status_code, SERVER_ADDRESS: response.request.url.host}
        tap = Tap(observer, response.headers.get("content-encoding", ""), known=known)
        response.stream = stream_class(response.stream, tap)
        if on_tap is not None:
            on_tap(response, tap)

    def after(response: Response) -> None:
        safely("client.on_response", lambda: attach(response))

    return after


def _awaitable(hook: Callable[[Any], None]) -> Callable[[Any], Any]:
    async def asynchronous(message: Any) -> None:
        hook(message)

    return asynchronous


class _Observed:
    """What both streams share: they look like the stream that they wrap."""

    def __init__(self, stream: Any, tap: Tap) -> None:
        self._stream = stream
        self._tap = tap
        self._dropped = weakref.finalize(self, _drop, tap)

    def __getattr__(self, name: str) -> Any:
        if name == "_stream":  # not set yet: an object half made has nothing to delegate to
            raise AttributeError(name)
        return getattr(self._stream, name)

    def _over(self, report: Callable[[], None]) -> None:
        safely("client.body", report)
        self._dropped.detach()


def _drop(tap: Tap) -> None:
    safely("client.body", tap.dropped)


class _SyncBody(_Observed):
    def __iter__(self) -> Iterator[bytes]:
        tap = self._tap
        passed, asked = tap.passed, tap.asked
        try:
            asked()
            for piece in self._stream:
                passed(piece)
                yield piece
                asked()
        except GeneratorExit:
            raise  # the reader let go of the iterator; what it does with the response says why
        except BaseException as error:
            fault = error
            self._over(lambda: tap.failed(fault))
            raise
        self._over(tap.finished)

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._over(self._tap.closed)


class _AsyncPieces:
    """The pieces of an async body as they pass, with all that the library's own generator of them has.

    No generator itself: a loop that shuts down closes every generator there is at the same time, and one more between
    the library's own, which close each other, makes it likelier that two of them meet at a third.
    """

    __slots__ = ("_body", "_pieces")

    def __init__(self, body: _AsyncBody) -> None:
        self._body, self._pieces = body, body._stream.__aiter__()

    def __aiter__(self) -> _AsyncPieces:
        return self

    async def __anext__(self) -> bytes:
        tap = self._body._tap
        tap.asked()
        try:
            piece: bytes = await self._pieces.__anext__()
        except GeneratorExit:
            raise  # the reader let go of the iterator; what it does with the response says why
        except StopAsyncIteration:
            self._body._over(tap.finished)
            raise
        except BaseException as error:
            fault = error
            self._body._over(lambda: tap.failed(fault))
            raise
        tap.passed(piece)
        return piece

    def asend(self, _value: Any) -> Awaitable[bytes]:
        return self.__anext__()

    def athrow(self, *error: Any) -> Awaitable[Any]:
        thrown: Awaitable[Any] = self._pieces.athrow(*error)
        return thrown

    async def aclose(self) -> None:
        """httpx2 closes its body iterator with the response; ours stands in between."""
        if (aclose := getattr(self._pieces, "aclose", None)) is not None:
            await aclose()


class _AsyncBody(_Observed):
    def __aiter__(self) -> AsyncIterator[bytes]:
        return _AsyncPieces(self)

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self._over(self._tap.closed)


@cache
def _stream_class(library: str, asynchronous: bool) -> Callable[[Any, Tap], Any]:
    """Our stream as a subclass of the library's own, which its Response insists on."""
    module = sys.modules[library]
    if asynchronous:
        return type("ObservedAsyncStream", (_AsyncBody, module.AsyncByteStream), {})
    return type("ObservedStream", (_SyncBody, module.SyncByteStream), {})
