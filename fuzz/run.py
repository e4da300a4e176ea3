"""Batches of inputs: made from a seed and a number, so that any of them can be made again."""

from __future__ import annotations

import os
import time
import traceback
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Final

from streamwitness.framing import FRAMINGS
from streamwitness.providers import PROFILES

from .corpus import ENCODERS, Seed, seeds
from .examine import Input, examine
from .mutate import mutate
from .reducing import REDUCERS

BATCH: Final = 500
"""Inputs of a batch."""
INVARIANT_EVERY: Final = 16
"""One input in so many is also read in pieces."""
SLOW_SECONDS: Final = 2.0
"""CPU time that no input may take: they have 4 KiB at most."""

_all_seeds = cache(seeds)


@dataclass(slots=True)
class Report:
    """What one batch came to."""

    inputs: int = 0
    events: int = 0
    process: int = 0
    resident: int = 0
    """Bytes of memory of the process after it."""
    failures: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Where → (the input, the traceback): the first of each kind."""


def make(random: Random) -> Input:
    """One input: events changed and then framed, or a body changed as it stands; mostly for the seed's own profile."""
    seed: Seed = random.choice(_all_seeds())
    profile = seed.profile if random.random() < 0.8 and seed.events else random.choice(tuple(PROFILES))
    framing = seed.framing or random.choice(tuple(FRAMINGS))
    return Input(framing, profile, random.choice(tuple(REDUCERS)), _body(random, seed, framing))


def _body(random: Random, seed: Seed, framing: str) -> bytes:
    if not seed.events:
        return mutate(random, seed.body)
    if random.random() < 0.5:
        events = list(seed.events)
        at = random.randrange(len(events))
        name, data = events[at]
        events[at] = (mutate(random, name) if random.random() < 0.1 else name, mutate(random, data))
        return ENCODERS[framing](events)
    return mutate(random, ENCODERS[framing](seed.events))


def batch(task: tuple[str, int, int]) -> Report:
    """Seed, number and size of a batch → what it came to."""
    seed, number, size = task
    random = Random(f"{seed}/{number}")
    report = Report(process=os.getpid())
    for index in range(size):
        given = make(random)
        cuts = [random.randrange(400) for _ in range(4)] if index % INVARIANT_EVERY == 0 else None
        start = time.process_time()
        try:
            report.events += examine(given, cuts=cuts)
        except Exception as error:
            _failed(report, given, error)
        if time.process_time() - start > SLOW_SECONDS:
            report.failures.setdefault("slow", (str(given), f"took more than {SLOW_SECONDS:g} s"))
        report.inputs += 1
    report.resident = resident()
    return report


def _failed(report: Report, given: Input, error: Exception) -> None:
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{type(error).__name__} at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"
    report.failures.setdefault(f"{place} {error}"[:120], (str(given), "".join(traceback.format_exception(error))))


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
