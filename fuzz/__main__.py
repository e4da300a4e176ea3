"""`python -m fuzz`: ten million mutated inputs, or as many as the time allows; where one fails it is shown, exit 1."""

from __future__ import annotations

import argparse
import base64
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Final

from .examine import Input, examine
from .run import BATCH, Report, batch

GROWTH: Final = 48 << 20
"""Bytes that a process may grow by once it is warm."""
WARM_BATCHES: Final = 20


@dataclass(slots=True)
class Total:
    """All batches so far."""

    inputs: int = 0
    events: int = 0
    failures: dict[str, tuple[str, str]] = field(default_factory=dict)
    _batches: dict[int, int] = field(default_factory=dict)
    _warm: dict[int, int] = field(default_factory=dict)
    growth: int = 0
    """The most that a warm process grew by, in bytes."""

    def add(self, report: Report) -> None:
        """Take in one batch."""
        self.inputs += report.inputs
        self.events += report.events
        for place, failure in report.failures.items():
            self.failures.setdefault(place, failure)
        process = report.process
        self._batches[process] = self._batches.get(process, 0) + 1
        if self._batches[process] == WARM_BATCHES:
            self._warm[process] = report.resident
        self.growth = max(self.growth, report.resident - self._warm.get(process, report.resident))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run or replay; 0 where everything held."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000_000, help="inputs at most (default: ten million)")
    parser.add_argument("--seconds", type=float, default=1200, help="time at most (default: 1200)")
    parser.add_argument(
        "--seed", default=str(random.randrange(1 << 32)), help="of the generator; default: a random one"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one a core")
    parser.add_argument(
        "--replay", nargs=4, metavar=("FRAMING", "PROFILE", "REDUCER", "BASE64"), help="read this input, in all ways"
    )
    options = parser.parse_args(arguments)
    if options.replay:
        return replay(*options.replay)
    print(f"seed {options.seed}, {options.processes} processes", flush=True)
    start = time.monotonic()
    total = run(options.seed, options.count, options.seconds, options.processes)
    return told(total, time.monotonic() - start)


def replay(framing: str, profile: str, reducer: str, body: str) -> int:
    """Read one input with every cut in two; raises what it raises."""
    given = Input(framing, profile, reducer, base64.b64decode(body))
    events = 0
    for place in range(len(given.body) + 1):
        events = examine(given, cuts=[place])
    print(f"{len(given.body)} bytes, {events} events: everything holds")
    return 0


def run(seed: str, count: int, seconds: float, processes: int) -> Total:
    """Batches until there were `count` inputs or the time is over."""
    total = Total()
    end = time.monotonic() + seconds
    shown = time.monotonic()
    with get_context("spawn").Pool(processes) as pool:
        for report in pool.imap_unordered(batch, _tasks(seed, count)):
            total.add(report)
            if time.monotonic() > end:
                break
            if time.monotonic() - shown > 10:
                shown = time.monotonic()
                print(f"{total.inputs:,} inputs, {len(total.failures)} kinds of failure", flush=True)
    return total


def _tasks(seed: str, count: int) -> Iterator[tuple[str, int, int]]:
    for number in range(-(-count // BATCH)):
        yield seed, number, min(BATCH, count - number * BATCH)


def told(total: Total, seconds: float) -> int:
    """Print the outcome; returns the exit code."""
    rate = total.inputs / seconds if seconds else 0.0
    print(f"{total.inputs:,} inputs, {total.events:,} events in {seconds:.0f} s: {rate:,.0f} inputs/s")
    print(f"memory of a warm process grew by {total.growth / (1 << 20):.1f} MiB at most")
    for place, (given, trace) in total.failures.items():
        print(f"\n{place}\n{trace}\n  python -m fuzz --replay {given}", file=sys.stderr)
    if total.growth > GROWTH:
        print(f"\nmemory is not flat: more than {GROWTH >> 20} MiB", file=sys.stderr)
    return 1 if total.failures or total.growth > GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
