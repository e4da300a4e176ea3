"""All sorts of streams that are made without sockets, each by its seed, the same ever after."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from . import (
    applications,
    edges,
    elsewhere,
    ends,
    exchanges,
    failover,
    gateways,
    numbers,
    partial,
    puts_right,
    recutting,
    refusals,
    reporters,
    timed,
    witnesses,
)
from .labels import Trial
from .recorded import numbered, recorded

SORTS: Final[dict[str, tuple[Callable[[Random, str], Trial], int]]] = {
    **partial.SORTS,
    "recorded": (recorded, 3),
    "numbered": (numbered, 1),
    **numbers.SORTS,
    **exchanges.SORTS,
    **applications.SORTS,
    **reporters.SORTS,
    **gateways.SORTS,
    **edges.SORTS,
    **failover.SORTS,
    **recutting.SORTS,
    **puts_right.SORTS,
    **ends.SORTS,
    **refusals.SORTS,
    **elsewhere.SORTS,
    **timed.SORTS,
    **witnesses.SORTS,
}
"""Name → what makes such a stream, and how often beside the others."""


def trial(seed: int) -> Trial:
    """The stream of a seed."""
    weights = [weight for _, weight in SORTS.values()]
    return of_sort(Random(f"truth {seed}").choices([*SORTS], weights)[0], seed)


def of_sort(sort: str, seed: int) -> Trial:
    """The stream `model/<sort>/<seed>`. Raises KeyError where there is no such sort."""
    return SORTS[sort][0](Random(f"truth {sort} {seed}"), f"model/{sort}/{seed}")


def named(name: str) -> Trial:
    """The stream of a seed, or of a name as it is printed. Raises KeyError or ValueError for any other."""
    if name.isdecimal():
        return trial(int(name))
    sort, _, seed = name.removeprefix("model/").rpartition("/")
    return of_sort(sort, int(seed))
