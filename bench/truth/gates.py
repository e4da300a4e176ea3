"""All scores of a run together: matrices, rates and the gates that must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Final

from .labels import Trial
from .loss import WHOLE
from .score import Score

EXAMPLES: Final = 10
"""Verdicts that are kept by name, of those that count against a gate."""


@dataclass
class Tally:
    """What a run adds up to; two tallies can be added."""

    streams: int = 0
    verdicts: int = 0
    healthy: Counter[bool] = field(default_factory=Counter)
    """Streams to which nothing was done, by whether somebody was blamed."""
    invisible: int = 0
    ambiguous: int = 0
    matrix: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(loss, component, outcome)."""
    by: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(provider | gateway | client: its name, loss, outcome)."""
    endings: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(loss, true ending, told ending)."""
    certain: Counter[bool] = field(default_factory=Counter)
    """Certain findings by whether they are right."""
    named: Counter[bool] = field(default_factory=Counter)
    """Suspect sets by whether a guilty one is among them."""
    placed: Counter[bool] = field(default_factory=Counter)
    """Lost runs that have one place only, by whether it was told."""
    sure: Counter[bool] = field(default_factory=Counter)
    """Places told without *about*, by whether they hold all that was lost."""
    counted: Counter[bool] = field(default_factory=Counter)
    """Components found with all records there, by whether each count is exact."""
    exact: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """(loss, whether the count of a loss or surplus is exact)."""
    intact: Counter[bool] = field(default_factory=Counter)
    """Streams in order, with every point and record, by whether they are called intact."""
    confused: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(loss, who did it, who was named)."""
    suspects: Counter[tuple[str, int]] = field(default_factory=Counter)
    """(loss, or provider, gateway or client with its name; size of a suspect set)."""
    wrong: Counter[str] = field(default_factory=Counter)
    """Loss → verdicts with anything wrong in them."""
    examples: list[tuple[str, str, str]] = field(default_factory=list)
    """(trial, loss, what is wrong)."""
    against: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Gate → (trial, loss) of verdicts that count against it."""

    def add(self, trial: Trial, loss: str, score: Score) -> None:
        """Count one verdict."""
        self.verdicts += 1
        if score.healthy:
            self.healthy[score.blamed] += 1
        self.invisible += score.invisible and loss == WHOLE[0]
        self.ambiguous += score.ambiguous and loss == WHOLE[0]
        for counter, (good, every) in (
            (self.certain, score.certain),
            (self.named, score.named),
            (self.placed, score.placed),
            (self.sure, score.sure),
            (self.counted, score.counted),
            (self.intact, score.intact),
        ):
            counter[True] += good
            counter[False] += every - good
        self.exact[loss, True] += score.exact[0]
        self.exact[loss, False] += score.exact[1] - score.exact[0]
        self.confused.update({(loss, *pair): count for pair, count in score.confused.items()})
        whom = (f"provider {trial.provider}", f"gateway {trial.gateway}", f"client {trial.client}")
        for component, outcome in score.outcomes.items():
            self.matrix[loss, component, outcome] += 1
            for told in whom:
                self.by[told, loss, outcome] += 1
        if score.ending is not None:
            self.endings[loss, *score.ending] += 1
        self.suspects.update((of, size) for size in score.suspects for of in (loss, *whom))
        self.wrong[loss] += bool(score.wrong)
        if score.wrong and len(self.examples) < EXAMPLES:
            self.examples.append((trial.name, loss, "; ".join(score.wrong)))
        for name in counts_against(score, loss):
            if len(kept := self.against.setdefault(name, [])) < EXAMPLES:
                kept.append((trial.name, loss))

    def join(self, other: Tally) -> None:
        """Add another run's."""
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            if isinstance(mine, Counter):
                mine.update(theirs)
            elif isinstance(mine, int):
                setattr(self, each.name, mine + theirs)
        self.examples = [*self.examples, *other.examples][:EXAMPLES]
        for name, more in other.against.items():
            self.against[name] = [*self.against.get(name, ()), *more][:EXAMPLES]

    def outcomes(self, outcome: str, losses: Iterable[str]) -> int:
        """How many components came out so, at these losses."""
        return sum(self.matrix[key] for key in self.matrix if key[0] in set(losses) and key[2] == outcome)


