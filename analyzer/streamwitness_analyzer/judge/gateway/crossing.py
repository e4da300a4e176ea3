"""One upstream response beside the answer that a gateway gave: what both say, compared once, for every rule to ask."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamwitness_analyzer.judge.compare.change import Hop
from streamwitness_analyzer.judge.compare.places import judge_views
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .verbatim import Verbatim


@dataclass(frozen=True, slots=True)
class Edited:
    """What a gateway did on purpose, as it says: which kind of edit, and of how many events, exactly or at least."""

    kind: str
    count: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Made:
    """What the gateway made of one upstream response. `recut`: the same or other content, in other events."""

    hop: Hop
    recut: bool = False
    edited: tuple[Edited, ...] = ()
    """What its own declaration excused."""
    other_finish: tuple[str, str] | None = None
    """Why the answer ended, as it was read and as it was sent, where these are two."""


@dataclass(frozen=True)
class Crossing:
    """A leg (gateway in) and the answer (gateway out), as far as judged events say."""

    leg: Record
    egress: Record
    only: bool = False
    """Whether the gateway read no other response for this answer."""

    @cached_property
    def before(self) -> View:
        """What was read."""
        return View(self.leg, "semantic")

    @cached_property
    def after(self) -> View:
        """What was sent."""
        return View(self.egress, "semantic")

    @cached_property
    def peer(self) -> bool:
        """Whether all that the leg brought was due: the gateway read to the end and wrote to the end."""
        return all_due(self.leg, self.egress)

    @cached_property
    def hop(self) -> Hop:
        """The comparison event by event, which knows nothing of what a gateway may do."""
        return judge_views(self.before, self.after, peer=self.peer)

    @cached_property
    def verbatim(self) -> Verbatim:
        """What came through as it was written."""
        return Verbatim(self.leg, self.egress)

    def content_of(self, value: int) -> int | None:
        """Content bytes of an event with this digest, on whichever side its row is held; None where on neither."""
        return self.before.content.get(value, self.after.content.get(value))


def all_due(leg: Record, egress: Record) -> bool:
    """Whether all that the leg brought was due: the gateway read to the end and wrote to the end."""
    return egress.end == "eof" and (not leg.own_end or leg.end == "stopped_at_terminal")


def unproven(reason: str) -> Hop:
    """A hop of which nothing is proven, and why."""
    return Hop("unproven", reason=reason)
