"""A client's process in every way it can end: each stream that it read leaves exactly one closing block a point."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clientsdk.client.raw_server import BODY, RawServer, cut, event, stream, wait_for_client
from tests.clientsdk.export.receiver import Receiver

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


LOADED = """
import json, os, runpy, sys
import httpx, openai
for line in sys.stdin:
    way, url, environ = json.loads(line)
    if (child := os.fork()) == 0:
        os.environ.update(environ)
        sys.argv = ["exits", way, url]
        runpy.run_module("tests.clientsdk.client.exits", run_name="__main__")
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Forks into a process for each way, which ends as any other does; of ours nothing is loaded before."""

Run = Callable[[str, str, dict[str, str]], int]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run a way in a process of its own; its exit status."""
    command = [sys.executable, "-c", LOADED]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as loaded:
        assert loaded.stdin is not None
        assert loaded.stdout is not None
        asking, answers = loaded.stdin, loaded.stdout

        def ask(way: str, url: str, environ: dict[str, str]) -> int:
            asking.write(json.dumps([way, url, environ]) + "\n")
            asking.flush()
            return int(answers.readline())

        yield ask


@pytest.mark.parametrize("way", WAYS)
def test_each_point_has_one_closing_block(run: Run, way: str) -> None:
    """However the process ends, and whatever its exit status: as often as it read streams, and no end twice."""
    answer, status, ends = WAYS[way]
    with Receiver() as receiver, RawServer(answer) as server:
        ended = run(way, server.url, {"STREAMWITNESS_ENDPOINT": receiver.endpoint, "NO_PROXY": "*"})
    assert ended == status
    found = [block for block in receiver.blocks() if block.final and not block.summary]
    assert Counter(block.end for block in found) == ends
    assert len({block.recorder for block in found}) == len(found)
