"""Known limits, and what is near enough to one to be called by its name."""

from __future__ import annotations

import pytest

from streamwitness_analyzer.limits import KNOWN, MEASURES, Measure, named


def test_the_table_is_in_order() -> None:
    """Each limit is a range of a known measure, with a name that completes a sentence."""
    for limit in KNOWN:
        assert limit.measure in MEASURES
        assert 0 < limit.low <= limit.high
        assert not limit.name.endswith(".")


@pytest.mark.parametrize(
    ("measure", "value", "word"),
    [
        ("time", 60_050, "reverse proxies"),
        ("silence", 60_050, "between two reads"),
        ("time", 100_400, "CDNs"),
        ("time", 125_000, "CDNs"),
        ("silence", 300_100, "undici"),
        ("bytes", 131_072, "aiohttp"),
        ("bytes", 65_535, "HTTP/2"),
    ],
)
def test_near_a_known_limit(measure: Measure, value: float, word: str) -> None:
    """What ends at a timer is seen a little later."""
    assert word in str(named(measure, value))


@pytest.mark.parametrize(("measure", "value"), [("time", 58_000), ("time", 75_000), ("bytes", 60_000), ("bytes", 600)])
def test_far_from_every_known_limit(measure: Measure, value: float) -> None:
    """A limit without a name is a limit all the same."""
    assert named(measure, value) is None
