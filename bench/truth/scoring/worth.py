"""What one verdict is worth: what became of each component, what it says falsely, and how much of what can be found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from streamwitness.semconv import Component

from .rate import Rate

OUTCOMES: Final = {
    "found": "guilty, and certainly named",
    "narrowed": "guilty, and among the suspects",
    "unknown": "guilty, and nobody was named",
    "unknowable": "guilty, and no record can tell",
    "beside": "guilty, and not between two points that testified and can be believed",
    "cleared": "innocent, and not named",
    "suspected": "innocent, and among several suspects of which one is guilty",
    "wrong": "innocent, and accused; or accused of what was not done",
}
"""What a verdict made of a component."""

FALSE: Final = {
    "blame": "a finding accuses somebody who did nothing",
    "said": "of who did it another kind, count or place is told than is so, or it is called certain and is not",
    "called": "a stream is called intact and is not, or damaged and is not",
    "maker": "the ending is put down to somebody who did not make it",
    "same": "the judge raises, or a later block changes what was said for good",
}
"""What a verdict can say falsely; of each a gate looks at every verdict, whatever was lost of the records."""

WEAKER: Final = "weaker"
"""What is said falsely by a verdict on a part of the records that claims what the one on all of them does not."""

_FOUND: Final = ("found", "narrowed", "unknown", "wrong")
"""Outcomes of components whose deeds can be told from something else; the first is as it should be."""


@dataclass
class Score:
    """What one verdict was worth."""

    outcomes: dict[Component, str] = field(default_factory=dict)
    """Component → one of `OUTCOMES`."""
    suspects: list[int] = field(default_factory=list)
    """Sizes of the suspect sets."""
    false: list[tuple[str, str]] = field(default_factory=list)
    """(one of `FALSE`, a sentence); there must be none."""
    ending: tuple[str, str] | None = None
    """True and told ending; None where the true one cannot be known."""
    healthy: bool = False
    invisible: bool = False
    ambiguous: bool = False
    blamed: bool = False
    rates: dict[str, Rate] = field(default_factory=dict)
    """What can be counted within one verdict; what is not there has nothing to be counted.

    `certain` certain findings that are right; `named` suspect sets with a guilty one among them; `counted` components
    found with all records there whose counts are all exact; `exact` findings of a loss or surplus with an exact
    count, whatever was lost of the records; `placed` lost runs with one place only that are told there; `sure` places
    told that hold what was done, of those of which it must be so; `intact` streams in order, with every point and
    record, that are called so.
    """
    unharmed: frozenset[Component] = frozenset()
    """Components around which two points lost nothing, where others did."""
    compared: bool = False
    """Whether the verdict, on a part of the records, was held against that on all of them."""
    integrity: str = ""
    told: int = 0
    """How many events are told to be lost, too many or changed."""
    confused: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(who did it, or nobody; who was named, `narrowed`, or nobody)."""

    @property
    def wrong(self) -> list[str]:
        """All that is said falsely."""
        return [sentence for _, sentence in self.false]

    def say(self, what: str, sentence: str) -> None:
        """Something is said falsely."""
        self.false.append((what, sentence))

    def count(self, figure: str, rate: Rate | bool) -> None:
        """Some more of what can be counted."""
        self.rates[figure] = self.rate(figure) + (Rate.of(rate) if isinstance(rate, bool) else rate)

    def rate(self, figure: str) -> Rate:
        """What was counted so far."""
        return self.rates.get(figure, Rate())

    def figures(self, *, whole: bool) -> dict[str, Rate]:
        """Everything that gates look at. `whole`: all that was recorded is held."""
        false = {what for what, _ in self.false}
        out = self.rates | {what: Rate.of(what not in false) for what in FALSE}
        out["third"] = Rate.of(self.healthy)
        if self.healthy:
            out["healthy"] = Rate.of(not self.blamed)
        if self.compared:
            out[WEAKER] = Rate.of(WEAKER not in false)
        out |= {"found": self._found(self.outcomes)} if whole else {"found_still": self._found(self.unharmed)}
        if whole and self.ending is not None:
            out["ended"] = Rate.of(self.ending[0] == self.ending[1])
        return out

    def _found(self, among: Collection[Component]) -> Rate:
        """Of the deeds of these that can be told from something else, how many are told."""
        found = [self.outcomes[who] == _FOUND[0] for who in among if self.outcomes[who] in _FOUND]
        return Rate(sum(found), len(found))

    def why(self, figure: str) -> str:
        """What a gate that looks at this figure has against it, where there is more to say than that."""
        missed, still = (
            ", ".join(f"{who} {outcome}" for who in among if (outcome := self.outcomes[who]) in _FOUND[1:])
            for among in (self.outcomes, self.unharmed)
        )
        real, told = self.ending or ("", "")
        other = {"found": missed, "found_still": still, "ended": f"really {real}, told {told}"}
        return "; ".join(sentence for what, sentence in self.false if what == figure) or other.get(figure, "")
