"""The hook for the `openai` package (3.x): `wire` through its HTTP client, `parsed` where its streams yield chunks.

Its HTTP client is the one given as `http_client=`, else one of its own; there is no public attribute for it, so
`_client` is read (`OpenAI.copy` hands the same one on). Every request of every resource, helper and raw-response
variant goes through the public method `client.request`, which is wrapped on the instance. The `Stream` it returns
keeps its type and attributes; only the iterator inside (`_iterator`, which both `__next__` and `__iter__` use) is
replaced. Where a version has no such attribute, `parsed` stays without a record, and the verdict says unproven.

What its parser does by design: `[DONE]` ends the iteration and is never yielded; an event with `error` is raised as
`openai.APIError`, recorded here as an event with result `raised`. `with_options()` and `copy()` give instrumented
clients. Observed at `parsed` are the chunks of Chat Completions.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

from streamwitness.semconv import ALL_PARTS, TERMINAL

from . import links
from .hook import parser
from .parsed import Parsed
from .tap import safely
from .watching import AsyncWatched, Watched

DELIVERS: Final = ALL_PARTS & ~TERMINAL
"""What its parser hands on: everything but the terminator; an error event comes as an exception."""

_PATH: Final = "/chat/completions"
_COPIES: Final = ("copy", "with_options")


def is_client(client: object) -> bool:
    """Whether it is one of the package's clients, or of a class made from one."""
    return any(base.__module__.partition(".")[0] == "openai" for base in type(client).__mro__)


def http_client(client: Any) -> Any:
    """The HTTP client inside an `OpenAI` or `AsyncOpenAI`. Raises TypeError where there is none."""
    inner = getattr(client, "_client", None)
    if inner is None:
        raise TypeError(f"{type(client).__name__} has no HTTP client that could be observed")
    return inner


def install(client: Any, instrument_copy: Callable[[Any], Any]) -> Callable[[], None]:
    """Wrap `client.request`, `copy` and `with_options`; returns the function that takes the wrappers off again."""
    wrapped = {
        "request": _requesting(client.request),
        **{name: _copying(getattr(client, name), instrument_copy) for name in _COPIES},
    }
    for name, method in wrapped.items():
        setattr(client, name, method)

    def uninstall() -> None:
        for name, method in wrapped.items():
            if client.__dict__.get(name) is method:
                delattr(client, name)

    return uninstall


def _copying(copy: Callable[..., Any], instrument_copy: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(copy)
    def copying(*args: Any, **kwargs: Any) -> Any:
        made = copy(*args, **kwargs)
        safely("client.openai", lambda: instrument_copy(made))
        return made

    return copying


def _requesting(request: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(request):

        @functools.wraps(request)
        async def requesting_async(cast_to: Any, options: Any, **kwargs: Any) -> Any:
            token = parser.set("openai" if _parses(options, kwargs) else None)
            try:
                made = await request(cast_to, options, **kwargs)
            finally:
                parser.reset(token)
            return _observed(made)

        return requesting_async

    @functools.wraps(request)
    def requesting(cast_to: Any, options: Any, **kwargs: Any) -> Any:
        token = parser.set("openai" if _parses(options, kwargs) else None)
        try:
            made = request(cast_to, options, **kwargs)
        finally:
            parser.reset(token)
        return _observed(made)

    return requesting


def _parses(options: Any, kwargs: dict[str, Any]) -> bool:
    return bool(kwargs.get("stream")) and str(getattr(options, "url", "")).partition("?")[0].endswith(_PATH)


def _observed(made: Any) -> Any:
    """What `request` returned, with its chunks observed: a stream, or a raw response that will parse into one."""
    safely("client.openai", lambda: _observe(made))
    return made


def _observe(made: Any) -> None:
    link = links.of(made)
    if link is None or not link.path.endswith(_PATH):
        return
    if hasattr(made, "_iterator"):
        _observe_stream(made, link)
    elif hasattr(made, "parse"):
        made.parse = _parsing(made.parse)


def _observe_stream(stream: Any, link: links.Link) -> None:
    if link.parsed is not None:
        return
    parsed = Parsed(link, name="openai_chat", delivers=DELIVERS, client="openai")
    kind = AsyncWatched if hasattr(stream, "__aiter__") else Watched
    stream._iterator = kind(stream._iterator, link, parsed)


def _parsing(parse: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(parse):

        @functools.wraps(parse)
        async def parsing_async(*args: Any, **kwargs: Any) -> Any:
            return _observed(await parse(*args, **kwargs))

        return parsing_async

    @functools.wraps(parse)
    def parsing(*args: Any, **kwargs: Any) -> Any:
        return _observed(parse(*args, **kwargs))

    return parsing
