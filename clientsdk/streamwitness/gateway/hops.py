"""A gateway behind a gateway: what the inner one says of itself is taken off its response, and believed if asked for.

Hops count gateways from the provider outwards. Each has an exchange of its own, of the same stream; the outer one
learns from the inner one's header which hop it is itself, and uses the stream's key, if its own answer has not begun
by then.
"""

from __future__ import annotations

from typing import Any

from streamwitness.headers import ResponseHeader, parse_key, parse_response
from streamwitness.semconv import HEADER, KEY_HEADER

from .context import Answering


def inner(exchange: Answering | None, response: Any) -> ResponseHeader | None:
    """The inner gateway's header where this exchange announced itself to it; the key comes off in any case.

    `response` is one of httpx or httpx2, with its request. The key is nobody's business but the two hooks'.
    """
    text = response.headers.get(KEY_HEADER)
    if text is not None:
        del response.headers[KEY_HEADER]
    if exchange is None or HEADER not in response.request.headers:
        return None
    header = parse_response(response.headers.get(HEADER, ""))
    if header is not None:
        exchange.behind(header, parse_key(text or ""))
    return header
