"""Each rule of the judge is switched off in turn: a bench that stays green without a rule does not test it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from .gates import gates
from .run import simulated

_JUDGE: Final = "streamwitness_analyzer.judge"


@dataclass(frozen=True)
class Mutation:
    """A rule, the function that is it, and what stands in for that: the wrong thing that the rule prevents."""

    rule: str
    module: str
    name: str
    instead: Callable[..., Any]


def main(count: int, first: int) -> int:
    """Run the bench once for each rule; 0 where every one is missed."""
    survived = []
    for mutation in MUTATIONS:
        fallen = fallen_gates(mutation, count, first)
        print(
            f"{'missed' if fallen else 'NOT MISSED':<10}  {mutation.rule}: {'; '.join(fallen) or 'every gate holds'}",
            flush=True,
        )
        survived += [] if fallen else [mutation.rule]
    if survived:
        print(
            f"{len(survived)} of {len(MUTATIONS)} rules could be taken away, and nothing here would notice",
            file=sys.stderr,
        )
    return 1 if survived else 0


def fallen_gates(mutation: Mutation, count: int, first: int = 0) -> list[str]:
    """The gates that fall without the rule, or that the judge cannot do without it at all."""
    with without(mutation):
        try:
            return [gate.name for gate in gates(simulated(count, first)) if not gate.holds]
        except Exception as error:  # the rule is what keeps it from that
            return [f"the judge raises {type(error).__name__}"]


@contextmanager
def without(mutation: Mutation) -> Iterator[None]:
    """The judge without the rule."""
    module = import_module(f"{_JUDGE}.{mutation.module}")
    kept = getattr(module, mutation.name)
    setattr(module, mutation.name, mutation.instead(kept))
    try:
        yield
    finally:
        setattr(module, mutation.name, kept)


def _never(value: Any) -> Callable[[Any], Callable[..., Any]]:
    """Instead of the rule: always this answer."""

    def instead(_kept: Any) -> Callable[..., Any]:
        def answer(*_: Any, **__: Any) -> Any:
            return value

        return answer

    return instead


def _prefix_only(kept: Any) -> Callable[..., Any]:
    """A window that always reaches to the end."""

    def window(a: Any, b: Any, x: int) -> tuple[int, int]:
        return kept(a, b, x)[0], 0

    return window


def _everybody_before(kept: Any) -> Callable[..., Any]:
    """The point that lacks the event is blamed from the beginning of the path on, whoever saw it last."""

    def suspects(_seen: Any, missing: Any, cleared: Any = frozenset()) -> Any:
        return kept("source", missing, cleared)

    return suspects


def _all_due(kept: Any) -> Callable[..., Any]:
    """Whoever stopped by himself is held to the whole all the same."""

    def ended(record: Any, before: Any) -> bool:
        return record.end is not None or kept(record, before)

    return ended


MUTATIONS: Final = (
    Mutation("7.1 suspects: from the last point that saw it", "attribute", "suspects", _everybody_before),
    Mutation("7.1 accountability: a stop of one's own is no loss", "path", "ended_by_peer", _all_due),
    Mutation("7.1 ownership: a lost block owns what it passed", "named", "_note_lost", _never(None)),
    Mutation("7.1 by name: what was not applied is lost", "named", "_absent", _never(())),
    Mutation("7.1 what a reducer reports as raised is lost", "named", "_told_losses", _never(())),
    Mutation("7.2 rule 1: equal counts and sums are intact", "align", "healthy", _never(False)),
    Mutation(
        "7.2 rule 2: no fault without a proof", "align", "proof_of_difference", lambda _: lambda *_a, **_k: "totals"
    ),
    Mutation("7.2 rule 3: equal beginnings and ends are unchanged", "align", "window", _prefix_only),
    Mutation("7.2 rule 7: no additions where A has not closed", "open_ends", "may_tell_additions", _never(True)),
    Mutation("7.2 rule 6: only what B went past was due", "open_ends", "anchor", lambda _: lambda a, _b: a.n),
    Mutation("7.2 gateway: all listed legs must be held", "upstream", "_not_held", _never("")),
    Mutation("7.2 gateway: only the leg that feeds the answer accuses", "excuses", "related", _never(True)),
    Mutation("7.2 gateway: another attempt may explain it", "upstream", "explained_by", _never(False)),
    Mutation("7.2 gateway: equal content, however it is cut", "recut", "same_slots", _never(False)),
    Mutation("7.2 gateway: content cut otherwise is not lost by pieces", "recut", "_is_recut", _never(False)),
    Mutation("7.2 gateway: a swallowed error", "envelope", "swallowed_error", _never([])),
)
"""Every rule of docs/design.md §7.1 and §7.2 that the model can break."""
