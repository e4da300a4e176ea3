"""What the tests of replay and resume share: a gateway that keeps its answers, and a client that leaves."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamwitness import rows
from streamwitness.client.resume import Checkpoint
from streamwitness.gateway import Replay, StreamWitness
from streamwitness.runtime import ClientSettings, Runtime
from streamwitness.testing import MemorySink
from tests.clientsdk.gateway.serving import PATH, chunk, serve

ANSWER = [*(chunk(f"word {number} ") for number in range(12)), chunk("", "stop"), b"data: [DONE]\n\n"]
DATA = [event[6:-2].decode() for event in ANSWER]


class Gateway:
    """A gateway that keeps its answers. Its app sends an event each time `go` has been called for it."""

    def __init__(self, *, http: str = "httptools", receives: bool = True, **bounds: Any) -> None:
        self.sink = MemorySink()
        self.sent = 0
        """Events that the app has given away."""
        self.calls = 0
        self.ended = ""
        """How the app ended."""
        self._allowed = threading.Semaphore(0)
        self._http, self._receives = http, receives
        self.replay = Replay(**bounds) if bounds.get("events", 1) else None

    def go(self, events: int = len(ANSWER)) -> None:
        """Let the app send so many events more."""
        for _ in range(events):
            self._allowed.release()

    async def body(self) -> AsyncIterator[bytes]:
        self.ended = ""
        try:
            for event in ANSWER:
                await self._turn()
                self.sent += 1
                yield event
            self.ended = "whole"
        except BaseException as error:
            self.ended = type(error).__name__
            raise

    async def _turn(self) -> None:
        while not self._allowed.acquire(blocking=False):  # noqa: ASYNC110 - another thread allows it
            await asyncio.sleep(0.002)

    async def _endpoint(self, request: Request) -> StreamingResponse:
        self.calls += 1
        return StreamingResponse(self.body(), media_type="text/event-stream", headers={"x-kept": "yes"})

    @contextlib.contextmanager
    def serve(self) -> Iterator[str]:
        runtime = Runtime(ClientSettings(mode="stamp"), self.sink)
        hook = Middleware(StreamWitness, runtime=runtime, replay=self.replay)
        app = Starlette(routes=[Route(PATH, self._endpoint, methods=["POST"])], middleware=[hook])
        with serve(app, http=self._http) as server:
            try:
                yield server.url + PATH
            finally:
                self.go(1000)

    def closings(self) -> list[Any]:
        """The closing blocks of `egress` in the order of the attempts."""
        return sorted((b for b in self.sink.at("egress") if b.final), key=lambda block: block.attempt)

    def sequences(self, exchange: str) -> list[int]:
        """What the events of an exchange were numbered."""
        blocks = [b for b in self.sink.at("egress") if b.exchange == exchange and b.rows is not None]
        return [n for b in blocks for n in rows.decode(b.rows or b"", b.row_count).get("sequence", [])]


def read(
    url: str, checkpoint: Checkpoint, events: int = 1000, began: Callable[[], None] = lambda: None, **options: Any
) -> list[str]:
    """Read so many events of one connection, then leave it; the data of each."""
    seen: list[str] = []
    headers = checkpoint.headers() | options.pop("headers", {})
    with httpx.Client(timeout=30) as client, client.stream("POST", url, headers=headers, **options) as response:
        assert response.headers["x-kept"] == "yes"
        checkpoint.opened(response.headers)
        began()
        for event in checkpoint.events(response.iter_raw()):
            seen.append(event.data)
            if len(seen) == events:
                break
    return seen
