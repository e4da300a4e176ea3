"""A real uvicorn on a free port, and a sink that remembers: what the collector's socket tests stand on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from streamwitness_collector.sink import Batch
from tests.quick import QuickServer


@dataclass
class RecordingSink:
    """Keeps batches; each exception in `failures` is raised once, in order, before anything is kept."""

    batches: list[Batch] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    closed: bool = False

    async def write(self, batch: Batch) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.batches.append(batch)

    async def close(self) -> None:
        self.closed = True


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Base URL of `app` while it is served."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = QuickServer(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
