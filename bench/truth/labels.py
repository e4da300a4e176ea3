"""What really happened to a stream, written down where it was done: deeds, passages, the ending.

Nothing here knows the analyzer; `ACTS` alone uses its words, so that both can be held against each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import log2
from operator import itemgetter
from typing import Final

from streamwitness.blocks import Block
from streamwitness.semconv import Component, Point

_LOST: Final = frozenset(("gap", "tail", "gap_or_late", "mismatch"))
_ADDED: Final = frozenset(("duplicate", "fabricated", "extra", "mismatch"))
_CHANGED: Final = frozenset(("altered", "corrupt", "mismatch"))
_MOVED: Final = frozenset(("reorder", "gap_or_late", "mismatch"))

ACTS: Final[dict[str, frozenset[str]]] = {
    "drop": _LOST,
    "cut": _LOST,
    "swallow": _LOST,
    "refuse": _LOST | {"partial"},
    "double": _ADDED,
    "invent": _ADDED,
    "foreign": _ADDED | {"cross_stream", "misapplied"},  # where what was kept is shown, it is another text
    "late": _ADDED | {"after_terminal"},
    "move": _MOVED,
    "alter": _CHANGED | {"misapplied"},
    "merge": _LOST | _ADDED | _CHANGED,
    "split": _LOST | _ADDED | _CHANGED,
    "malform": _LOST | _ADDED | _CHANGED | {"malformed"},
    "partial": frozenset(("partial", "altered", "misapplied")),
    "misapply": frozenset(("misapplied", "altered", "reorder", "gap", "duplicate", "partial")),
    "delay": frozenset(("delayed",)),
    "keep_running": frozenset(("upstream_kept_running",)),
    "hole": _LOST | {"altered"},
    "ungrammatical": _LOST | _CHANGED | {"malformed", "fabricated", "duplicate"},
}
"""Act → kinds of finding that tell it. An act that is not listed is a mistake of the injector's (`Deed` refuses it).

`drop` single events or a run, `cut` all from a place on, `swallow` an error or a terminator, `refuse` an exception in
place of taking it, `late` an event behind the end, `hole` and `ungrammatical` what the source's own stream gives away.
"""

REWRITING: Final = frozenset(("reprint", "translate", "join", "merging"))
"""Gateways that write events anew."""
JOINING: Final = frozenset(("join", "merging"))
"""Those among them that make one event of several."""
NAMELESS: Final = frozenset(("ollama",))
"""Formats in which an answer has no id."""
_ENDS: Final = ("0/finish", "0/terminal")
"""Tokens that every answer has."""
_BITS: Final = 24.0
"""What must be in common to be no accident: one in sixteen million. With less, an answer of a few common words may as
well have come from elsewhere (a cache, a fallback that is not instrumented), and the records would be the same."""

KIND_BY_NUMBERS: Final = "told apart by numbers"
"""Note of a stream in which equal events hide what the network did, but for their numbers, which stand in rows."""
STOOD_STILL: Final = "the machine stood still"
"""Note of a stream in which whatever came late may have been held back by nobody."""

HARMLESS_ACTS: Final = frozenset(("delay", "keep_running"))
"""Acts that leave the sequence as it was: seen in times only."""

SOURCE_EVIDENCE: Final = frozenset(("hole", "ungrammatical", "malform", "late", "delay"))
"""Acts of the source that its stream itself gives away; every other one nobody below the source can know."""


@dataclass(frozen=True)
class Deed:
    """One fault, written by an injector where it does the deed, knowing nothing of the analyzer.

    `at` are positions among the events that came into the component (for what is invented: before which it came).
    """

    component: Component
    act: str
    at: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.act not in ACTS:
            raise ValueError(f"unknown act {self.act!r}; known: {', '.join(ACTS)}")


@dataclass(frozen=True)
class Passage:
    """What truly went into and came out of a component, as content tokens, noted by the bench itself.

    Both sides are in one unit: a component that cuts the content anew notes as `before` what an honest one of its sort
    would have handed on. `stopped`: whoever stands behind it stopped by himself, so that `after` ends where he stopped.
    """

    component: Component
    before: tuple[str, ...]
    after: tuple[str, ...]
    stopped: bool = False
    by_event: bool = False
    """A token for each event, so that a place here is the event's position at the point before."""
    lost: frozenset[int] | None = None
    """Places of `before` of which nothing came out, known by the object and not by what it says; None: not known."""
    again: int = 0
    """How many of those that are missing were sent once more: of what came then, or was lost again, it counts once."""
    due: int | None = None
    """Where its reader stopped: how many of `before` were due, up to the furthest that came out; None: not known."""
    late: int = 0
    """How many of those that were due were only moved behind where its reader stopped: nobody lost them."""
    anew: bool = False
    """Whether it cuts anew what it hands on: then pieces of one text that follow each other show as one."""

    @property
    def visible(self) -> bool:
        """Whether anything that was due came out otherwise than it went in."""
        due = self.before[: len(self.after)] if self.stopped else self.before
        return _texts(self.after) != _texts(due) if self.anew else self.after != due


