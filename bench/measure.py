"""What a figure is, and how CPU time is taken: the rounds of all competitors in turn, the best round of each."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured. `events` is about how many events a round has; figures may take a multiple of it."""

    rounds: int
    events: int
    long_stream: int


FULL = Scale(rounds=7, events=4096, long_stream=1_000_000)
QUICK = Scale(rounds=1, events=128, long_stream=50_000)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    With a peer, `ratio` says how many times less ours is, and `target` is what that must reach at least. Without one,
    `target` is what the figure must not exceed. No target: for information. `exact` figures are counted, not timed,
    and come out alike on every machine.
    """

    name: str
    figure: float
    unit: str
    peer: str = ""
    peer_figure: float | None = None
    target: float | None = None
    exact: bool = False

    @property
    def ratio(self) -> float | None:
        """How many times cheaper than the peer."""
        return None if self.peer_figure is None else self.peer_figure / self.figure

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.target is None:
            return None
        return self.figure <= self.target if self.ratio is None else self.ratio >= self.target

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name, "figure": self.figure, "unit": self.unit, "peer": self.peer,
            "peer_figure": self.peer_figure, "ratio": self.ratio, "target": self.target, "met": self.met,
            "exact": self.exact,
        }  # fmt: skip


def cpu(runs: Mapping[str, Callable[[], int]], rounds: int) -> dict[str, float]:
    """CPU µs an event for each run, all threads of the process included.

    Each run gives the number of events that it did. One round of every run comes before the next round of any, so that
    a noisy minute hits all of them; the best round stands, since noise only ever adds.
    """
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            gc.collect()
            start = time.process_time()
            events = run()
            best[name] = min(best[name], (time.process_time() - start) / events * 1e6)
    return best
