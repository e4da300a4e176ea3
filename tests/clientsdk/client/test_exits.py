"""A client's process in every way it can end: each stream that it read leaves exactly one closing block a point."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.clientsdk.client.raw_server import BODY, RawServer, cut, event, stream, wait_for_client
from tests.clientsdk.export.receiver import WAIT, Receiver

ROOT = Path(__file__).parents[3]

WHOLE = stream(cut(BODY, 40))
UNFINISHED = stream((event("a"),), end=False, then=wait_for_client)

WAYS = {
    "reads_to_the_end": (WHOLE, 0, {"stopped_at_terminal": 2}),
    "never_closes": (WHOLE, 0, {"eof": 1}),
    "reads_twice": (WHOLE, 0, {"eof": 1}),
    "reads_in_threads": (WHOLE, 0, {"stopped_at_terminal": 12}),
    "ends_with_a_stream_open": (UNFINISHED, 0, {"abandoned": 2}),
    "never_asks_for_an_event": (UNFINISHED, 0, {"abandoned": 2}),
    "lets_go_of_a_stream": (UNFINISHED, 0, {"abandoned": 2}),
    "breaks_out_and_closes": (UNFINISHED, 0, {"cancelled": 2}),
    "exits_in_the_loop": (UNFINISHED, 3, {"abandoned": 2}),
    "raises_in_the_loop": (UNFINISHED, 1, {"abandoned": 2}),
    "cancels_a_task": (UNFINISHED, 0, {"cancelled": 2}),
    "closes_a_generator_over_it": (UNFINISHED, 0, {"cancelled": 2}),
    "forks": (UNFINISHED, 0, {"abandoned": 2}),
}
"""Function of exits.py → what the server answers, the exit status, and the ends of the closing blocks."""


@pytest.mark.parametrize("way", WAYS)
def test_each_point_has_one_closing_block(way: str) -> None:
    """However the process ends, and whatever its exit status: as often as it read streams, and no end twice."""
    answer, status, ends = WAYS[way]
    with Receiver() as receiver, RawServer(answer) as server:
        command = [sys.executable, "-m", "tests.clientsdk.client.exits", way, server.url]
        environ = {**os.environ, "STREAMWITNESS_ENDPOINT": receiver.endpoint, "NO_PROXY": "*"}
        done = subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=4 * WAIT, check=False
        )
    assert done.returncode == status, done.stderr
    found = [block for block in receiver.blocks() if block.final and not block.summary]
    assert Counter(block.end for block in found) == ends
    assert len({block.recorder for block in found}) == len(found)
