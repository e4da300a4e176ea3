"""What belongs to one response on the client's side: its witness, its body, what was parsed from it."""

from __future__ import annotations

import weakref
from collections import deque
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from streamwitness.witness import Witness

from .handed import Handed
from .tap import Tap

if TYPE_CHECKING:
    from .applying import _State
    from .parsed import Parsed

WITNESS: Final = "streamwitness"
"""Key of `response.extensions` under which applications find the Witness."""

_LINK: Final = "streamwitness.link"

_RESPONSES: Final = ("response", "http_response", "_response")
"""Where SDKs keep the HTTP response: openai's streams, its raw responses, its `stream()` helper."""

_NEWEST: Final = 64
"""Responses among which the one is looked for that an object was handed on by."""

_newest_links: Final[deque[weakref.ref[Link]]] = deque(maxlen=_NEWEST)

_newest: ContextVar[weakref.ref[Link] | None] = ContextVar("streamwitness_newest_response", default=None)


@dataclass(eq=False)
class Link:
    """One response's points in this process."""

    witness: Witness
    path: str = ""
    content_type: str = "text/event-stream"
    tap: Tap | None = None
    parsed: Parsed | None = None
    handed: Handed = field(default_factory=Handed)
    applied: dict[int, _State] = field(default_factory=dict)
    """The records of the application, of which the last alone may be open."""
    resumes: bool = False
    """Whether the request asked to go on behind an event that its client has had."""

    def __post_init__(self) -> None:
        _newest_links.append(weakref.ref(self))

    def has_handed_on(self, item: Any) -> bool:
        """Whether it is known for sure that this very object was handed on here."""
        if self.parsed is not None:
            self.parsed.settle()
        return self.handed.has(item)


def attach(response: Any, link: Link) -> None:
    """Tie a link to its response, which keeps it alive, and make it the newest of this context.

    A parser at work that has it opened asks again by itself: it may hand on what this response brings.
    """
    before = reference() if (reference := _newest.get()) is not None else None
    if before is not None and before.parsed is not None and before.parsed.inside:
        before.parsed.asks_again()
    response.extensions[WITNESS] = link.witness
    response.extensions[_LINK] = link
    _newest.set(weakref.ref(link))


def of(thing: Any) -> Link | None:
    """The link of a response, or of something that carries one (an SDK's stream, a watched iterator)."""
    if isinstance(own := (_attribute(thing, "__dict__") or {}).get("_streamwitness_link"), Link):
        return own
    for response in (thing, *(_attribute(thing, name) for name in _RESPONSES)):
        extensions = _attribute(response, "extensions")
        if isinstance(extensions, dict) and isinstance(link := extensions.get(_LINK), Link):
            return link
    return None


def newest() -> Link | None:
    """The link of the newest response of this context, as long as it is open and nobody parses it yet.

    With any other response a watched iterator would be compared with a body that it was not made from.
    """
    reference = _newest.get()
    link = reference() if reference is not None else None
    if link is None or link.parsed is not None or link.tap is None or link.tap.end is not None:
        return None
    return link


def is_of_another(item: Any, link: Link) -> bool:
    """Whether this very object was handed on by another stream of this process, one of the newest, and not here."""
    if link.has_handed_on(item):
        return False
    others = (reference() for reference in tuple(_newest_links))
    return any(
        other.witness.identity.stream != link.witness.identity.stream and other.has_handed_on(item)
        for other in others
        if other is not None
    )


def _attribute(thing: Any, name: str) -> Any:
    """An attribute of an object that is not ours: a property may raise anything, and that is no fault of ours."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None
