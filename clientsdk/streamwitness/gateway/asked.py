"""What a request asks for: a stream of its own, or the rest of one that another connection carried the beginning of."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from streamwitness.headers import RequestHeader, parse_event_id, parse_request
from streamwitness.semconv import HEADER

from .asgi import Scope, value_of
from .context import GatewayExchange
from .replay import Follower, Shelf

if TYPE_CHECKING:
    from streamwitness.runtime import Runtime

_HEADER: Final = HEADER.encode("ascii")
_LAST_EVENT_ID: Final = b"last-event-id"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of a request before the app is called."""

    exchange: GatewayExchange
    header: RequestHeader | None
    """What the client announced; None: nothing that is well-formed."""
    follower: Follower | None = None
    """What answers instead of the app: the rest of the stream that is asked for."""
    linked: str = ""
    """The stream that was asked for and is not there."""


def asked_for(runtime: Runtime, scope: Scope, shelf: Shelf | None) -> Asked:
    """The exchange that a request begins, of the stream that it asks to be continued if that is kept.

    Only `Last-Event-ID` in our own form counts; any other is the app's business.
    """
    header = parse_request(value_of(scope["headers"], _HEADER))
    place = parse_event_id(value_of(scope["headers"], _LAST_EVENT_ID)) if header is not None else None
    if header is None or place is None:
        return Asked(GatewayExchange(runtime, header), header)
    follower = shelf.find(header.id, *place, scope) if shelf is not None else None
    if follower is not None:
        return Asked(GatewayExchange(runtime, header, follower.identity), header, follower)
    anew = replace(header, id=secrets.token_hex(16))
    return Asked(GatewayExchange(runtime, anew), anew, linked=header.id)
