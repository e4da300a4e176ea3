"""What an object that a parser made carries, read with the profile of the response that it was made from."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from streamwitness.events import Reading
from streamwitness.providers import Profile, Unreadable, detect, profile
from streamwitness.providers.unread import SILENT, object_says_more

from .links import Link


class NotAnEventError(TypeError):
    """A text that is none of the provider's events, so that nothing can be compared with it."""


UNREADABLE = (NotAnEventError, Unreadable)
"""What `Reader.read` raises; the point is then unknown, which is no fault of ours."""


class Reader:
    """Reads decoded events, SDK objects, server-sent event objects and raw data fields; remembers slots and finishes.

    `name` is the profile's; without it the one that was found at `wire` is taken, or found by the request's path.
    """

    def __init__(self, link: Link, name: str | None = None) -> None:
        self._link, self._name = link, name
        self._profile: Profile | None = None
        self._unread = 0

    @property
    def unread(self) -> int:
        """Events of the format, as they came, with output that the profile does not read."""
        return self._unread + (self._profile.beside if self._profile is not None else 0)

    @property
    def complete(self) -> bool | None:
        """Whether a whole answer was read; None where that cannot be said."""
        return self._profile.complete if self._profile is not None else None

    def read(self, item: Any) -> Reading:
        """Parts and pieces of `item`. Raises one of UNREADABLE."""
        if self._profile is None:
            self._profile = self._found(item)
        reading = self._profile.read_object(item)
        if not (reading.pieces or reading.parts & ~SILENT):
            self._unread += object_says_more(self._profile.name, item)
        return reading

    @property
    def finish_reasons(self) -> tuple[str, ...]:
        """Canonical finish of each choice that has one."""
        return self._profile.finish_reasons if self._profile is not None else ()

    @property
    def shared_numbers(self) -> int:
        """Calls that began under a number that another had before them."""
        return self._profile.shared_numbers if self._profile is not None else 0

    @property
    def snapshot(self) -> Callable[[Any], Any] | None:
        """The profile's `snapshot`, if it has one; asked for once something was read."""
        return getattr(self._profile, "snapshot", None)

    def read_snapshot(self, said: Any) -> Reading:
        """Parts and pieces of an item of which `snapshot` gave this; nothing else was read in between."""
        reading: Reading = self._profile.read_snapshot(said)  # type: ignore[union-attr]
        return reading

    def _found(self, item: Any) -> Profile:
        if self._name is not None:
            return profile(self._name)
        if isinstance(item, (str, bytes, bytearray)) and not _is_event(item):
            raise NotAnEventError("text that is no event of the provider's")
        tap = self._link.tap
        if tap is not None:
            tap.look()
            if tap.observer.profile is not None:
                return profile(tap.observer.profile.name)
        return detect(self._link.path, self._link.content_type)


def _is_event(text: str | bytes | bytearray) -> bool:
    """Whether a text is an event's data field, and not a piece of the answer."""
    if text in ("[DONE]", b"[DONE]"):
        return True
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and bool(value)
