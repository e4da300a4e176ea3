"""Scenarios with processes of their own: a client that forks in the midst, a gateway that is killed."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from bench.truth.labels import Deed
from streamwitness import runtime

from . import elsewhere
from .http1 import until
from .scenario import Notebook

FORKS: Final = ("child", "parent", "cleaning")
"""Who goes on where a client forks: the child alone, the parent alone, the parent while the child leaves in order."""


async def _start(what: str, path: Path, *arguments: str) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", elsewhere.__name__, what, str(path), *arguments)
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


async def _line(process: asyncio.subprocess.Process) -> str:
    return (await process.stdout.readline()).decode().strip() if process.stdout is not None else ""


def _hand_in(path: Path) -> None:
    sink = runtime.current().sink
    for block in elsewhere.blocks_in(str(path)):
        sink.put(block)


async def read_forking(origin: str, notes: Notebook) -> None:
    """Have a client read that forks in the midst."""
    who = notes.scenario.process
    if who == "child":  # for all that anybody records, the client has stopped
        notes.stopped.update(("transport", "gateway"))
        notes.ends.add("client.fork")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blocks"
        process = await _start("client", path, origin, notes.key, notes.scenario.out, who)
        notes.stream = await _line(process)
        await process.wait()
        _hand_in(path)


async def with_killed_gateway(origin: str, notes: Notebook, reading: Callable[[], Awaitable[None]]) -> None:
    """Read from a gateway that is killed while the provider has more to say. `origin` is the provider's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blocks"
        process = await _start("gateway", path, origin, notes.key, notes.scenario.provider, notes.scenario.gateway)
        notes.port = int(await _line(process))
        killing = asyncio.create_task(_kill(process, path, notes))
        await reading()
        await killing
        _hand_in(path)


async def _kill(process: asyncio.subprocess.Process, path: Path, notes: Notebook) -> None:
    """Kill it, once something of what it recorded has been exported."""
    await until(lambda: notes.taken >= _TAKEN and any(b.point == "egress" for b in elsewhere.blocks_in(str(path))))
    notes.did(Deed("gateway", "cut", (notes.taken,)))
    notes.ends.add("gateway.killed")
    process.send_signal(signal.SIGKILL)
    await process.wait()
    notes.left.set()


_TAKEN: Final = 4
"""Events that the client has taken before the gateway dies."""
