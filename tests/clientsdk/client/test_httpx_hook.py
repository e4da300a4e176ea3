"""Bodies read through httpx and httpx2, sync and async: nothing changes for the application, every end is told."""

from __future__ import annotations

import asyncio
import gc
import gzip
import socket
import threading
import weakref
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from types import ModuleType
from typing import Any

import brotli
import httpx
import httpx2
import pytest

from streamwitness import faults
from streamwitness.client import instrument, uninstrument
from streamwitness.client.hook import ClientHook
from streamwitness.client.httpx_hook import install
from streamwitness.providers.openai_chat import OpenAIChat
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.raw_server import (
    BODY,
    CANARY,
    DONE,
    TEXTS,
    RawServer,
    cut,
    event,
    hang_up,
    head,
    reset,
    stream,
    wait_for_client,
)

LIBRARIES = (httpx, httpx2)
PATH = "/v1/chat/completions"

pytestmark = pytest.mark.anyio


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.__name__)
def library(request: pytest.FixtureRequest) -> ModuleType:
    """httpx, then httpx2."""
    module: ModuleType = request.param
    return module


def read_sync(
    library: ModuleType, url: str, *, observed: bool = True, **options: Any
) -> tuple[list[bytes], BaseException | None]:
    """The pieces that an application reads, and the exception that ended them."""
    pieces: list[bytes] = []
    with library.Client(**options) as client:
        if observed:
            instrument(client)
        try:
            with client.stream("POST", url + PATH) as response:
                pieces.extend(response.iter_raw())
        except Exception as error:
            return pieces, error
    return pieces, None


async def read_async(
    library: ModuleType, url: str, *, observed: bool = True, **options: Any
) -> tuple[list[bytes], BaseException | None]:
    """The same with the async client."""
    pieces: list[bytes] = []
    async with library.AsyncClient(**options) as client:
        if observed:
            instrument(client)
        try:
            async with client.stream("POST", url + PATH) as response:
                async for piece in response.aiter_raw():
                    pieces.append(piece)  # noqa: PERF401 - what was read before the exception counts
        except Exception as error:
            return pieces, error
    return pieces, None


async def read(asynchronous: bool, *args: Any, **options: Any) -> tuple[list[bytes], BaseException | None]:
    """Either."""
    if asynchronous:
        return await read_async(*args, **options)
    return await asyncio.to_thread(read_sync, *args, **options)


both = pytest.mark.parametrize("asynchronous", [False, True], ids=("sync", "async"))


@both
@pytest.mark.parametrize("size", [1, 3, 64, len(BODY)])
async def test_bytes_are_identical_for_every_chunking(
    library: ModuleType, asynchronous: bool, size: int, sink: MemorySink
) -> None:
    """The application reads the very bytes that were sent, and the record is the same however they were cut."""
    with RawServer(stream(cut(BODY, size))) as server:
        pieces, error = await read(asynchronous, library, server.url)
    assert (b"".join(pieces), error) == (BODY, None)
    block = sink.closing("wire")
    assert (block.totals["events"], block.totals["judged"], block.end, block.complete) == (10, 9, "eof", True)
    assert block.totals["content"] == sum(len(text.encode()) for text in TEXTS)


@pytest.mark.parametrize(("coding", "compress"), [
    ("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", lambda body: zlib.compress(body)[2:-4]),
    ("br", brotli.compress), ("gzip, br", lambda body: brotli.compress(gzip.compress(body))),
], ids=("gzip", "deflate", "raw deflate", "br", "gzip then br"))  # fmt: skip
@both
async def test_compressed_bodies_are_observed_decoded(
    library: ModuleType, asynchronous: bool, coding: str, compress: Callable[[bytes], bytes], sink: MemorySink
) -> None:
    """The application gets the compressed bytes untouched, the record is that of the content."""
    sent = compress(BODY)
    with RawServer(stream(cut(sent, 11), f"Content-Encoding: {coding}")) as server:
        pieces, error = await read(asynchronous, library, server.url)
    assert (b"".join(pieces), error) == (sent, None)
    block = sink.closing("wire")
    assert (block.totals["events"], block.totals["judged"], block.end) == (10, 9, "eof")
    assert "stream.observer_fault" not in block.extra


