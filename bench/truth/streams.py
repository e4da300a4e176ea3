"""All sorts of streams that are made without sockets, each by its seed, the same ever after."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from . import exchanges, partial
from .labels import Trial
from .recorded import recorded

SORTS: Final[dict[str, tuple[Callable[[Random, str], Trial], int]]] = {
    **partial.SORTS,
    "recorded": (recorded, 3),
    **exchanges.SORTS,
}
"""Name → what makes such a stream, and how often beside the others."""


def trial(seed: int) -> Trial:
    """The stream of a seed."""
    rng = Random(f"truth {seed}")
    name = rng.choices([*SORTS], [weight for _, weight in SORTS.values()])[0]
    return SORTS[name][0](rng, f"model/{name}/{seed}")
