"""What is particular to aiohttp; the rest is in the contract of all adapters (`test_contract.py`)."""

from __future__ import annotations

import asyncio
import gc
import gzip
import socket
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from streamwitness.client import instrument, uninstrument
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.raw_server import (
    BODY,
    Handler,
    RawServer,
    cut,
    event,
    hang_up,
    head,
    stream,
    wait_for_client,
)

PATH = "/v1/chat/completions"

pytestmark = pytest.mark.anyio


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """An instrumented session."""
    async with aiohttp.ClientSession() as made:
        yield instrument(made)


async def _joined(pieces: Any) -> bytes:
    return b"".join([piece[0] if isinstance(piece, tuple) else piece async for piece in pieces])


async def _repeated(read: Callable[[], Awaitable[bytes]]) -> bytes:
    pieces = []
    while piece := await read():
        pieces.append(piece)
    return b"".join(pieces)


async def _nowait(response: aiohttp.ClientResponse) -> bytes:
    first = await response.content.read(1)
    await response.content.wait_eof()
    return first + response.content.read_nowait()


async def _exactly(response: aiohttp.ClientResponse) -> bytes:
    first = await response.content.readexactly(100)
    with pytest.raises(asyncio.IncompleteReadError) as short:
        await response.content.readexactly(1 << 20)
    return first + short.value.partial


WAYS: dict[str, Callable[[aiohttp.ClientResponse], Awaitable[bytes]]] = {
    "read": lambda response: response.read(),
    "content.read": lambda response: response.content.read(),
    "content.read(n)": lambda response: _repeated(lambda: response.content.read(7)),
    "readany": lambda response: _repeated(response.content.readany),
    "readline": lambda response: _repeated(response.content.readline),
    "readuntil": lambda response: _repeated(lambda: response.content.readuntil(b"\n\n")),
    "readexactly": _exactly,
    "read_nowait": _nowait,
    "by lines": lambda response: _joined(response.content),
    "iter_any": lambda response: _joined(response.content.iter_any()),
    "iter_chunked": lambda response: _joined(response.content.iter_chunked(7)),
    "iter_chunks": lambda response: _joined(response.content.iter_chunks()),
}


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_of_reading(session: aiohttp.ClientSession, way: str, sink: MemorySink) -> None:
    """The bytes are those that were sent, and the record is that of the whole body."""
    with RawServer(stream(cut(BODY, 50))) as server:
        async with session.post(server.url + PATH) as response:
            assert await WAYS[way](response) == BODY
    block = sink.closing("wire")
    assert (block.totals["events"], block.end, block.complete) == (10, "eof", True)


@pytest.mark.parametrize("decoded", [True, False])
async def test_compressed_bodies(decoded: bool, sink: MemorySink) -> None:
    """Decoded by aiohttp or read as they were sent, the record is that of the content."""
    sent = gzip.compress(BODY)
    with RawServer(stream(cut(sent, 13), "Content-Encoding: gzip")) as server:
        async with (
            aiohttp.ClientSession(auto_decompress=decoded) as session,
            instrument(session).post(server.url + PATH) as response,
        ):
            assert await response.read() == (BODY if decoded else sent)
    block = sink.closing("wire")
    assert (block.totals["events"], block.end) == (10, "eof")


async def test_an_interrupted_read_is_no_end(session: aiohttp.ClientSession, sink: MemorySink) -> None:
    """An application that gives up waiting and then asks again reads on, and so does the record."""
    go_on = threading.Event()

    def handle(connection: socket.socket, request: bytes) -> None:
        connection.sendall(head("Connection: close") + event("a"))
        go_on.wait(10)
        connection.sendall(event("b"))
        hang_up(connection, request)

    with RawServer(handle) as server:
        async with session.post(server.url + PATH) as response:
            await response.content.readany()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(response.content.readany(), 0.01)
            go_on.set()
            assert await response.content.read() == event("b")
    block = sink.closing("wire")
    assert (block.totals["events"], block.end) == (2, "eof")


async def test_a_total_timeout(session: aiohttp.ClientSession, sink: MemorySink) -> None:
    """The reader's own stop."""
    with RawServer(stream([event("a")], end=False, then=wait_for_client)) as server, pytest.raises(TimeoutError):
        async with session.post(server.url + PATH, timeout=aiohttp.ClientTimeout(total=0.1)) as response:
            await response.read()
    assert sink.closing("wire").end == "timeout"


