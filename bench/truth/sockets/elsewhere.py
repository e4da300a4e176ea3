"""Processes of their own: a client that forks, and a gateway that is to be killed. `python -m … client|gateway FILE …`

What they record they write to a file, block by block as it is put, so that what a killed one had exported is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import uvicorn

from streamwitness import applied, instrument, runtime, stream_id, watch
from streamwitness.blocks import Block
from streamwitness.recorder import Recorder

from .acts import DONE
from .bodies import FRAMING, PATHS, Splitter
from .gateways import Gateway, Witnessed
from .http1 import until
from .parsers import DELIVERS
from .scenario import Notebook, Scenario

_TICK_SECONDS: Final = 0.02
_BLOCK_NS: Final = 10_000_000_000
"""So much older than it is a block is taken for, so that it is sent."""
_BEFORE: Final = 3
"""Events that a client reads before it forks."""


class FileSink:
    """Writes each block to a file, and has recorders give what they have every few moments, as an exporter does."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("ab")  # noqa: SIM115, as long as the process lives
        self._lock = threading.Lock()
        self._open: list[Recorder] = []
        threading.Thread(target=self._tick, daemon=True).start()

    def put(self, block: Block) -> None:
        """Keep a block."""
        with self._lock:
            pickle.dump(block, self._file)
            self._file.flush()

    def track(self, recorder: Recorder) -> None:
        """A recorder that is open."""
        self._open.append(recorder)

    def flush(self, timeout: float = 0.0) -> bool:
        """Nothing waits."""
        return True

    def shutdown(self, timeout: float = 0.0) -> bool:
        """Nothing waits."""
        return True

    def _tick(self) -> None:
        while True:
            time.sleep(_TICK_SECONDS)
            for recorder in list(self._open):
                recorder.tick(time.monotonic_ns() + _BLOCK_NS)


def blocks_in(path: str) -> Iterator[Block]:
    """The blocks of a file; of one that was being written only those that are whole."""
    with Path(path).open("rb") as file:
        while True:
            try:
                block: Block = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return
            yield block


def client(origin: str, key: str, provider: str, who: str) -> None:
    """Read an answer; after a few events fork, and go on as `child`, `parent`, or `parent` whose child cleans up."""
    http = instrument(httpx.Client(timeout=30))
    forked = -1
    with http.stream("POST", f"{origin}/{key}{PATHS[provider]}", json={"stream": True}) as response:
        print(stream_id(response), flush=True)
        body = watch(_decoded(provider, response.iter_bytes()), response=response, delivers=DELIVERS)
        with applied(response) as answer:
            for number, event in enumerate(body):
                with answer.event(event):
                    pass
                if number == _BEFORE:
                    forked = os.fork()
                    if not forked and who == "parent":
                        os._exit(0)
                    if (who == "child" and forked) or (who == "cleaning" and not forked):
                        break
    if not forked:
        os._exit(0)
    os.waitpid(forked, 0)


def _decoded(provider: str, pieces: Iterable[bytes]) -> Iterator[Any]:
    splitter = Splitter(FRAMING[provider])
    for piece in pieces:
        for event in splitter.feed(piece):
            if not event.comment:
                yield event.data if event.data == DONE else json.loads(event.data)


def gateway(origin: str, key: str, provider: str, gateway_: str) -> None:
    """Answer requests until somebody kills this process; says its port."""
    notebooks = {key: Notebook(key, Scenario(provider, "long:60", gateway_))}
    asyncio.run(_serve(Witnessed(Gateway(notebooks, origin), notebooks)))


async def _serve(app: Witnessed) -> None:
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off"))
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    await serving


def _main(what: str, path: str, *arguments: str) -> None:
    settings = runtime.ClientSettings(origins=(arguments[0],))
    runtime.replace(runtime.Runtime(settings, FileSink(path)))
    {"client": client, "gateway": gateway}[what](*arguments)


if __name__ == "__main__":
    _main(*sys.argv[1:])
