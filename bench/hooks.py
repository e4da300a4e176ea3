"""What the observer and the hooks cost beside the work that they watch.

A hook's share is what the same work costs more with it than without. The openai client reads from memory, without a
socket. The gateway runs under uvicorn between a bare provider and a bare client, an event at a time over loopback
sockets; the two ends are in its CPU time, because one process has one clock. TLS and the application's own work are in
neither, and make a share smaller.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import httpx
import httpx2
import openai
import uvicorn
from openai._models import construct_type
from openai._streaming import SSEDecoder
from openai.types.chat import ChatCompletionChunk
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

import streamwitness
from streamwitness.gateway import StreamWitness, upstream
from streamwitness.semconv import Level
from streamwitness.testing import MemorySink, recording
from streamwitness.witness import Identity, Witness

from . import ordinary
from .measure import Figure, Scale, cpu

_PATH = "/v1/chat/completions"
_SSE = {"content-type": "text/event-stream"}
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_FIRSTS = 64
_TARGETS: dict[str, dict[Level, float | None]] = {
    "client": {"digests": 15.0, "rows": None, "counters": 5.0},
    "gateway": {"digests": 20.0, "rows": 10.0, "counters": None},
    "first": {"digests": None},
}
"""Host → level → the share, in percent, that its hook may add at most."""
_LABELS = {
    "client": ("client hook, received and parsed", "an event", "the openai client by itself, no socket"),
    "gateway": ("gateway hook, in and out", "an event", "the gateway by itself, with both its ends"),
    "first": ("client hook, a stream of one chunk", "a stream", "an openai client made, one chunk, closed"),
}
Wires = list[bytes]


def observe(wires: Wires) -> int:
    """Framing, profile and recording of a body, an event a read."""
    observer = Witness(Identity.new(), MemorySink()).body("wire", path=_PATH, content_type=_SSE["content-type"])
    for wire in wires:
        observer.feed(wire)
    observer.close("eof")
    return observer.recorder.events


def parse_as_openai(wires: Wires) -> int:
    """What the openai package does with a body: its decoder, `json`, and the chunk's model."""
    made = [
        construct_type(type_=ChatCompletionChunk, value=json.loads(event.data))
        for event in SSEDecoder().iter_bytes(iter(wires))
        if event.data != "[DONE]"
    ]
    return len(made) + 1


class _Body(httpx2.SyncByteStream):
    def __init__(self, wires: Wires) -> None:
        self._wires = wires

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._wires)


def ask_openai(wires: Wires, instrumented: bool) -> int:
    """A stream through the real openai client."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=_SSE, stream=_Body(wires)))
    with openai.OpenAI(api_key="k", base_url="http://bench/v1", http_client=httpx2.Client(transport=transport)) as ai:
        if instrumented:
            streamwitness.instrument(ai)
        chunks = ai.chat.completions.create(model="m", messages=[], stream=True)
        return sum(1 for _ in chunks) + 1


class _Turns:
    """The provider sends an event when the client has read the one before: one event a read, as tokens come."""

    def __init__(self, wires: Wires) -> None:
        self._wires = wires
        self.read = asyncio.Event()

    async def provide(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of the gateway."""
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_HEAD)
        for wire in self._wires:
            writer.write(b"%x\r\n%b\r\n" % (len(wire), wire))
            await self.read.wait()
            self.read.clear()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        writer.close()

    async def consume(self, port: int) -> int:
        """Ask the gateway, and read every event of its answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST %b HTTP/1.1\r\nhost: bench\r\ncontent-length: 0\r\n\r\n" % _PATH.encode())
        await reader.readuntil(b"\r\n\r\n")
        for _ in self._wires:
            await reader.readuntil(b"\n\n")
            self.read.set()
        await reader.readuntil(b"0\r\n\r\n")
        writer.close()
        return len(self._wires)


def gateway(provider: int, instrumented: bool) -> tuple[Any, httpx.AsyncClient]:
    """A gateway that hands on what its upstream sends: httpx in, Starlette out."""
    client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{provider}", trust_env=False)
    if instrumented:
        upstream(client)

    async def pieces() -> AsyncIterator[bytes]:
        async with client.stream("POST", _PATH) as response:
            async for piece in response.aiter_bytes():
                yield piece

    async def chat(_: Request) -> StreamingResponse:
        return StreamingResponse(pieces(), media_type=_SSE["content-type"])

    app = Starlette(routes=[Route(_PATH, chat, methods=["POST"])])
    return (StreamWitness(app) if instrumented else app), client


async def _pass_through(wires: Wires, instrumented: bool) -> int:
    turns = _Turns(wires)
    provider = await asyncio.start_server(turns.provide, "127.0.0.1", 0)
    app, client = gateway(provider.sockets[0].getsockname()[1], instrumented)
    server = uvicorn.Server(uvicorn.Config(app, loop="asyncio", log_level="critical", lifespan="off"))
    listening = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve([listening]))
    try:
        return await turns.consume(listening.getsockname()[1])
    finally:
        server.should_exit = True
        await serving
        await client.aclose()
        provider.close()
        listening.close()


def pass_through(wires: Wires, instrumented: bool) -> int:
    """A stream through that gateway, over loopback sockets on one event loop."""
    return asyncio.run(_pass_through(wires, instrumented))


def first_byte(wires: Wires, instrumented: bool) -> int:
    """What a stream costs before and after its events: a client is made and hooked, reads one chunk, and is closed."""
    for _ in range(_FIRSTS):
        ask_openai(wires[:1], instrumented)
    return _FIRSTS


def _recorded(run: Callable[[], int], level: Level) -> Callable[[], int]:
    def inside() -> int:
        with recording(level=level) as sink:
            count = run()
            if not sink.blocks:
                raise RuntimeError("nothing was recorded")
        return count

    return inside


def figures(scale: Scale) -> list[Figure]:
    """The observer beside the openai parser, and the share of both hooks at each level."""
    wires = [event.wire for event in ordinary.stream(max(4, scale.events // 4))]
    hosts: dict[str, Callable[[bool], int]] = {
        "client": lambda hooked: ask_openai(wires, hooked),
        "gateway": lambda hooked: pass_through(wires, hooked),
        "first": lambda hooked: first_byte(wires, hooked),
    }
    runs: dict[str, Callable[[], int]] = {
        "observe": lambda: observe(wires),
        "parse": lambda: parse_as_openai(wires),
        **{host: partial(run, False) for host, run in hosts.items()},
        **{
            f"{host} {level}": _recorded(partial(hosts[host], True), level)
            for host, targets in _TARGETS.items()
            for level in targets
        },
    }
    spent = cpu(runs, scale.rounds)
    out = [
        Figure(
            "frame, read and record an event", spent["observe"], "µs CPU",
            peer="openai parses it", peer_figure=spent["parse"],
        )
    ]  # fmt: skip
    for host, targets in _TARGETS.items():
        label, unit, work = _LABELS[host]
        out.append(Figure(work, spent[host], f"µs CPU {unit}"))
        for level, target in targets.items():
            more = spent[f"{host} {level}"] - spent[host]
            out.append(Figure(f"{label}: {level}, {unit} more", more, "µs CPU"))
            out.append(Figure(f"{label}: {level}, share", 100 * more / spent[host], "% of that", target=target))
    return out