async def test_decoded_text_is_what_the_library_decodes(library: ModuleType, sink: MemorySink) -> None:
    """An application that asks for decoded bytes gets them as without the hook."""
    with RawServer(stream(cut(gzip.compress(BODY), 7), "Content-Encoding: gzip")) as server, library.Client() as client:
        assert instrument(client).post(server.url + PATH).content == BODY
    assert sink.closing("wire").totals["events"] == 10


@pytest.mark.parametrize(("coding", "body"), [("gzip", b"no gzip at all"), ("snappy", BODY)])
async def test_what_cannot_be_decoded_is_unknown_not_missing(
    library: ModuleType, coding: str, body: bytes, sink: MemorySink
) -> None:
    """A body that is not what its coding says, or of an unknown coding: delivered as it is, the point says so."""
    with RawServer(stream([body], f"Content-Encoding: {coding}")) as server:
        pieces, error = read_sync(library, server.url)
    assert (b"".join(pieces), error) == (body, None)
    block = sink.closing("wire")
    assert (block.totals["events"], block.end) == (0, "eof")
    assert block.extra["stream.observer_fault"] in ("error", "UnknownEncodingError")


async def test_a_compression_bomb_is_delivered_and_no_longer_looked_at(library: ModuleType, sink: MemorySink) -> None:
    """A piece that expands beyond the bound makes the point unknown; memory stays bounded."""
    bomb = gzip.compress(bytes(1 << 26))
    with RawServer(stream([bomb], "Content-Encoding: gzip")) as server:
        pieces, _ = read_sync(library, server.url)
    assert b"".join(pieces) == bomb
    assert sink.closing("wire").extra["stream.observer_fault"] == "ExpansionError"


def until_closed(connection: socket.socket, request: bytes) -> None:
    """A body that ends with its connection."""
    connection.sendall(head("Connection: close") + event("a"))
    hang_up(connection, request)


ENDINGS = {
    "reset": (stream([event("a")], end=False, then=reset), "reset"),
    "incomplete": (stream([event("a")], end=False, then=hang_up), "protocol_error"),
    "timeout": (stream([event("a")], end=False, then=wait_for_client), "timeout"),
    "no length, closed": (until_closed, "eof"),
    "reset after the terminator": (stream([event("a"), DONE], end=False, then=reset), "stopped_at_terminal"),
}  # fmt: skip


@both
@pytest.mark.parametrize("name", ENDINGS)
async def test_endings_raise_the_same_and_are_told_apart(
    library: ModuleType, asynchronous: bool, name: str, sink: MemorySink
) -> None:
    """Each way a connection ends gives the application the exception that it gets without the hook."""
    handler, end = ENDINGS[name]
    options = {"timeout": library.Timeout(5, read=0.2 if end == "timeout" else 5)}
    with RawServer(handler) as server:
        expected = await read(asynchronous, library, server.url, observed=False, **options)
        actual = await read(asynchronous, library, server.url, **options)
    assert (type(actual[1]), str(actual[1])) == (type(expected[1]), str(expected[1]))
    assert b"".join(actual[0]) == b"".join(expected[0])
    assert sink.closing("wire").end == end


async def test_one_body_has_one_tap(library: ModuleType, sink: MemorySink) -> None:
    """Two hooks on one client, a gateway's and a client's say: the body is observed by the first that takes it."""
    second = ClientHook("second")
    with RawServer(stream()) as server, library.Client() as client:
        instrument(client)
        uninstall = install(client, on_response=second.on_response, on_tap=second.on_tap)
        assert client.post(server.url + PATH).content == BODY
        uninstall()
        assert client.post(server.url + PATH).content == BODY
    clients = [block.extra["stream.client"] for block in sink.at("wire") if block.final]
    assert clients == ["second", library.__name__]


