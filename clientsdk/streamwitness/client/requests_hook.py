"""The hook for `requests`: `Session.send` sees each request, response hooks each response, `raw` is read through ours.

No adapter is mounted, for the application's own adapters, retries, pools and the proxies of its environment stay as
they are. `send` is wrapped because every request passes it, each redirect anew. The body stays urllib3's own object
(`response.raw`), of a class made from its own, whose methods that read are ours: `iter_content`, `iter_lines`,
`content`, `raw` read by hand and `shutil.copyfileobj` all read through them. What is observed is what the caller
reads: decoded where urllib3 decodes (`iter_content`), as it was sent where it does not (`raw.read()`).

The response hook stands first and last among the request's own: first, so that an application's hook that reads the
body reads through ours; last, because digest authentication puts a second response in the place of the first.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Final

from streamwitness.observer import BodyObserver
from streamwitness.semconv import HEADER, KEY_HEADER, SERVER_ADDRESS, STATUS_CODE

from .classes import base_of
from .everywhere import Patches
from .hook import ClientHook
from .tap import Tap, safely
from .views import RequestView, ResponseView, Url, tie

LIBRARIES: Final = ("requests",)

_CLASS: Final = "Session"
_OBSERVED: Final = "_streamwitness"


def library(client: object) -> tuple[str, bool]:
    """`("requests", False)` for a `Session`, or one of a class made from it; else TypeError."""
    if base_of(client, LIBRARIES, (_CLASS,)) is not None:
        return LIBRARIES[0], False
    raise TypeError(f"{type(client).__name__} is no Session of requests")


def install(
    client: Any,
    *,
    on_request: Callable[[Any], None] | None = None,
    on_response: Callable[[Any], BodyObserver | None],
    on_tap: Callable[[Any, Tap], None] | None = None,
) -> Callable[[], None]:
    """Hook a `Session`; returns the function that unhooks it.

    The callbacks are those of `httpx_hook.install`; they are given a RequestView and a ResponseView.
    """
    installed = [True]
    hooks = _Hooks(on_request, on_response, on_tap, lambda _: bool(installed))
    before = client.__dict__.get("send")
    wrapped = _sending(client.send, hooks)
    client.send = wrapped
    hooked = weakref.ref(client)

    def uninstall() -> None:
        installed.clear()
        if (session := hooked()) is None or session.__dict__.get("send") is not wrapped:
            return  # wrapped once more by somebody else: ours stays in between, and does nothing
        if before is None:
            del session.send
        else:
            session.send = before

    return uninstall


def everywhere(module: ModuleType, patches: Patches) -> None:
    """Patch `send` of the class; a session that its owner has hooked is left to its own hooks."""
    hook = ClientHook(LIBRARIES[0])
    hooks = _Hooks(
        hook.on_request, hook.on_response, hook.on_tap, lambda session: patches.live and not _hooked(session)
    )
    patches.put(module.Session, "send", lambda send: _sending(send, hooks))


def _hooked(session: Any) -> bool:
    return isinstance(getattr(session.__dict__.get("send"), "streamwitness", None), _Hooks)


def _sending(send: Callable[..., Any], hooks: _Hooks) -> Callable[..., Any]:
    @functools.wraps(send)
    def sending(*args: Any, **kwargs: Any) -> Any:
        if not hooks.active(args[0] if args else None):
            return send(*args, **kwargs)
        request = kwargs["request"] if "request" in kwargs else args[-1]
        exchange = _Exchange(hooks)
        safely("client.on_request", lambda: exchange.begin(request))
        try:
            return send(*args, **kwargs)
        finally:
            safely("client.on_request", lambda: exchange.over(request))

    sending.streamwitness = hooks  # type: ignore[attr-defined]
    return sending


@dataclass(frozen=True, slots=True, eq=False)
class _Hooks:
    """The callbacks of one installation, and whether they are to be called (asked with the session, for a class)."""

    on_request: Callable[[Any], None] | None
    on_response: Callable[[Any], BodyObserver | None]
    on_tap: Callable[[Any, Tap], None] | None
    active: Callable[[Any], bool]


class _Announced(str):
    """The header that we set, with the request's extensions: a redirect copies a request's headers, and no more."""

    __slots__ = ("extensions",)
    extensions: dict[str, Any]

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)  # requests are pickled with their responses


class _Exchange:
    """One request on its way; as a response hook, it looks at what comes back for it."""

    def __init__(self, hooks: _Hooks) -> None:
        self._hooks = hooks
        self._view: RequestView | None = None
        self._seen: Callable[[], Any] = lambda: None

    def begin(self, request: Any) -> None:
        announced = request.headers.get(HEADER)
        extensions = announced.extensions if isinstance(announced, _Announced) else {}
        view = RequestView(Url.of(request.url), request.headers, extensions)
        if self._hooks.on_request is not None:
            self._hooks.on_request(view)
        if HEADER in request.headers:
            request.headers[HEADER] = mark = _Announced(request.headers[HEADER])
            mark.extensions = extensions
        waiting = request.hooks.setdefault("response", [])
        outer = next((hook for hook in waiting if isinstance(hook, _Exchange) and hook._hooks is self._hooks), None)
        if outer is not None:  # a redirect shares its hooks with the request before
            outer._view = view
            return
        self._view = view
        waiting.insert(0, self)
        waiting.append(self)

    def over(self, request: Any) -> None:
        waiting = request.hooks.get("response", [])
        waiting[:] = [hook for hook in waiting if hook is not self]

    def __call__(self, response: Any, *_: Any, **__: Any) -> None:
        if self._seen() is not response:
            self._seen = weakref.ref(response)
            safely("client.on_response", lambda: self._attach(response))

    def _attach(self, response: Any) -> None:
        if self._view is None or hasattr(response.raw, _OBSERVED):
            return  # a session and its gateway hook, say: one body has one tap
        view = ResponseView(self._view, response.status_code, response.headers)
        observer = self._hooks.on_response(view)
        _take_off(response.raw, KEY_HEADER)
        if observer is None:
            return
        known = {STATUS_CODE: response.status_code, SERVER_ADDRESS: self._view.url.host}
        tap = Tap(observer, response.headers.get("content-encoding", ""), known=known)
        tie(view, response)
        try:
            _observe(response.raw, tap)
        except (AttributeError, TypeError) as error:  # an adapter of the application's own gave a body of its own
            observer.recorder.fault(error)
            tap.dropped()
            return
        if self._hooks.on_tap is not None:
            self._hooks.on_tap(view, tap)


def _take_off(raw: Any, name: str) -> None:
    """Remove a header where the body has it, too: in urllib3's headers and in those of http.client under them."""
    for holder in (raw, getattr(raw, "_original_response", None)):
        headers = getattr(holder, "headers", None)
        if headers is not None and name in headers:
            del headers[name]


