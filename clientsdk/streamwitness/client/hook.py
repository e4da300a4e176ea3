"""What a client does with its requests and responses: announces itself to gateways, and testifies for `wire`.

The announcement goes only to the origins that are configured (an unlisted header breaks CORS preflights, and nobody
else has to know). What the response says about the stream's identity is believed only where we announced ourselves.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final

from streamwitness import faults
from streamwitness import runtime as _runtime
from streamwitness.framing import framing_of
from streamwitness.headers import (
    LAST_EVENT_ID,
    ResponseHeader,
    format_request,
    parse_key,
    parse_request,
    parse_response,
)
from streamwitness.observer import BodyObserver
from streamwitness.selection import chosen, is_gateway, is_stream, origin_of, profile_named
from streamwitness.semconv import HEADER, KEY_HEADER, Level, Mode, Point, Stamp
from streamwitness.stamping import stamp_reader
from streamwitness.tracing import host_span
from streamwitness.witness import Identity, Witness

from . import links
from .tap import Tap

_LEFT_OUT: Final = "streamwitness.left_out"
"""Key of `request.extensions` for a stream that is not in this client's sample."""

_ANNOUNCED: Final = "streamwitness"
"""Key of `request.extensions` for what was announced; redirects inherit it."""

_NO_CONTENT: Final = 204

_UNNAMED: Final = (
    "streamwitness: the gateway at %s is instrumented, but not named to this client; add it to STREAMWITNESS_ORIGINS, "
    "or client and gateway testify on two streams and what is lost between them is not seen"
)
_SILENT: Final = (
    "streamwitness: %s is in STREAMWITNESS_ORIGINS, but does not answer as an instrumented gateway; is the middleware "
    "StreamWitness in front of this path? Until then the client testifies alone"
)

_SSE: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class StreamParser:
    """The SDK's parser that will read the response of a request as a stream.

    `client` is what the SDK is called in lists, `profile` the provider's format, `delivers` the parts that the parser
    hands on (what it consumes by design is missing there). `stamps` are the ways of numbering events that it survives,
    the preferred one first; they are announced in mode `stamp`. `automatic` says that it runs without the
    application's help, so that a record of `parsed` can be announced. `raises` tells whether an exception is an
    error event of the provider's, handed on in this form. `reads` tells by its path whether a request is the one that
    the parser waits for (an SDK may fetch a token first), `opened` is called with what belongs to its response, before
    the body is read.
    """

    client: str
    profile: str
    delivers: int
    stamps: tuple[Stamp, ...] = ()
    automatic: bool = True
    raises: Callable[[BaseException], bool] = lambda _: False
    reads: Callable[[str], bool] = lambda _: True
    opened: Callable[[links.Link], None] = lambda _: None


parser: ContextVar[StreamParser | None] = ContextVar("streamwitness_parser", default=None)
"""Whose parser will read the response of a request made here; None: nobody's that is known, or it is no stream."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a request told the gateway: the proposed stream id, and which points will testify."""

    stream: str
    points: tuple[Point, ...]
    value: str