@both
async def test_break_and_close_are_cancellations(library: ModuleType, asynchronous: bool, sink: MemorySink) -> None:
    """An application that stops early has cancelled; what it read is recorded, the rest is not missing."""
    with RawServer(stream([event("a")], end=False, then=wait_for_client)) as server:
        if asynchronous:
            async with (
                library.AsyncClient() as client,
                instrument(client).stream("POST", server.url + PATH) as response,
            ):
                async for _ in response.aiter_raw():
                    break
        else:
            with library.Client() as client, instrument(client).stream("POST", server.url + PATH) as response:
                for _ in response.iter_raw():
                    break
    block = sink.closing("wire")
    assert (block.end, block.totals["events"]) == ("cancelled", 1)


@both
async def test_closing_early_frees_the_connection(library: ModuleType, asynchronous: bool, sink: MemorySink) -> None:
    """A response closed before its end gives its place in the pool back, as without the hook."""
    options = {"limits": library.Limits(max_connections=1), "timeout": library.Timeout(5, pool=0.2)}
    with RawServer(stream([event("a")], end=False, then=wait_for_client), stream()) as server:
        if asynchronous:
            async with library.AsyncClient(**options) as client:
                async with instrument(client).stream("POST", server.url + PATH):
                    pass
                assert (await client.post(server.url + PATH)).content == BODY
        else:
            with library.Client(**options) as client:
                with instrument(client).stream("POST", server.url + PATH):
                    pass
                assert client.post(server.url + PATH).content == BODY
    assert [block.end for block in sink.at("wire") if block.final] == ["cancelled", "eof"]


async def test_a_closed_iterator_closes_what_it_reads_from(sink: MemorySink) -> None:
    """httpx2 closes the transport's iterator together with its own, at once; ours in between passes that on."""
    closed: list[bool] = []

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                yield BODY
                yield BODY
            finally:
                closed.append(True)

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    async with (
        httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client,
        instrument(client).stream("GET", "http://llm.invalid") as response,
        aclosing(response.aiter_bytes()) as pieces,
    ):
        assert await anext(pieces) == BODY
        await pieces.aclose()
        assert closed == [True]
    assert sink.closing("wire").end == "stopped_at_terminal"


async def test_closing_after_the_terminator_is_no_cancellation(library: ModuleType, sink: MemorySink) -> None:
    """A client that stops at [DONE] has read the answer."""
    with (
        RawServer(stream([BODY], end=False, then=wait_for_client)) as server,
        library.Client() as client,
        instrument(client).stream("POST", server.url + PATH) as response,
    ):
        next(response.iter_raw())
    assert sink.closing("wire").end == "stopped_at_terminal"


async def test_closing_after_an_error_event_is_no_cancellation(library: ModuleType, sink: MemorySink) -> None:
    """A client that stops at the provider's error event did not cancel the answer."""
    body = event("a") + b'data: {"error": {"message": "overloaded"}}\n\n'
    with (
        RawServer(stream([body], end=False, then=wait_for_client)) as server,
        library.Client() as client,
        instrument(client).stream("POST", server.url + PATH) as response,
    ):
        next(response.iter_raw())
    assert sink.closing("wire").end == "stopped_at_terminal"


async def test_a_cancelled_task_is_a_cancellation(library: ModuleType, sink: MemorySink) -> None:
    """Cancelling the task that reads ends the record as cancelled, and the task as cancelled."""
    seen = asyncio.Event()

    async def work(url: str) -> None:
        async with library.AsyncClient() as client, instrument(client).stream("POST", url + PATH) as response:
            async for _ in response.aiter_raw():
                seen.set()

    with RawServer(stream([event("a")], end=False, then=wait_for_client)) as server:
        task = asyncio.create_task(work(server.url))
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    block = sink.closing("wire")
    assert (block.end, block.totals["events"]) == ("cancelled", 1)


