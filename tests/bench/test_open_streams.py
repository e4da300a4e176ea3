"""The bench of open streams, at a size that takes no time."""

from __future__ import annotations

import pytest

from bench import open_streams
from bench.measure import QUICK


def test_open_streams_are_taken_up_and_settled(tmp_path):
    """Every stream is open until its closing blocks come; then each of those taken up is settled."""
    told = open_streams.measure(60, str(tmp_path / "open.db"))
    assert (told["open"], told["settled"]) == (60, 60)
    assert told["resident"] > 0


@pytest.mark.slow
def test_its_figures_come_from_a_process_of_its_own():
    """Of a quick run: nothing is missed but what time decides."""
    found = open_streams.figures(QUICK)
    assert [figure.name for figure in found if figure.met is False] == []
    assert found[0].unit == "MiB"
