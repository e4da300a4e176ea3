"""All scores of a run together: matrices, rates and the gates that must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Final

from .labels import Trial
from .loss import LOSSES, WHOLE
from .score import Score
from .scoring.rate import Rate

EXAMPLES: Final = 10
"""Streams that are kept by name, of those that count against a gate."""


@dataclass
class Tally:
    """What a run adds up to; two tallies can be added."""

    streams: int = 0
    verdicts: int = 0
    invisible: int = 0
    ambiguous: int = 0
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(what of a stream over sockets, its name) → streams."""
    matrix: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(loss, component, outcome)."""
    by: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(provider | gateway | client: its name, loss, outcome)."""
    endings: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(loss, true ending, told ending)."""
    counts: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    """(figure of `Score.figures`, loss, whether it was found)."""
    confused: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(loss, who did it, who was named)."""
    suspects: Counter[tuple[str, int]] = field(default_factory=Counter)
    """(loss, or provider, gateway or client with its name; size of a suspect set)."""
    against: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """Gate → stream that counts against it → the first loss with which it does, and why."""

    def add(self, trial: Trial, loss: str, score: Score) -> None:
        """Count one verdict."""
        self.verdicts += 1
        self.invisible += score.invisible and loss == WHOLE[0]
        self.ambiguous += score.ambiguous and loss == WHOLE[0]
        for figure, rate in score.figures(whole=loss in WHOLE).items():
            self.counts[figure, loss, True] += rate.found
            self.counts[figure, loss, False] += rate.missed
        self.confused.update({(loss, *pair): count for pair, count in score.confused.items()})
        whom = (f"provider {trial.provider}", f"gateway {trial.gateway}", f"client {trial.client}")
        for component, outcome in score.outcomes.items():
            self.matrix[loss, component, outcome] += 1
            for told in whom:
                self.by[told, loss, outcome] += 1
        if score.ending is not None:
            self.endings[loss, *score.ending] += 1
        self.suspects.update((of, size) for size in score.suspects for of in (loss, *whom))
        for gate in _falling(score, loss):
            self._keep(gate.name, {trial.name: (loss, score.why(gate.figure))})

    def _keep(self, gate: str, streams: dict[str, tuple[str, str]]) -> None:
        kept = self.against.setdefault(gate, {})
        kept.update([one for one in streams.items() if one[0] not in kept][: EXAMPLES - len(kept)])

    def join(self, other: Tally) -> None:
        """Add another run's."""
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            if isinstance(mine, Counter):
                mine.update(theirs)
            elif isinstance(mine, int):
                setattr(self, each.name, mine + theirs)
        for gate, streams in other.against.items():
            self._keep(gate, streams)

    def outcomes(self, outcome: str, losses: Iterable[str]) -> int:
        """How many components came out so, at these losses."""
        return sum(self.matrix[key] for key in self.matrix if key[0] in set(losses) and key[2] == outcome)

    def rate(self, figure: str, losses: Iterable[str] = tuple(LOSSES)) -> Rate:
        """How much of a figure there is, at these losses."""
        found, missed = (sum(self.counts[figure, loss, is_so] for loss in losses) for is_so in (True, False))
        return Rate(found, found + missed)


@dataclass(frozen=True)
class Gate:
    """What must hold: of a figure of `Score.figures`, over all verdicts, a share of at least `least`."""

    name: str
    figure: str
    least: float
    of_each: bool = True
    """Whether a single verdict can count against it."""

    def holds(self, tally: Tally) -> bool:
        """Whether it does; where there is nothing to look at, it does not."""
        rate = tally.rate(self.figure)
        return rate.all > 0 and rate.found >= self.least * rate.all

    def document(self, tally: Tally) -> dict[str, Any]:
        """In JSON types."""
        rate, holds = tally.rate(self.figure), self.holds(tally)
        return {"gate": self.name, "good": rate.found, "of": rate.all, "least": self.least, "holds": holds}


GATES: Final = (
    Gate("`certain` is right", "certain", 1.0),
    Gate("false blame 0 at every loss rate: no innocent is blamed", "blame", 1.0),
    Gate("distinguishable faults are found where the two points around them have records", "found", 0.99),
    Gate("so they are where of other points records are lost", "found_still", 0.99),
    Gate("suspect sets contain the truth", "named", 1.0),
    Gate("healthy streams are without a finding", "healthy", 1.0),
    Gate("endings are right with full telemetry", "ended", 0.995),
    Gate("endings name no wrong maker, at any loss rate", "maker", 1.0),
    Gate("telemetry loss makes no verdict stronger", "weaker", 0.9999),  # bench/README.md says why not all
    Gate("what is said of the guilty is so: kinds, counts, places", "said", 1.0),
    Gate("no damaged stream is called intact, and no sound one damaged", "called", 1.0),
    Gate("every stream is judged, and blocks that come late change nothing", "same", 1.0),
    Gate("counts are exact where all records are there", "counted", 0.99),
    Gate("lost runs that have one place only are told there", "placed", 0.99),
    Gate("places that are told hold what was done", "sure", 1.0),
    Gate("streams in order are called intact where all records are there", "intact", 0.99),
    Gate("of all streams, to a third nothing was done", "third", 1 / 3, of_each=False),
)
"""Every gate, in the order in which they matter."""


def fallen(tally: Tally) -> list[Gate]:
    """Those that do not hold."""
    return [gate for gate in GATES if not gate.holds(tally)]


def counts_against(score: Score, loss: str) -> list[str]:
    """The names of the gates that one verdict counts against."""
    return [gate.name for gate in _falling(score, loss)]


def _falling(score: Score, loss: str) -> list[Gate]:
    figures = score.figures(whole=loss in WHOLE)
    return [gate for gate in GATES if gate.of_each and gate.figure in figures and figures[gate.figure].missed]
