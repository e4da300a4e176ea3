"""The egress hook in every place of a stack of middleware, around every way to stream: same bytes, one whole record."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import fastapi
import httpx
import pytest
from fastapi.sse import EventSourceResponse as FastApiEvents
from sse_starlette import EventSourceResponse as StarletteEvents
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware, GZipResponder
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from streamwitness.gateway import StreamWitness
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.gateway.serving import PATH, chat, serve, until

ANSWER = chat(*(f"word {number} " for number in range(12)))


class Base(BaseHTTPMiddleware):
    """A middleware as many write one."""

    async def dispatch(self, request: Request, call_next: Any) -> Response:
        response: Response = await call_next(request)
        response.headers["x-base"] = "1"
        return response


class GZipAll:
    """Starlette's GZip without its exception for event streams, as other gateways compress."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        responder = GZipResponder(self.app, minimum_size=1)
        responder.excluded_content_types = ()
        await responder(scope, receive, send)


async def pieces() -> AsyncIterator[bytes]:
    for piece in ANSWER:
        yield piece


async def events() -> AsyncIterator[str]:
    for piece in ANSWER:
        yield piece.decode().removeprefix("data: ").strip()


def starlette(middleware: list[Middleware], respond: Callable[[], Response]) -> Any:
    async def endpoint(request: Request) -> Response:
        return respond()

    return Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], middleware=middleware)


def with_fastapi(middleware: list[Middleware]) -> Any:
    app = fastapi.FastAPI(middleware=middleware)

    @app.post(PATH, response_class=FastApiEvents)
    async def endpoint() -> AsyncIterator[Any]:
        async for data in events():
            yield fastapi.sse.ServerSentEvent(raw_data=data)

    return app


APPS: dict[str, Callable[[list[Middleware]], Any]] = {
    "StreamingResponse": lambda stack: starlette(
        stack, lambda: StreamingResponse(pieces(), media_type="text/event-stream")
    ),
    "EventSourceResponse of sse-starlette": lambda stack: starlette(stack, lambda: StarletteEvents(events())),
    "EventSourceResponse of FastAPI": with_fastapi,
}
STACKS = [
    stack
    for others in ((Base, GZipMiddleware), (Base, GZipAll))
    for stack in itertools.permutations((StreamWitness, *others))
]


class Switch:
    """An app that is another one for each test, so that they share a server."""

    app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


Answered = Callable[[Any, tuple[Any, ...]], tuple[bytes, str | None, str]]


@pytest.fixture(scope="module")
def answered() -> Iterator[Answered]:
    """Decoded body, coding, and the header that the middleware sets."""
    switch = Switch()
    with serve(switch) as server:

        def ask(make: Any, stack: tuple[Any, ...]) -> tuple[bytes, str | None, str]:
            switch.app = make([Middleware(item) for item in stack])
            with httpx.Client(trust_env=False) as client:
                response = client.post(server.url + PATH)
            return response.content, response.headers.get("content-encoding"), response.headers["x-base"]

        yield ask


@pytest.fixture(scope="module")
def without_the_hook(answered: Answered) -> Answered:
    """The same of a stack that does not have it, asked once each."""
    return functools.cache(answered)


@pytest.fixture
def sink() -> Any:
    with recording() as memory:
        yield memory


@pytest.mark.parametrize("make", APPS.values(), ids=APPS)
@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: " ▸ ".join(item.__name__ for item in stack))
def test_every_order_passes_the_same_bytes_and_leaves_one_record(
    sink: MemorySink, answered: Answered, without_the_hook: Answered, stack: Any, make: Any
) -> None:
    """Outermost first: what the client reads is what it reads without the hook, and the record counts every event."""
    bare = tuple(item for item in stack if item is not StreamWitness)
    assert answered(make, stack) == without_the_hook(make, bare)
    until(lambda: any(block.final for block in sink.at("egress")))
    closing = sink.closing("egress")
    assert (closing.end, closing.complete, closing.totals["events"]) == ("eof", True, len(ANSWER))
    assert "stream.observer_fault" not in closing.extra
    texts = [json.loads(piece.removeprefix(b"data: "))["choices"][0]["delta"] for piece in ANSWER[:-1]]
    assert closing.totals["content"] == sum(len(delta.get("content", "")) for delta in texts)