async def test_a_response_that_is_never_read_nor_closed_is_abandoned(library: ModuleType, sink: MemorySink) -> None:
    """Garbage collection ends the record of a response that its application forgot."""
    with RawServer(stream([BODY], end=False, then=wait_for_client)) as server:
        client = instrument(library.Client())
        response = client.send(client.build_request("POST", server.url + PATH), stream=True)
        del response
        gc.collect()
        block = sink.closing("wire")
        client.close()
    assert (block.end, block.totals["events"]) == ("abandoned", 0)


async def test_a_client_closed_from_elsewhere_is_no_reset(library: ModuleType, sink: MemorySink) -> None:
    """A client that is closed by another task while one reads accuses nobody of a reset."""
    seen = asyncio.Event()

    async def work(client: Any, url: str) -> None:
        async with client.stream("POST", url + PATH) as response:
            async for _ in response.aiter_raw():
                seen.set()

    with RawServer(stream([event("a")], end=False, then=wait_for_client)) as server:
        client = instrument(library.AsyncClient())
        task = asyncio.create_task(work(client, server.url))
        await seen.wait()
        await client.aclose()
        await asyncio.gather(task, return_exceptions=True)
    assert sink.closing("wire").end in ("unknown", "cancelled")


async def test_the_stream_still_looks_like_the_librarys(library: ModuleType, sink: MemorySink) -> None:
    """Type, elapsed time and closed state are as without the hook, and the connection goes back to the pool."""
    with RawServer(stream()) as server, library.Client() as client:
        instrument(client)
        for _ in range(2):
            with client.stream("POST", server.url + PATH) as response:
                assert isinstance(response.stream, library.SyncByteStream)
                response.read()
            assert response.elapsed.total_seconds() >= 0
            assert response.is_closed
        assert server.connections == 1


async def test_pieces_reach_the_application_before_the_event_is_complete(library: ModuleType, sink: MemorySink) -> None:
    """Half an event is handed on as soon as it comes; nothing waits for the rest."""
    release = threading.Event()
    whole = event("a")

    def handle(connection: Any, request: bytes) -> None:
        connection.sendall(head("Connection: close") + whole[:10])
        release.wait(10)
        connection.sendall(whole[10:])
        hang_up(connection, request)

    with (
        RawServer(handle) as server,
        library.Client() as client,
        instrument(client).stream("POST", server.url + PATH) as response,
    ):
        pieces = response.iter_raw()
        assert next(pieces) == whole[:10]
        release.set()
        assert b"".join(pieces) == whole[10:]
    assert sink.closing("wire").totals["events"] == 1


async def test_the_applications_own_hooks_read_through_ours(library: ModuleType, sink: MemorySink) -> None:
    """A response hook of the application that reads the body sees it all, and the record is whole."""
    bodies: list[bytes] = []
    hooks = {"response": [lambda response: bodies.append(response.read())]}
    with RawServer(stream()) as server, library.Client(event_hooks=hooks) as client:
        instrument(client).post(server.url + PATH)
    assert bodies == [BODY]
    assert sink.closing("wire").totals["events"] == 10