def _texts(tokens: Sequence[str]) -> list[tuple[str, str]]:
    """What stands in each slot (`0/text`) until another one has its turn."""
    turns = groupby((token.partition(":")[::2] for token in tokens), key=itemgetter(0))
    return [(slot, "".join(text for _, text in pieces)) for slot, pieces in turns]


@dataclass(frozen=True)
class Ended:
    """The true ending: classes of docs/design.md §7.4 that say it, and by whom (None: nobody of the five)."""

    ending: frozenset[str]
    by: str | None
    seen: bool = True
    """Whether every point testifies, so that it must be told; else it may be told weaker, and only never falsely."""
    before: frozenset[tuple[str, str]] = frozenset()
    """(class, by whom) of an end that a part of the path had come to before; true of the records of that part."""


@dataclass
class Trial:
    """One stream: what was done to it, and the blocks that its recorders exported, before any telemetry loss."""

    name: str
    provider: str
    gateway: str
    client: str
    deeds: tuple[Deed, ...]
    passages: tuple[Passage, ...]
    ended: Ended
    blocks: list[Block]
    points: frozenset[Point]
    notes: frozenset[str] = field(default_factory=frozenset)
    doubtful: frozenset[Point] = field(default_factory=frozenset)
    """Points whose records nobody vouches for: nothing that rests on one of them is certain."""

    @property
    def honest(self) -> bool:
        """Whether every recorder tells the truth; a false record can only be known by all of them together."""
        return "lying" not in self.notes

    @property
    def guilty(self) -> frozenset[Component]:
        """Everybody who did something, whether or not it can be known."""
        return frozenset(deed.component for deed in self.deeds)


def components(deeds: Iterable[Deed]) -> frozenset[Component]:
    """Who did these."""
    return frozenset(deed.component for deed in deeds)


def shared_bits(passage: Passage) -> float:
    """How much the longest run that both sides have in common says, in bits: −log₂ of each token's share of `before`.

    Little of it may be an accident: an answer of a few common words can be another answer.
    """
    shares = Counter(passage.before)
    bits = {token: -log2(count / len(passage.before)) for token, count in shares.items()}
    best, row = 0.0, [0.0] * (len(passage.after) + 1)
    for token in passage.before:
        at = [0.0]
        for j, other in enumerate(passage.after):
            at.append(row[j] + bits[token] if token == other else 0.0)
        row, best = at, max(best, *at)
    return best


def known_to_feed(gateway: str, provider: str, passage: Passage) -> bool:
    """Whether what a gateway read is known to have become its answer, by what both say.

    One that hands on bytes shows it by an event and the answer's id; of one that writes anew it may be an accident
    that a few words that are said again and again are in both.
    """
    if gateway not in REWRITING and provider not in NAMELESS:
        words = [token for token in passage.before[:-1] if not token.startswith(_ENDS)]
        return any(token in passage.after for token in words)
    return shared_bits(passage) >= _BITS


def lost_run(passage: Passage) -> tuple[int, int] | None:
    """First and last place of the one run that is missing, if that is all and nothing else explains what came out.

    Where events repeat, other sets of as many places may explain it: what is left over when each event that came out
    is found as early as can be, and as late as can be, is the same only where there is one explanation.
    """
    early, late = _left_over(passage)
    if passage.stopped or not early or early != late:
        return None
    return (early[0], early[-1]) if early[-1] - early[0] + 1 == len(early) else None


def _left_over(passage: Passage) -> tuple[list[int], list[int]]:
    """Places that are over when what came out is found in what went in early, and late; empty: it is not in it."""
    before, after = passage.before, passage.after
    late = [len(before) - 1 - place for place in reversed(_over(before[::-1], after[::-1]))]
    return _over(before, after), late


def _over(before: Sequence[str], after: Sequence[str]) -> list[int]:
    left, at = [], 0
    for place, token in enumerate(before):
        if at < len(after) and after[at] == token:
            at += 1
        else:
            left.append(place)
    return left if at == len(after) else []


def ambiguous(passage: Passage) -> bool:
    """Whether the place of the difference is one of several: equal neighbours, or other losses that look the same."""
    before, after = passage.before, passage.after
    if not passage.visible:
        return False
    early, late = _left_over(passage)
    if early:
        return early != late
    return _alike(before, after) + _alike(before[::-1], after[::-1]) > min(len(before), len(after))


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How long the equal beginning is."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