def _observe(raw: Any, tap: Tap) -> None:
    """Let `raw` tell what is read of it, until its end."""
    reader: type = type(raw)
    raw._streamwitness = _Body(raw, reader, tap)
    raw.__class__ = _reader(reader)


@cache
def _reader(base: type) -> type:
    """The class of a body that is observed: its own, but for the methods that read and close.

    A class rather than methods on the instance: those would hold their object, or lose it when it is collected.
    """
    made = {name: getattr(_Reading, name) for name in ("read", "read1", "read_chunked", "stream", "close", "shutdown")}
    known = {name: method for name, method in made.items() if hasattr(base, name)}
    return type(base.__name__, (base,), {"__module__": base.__module__, "__doc__": base.__doc__, **known})


class _Body:
    """What is known of one body while its reader reads it by urllib3's methods."""

    def __init__(self, raw: Any, base: type, tap: Tap) -> None:
        self.base, self.tap = base, tap
        self.reading = False
        """Whether a method of urllib3 is at work: then a `close` in the same thread is its own."""
        self._reader = 0
        self.exhausted = False
        """Whether all was read, though nobody has asked for more yet."""
        self._dropped = weakref.finalize(raw, self._drop)

    def asked(self, decoded: bool) -> None:
        self.reading, self._reader = True, threading.get_ident()
        safely("client.body", self.tap.asked)
        if decoded:
            self.tap.decoded()

    def stopped(self) -> None:
        """Somebody closes it: under a reader in another thread, whatever that one's waiting ends in is this stop."""
        if self.reading and self._reader != threading.get_ident():
            self.tap.own_stop = "cancelled"

    def failed(self, error: BaseException) -> None:
        self.reading = False
        self.over(lambda: self.tap.failed(error))

    def next(self, pieces: Iterator[bytes], decoded: bool) -> bytes | None:
        self.asked(decoded)
        try:
            return next(pieces, None)
        except BaseException as error:
            self.failed(error)
            raise
        finally:
            self.reading = False

    def over(self, report: Callable[[], None]) -> None:
        safely("client.body", report)
        self._dropped.detach()

    def _drop(self) -> None:
        safely("client.body", self.tap.finished if self.exhausted else self.tap.dropped)


