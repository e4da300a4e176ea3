"""The hook for `google-genai` (3.x): `wire` through whichever HTTP client it uses, `parsed` where it yields chunks.

Its HTTP clients can be given to it (`HttpOptions.httpx_client`, `httpx_async_client`, `aiohttp_client`); those that it
makes itself have no public attribute, so they are read from its `_api_client`: an httpx or httpx2 client for sync
calls, a session of aiohttp (where that is installed) or an httpx client for each event loop for async ones.

A public call may read several responses (automatic function calling, continuation), so what is wrapped on `models`
and `aio.models` is `_generate_content_stream`, which reads one. `generate_content_stream` and the chats go through it,
and hand the same objects on. Where a version has no such method, `parsed` stays without a record.

What its parser does by design: it knows `data: ` lines, and raises on every other line that is not empty (`id:`,
`event:`, comments). An event whose JSON begins with `error` is raised as `errors.APIError`, recorded here with result
`raised`. An event that the end of the body leaves unterminated is handed on. It survives no stamp: an `id` line makes
it raise, and a member in front of `error` makes it take an error event for an empty chunk.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any, Final

from streamwitness.semconv import ALL_PARTS, Stamp

from . import links
from .everywhere import Patches
from .hook import StreamParser, parser
from .parsed import Parsed
from .tap import safely
from .watching import AsyncWatched, Watched

PACKAGE: Final = "google.genai"

DELIVERS: Final = ALL_PARTS
"""What its parser hands on: all there is, for the protocol has no terminator; an error comes as an exception."""

STAMPS: Final[tuple[Stamp, ...]] = ()
"""Numbers that its parser survives."""

_CLASSES: Final = ("Client", "AsyncClient")
_METHOD: Final = "_generate_content_stream"
_PATH: Final = ":streamGenerateContent"

Instrument = Callable[[Any], Any]


def _raised(error: BaseException) -> bool:
    """Whether it is the provider's error event: the class of its statuses, raised once the stream had begun."""
    return any(base.__name__ == "APIError" and base.__module__ == f"{PACKAGE}.errors" for base in type(error).__mro__)


SDK: Final = StreamParser(
    "google-genai", "gemini", DELIVERS, STAMPS, raises=_raised, reads=lambda path: path.endswith(_PATH)
)
"""How it reads the answer to `streamGenerateContent`."""


def is_client(client: object) -> bool:
    """Whether it is one of the package's clients, or of a class made from one."""
    bases = type(client).__mro__
    return any(base.__name__ in _CLASSES and base.__module__.startswith(f"{PACKAGE}.") for base in bases)


def install(client: Any, instrument: Instrument) -> Callable[[], None]:
    """Observe a `Client` (or its `aio`) and the HTTP clients that it has or will make; returns the way back."""
    puts = [*transports(client, instrument), *_parsers(client)]
    for owner, name, method in puts:
        setattr(owner, name, method)

    def uninstall() -> None:
        for owner, name, method in puts:
            if owner.__dict__.get(name) is method:
                delattr(owner, name)

    return uninstall


def everywhere(module: ModuleType, patches: Patches) -> None:
    """Patch the classes of `models`; the HTTP clients are patched as such."""

    def live() -> bool:
        return patches.live

    patches.put(module.models.Models, _METHOD, lambda method: _streaming(lambda: method, live))
    patches.put(module.models.AsyncModels, _METHOD, lambda method: _streaming_async(lambda: method, live))


def transports(client: Any, instrument: Instrument) -> list[tuple[Any, str, Callable[..., Any]]]:
    """Instrument the HTTP clients that there are; what is to be wrapped (owner, name, wrapper) for those to come.

    An asynchronous client makes its connections anew for each event loop.
    """
    api = client._api_client
    instrument(api._httpx_client)
    wrapped: list[tuple[Any, str, Callable[..., Any]]] = []
    if hasattr(api, "_get_aiohttp_session"):
        wrapped.append((api, "_get_aiohttp_session", _session_of(_held(api._get_aiohttp_session), instrument)))
    outer = getattr(api, "_async_httpx_client", None)
    if outer is not None and hasattr(outer, "_client_for_running_loop"):
        wrapped.append((outer, "_client_for_running_loop", _loops(_held(outer._client_for_running_loop), instrument)))
    if outer is not None and not getattr(outer, "_per_loop", False):
        instrument(outer)
    return wrapped


