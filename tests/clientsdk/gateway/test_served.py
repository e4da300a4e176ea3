"""The egress hook under a real uvicorn: real clients that stay, leave or are cut off; servers that stop."""

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
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamwitness import faults
from streamwitness.gateway import StreamWitness
from streamwitness.runtime import ClientSettings, Runtime
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.gateway.serving import PATH, SSE, Gate, chat, leave_after, pieces_of, serve, until

ANSWER = chat(*(f"word {number} " for number in range(20)))
BODY = b"".join(ANSWER)

BROKEN = (httpx.RemoteProtocolError, httpx.ReadError)
"""What a client sees of an answer that breaks off: the system ends the connection with FIN, or with RST where the
server had not read all of the request."""

Body = Any
"""A function that gives the pieces of an answer."""


class Base(BaseHTTPMiddleware):
    """A middleware as many write one: it looks at the request's body, and passes the response."""

    async def dispatch(self, request: Request, call_next: Any) -> Any:
        await request.body()
        return await call_next(request)


def starlette(body: Body, *middleware: Any) -> Any:
    async def endpoint(request: Request) -> StreamingResponse:
        return StreamingResponse(body(), media_type="text/event-stream")

    return Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], middleware=[Middleware(m) for m in middleware])


def sending_only(body: Body) -> Any:
    """An app that never calls receive()."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        async for piece in body():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})

    return StreamWitness(app)


APPS = {
    "sends only": sending_only,
    "starlette": lambda body: starlette(body, StreamWitness),
    "base inside": lambda body: starlette(body, StreamWitness, Base),
    "base outside": lambda body: starlette(body, Base, StreamWitness),
    "base on both sides": lambda body: starlette(body, Base, StreamWitness, Base),
}
every_app = pytest.mark.parametrize("make", APPS.values(), ids=APPS)
every_protocol = pytest.mark.parametrize("http", ["httptools", "h11"])


@pytest.fixture
def sink() -> Any:
    with recording() as memory:
        yield memory


async def whole() -> AsyncIterator[bytes]:
    for piece in ANSWER:
        yield piece


def ended(sink: MemorySink) -> bool:
    return any(block.final for block in sink.at("egress"))


@every_protocol
@every_app
def test_an_answer_arrives_as_it_was_and_ends_well(sink: MemorySink, make: Any, http: str) -> None:
    """Whatever the stack, the client reads the same bytes and the record says `eof`."""
    with serve(make(whole), http=http) as server, httpx.Client() as client:
        for _ in range(3):  # on one connection
            assert client.post(server.url + PATH, json={}).content == BODY
        until(lambda: len([block for block in sink.at("egress") if block.final]) == 3)
    closing = [block for block in sink.at("egress") if block.final]
    assert [block.end for block in closing] == ["eof"] * 3
    assert [block.totals["events"] for block in closing] == [len(ANSWER)] * 3
    assert len({block.exchange for block in closing}) == 3


@every_app
@pytest.mark.parametrize("reset", [False, True], ids=["FIN", "RST"])
def test_a_client_that_leaves_is_seen_to(sink: MemorySink, make: Any, reset: bool) -> None:
    """Though the app has nothing to send: FIN and RST look alike, and what was sent before is on record."""
    gate = Gate()

    async def body() -> AsyncIterator[bytes]:
        yield ANSWER[0]
        yield ANSWER[1]
        await gate.wait()
        yield ANSWER[2]

    with serve(make(body)) as server:
        leave_after(server.port, b"word 1 ", reset=reset)
        until(lambda: ended(sink))
        gate.open()
    closing = sink.closing("egress")
    assert (closing.end, closing.complete, closing.totals["events"]) == ("disconnected", False, 2)


@pytest.mark.parametrize("middleware", [(StreamWitness,), (StreamWitness, Base), (Base, StreamWitness)],
                         ids=["alone", "base inside", "base outside"])  # fmt: skip
def test_a_client_that_leaves_before_the_answer_begins(sink: MemorySink, middleware: Any) -> None:
    """While the app still waits for its provider: it went, and no code raised, whatever becomes of the answer then."""
    gate = Gate()

    async def endpoint(request: Request) -> StreamingResponse:
        await gate.wait()
        return StreamingResponse(pieces_of(ANSWER), media_type="text/event-stream")

    app = Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], middleware=[Middleware(m) for m in middleware])
    with serve(app) as server:
        leave_after(server.port, b"", reset=False)
        gate.wait_for_somebody()
        until(lambda: not server.connections)
        gate.open()
        until(lambda: ended(sink))
    assert sink.closing("egress").end == "disconnected"


@every_app
def test_a_crash_reaches_the_server_and_the_record(sink: MemorySink, make: Any) -> None:
    """The server gets the app's own exception; the answer ended because the gateway raised."""
    reached: list[BaseException] = []
    error = RuntimeError("the upstream spoke in tongues")

    async def body() -> AsyncIterator[bytes]:
        yield ANSWER[0]
        raise error

    app = make(body)

    async def server_side(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        except BaseException as raised:
            reached.append(raised)
            raise

    with serve(server_side) as server, httpx.Client() as client:
        with contextlib.suppress(*BROKEN):  # some middleware makes it a clean end
            assert client.post(server.url + PATH, json={}).content == ANSWER[0]
        until(lambda: ended(sink))
    closing = sink.closing("egress")
    assert (closing.end, closing.end_detail) == ("raised", "RuntimeError")
    assert reached == [error]


def test_a_client_that_closes_at_the_terminal_has_had_it_all(sink: MemorySink) -> None:
    """Clients that hang up at `[DONE]` are no cancellations."""
    gate = Gate()

    async def body() -> AsyncIterator[bytes]:
        for piece in ANSWER:
            yield piece
        await gate.wait()

    with serve(sending_only(body)) as server:
        leave_after(server.port, b"[DONE]\n\n", reset=False)
        until(lambda: ended(sink))
        gate.open()
    assert sink.closing("egress").end == "eof"


def test_an_app_may_still_ask_for_the_disconnect_itself(sink: MemorySink) -> None:
    """`request.is_disconnected()`, polled by many handlers, says the same under the hook."""
    said: list[bool] = []
    gate = Gate()

    async def endpoint(request: Request) -> StreamingResponse:
        async def body() -> AsyncIterator[bytes]:
            said.append(await request.is_disconnected())
            yield ANSWER[0]
            yield ANSWER[1]
            try:
                await gate.wait()
            except asyncio.CancelledError:
                said.append(await request.is_disconnected())
                raise

        return StreamingResponse(body(), media_type="text/event-stream")

    app = Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], middleware=[Middleware(StreamWitness)])
    with serve(app) as server:
        leave_after(server.port, b"word 1 ", reset=True)
        until(lambda: len(said) == 2)
    assert said == [False, True]


