"""Under the ASGI servers in use, in processes of their own: each answer has one closing block, also at SIGTERM."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from streamwitness.blocks import Block
from tests.clientsdk.export.receiver import Receiver
from tests.clientsdk.gateway.app import ANSWER
from tests.clientsdk.gateway.serving import PATH, leave_after, until

ROOT = Path(__file__).parents[3]
APP = "tests.clientsdk.gateway.app:app"

UVICORN_WORKER = "tests.clientsdk.gateway.app.UvicornWorker"
SHUTDOWN = {"shutdown": 2}

SERVERS = {
    "uvicorn": (["uvicorn", APP, "--port", "{port}", "--timeout-graceful-shutdown", "1"], SHUTDOWN),
    "hypercorn": (["hypercorn", APP, "--bind", "127.0.0.1:{port}", "--graceful-timeout", "1"], SHUTDOWN),
    "granian": (
        ["granian", APP, "--interface", "asgi", "--port", "{port}", "--workers-kill-timeout", "1"],
        {},  # it waits for open answers, and after that kills its workers: nobody can say how those ended
    ),
    "gunicorn": (["gunicorn", APP, "--bind", "127.0.0.1:{port}", "-w", "2", "-k", UVICORN_WORKER], SHUTDOWN),
    "gunicorn, app loaded before the fork": (
        ["gunicorn", APP, "--bind", "127.0.0.1:{port}", "-w", "2", "-k", UVICORN_WORKER, "--preload"],
        SHUTDOWN,
    ),
}
"""Command, and what becomes of two answers that are open when the server is told to stop."""


@contextlib.contextmanager
def served(arguments: list[str], endpoint: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The server on a free port, listening; killed at the end if it is still there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", *(argument.format(port=port) for argument in arguments)]
    environment = {**os.environ, "STREAMWITNESS_ENDPOINT": endpoint, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        until(lambda: process.poll() is not None or _listens(port))
        assert process.poll() is None
        yield port, process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def held_open(url: str, began: threading.Semaphore) -> None:
    """A client that reads until the server lets go of it."""
    with (
        contextlib.suppress(httpx.TransportError),
        httpx.Client(timeout=None, trust_env=False) as client,
        client.stream("POST", url, params={"open": ""}) as response,
    ):
        seen = b""
        for piece in response.iter_raw():
            seen += piece
            if seen == ANSWER[0] + ANSWER[1]:
                began.release()


def closings(blocks: list[Block]) -> list[Block]:
    """The closing blocks at egress, their repeated summaries left out."""
    return [block for block in blocks if block.point == "egress" and block.final and not block.summary]


@pytest.mark.parametrize(("arguments", "at_stop"), SERVERS.values(), ids=SERVERS)
def test_every_answer_has_one_closing_block(arguments: list[str], at_stop: dict[str, int]) -> None:
    """Six whole answers, one whose client leaves, two that are open when the server is told to stop: each once."""
    with Receiver() as receiver:
        with served(arguments, receiver.endpoint) as (port, process):
            url = f"http://127.0.0.1:{port}{PATH}"
            for _ in range(6):  # each on a connection of its own, so that every worker has some
                assert httpx.post(url, trust_env=False).content == b"".join(ANSWER)
            leave_after(port, b"word 1 ", reset=True, query="?open")
            receiver.wait(lambda: "disconnected" in {block.end for block in closings(receiver.blocks())})
            began = threading.Semaphore(0)
            readers = [threading.Thread(target=held_open, args=(url, began)) for _ in range(2)]
            for reader in readers:
                reader.start()
            for _ in readers:
                assert began.acquire(timeout=30)
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            for reader in readers:
                reader.join()
        found = closings(receiver.blocks())
    assert Counter(block.end for block in found) == {"eof": 6, "disconnected": 1, **at_stop}
    assert len({block.recorder for block in found}) == len(found)
    assert {block.totals["events"] for block in found} == {len(ANSWER), 2}
