"""Streams are judged with and without telemetry loss, and scored: in this process, or in several."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil
from random import Random
from typing import Any, Final, TypeVar

from streamwitness.blocks import Block
from streamwitness.semconv import Point
from streamwitness_analyzer.judge import judge

from .gates import Tally
from .labels import Trial
from .loss import LATE, LOSSES, WHOLE, called, with_summaries
from .score import Score, compared, score
from .sockets.coverage import counted
from .sockets.run import run
from .sockets.scenario import Scenario
from .streams import trial

T = TypeVar("T")
Judge = Callable[[Sequence[Block]], dict[str, Any]]
_CHUNK: Final = 200
"""Streams at most that a process takes at a time; a result is a few counters, however many there are."""
_TURNS: Final = 8
"""How often at least each process takes some, so that none of them waits long for the last one."""


def settled(blocks: Sequence[Block]) -> dict[str, Any]:
    """The verdict when nothing more is waited for."""
    return judge(blocks, settled=True)


def thinned(one: Trial, loss: str) -> list[Block]:
    """The blocks of a stream that arrive, the same for the same stream and loss."""
    return called(loss)(Random(f"{one.name} {loss}"), with_summaries(one.blocks))


@dataclass(frozen=True)
class Judged:
    """A stream as a judge sees it under one loss after another."""

    trial: Trial
    judge_it: Judge = settled

    @cached_property
    def whole(self) -> dict[str, Any]:
        """The verdict on all that was recorded."""
        return self.judge_it(thinned(self.trial, WHOLE[0]))

    def under(self, loss: str) -> tuple[dict[str, Any], Score]:
        """The verdict under a loss, and what it is worth."""
        if loss == WHOLE[0]:
            return self.whole, score(self.trial, self.whole, whole=True)
        blocks, whole = thinned(self.trial, loss), loss in WHOLE
        verdict = self.judge_it(blocks)
        worth = score(self.trial, verdict, whole=whole, unharmed=unharmed(self.trial.blocks, blocks))
        if not whole and self.trial.honest:
            compared(self.trial, verdict, self.whole, worth)
        if loss == LATE:
            self._corrected(blocks, worth)
        return verdict, worth

    def _corrected(self, came: Sequence[Block], worth: Score) -> None:
        """Of blocks that come past the settlement: what was said before must hold, and what is said then be the same.

        A provisional verdict never says that a stream is intact, nor what rests on silence.
        """
        provisional = judge(came, settled=False)
        first = score(self.trial, provisional, whole=False)
        compared(self.trial, provisional, self.whole, first)
        for what, sentence in [false for false in first.false if false not in worth.false]:
            worth.say(what, f"provisional: {sentence}")
        if provisional["integrity"] == "intact" or provisional["ending"]["class"] in _SILENCE:
            worth.say("same", f"provisional: {provisional['integrity']}, {provisional['ending']['class']}")
        if self.judge_it([*came, *with_summaries(self.trial.blocks)]) != self.whole:
            worth.say("same", "another verdict because blocks came late")


def verdict_on(one: Trial, loss: str, judge_it: Judge = settled) -> tuple[dict[str, Any], Score]:
    """The verdict on a stream under a loss, and what it is worth."""
    return Judged(one, judge_it).under(loss)


_SILENCE: Final = ("client_gone", "client_vanished", "unwitnessed")
"""Endings that rest on somebody's silence."""


def tally(trials: Iterable[Trial], losses: Callable[[int], Sequence[str]], judge_it: Judge = settled) -> Tally:
    """Judge every stream under the losses that its number asks for."""
    out = Tally()
    for number, one in enumerate(trials):
        out.streams += 1
        judged = Judged(one, judge_it)
        for loss in applicable(one, losses(number)):
            out.add(one, loss, _score(judged, loss))
    return out


def applicable(one: Trial, losses: Sequence[str]) -> Sequence[str]:
    """Those that a stream is judged under."""
    return losses if one.honest else [loss for loss in losses if loss in WHOLE]


def _score(judged: Judged, loss: str) -> Score:
    """What the verdict is worth; a judge that raises has given a wrong one, and the run goes on."""
    try:
        return judged.under(loss)[1]
    except Exception as error:
        return Score(false=[("same", f"the judge raises {type(error).__name__}: {error}")])


def unharmed(recorded: Sequence[Block], came: Sequence[Block]) -> frozenset[Point]:
    """The points of which all came that was recorded, as it was."""
    held = set(map(id, came))
    points = {block.point for block in recorded}
    return frozenset(points - {block.point for block in recorded if id(block) not in held})


def some(number: int) -> Sequence[str]:
    """Without loss, and with two sorts of it in turn: for streams of which there are very many."""
    lossy = [name for name in LOSSES if name != WHOLE[0]]
    return (WHOLE[0], lossy[number % len(lossy)], lossy[(number // 3 + 4) % len(lossy)])


def every(_number: int) -> Sequence[str]:
    """All sorts of loss: for streams that were dear to make."""
    return tuple(LOSSES)


def simulated(count: int, first: int = 0, workers: int = 1) -> Tally:
    """So many streams of the model, from a seed on."""
    size = _at_a_time(count, workers)
    chunks = [(at, min(count + first, at + size)) for at in range(first, first + count, size)]
    out = Tally()
    for part in _mapped(_chunk, chunks, workers):
        out.join(part)
    return out


def over_sockets(scenarios: Sequence[Scenario], workers: int = 1) -> Tally:
    """These streams over real sockets, each run once and judged under every sort of loss."""
    size = _at_a_time(len(scenarios), workers)
    out = Tally(tried=counted(scenarios))
    chunks = [scenarios[at : at + size] for at in range(0, len(scenarios), size)]
    for part in _mapped(_connected, chunks, workers):
        out.join(part)
    return out


def _connected(scenarios: Sequence[Scenario]) -> Tally:
    return tally(run(scenarios), every)


def _chunk(seeds: tuple[int, int]) -> Tally:
    return tally(map(trial, range(*seeds)), partial(_numbered, seeds[0]))


def _numbered(first: int, number: int) -> Sequence[str]:
    return some(first + number)


def _at_a_time(count: int, workers: int) -> int:
    """How many of so many streams a process takes at a time."""
    return max(1, min(_CHUNK, ceil(count / (workers * _TURNS)))) if workers > 1 else _CHUNK


def _mapped(work: Callable[[T], Tally], chunks: Sequence[T], workers: int) -> Iterator[Tally]:
    if workers < 2:
        yield from map(work, chunks)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap(work, chunks)  # in order, so that a run prints the same ever again
