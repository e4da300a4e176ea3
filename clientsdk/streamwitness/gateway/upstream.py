"""The gateway's own client: each upstream stream that it reads for an answer is a leg (point `ingress`).

    client = upstream(httpx.AsyncClient(base_url="https://api.openai.com"))
    client = upstream(anthropic.AsyncAnthropic())

A leg is a successful response of a stream type to a request made while an answer is given (under `StreamWitness`). So
is the error status with which an upstream refuses a completion, without anything of its body. Everything else passes:
requests outside of an answer, a connection that never came about, JSON side calls. Only a completion that the provider
gave as a whole is noted as unseen, for its text may be in the answer.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet

from streamwitness.framing import media_type
from streamwitness.headers import format_request
from streamwitness.observer import BodyObserver
from streamwitness.providers import KNOWN, detect
from streamwitness.selection import is_gateway, is_stream, profile_named
from streamwitness.semconv import FIRST_ERROR_STATUS, HEADER, UPSTREAM_EXCHANGE

from .context import Answering, Refusal, current
from .hops import inner

if TYPE_CHECKING:
    from streamwitness.client.tap import Tap

Client = TypeVar("Client")

_WHOLE: Final = "application/json"
_COMPLETIONS: Final = tuple(end for known in KNOWN.values() for end in known.paths if end)
"""How the paths end at which a provider is asked for an answer."""
_ASKED: Final = "streamwitness.asked"
"""Key of `request.extensions`, until a response has come: the exchange that was told of the request. Redirects inherit
it."""
_hooked: WeakSet[Any] = WeakSet()


def upstream(client: Client) -> Client:
    """Record the streams that this client reads for the gateway's answers; returns the client.

    `client` is an httpx or httpx2 `Client` or `AsyncClient`, a `ClientSession` of aiohttp, a `Session` of requests, or
    a client of openai, anthropic or google-genai (whose own HTTP clients are taken). Raises TypeError for anything
    else. A second call does nothing.
    """
    from streamwitness.client import google_hook

    if client in _hooked:
        return client
    if google_hook.is_client(client):
        for owner, name, wrapper in google_hook.transports(client, upstream):
            setattr(owner, name, wrapper)
    else:
        _hook(client)
    _hooked.add(client)
    return client


def _hook(client: Any) -> None:
    from streamwitness.client import stainless

    if any(stainless.is_of(client, package) for package in ("openai", "anthropic")):
        upstream(stainless.http_client(client))
        return
    adapter, library = _adapter(client)
    adapter.install(
        client, on_request=_on_request, on_response=lambda response: _on_response(response, library), on_tap=_on_tap
    )


def _adapter(client: Any) -> tuple[Any, str]:
    """The hook of an HTTP client's library, and what that is called."""
    from streamwitness.client import aiohttp_hook, httpx_hook, requests_hook

    for adapter in (httpx_hook, aiohttp_hook, requests_hook):
        with suppress(TypeError):
            return adapter, adapter.library(client)[0]
    raise TypeError(f"{type(client).__module__}.{type(client).__name__} is no client that upstream() knows")


def _on_request(request: Any) -> None:
    """Announce the stream to a configured gateway; else take off what a proxy copied from its client's request."""
    exchange = current()
    if exchange is not None and is_gateway(request.url, exchange.runtime.settings.origins):
        request.headers[HEADER] = format_request(exchange.identity.stream, ())
    elif HEADER in request.headers:
        del request.headers[HEADER]
    if exchange is not None and _ASKED not in request.extensions:
        request.extensions[_ASKED] = exchange
        exchange.awaits(1)


def _on_response(response: Any, library: str) -> BodyObserver | None:
    exchange = current()
    asked: Answering | None = response.request.extensions.pop(_ASKED, None)
    if asked is not None:
        asked.awaits(-1)
    behind = inner(exchange, response)
    leg = _leg(exchange, response, library) if exchange is not None else None
    if leg is not None and behind is not None:
        leg.learned[UPSTREAM_EXCHANGE] = behind.exchange
    return leg


def _on_tap(_response: Any, tap: Tap) -> None:
    exchange = current()
    if exchange is not None:
        exchange.reading(tap)


def _leg(exchange: Answering, response: Any, library: str) -> BodyObserver | None:
    content_type = response.headers.get("content-type", "")
    path = response.request.url.path
    if is_stream(response.status_code, path, content_type):
        return exchange.leg(path, content_type, library)
    if response.status_code >= FIRST_ERROR_STATUS:
        if path.rstrip("/").endswith(_COMPLETIONS) or profile_named(path, exchange.runtime.settings.profiles):
            exchange.refused(Refusal(response.status_code, response.request.url.host, library))
    elif response.is_success and _may_be_answer(path, content_type):
        exchange.unseen_leg()
    return None


def _may_be_answer(path: str, content_type: str) -> bool:
    """Whether a response that is no stream of ours may still hold model output: by its path, a completion."""
    return media_type(content_type) == _WHOLE and detect(path, "text/event-stream").name != "generic"
