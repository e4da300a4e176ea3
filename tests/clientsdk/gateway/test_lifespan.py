"""The last flush: bounded, off the loop, before the server hears that all is done; it never fails the server."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from streamwitness import faults
from streamwitness.gateway import StreamWitness, lifespan
from streamwitness.runtime import ClientSettings, Runtime
from streamwitness.testing import MemorySink
from tests.clientsdk.gateway.serving import PATH, SSE, chat, plain, serve, until

pytestmark = pytest.mark.anyio

SHUTDOWN = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]


class Slow(MemorySink):
    """A sink whose flush waits for the test, and notes in which thread and for how long it may take."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.flushes: list[tuple[int, float]] = []
        self.go_on = threading.Event()
        self._error = error

    def flush(self, timeout: float = 0.0) -> bool:
        self.flushes.append((threading.get_ident(), timeout))
        self.go_on.wait(timeout)
        if self._error is not None:
            raise self._error
        return True


async def live(app: Any) -> list[str]:
    """Start and stop an app; the types of the messages that it sent."""
    messages = list(SHUTDOWN)
    sent: list[str] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
    return sent


def hooked(sink: MemorySink) -> Any:
    runtime = Runtime(ClientSettings(), sink)
    return Starlette(middleware=[Middleware(StreamWitness, runtime=runtime)])


async def test_the_flush_comes_before_the_message_and_off_the_loop() -> None:
    """While it lasts the loop goes on; only then is the server told."""
    sink = Slow()
    task = asyncio.create_task(live(hooked(sink)))
    await asyncio.to_thread(until, lambda: sink.flushes)
    assert not task.done()
    sink.go_on.set()
    assert await task == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    [(thread, timeout)] = sink.flushes
    assert thread != threading.get_ident()
    assert timeout == lifespan.FLUSH_SECONDS


async def test_a_flush_that_raises_does_not_fail_the_server() -> None:
    """It is counted, and the message goes on."""
    sink = Slow(RuntimeError("no network"))
    sink.go_on.set()
    with faults.quiet():
        assert (await live(hooked(sink)))[-1] == "lifespan.shutdown.complete"


async def test_a_flush_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink that does not keep to its time holds the server up no longer than that."""
    sink = Slow()
    monkeypatch.setattr(sink, "flush", lambda timeout: sink.go_on.wait())
    monkeypatch.setattr(lifespan, "FLUSH_SECONDS", 0.01)
    assert (await live(hooked(sink)))[-1] == "lifespan.shutdown.complete"
    sink.go_on.set()


async def test_without_a_runtime_nothing_is_made_to_flush() -> None:
    """An app that never answered a request has nothing to send, and no exporter is started for it."""
    assert await live(Starlette(middleware=[Middleware(StreamWitness)])) == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]


async def test_an_app_without_lifespan_stays_one() -> None:
    """What the app raises on the lifespan scope is how servers know."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("http only")

    with pytest.raises(RuntimeError, match="http only"):
        await live(StreamWitness(app))


async def test_an_answer_that_outlives_the_app_is_closed() -> None:
    """What is still open when shutting down is over ends with it, so that its closing block is flushed too."""
    sink = MemorySink()
    never = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        await never.wait()

    hook = StreamWitness(app, runtime=Runtime(ClientSettings(), sink))

    async def send(message: Any) -> None: ...

    scope = {"type": "http", "method": "POST", "path": PATH, "headers": []}
    answer = asyncio.create_task(hook(scope, never.wait, send))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await live(hook)
    assert sink.closing("egress").end == "shutdown"
    answer.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await answer


def test_under_uvicorn_the_last_blocks_are_flushed() -> None:
    """Stopped as by a signal, the server leaves nothing behind."""
    sink = Slow()
    sink.go_on.set()

    @contextlib.asynccontextmanager
    async def life(_: Any) -> AsyncIterator[None]:
        yield

    app = Starlette(lifespan=life, middleware=[Middleware(StreamWitness, runtime=Runtime(ClientSettings(), sink))])
    app.mount("/", plain(chat("a", "b")))
    with serve(app, lifespan="on") as server, httpx.Client() as client:
        client.post(server.url + PATH)
        server.stop()
    assert len(sink.flushes) == 1
    assert sink.closing("egress").end == "eof"