@every_app
def test_a_server_that_stops_ends_its_answers(sink: MemorySink, make: Any) -> None:
    """Cut off by the end of the server's patience, an answer was shut down."""
    gate = Gate()
    statuses: list[int] = []

    async def body() -> AsyncIterator[bytes]:
        yield ANSWER[0]
        await gate.wait()

    def read(url: str) -> None:
        with httpx.Client(timeout=None) as client, client.stream("POST", url, json={}) as response:
            statuses.append(response.status_code)
            with pytest.raises(BROKEN):
                list(response.iter_raw())

    with serve(make(body), timeout_graceful_shutdown=0) as server:
        reader = threading.Thread(target=read, args=(server.url + PATH,))
        reader.start()
        until(lambda: statuses)
        server.stop()
        until(lambda: ended(sink))
    reader.join()
    assert sink.closing("egress").end == "shutdown"


def test_a_request_whose_body_nobody_reads(sink: MemorySink) -> None:
    """A long body that the app ignores: the answer passes, and the connection serves the next request."""
    with serve(sending_only(whole)) as server, httpx.Client() as client:
        for _ in range(2):
            assert client.post(server.url + PATH, content=b"x" * 3_000_000).content == BODY
        until(lambda: len([block for block in sink.at("egress") if block.final]) == 2)
    assert {block.end for block in sink.at("egress") if block.final} == {"eof"}


def test_a_slow_upload_is_the_apps_to_read(sink: MemorySink) -> None:
    """An app that answers while it reads its request gets every byte of it, in order."""

    async def echo(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        more = True
        while more:
            message = await receive()
            more = message.get("more_body", False)
            await send({"type": "http.response.body", "body": message["body"], "more_body": more})

    upload = [bytes([65 + number % 26]) * 50_000 for number in range(40)]
    with serve(StreamWitness(echo)) as server, httpx.Client() as client, faults.quiet():
        assert client.post(server.url + PATH, content=iter(upload)).content == b"".join(upload)


def test_a_dead_target_of_the_telemetry_harms_nobody() -> None:
    """Nobody listens where blocks should go: answers pass as ever."""
    runtime = Runtime(ClientSettings(endpoint="http://127.0.0.1:9"))
    app = StreamWitness(starlette(whole), runtime=runtime)
    with serve(app, lifespan="on") as server, httpx.Client() as client:
        for _ in range(5):
            assert client.post(server.url + PATH, json={}).content == BODY
    runtime.shutdown(0.1)
