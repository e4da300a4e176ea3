"""watch(): the point `parsed` for any iterator, sync or async, that hands a stream's events to the application."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from operator import methodcaller
from typing import Any, Self, TypeVar, overload

from streamwitness import faults
from streamwitness import runtime as _runtime
from streamwitness.events import mask_of
from streamwitness.tracing import host_span
from streamwitness.witness import Identity, Witness

from . import links
from .parsed import UNDECLARED, Parsed
from .tap import safely

T = TypeVar("T")


@overload
def watch(
    iterator: AsyncIterable[T],
    *,
    response: Any = None,
    profile: str | None = None,
    delivers: Iterable[str] | None = None,
) -> AsyncWatched[T]: ...


@overload
def watch(
    iterator: Iterable[T],
    *,
    response: Any = None,
    profile: str | None = None,
    delivers: Iterable[str] | None = None,
) -> Watched[T]: ...


def watch(
    iterator: Any,
    *,
    response: Any = None,
    profile: str | None = None,
    delivers: Iterable[str] | None = None,
) -> Any:
    """Record at `parsed` every event that `iterator` hands to the application; returns an iterator to use instead.

    Items may be decoded events (dict), an SDK's objects, SSE event objects, or raw data fields (str, bytes). All
    else that the iterator can do (`send`, `throw`, `close`, `with`, attributes) still works. `response` is the one
    that the iterator reads; without it the newest open response of this context is taken, without any the record
    stands alone. `profile` names the provider's format where it cannot be told from the response. `delivers` names
    the parts that the parser hands on; without it it is held to those of which it did hand on something.

    One response has one parser: a second `watch` of it, or of an instrumented SDK's stream, records nothing.
    Raises TypeError where `iterator` cannot be iterated, ValueError for an unknown part.
    """
    mask = UNDECLARED if delivers is None else mask_of(delivers)
    kind = AsyncWatched if hasattr(iterator, "__aiter__") else Watched
    if kind is Watched and not hasattr(iterator, "__iter__"):
        raise TypeError(f"watch() takes an iterator or an async iterator, not {type(iterator).__name__}")
    link, parsed = _parsed(iterator, response, profile, mask)
    return kind(iterator, link, parsed)


def _parsed(iterator: Any, response: Any, name: str | None, delivers: int) -> tuple[links.Link | None, Parsed | None]:
    try:
        link = links.of(response if response is not None else iterator)
        if link is None and response is None:
            link = links.newest() or _alone()
        if link is None or link.parsed is not None:
            return link, None
        return link, Parsed(link, name=name, delivers=delivers)
    except Exception as error:
        faults.fault("client.watch", error)
        return None, None


def _alone() -> links.Link | None:
    """A witness of its own, for an iterator whose response nobody observes."""
    runtime = _runtime.current()
    identity = Identity.new()
    if runtime.settings.mode == "off" or not runtime.sampled(identity.stream):
        return None
    return links.Link(Witness(identity, runtime.sink, level=runtime.settings.level, host=host_span()))


class _Watching:
    """What both kinds share: the wrapped iterator shows through."""

    def __init__(self, inner: Any, link: links.Link | None, parsed: Parsed | None) -> None:
        self._inner = inner
        self._iterator: Any = None
        self._streamwitness_link = link
        self._parsed = parsed
        self._dropped = weakref.finalize(self, _drop, parsed) if parsed is not None else None
        self._whole: Any = None
        """Of a loop's own object, what it goes over; the record is open at least as long as that lives."""

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":  # not set yet: an object half made has nothing to delegate to
            raise AttributeError(name)
        return getattr(self._inner, name)

    def _loop(self) -> Self:
        """An object of the same kind for one loop: it is let go of where the loop is left."""
        parsed = self._parsed
        if self._whole is not None or parsed is None or parsed.end is not None:
            return self
        loop = object.__new__(type(self))
        loop.__dict__.update(self.__dict__, _whole=self)
        safely("client.watch", lambda: parsed.looped(loop))
        return loop

    def _stopped(self, error: BaseException) -> None:
        """What ended a step: the iterator's end, or what it raised."""
        over = isinstance(error, (StopIteration, StopAsyncIteration))
        self._over(Parsed.finished if over else _failed(error))

    def _over(self, report: Callable[[Parsed], None]) -> None:
        parsed = self._parsed
        if parsed is not None:
            parsed.inside = False
            safely("client.watch", lambda: report(parsed))
        if self._dropped is not None:
            self._dropped.detach()


