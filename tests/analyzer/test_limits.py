"""Known limits, and what is near enough to one to be called by its name."""

from __future__ import annotations

import pytest

from streamwitness_analyzer.limits import KNOWN, MEASURES, Measure, near


def test_the_table_is_in_order() -> None:
    """Each limit is a range of a known measure, with a name that completes a sentence, and says where it is written."""
    for limit in KNOWN:
        assert limit.measure in MEASURES
        assert 0 < limit.low <= limit.high
        assert not limit.name.endswith(".")
        assert limit.sources
        assert all(source.startswith("https://") and " " not in source for source in limit.sources)


@pytest.mark.parametrize(
    ("measure", "value", "word"),
    [
        ("time", 60_050, "Cloud Functions"),
        ("silence", 60_050, "nginx"),
        ("silence", 100_400, "Cloudflare"),
        ("silence", 120_900, "Cloudflare"),
        ("silence", 300_100, "undici"),
        ("bytes", 131_072, "aiohttp"),
        ("bytes", 65_535, "HTTP/2"),
    ],
)
def test_near_a_known_limit(measure: Measure, value: float, word: str) -> None:
    """What ends at a timer is seen a little later."""
    limit = near(measure, value)
    assert limit is not None
    assert word in limit.name


@pytest.mark.parametrize(
    ("measure", "value"), [("time", 58_000), ("time", 75_000), ("silence", 126_000), ("bytes", 60_000), ("bytes", 600)]
)
def test_far_from_every_known_limit(measure: Measure, value: float) -> None:
    """A limit without a name is a limit all the same."""
    assert near(measure, value) is None