class _Reading:
    """Methods of urllib3's response; all its other ways of reading call one of these."""

    _streamwitness: _Body
    decode_content: bool

    def read(self, *args: Any, **kwargs: Any) -> Any:
        return _read("read", self, args, kwargs)

    def read1(self, *args: Any, **kwargs: Any) -> Any:
        return _read("read1", self, args, kwargs)

    def read_chunked(self, *args: Any, **kwargs: Any) -> Iterator[bytes]:
        """The generator under `stream` for a body in chunked transfer coding."""
        body = self._streamwitness
        pieces = body.base.read_chunked(self, *args, **kwargs)  # type: ignore[attr-defined]
        decoded = bool(_asked_for(args, kwargs)[1])
        try:
            while (piece := body.next(pieces, decoded)) is not None:
                body.tap.passed(piece)
                yield piece
        finally:
            pieces.close()
        body.over(body.tap.finished)

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[bytes]:
        """It reads by the others; only its end is not always theirs."""
        body = self._streamwitness
        yield from body.base.stream(self, *args, **kwargs)  # type: ignore[attr-defined]
        if _asked_for(args, kwargs)[0] != 0:
            body.over(body.tap.finished)

    def close(self) -> Any:
        """Called by the application, by `Response.close`, and by urllib3 itself when reading has failed."""
        body = self._streamwitness
        body.stopped()
        try:
            return body.base.close(self)  # type: ignore[attr-defined]
        finally:
            if not body.reading:
                body.over(body.tap.finished if body.exhausted else body.tap.closed)

    def shutdown(self) -> Any:
        """urllib3's way to wake a reader in another thread: what that then ends in is the application's stop."""
        body = self._streamwitness
        body.tap.own_stop = "cancelled"  # before, for the reader wakes at once
        try:
            return body.base.shutdown(self)  # type: ignore[attr-defined]
        except BaseException:
            body.tap.own_stop = None
            raise


def _read(name: str, raw: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    body = raw._streamwitness
    amount, decoded = _asked_for(args, kwargs)
    body.asked(getattr(raw, "decode_content", True) if decoded is None else decoded)
    body.tap.gathers = body.tap.gathers or (name == "read" and amount != 0)
    try:
        piece = getattr(body.base, name)(raw, *args, **kwargs)
    except BaseException as error:
        body.failed(error)
        raise
    body.reading = False
    if piece:
        body.tap.passed(piece)
        body.exhausted = amount is None or amount < 0
    elif amount != 0:
        body.over(body.tap.finished)
    return piece


def _asked_for(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int | None, bool | None]:
    """How many bytes are asked for, and whether decoded, as all of urllib3's methods take it."""
    amount, decoded = (*args, None, None)[:2]
    return kwargs.get("amt", amount), kwargs.get("decode_content", decoded)
