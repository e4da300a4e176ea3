"""What the observer and the hooks cost beside the work that they watch, over in-memory transports without a socket.

A hook's share is what the same work costs more with it than without. Real sockets, TLS and the application's own work
only make it smaller.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import httpx2
import openai
from openai._models import construct_type
from openai._streaming import SSEDecoder
from openai.types.chat import ChatCompletionChunk
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

import streamwitness
from streamwitness.gateway import StreamWitness, upstream
from streamwitness.testing import MemorySink, recording
from streamwitness.witness import Identity, Witness

from . import ordinary
from .measure import Figure, Scale, cpu

_PATH = "/v1/chat/completions"
_SSE = {"content-type": "text/event-stream"}
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


class _AsyncBody(httpx.AsyncByteStream):
    def __init__(self, wires: Wires) -> None:
        self._wires = wires

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for wire in self._wires:
            yield wire


def gateway(wires: Wires, instrumented: bool) -> Any:
    """A gateway that hands on what its upstream sends: httpx in, Starlette out."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=_SSE, stream=_AsyncBody(wires)))
    client = httpx.AsyncClient(transport=transport, base_url="http://bench")
    if instrumented:
        upstream(client)

    async def pieces() -> AsyncIterator[bytes]:
        async with client.stream("POST", _PATH) as response:
            async for piece in response.aiter_bytes():
                yield piece

    async def chat(_: Request) -> StreamingResponse:
        return StreamingResponse(pieces(), media_type=_SSE["content-type"])

    app = Starlette(routes=[Route(_PATH, chat, methods=["POST"])])
    return StreamWitness(app) if instrumented else app


async def _answer(app: Any, scope: dict[str, Any]) -> int:
    """Drive an ASGI app as a server would; the number of bodies that it sent."""
    sent = 0
    ended = asyncio.Event()
    asked = False

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if asked:
            await ended.wait()
            return {"type": "http.disconnect"}
        asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        nonlocal sent
        if message["type"] == "http.response.body":
            sent += bool(message.get("body"))
            if not message.get("more_body"):
                ended.set()

    await app(scope, receive, send)
    return sent


def pass_through(wires: Wires, instrumented: bool) -> int:
    """A stream through that gateway."""
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": _PATH, "raw_path": _PATH.encode(), "query_string": b"", "root_path": "",
        "headers": [(b"host", b"bench")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    return asyncio.run(_answer(gateway(wires, instrumented), scope))


def _recorded(run: Callable[[], int]) -> Callable[[], int]:
    def inside() -> int:
        with recording() as sink:
            count = run()
            if not sink.blocks:
                raise RuntimeError("nothing was recorded")
        return count

    return inside


def figures(scale: Scale) -> list[Figure]:
    """The observer beside the openai parser, and the share of both hooks."""
    wires = [event.wire for event in ordinary.stream(max(4, scale.events // 4))]
    runs: dict[str, Callable[[], int]] = {
        "observe": lambda: observe(wires),
        "parse": lambda: parse_as_openai(wires),
        "openai": lambda: ask_openai(wires, False),
        "openai hooked": _recorded(lambda: ask_openai(wires, True)),
        "gateway": lambda: pass_through(wires, False),
        "gateway hooked": _recorded(lambda: pass_through(wires, True)),
    }
    spent = cpu(runs, scale.rounds)
    out = [
        Figure(
            "frame, read and record an event", spent["observe"], "µs CPU",
            peer="openai parses it", peer_figure=spent["parse"],
        )
    ]  # fmt: skip
    for name, label in (("openai", "client hook (received, parsed)"), ("gateway", "gateway hook (in, out)")):
        more = max(spent[f"{name} hooked"] - spent[name], 0.001)
        whole = "openai client" if name == "openai" else "httpx in, Starlette out"
        out.append(Figure(f"{label}, an event", more, "µs CPU", peer=whole, peer_figure=spent[name]))
        out.append(Figure(f"{label}, added to the {whole}", 100 * more / spent[name], "%"))
    return out