def _parsers(client: Any) -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    asynchronous = getattr(client, "aio", client)
    if hasattr(asynchronous.models, _METHOD):
        yield asynchronous.models, _METHOD, _streaming_async(_held(getattr(asynchronous.models, _METHOD)))
    if asynchronous is not client and hasattr(client.models, _METHOD):
        yield client.models, _METHOD, _streaming(_held(getattr(client.models, _METHOD)))


def _held(method: Callable[..., Any]) -> Callable[[], Any]:
    """How to get a method without keeping its object alive: it is stored on the object itself."""
    return weakref.WeakMethod(method) if hasattr(method, "__self__") else lambda: method


def _session_of(held: Callable[[], Any], instrument: Instrument) -> Callable[[], Awaitable[Any]]:
    async def session_of() -> Any:
        session = await held()()
        if hasattr(session, "trace_configs"):  # else google-auth's, for client certificates
            safely("client.google", lambda: instrument(session))
        return session

    return session_of


def _loops(held: Callable[[], Any], instrument: Instrument) -> Callable[[], Any]:
    def client_for_running_loop() -> Any:
        client = held()()
        safely("client.google", lambda: instrument(client))
        return client

    return client_for_running_loop


def _streaming(held: Callable[[], Any], live: Callable[[], bool] = lambda: True) -> Callable[..., Any]:
    """A generator makes its request when it is first asked for a chunk."""

    @functools.wraps(held())
    def streaming(*args: Any, **kwargs: Any) -> Any:
        made = held()(*args, **kwargs)
        return _Chunks(made) if live() else made

    return streaming


def _streaming_async(held: Callable[[], Any], live: Callable[[], bool] = lambda: True) -> Callable[..., Any]:
    @functools.wraps(held())
    async def streaming(*args: Any, **kwargs: Any) -> Any:
        if not live():
            return await held()(*args, **kwargs)
        opened: list[Parsed] = []
        with _waiting(lambda link: opened.append(_parsed(link))):
            made = await held()(*args, **kwargs)
        return AsyncWatched(made, opened[-1].link, opened[-1]) if opened else made

    return streaming


@contextmanager
def _waiting(opened: Callable[[links.Link], None]) -> Iterator[None]:
    token = parser.set(replace(SDK, opened=opened))
    try:
        yield
    finally:
        parser.reset(token)


def _parsed(link: links.Link) -> Parsed:
    return Parsed(link, name=SDK.profile, delivers=DELIVERS, client=SDK.client, raises=_raised)


class _Chunks(Watched[Any]):
    """The chunks of a response that is not requested yet."""

    def __init__(self, chunks: Any) -> None:
        super().__init__(chunks, None, None)

    def __next__(self) -> Any:
        if self._iterator is not None:
            return super().__next__()
        self._iterator = iter(self._inner)
        with _waiting(self._begin):
            try:
                chunk = next(self._iterator)
            except StopIteration:
                self._over(Parsed.finished)
                raise
            except BaseException as error:
                fault = error
                self._over(lambda parsed: parsed.failed(fault))
                raise
        if self._parsed is not None:
            self._parsed.inside = False
            self._parsed.handing_on(chunk)
        return chunk

    def _begin(self, link: links.Link) -> None:
        parsed = _parsed(link)
        parsed.inside = True
        self._streamwitness_link, self._parsed = link, parsed
        self._dropped = weakref.finalize(self, _drop, parsed)


def _drop(parsed: Parsed) -> None:
    safely("client.google", parsed.dropped)
