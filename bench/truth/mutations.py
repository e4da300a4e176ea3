"""Each rule of the judge is switched off in turn: a bench that does not notice does not test it.

`rules.py` has the rules and what stands in for each. A stream shows that a rule is missed where the judge without it
says something wrong of it (then a gate of the bench falls), or less than with it (then a figure of it gets smaller).
Streams are tried one by one, until one shows it; which gate or figure it was is printed.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import islice
from typing import Any, Final

from .gates import counts_against
from .instead import Mutation
from .labels import Trial
from .rules import mutations
from .run import applicable, some, verdict_on
from .score import Score
from .streams import SORTS, named

_JUDGE: Final = "streamwitness_analyzer"
_GATE: Final = "a gate falls"
_FIGURE: Final = "a figure gets smaller"
_RANKS: Final = ("unknowable", "unknown", "suspected", "narrowed", "cleared", "found")
"""What became of a component, the worse first."""


def main(count: int, first: int = 0, workers: int = 1, only: str = "") -> int:
    """Try every rule with `only` in its name on so many streams at most; 0 where each is missed when it is off.

    Raises SystemExit where no rule is called so.
    """
    every = chosen(only)
    begun, caught, by_gate, survived = time.monotonic(), 0, 0, []
    for number, told in enumerate(_tries(every, count, first, workers), start=1):
        caught, by_gate = caught + bool(told.shown), by_gate + (_GATE in told.shown)
        survived += [] if told.shown else [told.rule]
        print(f"{number:>{len(str(len(every)))}}/{len(every)}  {told.line()}", flush=True)
    minutes = (time.monotonic() - begun) / 60
    print(
        f"{caught} of {len(every)} caught in {minutes:.1f} minutes: {by_gate} by a gate that falls, "
        f"{caught - by_gate} by a smaller figure"
    )
    if survived:
        text = f"{len(survived)} of {len(every)} rules could be taken away, and nothing here would notice:"
        print("\n  ".join((text, *survived)), file=sys.stderr)
    return 1 if survived else 0


def chosen(only: str = "") -> tuple[Mutation, ...]:
    """The rules in whose names this occurs. Raises SystemExit where there is none."""
    found = tuple(mutation for mutation in mutations() if only.lower() in mutation.rule.lower())
    if not found:
        raise SystemExit(f"no rule is called {only!r}; their names stand in bench/truth/rules.py")
    return found


@dataclass(frozen=True)
class Tried:
    """What became of one rule: `shown` is where it is missed first, and by what; "" where nothing shows it."""

    rule: str
    shown: str
    verdicts: int
    """How many were given without it."""
    others: int
    """How many of them read otherwise than with it."""

    def line(self) -> str:
        """As it is printed."""
        if self.shown:
            return f"caught      {self.rule}: {self.shown}"
        read = f"{self.others} of {self.verdicts} verdicts read otherwise" if self.others else (
            f"none of {self.verdicts} verdicts reads otherwise")  # fmt: skip
        return f"NOT CAUGHT  {self.rule}: {read}, and none is wrong or says less"


def _tries(every: Sequence[Mutation], count: int, first: int, workers: int) -> Iterator[Tried]:
    jobs = [(mutation.rule, count, first) for mutation in every]
    if workers < 2:
        yield from map(_job, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap(_job, jobs)


def _job(job: tuple[str, int, int]) -> Tried:
    rule, count, first = job
    return tried(next(mutation for mutation in mutations() if mutation.rule == rule), count, first)


def missed_at(mutation: Mutation, count: int, first: int = 0) -> str:
    """The first stream that shows that the rule is missed, and by what; "" where none does."""
    return tried(mutation, count, first).shown


def tried(mutation: Mutation, count: int, first: int = 0) -> Tried:
    """Judge streams without the rule until one shows that it is missed.

    The streams are those of the mutation's sorts in turn, from a seed on, so many of them at most.
    """
    verdicts = others = 0
    for one, losses in _streams(mutation, count, first):
        for loss in applicable(one, losses):
            with_it = _judged_with_it(one.name, loss)
            with without(mutation):
                now = _judged(one, loss)
            verdicts, others = verdicts + 1, others + (now.verdict != with_it.verdict)
            if worse := less_worth(with_it.score, now.score, loss):
                return Tried(mutation.rule, f"{one.name}, loss: {loss}: {worse}", verdicts, others)
    return Tried(mutation.rule, "", verdicts, others)


def less_worth(before: Score, now: Score, loss: str) -> str:
    """The gate that falls now and did not before, or else the figure that is smaller; and by what."""
    fallen, red = counts_against(now, loss), counts_against(before, loss)
    wrong = _more_wrong(before, now)
    if wrong and fallen:
        new = [gate for gate in fallen if gate not in red] or fallen
        return f"{_GATE} ({new[0]}{f', and {len(new) - 1} more' if len(new) > 1 else ''}): {wrong}"
    less = wrong or _less_known(before, now)
    return f"{_FIGURE}: {less}" if less else ""


def _more_wrong(before: Score, now: Score) -> str:
    """What is wrong now and was not before."""
    if more := [wrong for wrong in now.wrong if wrong not in before.wrong]:
        return more[0]
    if before.healthy and now.blamed and not before.blamed:
        return "a healthy stream with a finding"
    if now.ending is not None and _right(before) and not _right(now):
        return f"ended {now.ending[0]}, told {now.ending[1]}"
    if now.rate("sure").missed > before.rate("sure").missed:
        return "a place told surely leaves out the one where it was done"
    return ""


def _less_known(before: Score, now: Score) -> str:
    """What a figure of the bench falls by."""
    for component, outcome in before.outcomes.items():
        if outcome in _RANKS and _rank(now.outcomes.get(component, "")) < _rank(outcome):
            return f"{component} {outcome} and now {now.outcomes.get(component)}"
    if before.integrity == "intact" != now.integrity:
        return "not intact any more"
    if now.told < before.told:
        return f"{now.told} of {before.told} events told"
    if before.rate("named").found and not now.rate("named").found:
        return "no guilty one is named any more"
    fewer = [what for what in ("placed", "counted", "exact") if now.rate(what).found < before.rate(what).found]
    return fewer[0] if fewer else ""


def _rank(outcome: str) -> int:
    return _RANKS.index(outcome) if outcome in _RANKS else len(_RANKS)


def _right(score: Score) -> bool:
    return score.ending is not None and score.ending[0] == score.ending[1]


@dataclass(frozen=True)
class _Judged:
    score: Score
    verdict: str
    """What it says, in short."""


def _judged(one: Trial, loss: str) -> _Judged:
    """A judge that cannot do without the rule raises, which is wrong of it."""
    try:
        verdict, score = verdict_on(one, loss)
    except Exception as error:
        return _Judged(Score(false=[("same", f"the judge raises {type(error).__name__}")]), "")
    return _Judged(score, sha256(json.dumps(verdict, sort_keys=True).encode()).hexdigest())


@cache
def _judged_with_it(name: str, loss: str) -> _Judged:
    return _judged(_stream(name), loss)


@cache
def _stream(name: str) -> Trial:
    return named(name)


def _streams(mutation: Mutation, count: int, first: int) -> Iterator[tuple[Trial, Sequence[str]]]:
    """The streams to try, and with which losses."""
    sorts = mutation.sorts or tuple(SORTS)
    names = (f"model/{sort}/{seed}" for seed in range(first, first + count) for sort in sorts)
    for number, name in enumerate(islice(names, count)):
        yield _stream(name), mutation.losses or some(number)


# --------------------------------------------------------------------------- without a rule


@contextmanager
def without(mutation: Mutation) -> Iterator[None]:
    """The judge without the rule. Raises AttributeError where it has no such rule any more."""
    with ExitStack() as undo:
        for path, instead in mutation.instead.items():
            undo.enter_context(_replaced(path, instead))
        yield


@contextmanager
def _replaced(path: str, instead: Any) -> Iterator[None]:
    """`module.name` or `module.Class.name` of the judge as `instead` makes it of what it was, wherever it is used."""
    module, _, name = path.partition(".")
    owner: Any = _module(module)
    *within, last = name.split(".")
    for part in within:
        owner = getattr(owner, part)
    kept = owner.__dict__[last] if last in owner.__dict__ else getattr(owner, last)
    owners = [owner] if within else [m for m in _modules() if m.__dict__.get(last) is kept]
    made = instead(kept)
    for each in owners:
        setattr(each, last, made)
    try:
        yield
    finally:
        for each in owners:
            setattr(each, last, kept)


def _module(name: str) -> Any:
    """The file of the judge that is called so, in whichever of its rooms."""
    place = _JUDGE + ".judge."
    found = [m for full, m in sys.modules.items() if full.startswith(place) and full.rpartition(".")[2] == name]
    if len(found) != 1:
        raise AttributeError(f"the judge has {len(found)} files called {name}.py")
    return found[0]


def _modules() -> list[Any]:
    return [module for name, module in sys.modules.items() if name.startswith(_JUDGE)]
