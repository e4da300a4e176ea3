"""The ASGI words used here, and what the hook does to a response's headers: add its own, strip foreign ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

from streamwitness.headers import format_response
from streamwitness.semconv import HEADER, KEY_HEADER, Stamp
from streamwitness.witness import Identity

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

_NAME: Final = HEADER.encode("ascii")
_KEY_NAME: Final = KEY_HEADER.encode("ascii")
_OURS: Final = frozenset((_NAME, _KEY_NAME))
_FIXED: Final = frozenset((b"content-length", b"content-encoding"))
_ALLOW_ORIGIN: Final = b"access-control-allow-origin"
_EXPOSE: Final = b"access-control-expose-headers"


def value_of(headers: Iterable[Iterable[bytes]], name: bytes) -> str:
    """A header's value, the values of repeated ones joined as RFC 9110 §5.3 says; "" where there is none."""
    found = [bytes(value) for key, value in headers if bytes(key).lower() == name]
    return b", ".join(found).decode("latin-1")


def fixed(headers: list[Header]) -> bool:
    """Whether something is said of the body that would no longer be true if anything were put into it."""
    return any(name.lower() in _FIXED for name, _ in headers)


def stripped(headers: list[Header]) -> list[Header]:
    """The headers without ours: a proxy that re-exposes its upstream's would hand the upstream's key around."""
    return [header for header in headers if header[0].lower() not in _OURS]


def announced(
    headers: list[Header],
    identity: Identity,
    *,
    with_key: bool,
    cross_origin: bool,
    stamp: Stamp = "none",
    first: int = 0,
    linked: str = "",
) -> list[Header]:
    """The headers with the stream's identity in them, and with the key for a client that announced itself.

    They are exposed through CORS where the response is for another origin: it carries CORS headers, or
    (`cross_origin`) a CORS middleware outside will add them. `stamp`, `first` and `linked`: see ResponseHeader.
    """
    value = format_response(
        identity.stream, identity.exchange, identity.hop, identity.sampled,
        stamp=stamp, attempt=identity.attempt, first=first, linked=linked,
    )  # fmt: skip
    ours = [(_NAME, value.encode("ascii"))]
    if with_key:
        ours.append((_KEY_NAME, identity.key.hex().encode("ascii")))
    if cross_origin or any(name.lower() == _ALLOW_ORIGIN for name, _ in headers):
        headers = _exposed(headers, [name for name, _ in ours])
    return headers + ours


def _exposed(headers: list[Header], names: list[bytes]) -> list[Header]:
    """Append to the list of headers that scripts of another origin may read."""
    out: list[Header] = []
    listed: list[bytes] = []
    for name, value in headers:
        if name.lower() == _EXPOSE:
            listed += [item.strip() for item in value.split(b",") if item.strip()]
        else:
            out.append((name, value))
    known = {item.lower() for item in listed}
    listed += [name for name in names if name not in known]
    return [*out, (_EXPOSE, b", ".join(listed))]
