"""What gateways do to an answer on purpose: leave events out, join them, word them anew; and what excuses that."""

from __future__ import annotations

from typing import Final, Protocol

from .acts import Act, Event
from .readers import acts_of


class Editing(Protocol):
    """One answer's events on their way through an edit."""

    def feed(self, event: Event) -> list[Event]:
        """What goes out for what came in."""

    def finish(self) -> list[Event]:
        """What goes out at the end."""


class Nothing:
    """Leaves everything as it is."""

    def __init__(self, out: str) -> None:
        self._out = out

    def feed(self, event: Event) -> list[Event]:
        """See `Editing`."""
        return [event]

    def finish(self) -> list[Event]:
        """See `Editing`."""
        return []

    def _text(self, event: Event) -> Act | None:
        """The text of an event that has one, and says nothing else."""
        acts = [] if event.comment else acts_of(self._out, event.data)
        return acts[0] if len(acts) == 1 and acts[0].kind == "text" and acts[0].text else None


class Filter(Nothing):
    """Leaves out every third text."""

    def __init__(self, out: str) -> None:
        super().__init__(out)
        self._count = 0

    def feed(self, event: Event) -> list[Event]:
        """See `Editing`."""
        if self._text(event) is None:
            return [event]
        self._count += 1
        return [] if self._count % 3 == 0 else [event]


class Join(Nothing):
    """Makes one of each two texts that follow on each other."""

    def __init__(self, out: str) -> None:
        super().__init__(out)
        self._held: Event | None = None

    def feed(self, event: Event) -> list[Event]:
        """See `Editing`."""
        held, self._held = self._held, None
        one, two = self._text(held) if held is not None else None, self._text(event)
        if one is not None and two is not None and one.choice == two.choice:
            return [worded(event, two, one.text + two.text)]
        before = [held] if held is not None else []
        if two is None:
            return [*before, event]
        self._held = event
        return before

    def finish(self) -> list[Event]:
        """See `Editing`."""
        held, self._held = self._held, None
        return [held] if held is not None else []


class Reword(Nothing):
    """Writes every text in capitals."""

    def feed(self, event: Event) -> list[Event]:
        """See `Editing`."""
        text = self._text(event)
        return [event] if text is None else [worded(event, text, text.text.upper())]


def worded(event: Event, text: Act, other: str) -> Event:
    """The event with another text in the place of its own."""
    return event._replace(data=event.data.replace(text.text, other, 1), raw=b"")


EDITS: Final[dict[str, type[Nothing]]] = {"": Nothing, "filter": Filter, "join": Join, "reword": Reword}
"""Name → edit."""

_ACTS: Final = {"filter": "drop", "reword": "alter"}
_EXCUSED: Final = frozenset((("filter", "filter"), ("reword", "rewrite")))


def deed_of(edits: str, declares: str) -> str | None:
    """The act that an edit is where nobody has declared it so; None where it is none."""
    return None if (edits, declares) in _EXCUSED else _ACTS.get(edits)


def hidden(edits: str, declares: str) -> bool:
    """Whether what was declared is not what was done, but might be: then nobody can know."""
    return deed_of(edits, declares) is not None and declares in ("filter", "rewrite")