async def test_environment_proxies_are_still_honoured(
    library: ModuleType, sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An instrumented client goes through the proxy that its environment names."""
    with RawServer(stream()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        with library.Client() as client:
            assert instrument(client).post("http://llm.invalid" + PATH).content == BODY
        assert proxy.requests[0].startswith(b"POST http://llm.invalid/")
    assert sink.closing("wire").end == "eof"


async def test_an_observer_that_raises_leaves_the_host_alone(
    library: ModuleType, sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug of ours costs the record of that point, which says so, and nothing else."""

    def broken(*_: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(OpenAIChat, "read", broken)
    with RawServer(stream()) as server, faults.quiet():
        pieces, error = read_sync(library, server.url)
    assert (b"".join(pieces), error) == (BODY, None)
    block = sink.closing("wire")
    assert (block.extra["stream.observer_fault"], block.end) == ("RuntimeError", "eof")


@both
async def test_a_hook_that_raises_leaves_the_host_alone(
    library: ModuleType, asynchronous: bool, sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the hook itself fails, requests and responses go through."""

    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("streamwitness.client.hook._take_back", broken)
    monkeypatch.setattr("streamwitness.client.hook._take_key", broken)
    with RawServer(stream()) as server, faults.quiet():
        pieces, error = await read(asynchronous, library, server.url)
    assert (b"".join(pieces), error, sink.blocks) == (BODY, None, [])


async def test_no_content_in_any_block(library: ModuleType, sink: MemorySink) -> None:
    """A text planted in the stream is found in no attribute of any block."""
    with RawServer(stream(cut(BODY, 50))) as server:
        read_sync(library, server.url)
    exported = repr([block.attributes() for block in sink.blocks]).encode()
    assert sink.blocks
    for planted in (CANARY, "alte", "\u2028"):
        assert planted.encode() not in exported


async def test_bodies_that_are_no_streams_pass_unobserved(library: ModuleType, sink: MemorySink) -> None:
    """JSON answers and errors are not looked at."""

    def answer(status: str, content_type: str) -> Any:
        return lambda connection, _: connection.sendall(
            head("Content-Length: 2", status=status, content_type=content_type) + b"{}"
        )

    with RawServer(answer("200 OK", "application/json"), answer("500 Broken", "text/event-stream")) as server:
        for _ in range(2):
            assert read_sync(library, server.url) == ([b"{}"], None)
    assert sink.blocks == []


async def test_uninstrumented_clients_are_as_before(library: ModuleType, sink: MemorySink) -> None:
    """uninstrument takes the hooks off, and instrumenting twice has put them on once."""
    with RawServer(stream()) as server, library.Client() as client:
        instrument(instrument(client))
        assert [len(hooks) for hooks in client.event_hooks.values()] == [1, 1]
        uninstrument(client)
        assert [len(hooks) for hooks in client.event_hooks.values()] == [0, 0]
        client.post(server.url + PATH)
    assert sink.blocks == []


async def test_instrumented_clients_are_collected(library: ModuleType, sink: MemorySink) -> None:
    """Nothing of ours keeps a client alive."""
    gc.disable()  # not even until the next collection
    try:
        client = instrument(library.Client())
        gone = weakref.ref(client)
        del client
        assert gone() is None
    finally:
        gc.enable()


async def test_the_closing_block_says_who_answered(library: ModuleType, sink: MemorySink) -> None:
    """Status and host, in the field's own words."""
    with RawServer(stream()) as server:
        read_sync(library, server.url)
    extra = sink.closing("wire").extra
    assert (extra["http.response.status_code"], extra["server.address"]) == (200, "127.0.0.1")


async def test_waits_are_told_apart(library: ModuleType, sink: MemorySink) -> None:
    """The time asked and waited is read_wait, and every read is counted."""
    with RawServer(stream(cut(BODY, 100))) as server:
        read_sync(library, server.url)
    block = sink.closing("wire")
    assert "stream.read_wait.after" in block.extra
    assert block.totals["read_calls"] >= 1


async def test_mode_off_does_nothing(library: ModuleType) -> None:
    """Switched off, nothing is recorded and nothing is sent."""
    with recording(mode="off", origins=("http://127.0.0.1",)) as sink, RawServer(stream()) as server:
        assert b"".join(read_sync(library, server.url)[0]) == BODY
        assert server.header("stream-witness") is None
    assert sink.blocks == []


def test_only_clients_are_supported() -> None:
    """Anything else is refused with the list of what is supported."""
    with pytest.raises(TypeError, match=r"supported: httpx\.Client, .*openai\.AsyncOpenAI"):
        instrument(object())
