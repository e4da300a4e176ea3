"""The gateway's own HTTP client: each upstream stream that it reads for an answer is a leg (point `ingress`).

    client = upstream(httpx.AsyncClient(base_url="https://api.openai.com"))

A leg is a successful response of a stream type to a request made while an answer is given (under `StreamWitness`).
Everything else passes: requests outside of an answer, errors, a connection that never came about, JSON side calls.
Only a completion that the provider gave as a whole is noted as unseen, for its text may be in the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet

from streamwitness.framing import media_type
from streamwitness.headers import format_request
from streamwitness.observer import BodyObserver
from streamwitness.providers import detect
from streamwitness.selection import is_gateway, is_stream
from streamwitness.semconv import HEADER, UPSTREAM_EXCHANGE

from .context import GatewayExchange, current
from .hops import inner

if TYPE_CHECKING:
    from streamwitness.client.tap import Tap

Client = TypeVar("Client")

_WHOLE: Final = "application/json"
_hooked: WeakSet[Any] = WeakSet()


def upstream(client: Client) -> Client:
    """Record the streams that this client reads for the gateway's answers; returns the client.

    `client` is an httpx or httpx2 `Client` or `AsyncClient`, or an openai client (whose own httpx2 client is taken).
    Raises TypeError for anything else. A second call does nothing.
    """
    from streamwitness.client.httpx_hook import install
    from streamwitness.client.openai_hook import http_client, is_client

    http = http_client(client) if is_client(client) else client
    if http not in _hooked:
        install(http, on_request=_on_request, on_response=_on_response, on_tap=_on_tap)
        _hooked.add(http)
    return client


def _on_request(request: Any) -> None:
    """Announce the stream to a configured gateway; else take off what a proxy copied from its client's request."""
    exchange = current()
    if exchange is not None and is_gateway(request.url, exchange.runtime.settings.origins):
        request.headers[HEADER] = format_request(exchange.identity.stream, ())
    elif HEADER in request.headers:
        del request.headers[HEADER]


def _on_response(response: Any) -> BodyObserver | None:
    exchange = current()
    behind = inner(exchange, response)
    leg = _leg(exchange, response) if exchange is not None else None
    if leg is not None and behind is not None:
        leg.noted[UPSTREAM_EXCHANGE] = behind.exchange
    return leg


def _on_tap(_response: Any, tap: Tap) -> None:
    exchange = current()
    if exchange is not None:
        exchange.reading(tap)


def _leg(exchange: GatewayExchange, response: Any) -> BodyObserver | None:
    content_type = response.headers.get("content-type", "")
    path = response.request.url.path
    if is_stream(response.status_code, path, content_type):
        return exchange.leg(path, content_type, type(response).__module__.partition(".")[0])
    if response.is_success and _may_be_answer(path, content_type):
        exchange.unseen_leg()
    return None


def _may_be_answer(path: str, content_type: str) -> bool:
    """Whether a response that is no stream of ours may still hold model output: by its path, a completion."""
    return media_type(content_type) == _WHOLE and detect(path, "text/event-stream").name != "generic"
