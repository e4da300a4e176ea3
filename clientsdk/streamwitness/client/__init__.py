"""The client's side: `instrument()` an HTTP client, an SDK or everything, `watch()` an iterator, report `applied()`.

What can be instrumented is one table by module and class name, so that no library is imported for it; what is patched
where everything is instrumented, a second one by package.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

from streamwitness.runtime import look_at_settings

from . import aiohttp_hook, anthropic_hook, google_hook, httpx_hook, openai_hook, requests_hook, stainless
from .applying import Applied, applied
from .everywhere import Patch, Patches, Watch
from .hook import ClientHook
from .watching import AsyncWatched, Watched, watch

__all__ = ["Applied", "AsyncWatched", "Watched", "applied", "instrument", "uninstrument", "watch"]

C = TypeVar("C")

_MARK: Final = "_streamwitness_uninstall"
"""Attribute of an instrumented client; kept on the client itself, so that it can be collected with it."""

_lock = threading.Lock()
_everywhere: tuple[Patches, Watch] | None = None


@overload
def instrument() -> None: ...


@overload
def instrument(client: C) -> C: ...


def instrument(client: Any = None) -> Any:
    """Observe the streams that `client` reads, and return it; a second call changes nothing.

    Takes `Client` and `AsyncClient` of httpx and httpx2, `ClientSession` of aiohttp, `Session` of requests, the clients
    of openai, anthropic and google-genai, subclasses included.
    Settings come from `streamwitness.configure()` or the environment; a wrong one there is logged at once. Raises
    TypeError for anything else.

    Without a client every supported library is instrumented, in all of its clients, those that exist already
    included; one that is not imported yet, when it is imported. None is loaded for it.
    """
    look_at_settings()
    if client is None:
        return _instrument_everything()
    if _everywhere is not None:
        _everywhere[0].keep(client)
    return _hooked(client)


def uninstrument(client: Any = None) -> None:
    """Take the hooks off again; streams already open are observed to their end. Unknown clients are left alone.

    Without a client it takes back `instrument()` without one: methods of classes are again the very objects that they
    were. Clients that were instrumented one by one stay so.
    """
    global _everywhere
    if client is not None:
        _unhook(client)
        return
    with _lock:
        before, _everywhere = _everywhere, None
        if before is not None:
            patches, watch_imports = before
            watch_imports.stop()
            patches.undo()


def instrumented() -> bool:
    """Whether every supported library is instrumented."""
    return _everywhere is not None


def _instrument_everything() -> None:
    global _everywhere
    with _lock:
        if _everywhere is None:
            patches = Patches(_hooked, _unhook)
            _everywhere = patches, Watch(_LIBRARIES, patches)
            _everywhere[1].start()


def _hooked(client: C) -> C:
    if _MARK not in getattr(client, "__dict__", {}):
        client.__dict__[_MARK] = _installer(client)(client)  # aiohttp warns of attributes that it does not know
    return client


def _unhook(client: Any) -> None:
    uninstall = getattr(client, "__dict__", {}).pop(_MARK, None)
    if uninstall is not None:
        uninstall()


def _http(adapter: Any) -> Callable[[Any], Callable[[], None]]:
    def installer(client: Any) -> Callable[[], None]:
        hook = ClientHook(adapter.library(client)[0])
        uninstall: Callable[[], None] = adapter.install(
            client, on_request=hook.on_request, on_response=hook.on_response, on_tap=hook.on_tap
        )
        return uninstall

    return installer


def _sdk(choose: stainless.Choose) -> Callable[[Any], Callable[[], None]]:
    def installer(client: Any) -> Callable[[], None]:
        # The HTTP client keeps its hooks when the SDK's come off: copies of the SDK's client may share it.
        instrument(stainless.http_client(client))
        return stainless.install(client, choose, instrument)

    return installer


def _google(client: Any) -> Callable[[], None]:
    return google_hook.install(client, instrument)


_httpx = _http(httpx_hook)
_openai, _anthropic = _sdk(openai_hook.choose), _sdk(anthropic_hook.choose)

_SUPPORTED: Final[dict[tuple[str, str], Callable[[Any], Callable[[], None]]]] = {
    ("httpx", "Client"): _httpx,
    ("httpx", "AsyncClient"): _httpx,
    ("httpx2", "Client"): _httpx,
    ("httpx2", "AsyncClient"): _httpx,
    ("aiohttp", "ClientSession"): _http(aiohttp_hook),
    ("requests", "Session"): _http(requests_hook),
    ("openai", "OpenAI"): _openai,
    ("openai", "AsyncOpenAI"): _openai,
    ("anthropic", "Anthropic"): _anthropic,
    ("anthropic", "AsyncAnthropic"): _anthropic,
    ("anthropic", "AnthropicBedrock"): _anthropic,
    ("anthropic", "AsyncAnthropicBedrock"): _anthropic,
    ("anthropic", "AnthropicBedrockMantle"): _anthropic,
    ("anthropic", "AsyncAnthropicBedrockMantle"): _anthropic,
    ("anthropic", "AnthropicVertex"): _anthropic,
    ("anthropic", "AsyncAnthropicVertex"): _anthropic,
    ("google.genai", "Client"): _google,
    ("google.genai", "AsyncClient"): _google,
}
"""(package, class) → how it is instrumented; a subclass counts as its base."""

_LIBRARIES: Final[dict[str, Patch]] = {
    "httpx": httpx_hook.everywhere,
    "httpx2": httpx_hook.everywhere,
    "aiohttp": aiohttp_hook.everywhere,
    "requests": requests_hook.everywhere,
    "openai": openai_hook.everywhere,
    "anthropic": anthropic_hook.everywhere,
    "google.genai": google_hook.everywhere,
}
"""Package → how its classes are patched where everything is instrumented."""


def _installer(client: Any) -> Callable[[Any], Callable[[], None]]:
    for base in type(client).__mro__:
        package, _, rest = base.__module__.partition(".")
        for name in (package, f"{package}.{rest.partition('.')[0]}"):  # a namespace holds packages of its own
            if (found := _SUPPORTED.get((name, base.__name__))) is not None:
                return found
    known = ", ".join(f"{package}.{name}" for package, name in _SUPPORTED)
    raise TypeError(f"cannot instrument {type(client).__module__}.{type(client).__name__}; supported: {known}")