@dataclass(frozen=True)
class Gate:
    """What must hold: a share of `all`, at least `least`."""

    name: str
    good: int
    all: int
    least: float

    @property
    def holds(self) -> bool:
        """Whether it does; where there is nothing to look at, it does not."""
        return self.all > 0 and self.good >= self.least * self.all

    def document(self) -> dict[str, Any]:
        """In JSON types."""
        return {"gate": self.name, "good": self.good, "of": self.all, "least": self.least, "holds": self.holds}


def gates(tally: Tally) -> list[Gate]:
    """Every gate, in the order in which they matter."""
    return [make(tally) for make in GATES]


def _certain(tally: Tally) -> Gate:
    return Gate("`certain` is right", tally.certain[True], tally.certain.total(), 1.0)


def _blame(tally: Tally) -> Gate:
    return Gate(
        "no innocent is blamed, and nothing is claimed that is not so",
        tally.verdicts - tally.wrong.total(),
        tally.verdicts,
        1.0,
    )


def _found(tally: Tally) -> Gate:
    found = tally.outcomes("found", WHOLE)
    every = found + sum(tally.outcomes(outcome, WHOLE) for outcome in ("narrowed", "unknown", "wrong"))
    return Gate("faults between two recorded points are found", found, every, 0.99)


def _suspected(tally: Tally) -> Gate:
    return Gate("a guilty one is among the suspects", tally.named[True], tally.named.total(), 1.0)


def _healthy(tally: Tally) -> Gate:
    return Gate("healthy streams without a finding", tally.healthy[False], tally.healthy.total(), 1.0)


def _ended(tally: Tally) -> Gate:
    here = {key: count for key, count in tally.endings.items() if key[0] in WHOLE}
    return Gate("endings are right", sum(n for (_, a, b), n in here.items() if a == b), sum(here.values()), 0.995)


def _placed(tally: Tally) -> Gate:
    return Gate("lost runs that have one place only are told there", tally.placed[True], tally.placed.total(), 0.99)


def _counted(tally: Tally) -> Gate:
    return Gate("counts are exact where all records are there", tally.counted[True], tally.counted.total(), 0.99)


def _sure(tally: Tally) -> Gate:
    return Gate("places that are told hold what was done", tally.sure[True], tally.sure.total(), 1.0)


def _intact(tally: Tally) -> Gate:
    return Gate("streams in order are called intact", tally.intact[True], tally.intact.total(), 0.99)


def _third(tally: Tally) -> Gate:
    return Gate("of all streams, to a third nothing was done", tally.healthy.total(), tally.verdicts, 1 / 3)


GATES: Final[tuple[Callable[[Tally], Gate], ...]] = (
    _certain,
    _blame,
    _found,
    _suspected,
    _healthy,
    _ended,
    _counted,
    _placed,
    _sure,
    _intact,
    _third,
)


def _short(figure: tuple[int, int]) -> bool:
    good, every = figure
    return good < every


_AGAINST: Final[dict[Callable[[Tally], Gate], Callable[[Score, bool], bool]]] = {
    _certain: lambda score, _: _short(score.certain),
    _blame: lambda score, _: bool(score.wrong),
    _found: lambda score, whole: whole and bool({"narrowed", "unknown", "wrong"} & {*score.outcomes.values()}),
    _suspected: lambda score, _: _short(score.named),
    _healthy: lambda score, _: score.healthy and score.blamed,
    _ended: lambda score, whole: whole and score.ending is not None and score.ending[0] != score.ending[1],
    _counted: lambda score, _: _short(score.counted),
    _placed: lambda score, _: _short(score.placed),
    _sure: lambda score, _: _short(score.sure),
    _intact: lambda score, _: _short(score.intact),
}
"""Gate → whether one verdict counts against it, by its score and whether all records were there."""
_NAMES: Final = {make: make(Tally()).name for make in GATES}


def counts_against(score: Score, loss: str) -> list[str]:
    """The names of the gates that one verdict counts against."""
    return [_NAMES[make] for make, fails in _AGAINST.items() if fails(score, loss in WHOLE)]
