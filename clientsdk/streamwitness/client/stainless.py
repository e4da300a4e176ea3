"""SDKs made by the Stainless generator (openai, anthropic): one way in, told apart by a table of paths.

Every request of every resource, helper and raw-response variant goes through the public method `client.request`,
which is wrapped, on one client or on the class. The `Stream` that it returns keeps its type and attributes; only the
iterator inside (`_iterator`, which both `__next__` and `__iter__` use) is replaced. Helpers such as `.stream()` make
events of their own out of that stream's: what is recorded is the stream beneath, each event once. Where a version has
no such attribute, `parsed` stays without a record, and the verdict says unproven.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from . import links
from .classes import base_of
from .everywhere import Patches
from .hook import StreamParser, parser
from .parsed import Parsed
from .tap import safely
from .watching import AsyncWatched, Watched

Choose = Callable[[str], StreamParser | None]
"""Path of a request for a stream → who will parse the answer; None where it is not known what that parser does."""

_BASES: Final = ("SyncAPIClient", "AsyncAPIClient")
_COPIES: Final = ("copy", "with_options")
_RAW: Final = "x-stainless-raw-response"
"""Request header by which the SDK knows that the application wants the response, and may parse it itself."""


def by_path(paths: Sequence[tuple[re.Pattern[str], StreamParser]]) -> Choose:
    """Chooses by a table of what the request's path must hold; the first that matches."""

    def choose(path: str) -> StreamParser | None:
        return next((sdk for pattern, sdk in paths if pattern.search(path)), None)

    return choose


def http_client(client: Any) -> Any:
    """The HTTP client inside an SDK's client. Raises TypeError where there is none."""
    inner = getattr(client, "_client", None)
    if inner is None:
        raise TypeError(f"{type(client).__name__} has no HTTP client that could be observed")
    return inner


def is_of(client: object, package: str) -> bool:
    """Whether it is one of the package's clients, or of a class made from one; its HTTP client is none."""
    return base_of(client, (package,), _BASES) is not None


def install(client: Any, choose: Choose, instrument_copy: Callable[[Any], Any]) -> Callable[[], None]:
    """Wrap `client.request`, `copy` and `with_options`; returns the function that takes the wrappers off again."""
    wrapped = {
        "request": requesting(client.request, choose),
        **{name: _copying(getattr(client, name), instrument_copy) for name in _COPIES},
    }
    for name, method in wrapped.items():
        setattr(client, name, method)

    def uninstall() -> None:
        for name, method in wrapped.items():
            if client.__dict__.get(name) is method:
                delattr(client, name)

    return uninstall


def everywhere(client: type, choose: Choose, patches: Patches) -> None:
    """Patch `request` in the class that all clients of the SDK have it from."""
    patches.put(client, "request", lambda request: requesting(request, choose, lambda: patches.live))


def requesting(request: Callable[..., Any], choose: Choose, live: Callable[[], bool] = lambda: True) -> Any:
    """`request`, bound or as the class has it, with the streams that it returns observed as long as it is `live`."""
    if inspect.iscoroutinefunction(request):

        @functools.wraps(request)
        async def requesting_async(*args: Any, **kwargs: Any) -> Any:
            sdk = _sdk(choose, args, kwargs) if live() else None
            token = parser.set(sdk)
            try:
                made = await request(*args, **kwargs)
            finally:
                parser.reset(token)
            return _observed(made, sdk)

        return requesting_async

    @functools.wraps(request)
    def requesting_sync(*args: Any, **kwargs: Any) -> Any:
        sdk = _sdk(choose, args, kwargs) if live() else None
        token = parser.set(sdk)
        try:
            made = request(*args, **kwargs)
        finally:
            parser.reset(token)
        return _observed(made, sdk)

    return requesting_sync


def _copying(copy: Callable[..., Any], instrument_copy: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(copy)
    def copying(*args: Any, **kwargs: Any) -> Any:
        made = copy(*args, **kwargs)
        safely("client.sdk", lambda: instrument_copy(made))
        return made

    return copying


def _sdk(choose: Choose, args: tuple[Any, ...], kwargs: dict[str, Any]) -> StreamParser | None:
    """Who will parse the answer to `request([self,] cast_to, options, *, stream, stream_cls)`."""
    if not kwargs.get("stream"):
        return None
    options = kwargs.get("options") or next((arg for arg in reversed(args) if hasattr(arg, "url")), None)
    chosen = choose(str(getattr(options, "url", "")).partition("?")[0])
    if chosen is None or not _is_raw(options):
        return chosen
    return replace(chosen, automatic=False, stamps=())


def _is_raw(options: Any) -> bool:
    headers = getattr(options, "headers", None)
    return isinstance(headers, dict) and any(str(name).lower() == _RAW for name in headers)


def _observed(made: Any, sdk: StreamParser | None) -> Any:
    """What `request` returned, with its events observed: a stream, or a raw response that will parse into one."""
    if sdk is not None:
        safely("client.sdk", lambda: _observe(made, sdk))
    return made


def _observe(made: Any, sdk: StreamParser) -> None:
    link = links.of(made)
    if link is None:
        return
    if hasattr(made, "_iterator"):
        _observe_stream(made, link, sdk)
    elif hasattr(made, "parse"):
        made.parse = _parsing(made.parse, sdk)


def _observe_stream(stream: Any, link: links.Link, sdk: StreamParser) -> None:
    if link.parsed is not None:
        return
    parsed = Parsed(link, name=sdk.profile, delivers=sdk.delivers, client=sdk.client, raises=sdk.raises)
    kind = AsyncWatched if hasattr(stream, "__aiter__") else Watched
    stream._iterator = kind(stream._iterator, link, parsed)


def _parsing(parse: Callable[..., Any], sdk: StreamParser) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(parse):

        @functools.wraps(parse)
        async def parsing_async(*args: Any, **kwargs: Any) -> Any:
            return _observed(await parse(*args, **kwargs), sdk)

        return parsing_async

    @functools.wraps(parse)
    def parsing(*args: Any, **kwargs: Any) -> Any:
        return _observed(parse(*args, **kwargs), sdk)

    return parsing
