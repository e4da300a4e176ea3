"""The client's side: `instrument()` an HTTP client or an SDK, `watch()` an iterator, report what was `applied()`.

What can be instrumented is one table by module and class name, so that no library is imported for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from . import httpx_hook, openai_hook
from .applying import Applied, applied
from .hook import ClientHook
from .watching import AsyncWatched, Watched, watch

__all__ = ["Applied", "AsyncWatched", "Watched", "applied", "instrument", "uninstrument", "watch"]

C = TypeVar("C")

_MARK: Final = "_streamwitness_uninstall"
"""Attribute of an instrumented client; kept on the client itself, so that it can be collected with it."""


def instrument(client: C) -> C:
    """Observe the streams that `client` reads, and return it; a second call changes nothing.

    Takes `Client` and `AsyncClient` of httpx and httpx2, and `OpenAI` and `AsyncOpenAI` of openai (subclasses such
    as `AzureOpenAI` too). Settings come from `streamwitness.configure()` or the environment. Raises TypeError for
    anything else.
    """
    if _MARK not in getattr(client, "__dict__", {}):
        setattr(client, _MARK, _installer(client)(client))
    return client


def uninstrument(client: Any) -> None:
    """Take the hooks off again; streams already open are observed to their end. Unknown clients are left alone."""
    uninstall = getattr(client, "__dict__", {}).pop(_MARK, None)
    if uninstall is not None:
        uninstall()


def _http(client: Any) -> Callable[[], None]:
    hook = ClientHook(httpx_hook.library(client)[0])
    return httpx_hook.install(client, on_request=hook.on_request, on_response=hook.on_response, on_tap=hook.on_tap)


def _openai(client: Any) -> Callable[[], None]:
    # The HTTP client keeps its hooks when the SDK's come off: copies of the SDK's client may share it.
    instrument(openai_hook.http_client(client))
    return openai_hook.install(client, instrument)


_SUPPORTED: Final[dict[tuple[str, str], Callable[[Any], Callable[[], None]]]] = {
    ("httpx", "Client"): _http,
    ("httpx", "AsyncClient"): _http,
    ("httpx2", "Client"): _http,
    ("httpx2", "AsyncClient"): _http,
    ("openai", "OpenAI"): _openai,
    ("openai", "AsyncOpenAI"): _openai,
}
"""(package, class) → how it is instrumented; a subclass counts as its base."""


def _installer(client: Any) -> Callable[[Any], Callable[[], None]]:
    for base in type(client).__mro__:
        found = _SUPPORTED.get((base.__module__.partition(".")[0], base.__name__))
        if found is not None:
            return found
    known = ", ".join(f"{package}.{name}" for package, name in _SUPPORTED)
    raise TypeError(f"cannot instrument {type(client).__module__}.{type(client).__name__}; supported: {known}")
