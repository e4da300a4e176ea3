"""The demo's LLM gateway: forwards to the provider with an ordinary HTTP client, and can be told to break a stream.

The two lines that instrument it are marked. The fault stands in a request header that only this file reads.
"""

from __future__ import annotations

import asyncio
import os
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Final

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamwitness.gateway import StreamWitness, upstream

from .serving import port, serve

FAULT_HEADER: Final = "x-demo-break"
PROVIDER: Final = os.environ.get("DEMO_PROVIDER", "")

Frames = AsyncIterator[bytes]

_reading: Final[set[asyncio.Task[None]]] = set()
"""Tasks that read on; the event loop itself keeps them only weakly."""

client = upstream(httpx.AsyncClient(timeout=30))  # line two: what the gateway reads


async def chat(request: Request) -> StreamingResponse:
    """POST /v1/chat/completions: forward, and break as told."""
    body = await request.json()
    name, _, argument = request.headers.get(FAULT_HEADER, "").partition(":")
    return StreamingResponse(FAULTS[name](body, argument), media_type="text/event-stream")


async def frames(body: dict[str, object]) -> Frames:
    """The provider's events, one by one, as the bytes that it sent."""
    async with client.stream("POST", f"{PROVIDER}/v1/chat/completions", json=body) as response:
        held = b""
        async for piece in response.aiter_bytes():
            held += piece
            *whole, held = held.split(b"\n\n")
            for frame in whole:
                yield frame + b"\n\n"


async def forward(body: dict[str, object], _: str) -> Frames:
    """Hand on what comes."""
    async for frame in frames(body):
        yield frame


async def swallow(body: dict[str, object], at: str) -> Frames:
    """Lose one event."""
    async for number, frame in _numbered(body):
        if number != int(at):
            yield frame


async def double(body: dict[str, object], at: str) -> Frames:
    """Send one event twice."""
    async for number, frame in _numbered(body):
        yield frame
        if number == int(at):
            yield frame


async def swap(body: dict[str, object], at: str) -> Frames:
    """Send two neighbours in the wrong order."""
    kept = b""
    async for number, frame in _numbered(body):
        if number == int(at):
            kept = frame
            continue
        yield frame
        if kept:
            yield kept
            kept = b""


async def invent(body: dict[str, object], _: str) -> Frames:
    """Hide that the upstream stopped: write a terminator of our own."""
    last = b""
    async for frame in frames(body):
        last = frame
        yield frame
    if b"[DONE]" not in last:
        yield b"data: [DONE]\n\n"


async def read_on(body: dict[str, object], _: str) -> Frames:
    """Read the upstream in a task of its own that nobody stops, whatever becomes of the client."""
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    async def pump() -> None:
        async for frame in frames(body):
            queue.put_nowait(frame)
        queue.put_nowait(b"")

    task = asyncio.create_task(pump())
    _reading.add(task)
    task.add_done_callback(_reading.discard)
    while frame := await queue.get():
        yield frame


async def fail_over(body: dict[str, object], first: str) -> Frames:
    """Read a first upstream that breaks before anything was handed on, then a second one."""
    held = [frame async for frame in frames({**body, "model": first})]
    if held and b"[DONE]" in held[-1]:
        raise RuntimeError(f"the script {first!r} was to break, but it ended")
    async for frame in frames(body):
        yield frame


async def _numbered(body: dict[str, object]) -> AsyncIterator[tuple[int, bytes]]:
    number = 0
    async for frame in frames(body):
        yield number, frame
        number += 1


FAULTS: Final[dict[str, Callable[[dict[str, object], str], Frames]]] = {
    "": forward,
    "gzip": forward,
    "swallow": swallow,
    "double": double,
    "swap": swap,
    "invent": invent,
    "readon": read_on,
    "failover": fail_over,
}


class Compress:
    """Outermost: compresses the body when told to, and flushes after each event, as a careful proxy does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (FAULT_HEADER.encode(), b"gzip") not in scope.get("headers", ()):
            await self._app(scope, receive, send)
            return
        squeeze = zlib.compressobj(wbits=31)

        async def compressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-encoding", b"gzip")]
            if message["type"] == "http.response.body":
                flush = zlib.Z_SYNC_FLUSH if message.get("more_body") else zlib.Z_FINISH
                body = squeeze.compress(message.get("body", b"")) + squeeze.flush(flush)
                message = {**message, "body": body}
            await send(message)

        await self._app(scope, receive, compressed)


app = Starlette(
    routes=[Route("/v1/chat/completions", chat, methods=["POST"])],
    middleware=[
        Middleware(Compress),
        Middleware(StreamWitness),  # line one: what the gateway sends
    ],
)

if __name__ == "__main__":
    serve(app, port(sys.argv[1:], "streamwitness.demo.gateway"))
