"""The hook for `requests`: `Session.send` sees each request, response hooks each response, `raw` is read through ours.

No adapter is mounted, for the application's own adapters, retries, pools and the proxies of its environment stay as
they are. `send` is wrapped because every request passes it, each redirect anew. The body stays urllib3's own object
(`response.raw`); its reading methods are wrapped on the instance, so `iter_content`, `iter_lines`, `content`, `raw`
read by hand and `shutil.copyfileobj` all read through them. What is observed is what the caller reads: decoded where
urllib3 decodes (`iter_content`), as it was sent where it does not (`raw.read()`).

The response hook stands first and last among the request's own: first, so that an application's hook that reads the
body reads through ours; last, because digest authentication puts a second response in the place of the first.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from streamwitness.observer import BodyObserver
from streamwitness.semconv import HEADER, SERVER_ADDRESS, STATUS_CODE

from .everywhere import Patches
from .hook import ClientHook
from .tap import Tap, safely
from .views import RequestView, ResponseView, Url, tie

LIBRARIES: Final = ("requests",)

_CLASS: Final = "Session"
_OBSERVED: Final = "_streamwitness_observed"


def library(client: object) -> tuple[str, bool]:
    """`("requests", False)` for a `Session`, or one of a class made from it; else TypeError."""
    for base in type(client).__mro__:
        if base.__name__ == _CLASS and base.__module__.partition(".")[0] in LIBRARIES:
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
    wrapped = _sending(_held(client.send), hooks)
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
    patches.put(module.Session, "send", lambda send: _sending(lambda: send, hooks))


def _hooked(session: Any) -> bool:
    return isinstance(getattr(session.__dict__.get("send"), "streamwitness", None), _Hooks)


def _held(method: Callable[..., Any]) -> Callable[[], Callable[..., Any] | None]:
    """How to get a method without keeping its object alive: it is stored on the object itself."""
    return weakref.WeakMethod(method) if hasattr(method, "__self__") else lambda: method


def _sending(send: Callable[[], Callable[..., Any] | None], hooks: _Hooks) -> Callable[..., Any]:
    inner = send()

    @functools.wraps(inner)  # type: ignore[arg-type]
    def sending(*args: Any, **kwargs: Any) -> Any:
        method = send()
        if method is None:
            raise ReferenceError("this session is gone")
        if not hooks.active(args[0] if args else None):
            return method(*args, **kwargs)
        request = kwargs["request"] if "request" in kwargs else args[-1]
        exchange = _Exchange(hooks)
        safely("client.on_request", lambda: exchange.begin(request))
        try:
            return method(*args, **kwargs)
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
        if observer is None:
            return
        known = {STATUS_CODE: response.status_code, SERVER_ADDRESS: self._view.url.host}
        tap = Tap(observer, response.headers.get("content-encoding", ""), known=known)
        tie(view, response)
        _Body(tap).observe(response.raw)
        if self._hooks.on_tap is not None:
            self._hooks.on_tap(view, tap)


class _Body:
    """What is known of one body while its reader reads it by urllib3's methods."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._reading = False
        """Whether a method of urllib3 is at work: then a `close` is its own."""
        self._exhausted = False
        """Whether all was read, though nobody has asked for more yet."""

    def observe(self, raw: Any) -> None:
        """Wrap the methods that read, on the instance: `raw` keeps its type, its place and its life."""
        self._dropped = weakref.finalize(raw, self._drop)
        setattr(raw, _OBSERVED, True)
        decodes = getattr(raw, "decode_content", True)
        for name, wrap in _WRAPPERS.items():
            method = getattr(raw, name, None)
            if method is not None:
                setattr(raw, name, functools.wraps(method)(wrap(self, _held(method), decodes)))

    def read(self, held: Callable[[], Any], decodes: bool) -> Callable[..., Any]:
        """`read` and `read1`."""

        def reading(*args: Any, **kwargs: Any) -> Any:
            amount, decoded = _asked_for(args, kwargs)
            self._asked(decodes if decoded is None else decoded)
            try:
                piece = held()(*args, **kwargs)
            except BaseException as error:
                self._failed(error)
                raise
            self._reading = False
            if piece:
                self._tap.passed(piece)
                self._exhausted = amount is None or amount < 0
            elif amount != 0:
                self._over(self._tap.finished)
            return piece

        return reading

    def read_chunked(self, held: Callable[[], Any], _decodes: bool) -> Callable[..., Any]:
        """The generator under `stream` for a body in chunked transfer coding."""

        def reading(*args: Any, **kwargs: Any) -> Iterator[bytes]:
            pieces = held()(*args, **kwargs)
            _, decoded = _asked_for(args, kwargs)
            try:
                while (piece := self._next(pieces, bool(decoded))) is not None:
                    self._tap.passed(piece)
                    yield piece
            finally:
                pieces.close()
            self._over(self._tap.finished)

        return reading

    def stream(self, held: Callable[[], Any], _decodes: bool) -> Callable[..., Any]:
        """`stream` reads by the two above; only its end is not always theirs."""

        def streaming(*args: Any, **kwargs: Any) -> Iterator[bytes]:
            yield from held()(*args, **kwargs)
            if _asked_for(args, kwargs)[0] != 0:
                self._over(self._tap.finished)

        return streaming

    def close(self, held: Callable[[], Any], _decodes: bool) -> Callable[..., Any]:
        """Called by the application, by `Response.close`, and by urllib3 itself when reading has failed."""

        def closing() -> Any:
            try:
                return held()()
            finally:
                if not self._reading:
                    self._over(self._tap.finished if self._exhausted else self._tap.closed)

        return closing

    def _next(self, pieces: Iterator[bytes], decoded: bool) -> bytes | None:
        self._asked(decoded)
        try:
            return next(pieces, None)
        except BaseException as error:
            self._failed(error)
            raise
        finally:
            self._reading = False

    def _asked(self, decoded: bool) -> None:
        self._reading = True
        safely("client.body", self._tap.asked)
        if decoded:
            self._tap.decoded()

    def _failed(self, error: BaseException) -> None:
        self._reading = False
        self._over(lambda: self._tap.failed(error))

    def _over(self, report: Callable[[], None]) -> None:
        safely("client.body", report)
        self._dropped.detach()

    def _drop(self) -> None:
        safely("client.body", self._tap.finished if self._exhausted else self._tap.dropped)


def _asked_for(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int | None, bool | None]:
    """How many bytes are asked for, and whether decoded, as all of urllib3's methods take it."""
    amount, decoded = (*args, None, None)[:2]
    return kwargs.get("amt", amount), kwargs.get("decode_content", decoded)


_WRAPPERS: Final = {
    "read": _Body.read,
    "read1": _Body.read,
    "read_chunked": _Body.read_chunked,
    "stream": _Body.stream,
    "close": _Body.close,
}
"""Method of urllib3's response → what wraps it. All its other ways of reading call one of these."""