class ClientHook:
    """The two callbacks of one HTTP client; `library` is what it is called in lists."""

    def __init__(self, library: str) -> None:
        self._library = library

    def on_request(self, request: Any) -> None:
        """Announce this client to a configured gateway, and to nobody else."""
        _take_back(request)
        settings = _runtime.current().settings
        url = request.url
        if settings.mode == "off" or not chosen(url.path, settings.include, settings.exclude):
            return
        if not is_gateway(url, settings.origins):
            return
        # an application that resumes says itself which stream, and how it would have it numbered (`resume.py`)
        own = parse_request(request.headers.get(HEADER, ""))
        stream, points = own.id if own is not None else secrets.token_hex(16), _points(url.path)
        if not _runtime.current().sampled(stream):  # decided here, for this client is the first witness
            request.extensions[_LEFT_OUT] = True
            return
        stamp = own.stamp if own is not None else _accepts(url.path, settings.mode)
        made = Announcement(stream, points, format_request(stream, points, stamp))
        request.headers[HEADER] = made.value
        request.extensions[_ANNOUNCED] = made

    def on_response(self, response: Any) -> BodyObserver | None:
        """The observer of the response's body, if it is a stream that is to be recorded."""
        key = _take_key(response)
        runtime = _runtime.current()
        settings = runtime.settings
        path = response.request.url.path
        content_type = _content_type(response, path)
        if settings.mode == "off" or _LEFT_OUT in response.request.extensions or content_type is None:
            return None
        if not chosen(path, settings.include, settings.exclude):
            return None
        announced = response.request.extensions.get(_ANNOUNCED)
        if announced is None and HEADER in response.headers:
            _advise(response.request.url, _UNNAMED)
        header = parse_response(response.headers.get(HEADER, "")) if announced is not None else None
        if announced is not None and header is None:
            _advise(response.request.url, _SILENT)
        identity, level = _identity(header, announced, key, runtime)
        if not identity.sampled:
            return None
        points = announced.points if announced else _points(path)
        # A gateway that answered testifies as well: without its record the verdict must wait, then stay unproven.
        expected: tuple[Point, ...] = (*points, "egress") if header is not None else points
        named = profile_named(path, settings.profiles) or _format(path, content_type)
        witness = Witness(identity, runtime.sink, level=level, expected=expected, host=host_span())
        observer = witness.body(
            "wire", path=path, content_type=content_type, client=_client(path, self._library), named=named
        )
        if header is not None:
            observer.stamp = stamp_reader(header.exchange, header.stamp)
        resumes = bool(response.request.headers.get(LAST_EVENT_ID))
        links.attach(response, links.Link(witness, path, content_type, resumes=resumes))
        return observer

    def on_tap(self, response: Any, tap: Tap) -> None:
        """The body that `on_response` gave an observer for."""
        if (link := links.of(response)) is not None:
            link.tap = tap
            if (sdk := _sdk(link.path)) is not None:
                sdk.opened(link)


def _advise(url: Any, advice: str) -> None:
    """Say once a minute what keeps client and gateway from testifying on one stream."""
    origin = origin_of(url)
    faults.limited(f"client.origins.{origin}", advice, origin)


def _sdk(path: str) -> StreamParser | None:
    """Whose parser waits for the answer to a request of this path."""
    sdk = parser.get()
    return sdk if sdk is not None and sdk.reads(path) else None


def _points(path: str) -> tuple[Point, ...]:
    sdk = _sdk(path)
    return ("wire", "parsed") if sdk is not None and sdk.automatic else ("wire",)


def _accepts(path: str, mode: Mode) -> Stamp:
    """How the events may be numbered: only where it is known whose parser will read them, and that it survives it."""
    sdk = _sdk(path)
    return sdk.stamps[0] if mode == "stamp" and sdk is not None and sdk.stamps else "none"


def _client(path: str, library: str) -> str:
    sdk = _sdk(path)
    return sdk.client if sdk is not None else library


def _format(path: str, content_type: str) -> str | None:
    """The format that the SDK's parser reads, so that both points read the same; not where it is wrapped in another."""
    sdk = _sdk(path)
    return sdk.profile if sdk is not None and framing_of(path, content_type) == "sse" else None


def _content_type(response: Any, path: str) -> str | None:
    """The type by which a response is observed; None where it is no stream.

    Where a parser waits for events, any success is read as such, so that the record says what came instead of them.
    """
    announced: str = response.headers.get("content-type", "")
    if is_stream(response.status_code, path, announced):
        return announced
    has_body = 200 <= response.status_code < 300 and response.status_code != _NO_CONTENT
    return _SSE if _sdk(path) is not None and has_body else None


def _take_back(request: Any) -> None:
    """Remove what an earlier request of the same redirect chain announced: it was meant for that origin only."""
    request.extensions.pop(_LEFT_OUT, None)
    before = request.extensions.pop(_ANNOUNCED, None)
    if before is not None and request.headers.get(HEADER) == before.value:
        del request.headers[HEADER]


def _take_key(response: Any) -> bytes | None:
    """The stream's key, which the application shall not see."""
    text = response.headers.get(KEY_HEADER)
    if text is None:
        return None
    del response.headers[KEY_HEADER]
    return parse_key(text)


def _identity(
    header: ResponseHeader | None, announced: Announcement | None, key: bytes | None, runtime: _runtime.Runtime
) -> tuple[Identity, Level]:
    """The gateway's identity of the stream, else one of our own (then the evidence is the client's alone)."""
    level = runtime.settings.level
    if header is None:
        own = Identity.new(announced.stream if announced is not None else None)
        return replace(own, sampled=runtime.sampled(own.stream)), level
    if key is None and level == "digests":
        level = "rows"  # digests under another key would differ from the gateway's, and accuse the transport
    identity = Identity(header.id, header.exchange, key or b"", header.attempt, header.hop, header.sampled)
    return identity, level
