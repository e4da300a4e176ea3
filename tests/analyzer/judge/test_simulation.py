"""Random streams of every sort: no innocent is ever accused, and what is called exact is right.

By hand, much larger: `python -m bench.truth`. A failure names its stream and loss, for `--only NAME --loss LOSS`.
"""

from __future__ import annotations

import pytest

from bench.truth.run import applicable, some, verdict_on
from bench.truth.streams import SORTS, of_sort

MANY = {"hop": 500, "path": 200, "attempts": 100}
"""Sort → streams; of every other one `FEW`."""
FEW = 30


@pytest.mark.parametrize("sort", [sort for sort, (_, often) in SORTS.items() if often])
def test_no_innocent_is_accused(sort: str) -> None:
    """With and without lost records, whatever faults, stops and ways of their own the components have."""
    for seed in range(MANY.get(sort, FEW)):
        one = of_sort(sort, seed)
        for loss in applicable(one, some(seed)):
            assert verdict_on(one, loss)[1].wrong == [], f"{one.name}, loss: {loss}"
