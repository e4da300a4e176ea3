"""How a reader's stream ended, told from the exception that ended it (docs/design.md §5, ends by who made them).

| what happened | end | who |
|---|---|---|
| read to the end of the body | `eof` | peer |
| ConnectionResetError or BrokenPipeError in the cause chain | `reset` | peer |
| the library's error for a body that is shorter than announced, or not framed as announced | `protocol_error` | peer |
| closed once the terminal or an error event had been seen | `stopped_at_terminal` | own |
| CancelledError, Ctrl-C, close(), the end of a `with` block | `cancelled` | own |
| the library's read timeout, and any TimeoutError that is not the system's ETIMEDOUT | `timeout` | own |
| dropped without being closed: garbage collection, interpreter exit | `abandoned` | own |
| an exception that the parser (parsed) or the reducer (applied) made itself | `raised` | own |
| anything else (a client closed by another task raises the same ReadError as a dead peer) | `unknown` | own |

A parser that passes on what reading raised has not raised itself: its end is then that of the table, or `unknown`.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Final

_MAX_CHAIN: Final = 16

_HIDES_CAUSE: Final = frozenset(("httpcore", "httpcore2", "requests"))
"""Packages that raise their mapped error without `from`, which leaves the cause in `__context__` only."""

_BY_CLASS: Final = {
    "CancelledError": "cancelled",  # asyncio
    "Cancelled": "cancelled",  # trio
    "KeyboardInterrupt": "cancelled",
    "SystemExit": "cancelled",
    "GeneratorExit": "cancelled",
    "TimeoutException": "timeout",  # httpx, httpx2, httpcore
    "APITimeoutError": "timeout",  # openai
    "TimeoutError": "timeout",  # urllib3, aiohttp's (of all kinds), a socket's own, asyncio
    "RemoteProtocolError": "protocol_error",  # httpx, httpx2, httpcore
    "IncompleteRead": "protocol_error",  # http.client, urllib3
    "InvalidChunkLength": "protocol_error",  # urllib3
    "TransferEncodingError": "protocol_error",  # aiohttp, under its ClientPayloadError; it does not tell RST from FIN
    "ContentLengthError": "protocol_error",  # aiohttp, likewise
    "ConnectionResetError": "reset",
    "BrokenPipeError": "reset",
}
"""Class name (of the exception or one of its bases) → end. By name, because no library may be imported for it."""

_BY_CLASS_WITHOUT_CAUSE: Final = {
    "ProtocolError": "protocol_error",  # urllib3: also wraps whatever the socket raised, then that says what it is
}

_OF_A_LIBRARY: Final = frozenset((
    "TransportError",  # httpx, httpx2
    "StreamError",  # httpx, httpx2: read after it was closed
    "HTTPError",  # urllib3
    "RequestException",  # requests
    "ClientError",  # aiohttp
    "ClosedResourceError", "BrokenResourceError",  # anyio
    "APIConnectionError",  # openai, anthropic
))  # fmt: skip
"""Classes, or bases, of what a library raises where reading a body failed: no parser makes these."""


def of_transport(error: BaseException) -> str:
    """The end at `wire` (or ingress) when reading the body raised `error`."""
    return _known(error) or "unknown"


def of_parser(error: BaseException) -> str:
    """The end at `parsed` when the iterator raised: the transport's failure passed on, or else its own."""
    return _known(error) or ("unknown" if any(map(_is_a_librarys, _causes(error))) else "raised")


def _is_a_librarys(error: BaseException) -> bool:
    return not _OF_A_LIBRARY.isdisjoint(base.__name__ for base in type(error).__mro__)


def _known(error: BaseException) -> str | None:
    for link in _causes(error):
        if isinstance(link, OSError) and link.errno == errno.ETIMEDOUT:
            return None  # the network gave up, not the reader: as little known as any other read error
        table = _BY_CLASS if link.__cause__ is not None else _BY_CLASS | _BY_CLASS_WITHOUT_CAUSE
        for base in type(link).__mro__:
            if (end := table.get(base.__name__)) is not None:
                return end
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes.

    Not every `__context__`: it may be an exception of another connection that the host happens to be handling.
    """
    link: BaseException | None = error
    for _ in range(_MAX_CHAIN):
        if link is None:
            return
        yield link
        hidden = type(link).__module__.partition(".")[0] in _HIDES_CAUSE
        link = link.__cause__ or (link.__context__ if hidden else None)