def _drop(parsed: Parsed) -> None:
    safely("client.watch", parsed.dropped)


def _failed(error: BaseException) -> Callable[[Parsed], None]:
    return lambda parsed: parsed.failed(error)


class Watched(_Watching, Iterator[T]):
    """A watched iterator or generator."""

    def __iter__(self) -> Watched[T]:
        if self._iterator is None and self._parsed is not None:
            self._iterator = iter(self._inner)
        return self._loop()

    def __next__(self) -> T:
        # `_step` written out: every event passes here, and each call less is time of the host's.
        iterator, parsed = self._iterator, self._parsed
        if iterator is None or parsed is None:
            return self._step(next)
        parsed.inside = True
        try:
            item: T = next(iterator)
        except BaseException as error:
            self._stopped(error)
            raise
        parsed.inside = False
        parsed.handing_on(item)
        return item

    def send(self, value: Any) -> T:
        """As `generator.send`."""
        return self._step(methodcaller("send", value))

    def throw(self, *error: Any) -> T:
        """As `generator.throw`."""
        return self._step(methodcaller("throw", *error))

    def close(self) -> Any:
        """As the wrapped iterator's `close`; without one, the record ends here."""
        self._over(Parsed.closed)
        close = getattr(self._inner, "close", None)
        return close() if close is not None else None

    def __enter__(self) -> Watched[T]:
        entered = self._inner.__enter__()
        if entered is not self._inner:
            self._iterator = iter(entered)
        return self

    def __exit__(self, *error: Any) -> Any:
        self._over(Parsed.closed)
        return self._inner.__exit__(*error)

    def _step(self, step: Callable[[Any], T]) -> T:
        if self._iterator is None:
            self._iterator = iter(self._inner)
        parsed = self._parsed
        if parsed is None:
            return step(self._iterator)
        parsed.inside = True
        try:
            item = step(self._iterator)
        except BaseException as error:
            self._stopped(error)
            raise
        parsed.inside = False
        parsed.handing_on(item)
        return item


class AsyncWatched(_Watching, AsyncIterator[T]):
    """A watched async iterator or async generator."""

    def __aiter__(self) -> AsyncWatched[T]:
        if self._iterator is None and self._parsed is not None:
            self._iterator = self._inner.__aiter__()
        return self._loop()

    async def __anext__(self) -> T:
        iterator, parsed = self._iterator, self._parsed
        if iterator is None or parsed is None:
            return await self._step(anext)
        parsed.inside = True
        try:
            item: T = await iterator.__anext__()
        except BaseException as error:
            self._stopped(error)
            raise
        parsed.inside = False
        parsed.handing_on(item)
        return item

    async def asend(self, value: Any) -> T:
        """As `asyncgenerator.asend`."""
        return await self._step(methodcaller("asend", value))

    async def athrow(self, *error: Any) -> T:
        """As `asyncgenerator.athrow`."""
        return await self._step(methodcaller("athrow", *error))

    async def aclose(self) -> Any:
        """As the wrapped iterator's `aclose`; without one, the record ends here."""
        self._over(Parsed.closed)
        aclose = getattr(self._inner, "aclose", None)
        return await aclose() if aclose is not None else None

    async def __aenter__(self) -> AsyncWatched[T]:
        entered = await self._inner.__aenter__()
        if entered is not self._inner:
            self._iterator = entered.__aiter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        self._over(Parsed.closed)
        return await self._inner.__aexit__(*error)

    async def _step(self, step: Callable[[Any], Any]) -> T:
        if self._iterator is None:
            self._iterator = self._inner.__aiter__()
        parsed = self._parsed
        if parsed is None:
            return await step(self._iterator)  # type: ignore[no-any-return]
        parsed.inside = True
        try:
            item: T = await step(self._iterator)
        except BaseException as error:
            self._stopped(error)
            raise
        parsed.inside = False
        parsed.handing_on(item)
        return item