async def test_a_session_closed_from_elsewhere_is_no_broken_connection(sink: MemorySink) -> None:
    """aiohttp leaves the reader waiting; nobody but the application is named."""
    begun = asyncio.Event()
    session = instrument(aiohttp.ClientSession())

    async def reading(url: str) -> None:
        async with session.post(url + PATH) as response:
            async for _ in response.content.iter_any():
                begun.set()

    with RawServer(stream([event("a")], end=False, then=wait_for_client)) as server:
        task = asyncio.create_task(reading(server.url))
        await begun.wait()
        await session.close()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert sink.closing("wire").end == "cancelled"


def _moved(url: str) -> Handler:
    def handle(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(head("Content-Length: 0", f"Location: {url}{PATH}", status="307 Moved"))

    return handle


@pytest.mark.parametrize("known", [False, True])
async def test_a_redirect_is_announced_to_gateways_only(session: aiohttp.ClientSession, known: bool) -> None:
    """What was announced to a gateway is not told to the next origin, unless that is one as well."""
    with RawServer(stream()) as other, RawServer(_moved(other.url)) as gateway:
        origins = (gateway.url, other.url) if known else (gateway.url,)
        with recording(origins=origins) as sink:
            async with session.post(gateway.url + PATH) as response:
                assert await response.read() == BODY
                assert [hop.status for hop in response.history] == [307]
        assert gateway.header("stream-witness") is not None
        assert (other.header("stream-witness") is not None) is known
    assert sink.closing("wire").totals["events"] == 10


async def test_the_key_is_in_no_form_of_the_headers(session: aiohttp.ClientSession) -> None:
    """Neither decoded nor raw; the other headers are as they came."""
    with RawServer(stream([BODY], "stream-witness-key: " + "ab" * 16, "X-Some: thing")) as server, recording():
        async with session.post(server.url + PATH) as response:
            await response.read()
            assert "stream-witness-key" not in response.headers
            assert [name for name, _ in response.raw_headers] == [b"Content-Type", b"Transfer-Encoding", b"X-Some"]
            assert response.headers["x-some"] == "thing"


async def test_sessions_that_share_their_trace_configs(sink: MemorySink) -> None:
    """Each stream is recorded once, by the session that read it, and only where that is instrumented."""
    shared = [aiohttp.TraceConfig()]
    with RawServer(stream()) as server:
        async with (
            aiohttp.ClientSession(trace_configs=shared) as one,
            aiohttp.ClientSession(trace_configs=shared) as two,
            aiohttp.ClientSession(trace_configs=shared) as plain,
        ):
            for session in (instrument(one), instrument(two), plain):
                async with session.post(server.url + PATH) as response:
                    await response.read()
            uninstrument(one)
            uninstrument(two)
    assert len(shared) == 1
    assert len([block for block in sink.blocks if block.final]) == 2


async def test_middlewares_of_a_request(session: aiohttp.ClientSession, sink: MemorySink) -> None:
    """A request that brings its own middlewares is observed, and they see the real content."""
    kinds: list[type] = []

    async def own(request: Any, handler: Any) -> Any:
        response = await handler(request)
        kinds.append(type(response.content))
        return response

    with RawServer(stream()) as server:
        async with session.post(server.url + PATH, middlewares=(own,)) as response:
            assert await response.read() == BODY
    assert kinds == [aiohttp.StreamReader]
    assert sink.closing("wire").totals["events"] == 10


async def test_connections_are_given_back(session: aiohttp.ClientSession, sink: MemorySink) -> None:
    """A body read to its end gives its connection back without being released."""
    with RawServer(stream()) as server:
        for _ in range(3):
            response = await session.post(server.url + PATH)
            assert await response.content.read() == BODY
            assert response.connection is None
        assert server.connections == 1


async def test_sessions_and_responses_are_collected(sink: MemorySink) -> None:
    """Nothing of ours keeps them."""
    session = instrument(aiohttp.ClientSession())
    with RawServer(stream()) as server:
        response = await session.post(server.url + PATH)
        await response.read()
        await session.close()
    gone = weakref.ref(session), weakref.ref(response), weakref.ref(response.content)
    del session, response
    gc.collect()
    assert [reference() for reference in gone] == [None, None, None]


@pytest.mark.parametrize(("coding", "left_on"), [("x-gzip", True), ("gzip, identity", True), ("GZIP", False)])
async def test_codings_that_aiohttp_leaves_on_are_taken_off_for_the_record(
    coding: str, left_on: bool, session: aiohttp.ClientSession, sink: MemorySink
) -> None:
    """Its reader is given the bytes as they came, and what they hold is recorded."""
    sent = gzip.compress(BODY)
    with RawServer(stream(cut(sent, 13), f"Content-Encoding: {coding}")) as server:
        async with session.post(server.url + PATH) as response:
            assert await response.read() == (sent if left_on else BODY)
    assert sink.closing("wire").totals["events"] == 10
