"""What an SDK's helper makes of a stream's events: which event each of its objects came from.

`messages.stream()` of anthropic and `.stream()` of openai yield, beside or instead of the provider's events, objects of
their own (a text so far, a block that is complete). A helper reads one event and yields what it makes of it before it
reads the next, so an object comes from the event that was handed on last. An application that reports both has reported
one event: the first report counts, and one that raised.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any, Final

from streamwitness import faults

from .handed import KEPT
from .links import Link

_RAW: Final = "_raw_stream"
_ITERATOR: Final = "_iterator"


class Derived:
    """The objects that a helper has yielded last, with the position of the event and the event that they came from."""

    def __init__(self) -> None:
        self._origins: OrderedDict[int, tuple[weakref.ref[Any], int, Any]] = OrderedDict()

    def add(self, item: Any, position: int, event: Any) -> None:
        """Note that `item` was made from `event`, which stands at `position`."""
        if type(item).__weakrefoffset__:
            self._origins[id(item)] = (weakref.ref(item), position, event)
            if len(self._origins) > KEPT:
                self._origins.popitem(last=False)

    def origin(self, item: Any) -> tuple[int, Any] | None:
        """Position and event that `item` was made from; None where that is not known for sure."""
        found = self._origins.get(id(item))
        return found[1:] if found is not None and found[0]() is item else None


def follow(helper: Any, link: Link) -> Derived | None:
    """Note from now on what a helper's objects come from; None for a stream that yields the events themselves."""
    own = getattr(helper, "__dict__", {})
    if _RAW not in own or _ITERATOR not in own or link.parsed is None:
        return None
    if not isinstance(own[_ITERATOR], _Iterator):
        kind = _AsyncIterator if hasattr(own[_ITERATOR], "__anext__") else _SyncIterator
        helper._iterator = kind(own[_ITERATOR], link)
    return helper._iterator.derived  # type: ignore[no-any-return]


class _Iterator:
    """A helper's iterator, looked at from outside."""

    def __init__(self, inner: Any, link: Link) -> None:
        self.derived = Derived()
        self._inner, self._link = inner, link

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":  # not set yet: an object half made has nothing to delegate to
            raise AttributeError(name)
        return getattr(self._inner, name)

    def _note(self, item: Any) -> None:
        try:
            parsed = self._link.parsed
            if parsed is None:
                return
            parsed.settle()
            event = self._link.handed.last()
            if event is not None and event is not item:
                self.derived.add(item, parsed.recorder.events - 1, event)
        except Exception as error:
            faults.fault("client.derived", error)


class _SyncIterator(_Iterator):
    def __iter__(self) -> _SyncIterator:
        return self

    def __next__(self) -> Any:
        item = next(self._inner)
        self._note(item)
        return item


class _AsyncIterator(_Iterator):
    def __aiter__(self) -> _AsyncIterator:
        return self

    async def __anext__(self) -> Any:
        item = await self._inner.__anext__()
        self._note(item)
        return item
