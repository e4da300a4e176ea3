"""What came out of a component beside what went in: the class of all faults that look alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.truth.labels import Passage

LOST: Final = frozenset(("gap", "tail", "gap_or_late"))
ADDED: Final = frozenset(("duplicate", "fabricated", "extra"))
CHANGED: Final = frozenset(("altered", "corrupt", "malformed"))


@dataclass(frozen=True)
class Difference:
    """How many are missing and how many came besides, and whether the others stand in another order."""

    lost: int
    added: int
    moved: bool
    new: bool = False
    """Whether some of what came out more had never gone in."""
    copied: bool = False
    """Whether some had, or came out more than once."""

    @classmethod
    def of(cls, passage: Passage) -> Difference:
        """As multisets, and whether what both have stands in one order."""
        before, after = Counter(passage.before), Counter(passage.after)
        before["0/terminal"] = after["0/terminal"] = 0  # comes and goes, and is compared apart
        both = before & after
        more = after - before
        return cls(
            (before - after).total(),
            more.total(),
            _kept(passage.before, both) != _kept(passage.after, both),
            any(not before[token] for token in more),
            any(before[token] or count > 1 for token, count in more.items()),
        )

    def allows(self, kind: str, *, stopped: bool) -> bool:
        """Whether a finding of this kind is true of it. `stopped`: what is missing may only have come too late."""
        late = kind == "gap_or_late" and stopped and self.moved
        true = {
            **dict.fromkeys(LOST, self.lost > 0 or late),
            "extra": self.added > 0,
            "duplicate": self.copied,
            "fabricated": self.new,
            "reorder": self.moved,
        }
        return true.get(kind, True)

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of finding that it bears out by itself, whatever the deed was called."""
        true = {
            LOST: self.lost or self.moved,
            ADDED: self.added,
            CHANGED: self.lost and self.added,
            frozenset(("reorder",)): self.moved,
            frozenset(("mismatch",)): self.lost or self.added or self.moved,
        }
        return frozenset().union(*(kinds for kinds, so in true.items() if so))

    def __str__(self) -> str:
        parts = (
            (f"{self.lost} lost", self.lost),
            (f"{self.added} more ({'some of them new' if self.new else 'copies'})", self.added),
            ("another order", self.moved),
        )
        return ", ".join(text for text, so in parts if so) or "nothing"


def missing(before: Sequence[str], after: Sequence[str]) -> int:
    """How many of what went in did not come out."""
    return (Counter(before) - Counter(after)).total()


def _kept(tokens: Sequence[str], both: Counter[str]) -> list[str]:
    left = Counter(both)
    out = []
    for token in tokens:
        if left[token]:
            left[token] -= 1
            out.append(token)
    return out
