"""Numbered streams of which the numbers alone tell: at a level without digests, and of a client that stops in between.

What a number that has not come yet says of its event, and what it does not: neither that it is lost, where its reader
stopped by himself, nor that those that came are what was sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Final

from streamwitness.gateway.stamp import rewriter
from streamwitness.semconv import Level, Point, Stamp
from streamwitness.testing import MemorySink

from .labels import Deed, Ended, Passage, Trial
from .process import PACES_NS, Process, identity, stamped, told
from .recorded import framed, pieces
from .said import SSE
from .sockets.acts import Act, Event
from .sockets.relay import unnumbered
from .sockets.scenario import written
from .ways import sorts

_WAY: Final[tuple[Point, ...]] = ("egress", "wire")
_UNPROVABLE: Final = frozenset(("unprovable",))


@dataclass
class _Numbered:
    """What the gateway sent, each event with its number, and what of it came, as bytes."""

    rng: Random
    provider: str
    level: Level = "digests"
    end: str = "eof"
    deeds: list[Deed] = field(default_factory=list)
    notes: frozenset[str] = frozenset()
    late: int = 0
    """How many of those that have not come were only late."""
    due: int | None = None

    def __post_init__(self) -> None:
        words = self.rng.choice((("ha ",), tuple(f"w{i} " for i in range(40))))
        texts = [Act("text", words[i % len(words)]) for i in range(self.rng.randint(8, 30))]
        self.events = written(self.provider, [Act("role"), *texts, Act("finish", "stop"), Act("terminal")])
        self.first = next(i for i, event in enumerate(self.events) if words[0] in event.data)
        self.identity = identity(self.rng)
        ways: list[Stamp] = ["id", "field"]
        self.number(self.rng.choice(ways[: 1 if self.provider == "openai_chat" else 2]))  # `[DONE]` has no field

    def number(self, stamp: Stamp) -> None:
        """Number the events so."""
        self.stamp = stamp
        number = rewriter(self.identity.exchange, self.stamp, "sse")
        self.sent = [number.feed(frame) if number else frame for frame in framed(self.provider, self.events)]
        self.came = list(self.sent)

    def text(self) -> int:
        """The place of a text with others before and behind it."""
        return self.first + self.rng.randint(1, 4)

    def without_digests(self) -> None:
        """The client has no key to make digests with."""
        self.level = "rows"

    def did(self, act: str, at: int) -> None:
        """Note what was done on the way."""
        self.deeds.append(Deed("transport", act, (at,)))

    def trial(self, name: str, sort: str) -> Trial:
        """The stream."""
        sink, pace = MemorySink(), self.rng.choice(PACES_NS)
        gateway = Process(self.rng, self.identity, sink, _WAY, pace)
        gateway.body("egress", self.provider, pieces(self.rng, self.sent), "eof", stamp=self.stamp,
                     extra=stamped(self.stamp))  # fmt: skip
        client = Process(self.rng, self.identity, sink, _WAY, pace, self.level)
        client.body("wire", self.provider, pieces(self.rng, self.came), self.end, stamp=self.stamp)
        before, after = (tuple(frame.decode() for frame in frames) for frames in (self.sent, self.came))
        passage = Passage("transport", before, after, self.end != "eof", by_event=True, due=self.due, late=self.late)
        bare = [tuple(map(unnumbered, side)) for side in (before[: len(after)], after)]
        in_numbers = {"numbers alone"} if passage.visible and bare[0] == bare[1] else set()
        return Trial(
            name, self.provider, "pass-through", "model", tuple(self.deeds), (passage,), Ended(frozenset(), None),
            told(self.rng, sink), frozenset(_WAY), self.notes | in_numbers | {sort, f"stamped {self.stamp}"},
        )  # fmt: skip


# --------------------------------------------------------------------------- stopped before it came


def _late_and_stopped(one: _Numbered) -> None:
    """An event is moved behind others, and the client stops by itself before it comes: nobody lost it."""
    at = one.text()
    one.due = at + one.rng.randint(2, 4)
    one.came = [frame for i, frame in enumerate(one.sent[: one.due]) if i != at]
    one.end, one.late = "cancelled", 1
    one.did("move", at)


def _lost_and_stopped(one: _Numbered) -> None:
    """The same, and it would never have come: no record tells these two apart."""
    at = one.text()
    one.due = at + one.rng.randint(2, 4)
    one.came = [frame for i, frame in enumerate(one.sent[: one.due]) if i != at]
    one.end = "cancelled"
    one.did("drop", at)


def _late_and_come(one: _Numbered) -> None:
    """It comes, and then the client stops."""
    at = one.text()
    behind = at + one.rng.randint(1, 3)
    one.due = behind + 1
    one.came = [*one.sent[:at], *one.sent[at + 1 : one.due], one.sent[at]]
    one.end = "cancelled"
    one.did("move", at)


# --------------------------------------------------------------------------- without digests


def _sound_without_digests(one: _Numbered) -> None:
    """All came as it was sent, which numbers do not prove."""
    one.without_digests()
    one.notes = _UNPROVABLE


def _changed_without_digests(one: _Numbered) -> None:
    """An event came with its number and another text."""
    one.without_digests()
    at = one.text()
    one.came[at] = one.sent[at].replace(b"ha ", b"oh ").replace(b"w", b"v")
    one.did("alter", at)
    one.notes = _UNPROVABLE


def _lost_without_digests(one: _Numbered) -> None:
    """Some never came: their numbers prove it."""
    one.without_digests()
    at = one.text()
    del one.came[at]
    one.did("drop", at)


def _doubled_without_digests(one: _Numbered) -> None:
    """One came twice, or what bears its number is another one: more came than was sent."""
    one.without_digests()
    at = one.text()
    one.came.insert(at, one.sent[at])
    one.did("double", at)


def _put_in_without_digests(one: _Numbered) -> None:
    """Somebody puts an event in without an id: that of the event before it is still in force."""
    one.number("id")
    one.without_digests()
    at = one.text()
    other: Event = one.events[at]._replace(data=one.events[at].data.replace("ha ", "no ").replace("w", "v"))
    one.came.insert(at + 1, framed(one.provider, [other])[0])
    one.did("invent", at + 1)


_MAKERS: Final = (
    _late_and_stopped, _lost_and_stopped, _late_and_come, _sound_without_digests, _changed_without_digests,
    _lost_without_digests, _doubled_without_digests, _put_in_without_digests,
)  # fmt: skip


SORTS: Final = sorts("numbers", 1, _MAKERS, lambda rng: _Numbered(rng, rng.choice(SSE)))
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
