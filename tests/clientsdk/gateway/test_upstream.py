"""Upstream streams read for an answer are its legs: real providers, real clients, a gateway between."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import httpx2
import openai
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from streamwitness.blocks import Block
from streamwitness.gateway import StreamWitness, upstream
from streamwitness.gateway.context import MAX_LEGS, MAX_REFUSALS
from streamwitness.headers import format_request, parse_request
from streamwitness.semconv import MISSING, POINTS
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.gateway.serving import PATH, SSE, Server, chat, pieces_of, serve, until

Handler = Callable[[Request], Any]


async def provide(scope: Any, receive: Any, send: Any) -> None:
    """A provider: `/whole` answers, `/cut` breaks off, `/refuse` is over its limit, `/json` streams nothing."""
    name, _, argument = scope["path"].removesuffix(PATH).strip("/").partition("/")
    seen.append(dict(scope["headers"]))
    answer = chat(*(f"{argument}{number} " for number in range(6)))
    if name == "refuse":
        await Response("slow down", 429)(scope, receive, send)
    elif name == "json":
        await JSONResponse({"choices": []})(scope, receive, send)
    else:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        for piece in answer[:3] if name == "cut" else answer:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if name == "cut":
            raise ConnectionError
        await send({"type": "http.response.body"})


seen: list[dict[bytes, bytes]] = []
"""Headers of the requests that the provider got."""


@pytest.fixture(scope="module")
def provider() -> Iterator[Server]:
    with serve(provide) as server:
        yield server


@pytest.fixture
def sink() -> Any:
    seen.clear()
    with recording() as memory:
        yield memory


@contextlib.contextmanager
def gateway(handler: Handler, *clients: Any) -> Iterator[str]:
    """A gateway whose handler answers all paths, and which closes its clients at the end; gives the URL to post to."""

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        for client in clients:
            await (client.aclose() if hasattr(client, "aclose") else client.close())

    routes = [Route("/{rest:path}", handler, methods=["POST"])]
    app = Starlette(routes=routes, middleware=[Middleware(StreamWitness)], lifespan=life)
    with serve(app, lifespan="on") as server:
        yield server.url + PATH


def streamed(body: Any) -> StreamingResponse:
    return StreamingResponse(body, media_type="text/event-stream")


def forward(client: Any, *urls: str) -> Handler:
    """A handler that hands on the first upstream that answers to its end."""

    async def body() -> AsyncIterator[bytes]:
        for url in urls:
            try:
                async with client.stream("POST", url, json={}) as response:
                    response.raise_for_status()
                    pieces = [piece async for piece in response.aiter_raw()]
            except (httpx.HTTPError, httpx2.HTTPError):
                continue
            for piece in pieces:
                yield piece
            return

    async def handler(_: Request) -> StreamingResponse:
        return streamed(body())

    return handler


def finals(sink: MemorySink, point: Any) -> list[Block]:
    return sorted((block for block in sink.at(point) if block.final), key=lambda block: block.leg or 0)


def points(block: Block) -> list[str]:
    return [point for bit, point in enumerate(POINTS) if block.expected >> bit & 1]


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_an_upstream_stream_is_a_leg_of_the_answer(sink: MemorySink, provider: Server, library: Any) -> None:
    """Both points testify for one exchange, and the closing block of what goes out lists what came in."""
    client = upstream(library.AsyncClient())
    with gateway(forward(client, f"{provider.url}/whole{PATH}"), client) as url, httpx.Client() as user:
        assert b"[DONE]" in user.post(url, json={}).content
        until(lambda: finals(sink, "egress"))
    leg, answer = sink.closing("ingress"), sink.closing("egress")
    assert (leg.exchange, leg.stream, leg.witness) == (answer.exchange, answer.stream, answer.witness)
    assert (leg.leg, answer.legs) == (0, (leg.recorder,))
    assert (leg.end, leg.totals["events"], answer.totals["events"]) == ("eof", 8, 8)
    assert (leg.semantic_s, leg.semantic_o) == (answer.semantic_s, answer.semantic_o)
    assert points(answer) == points(leg) == ["ingress", "egress"]
    assert leg.extra["stream.client"] == library.__name__


def test_rows_say_which_leg_was_read_how_far(sink: MemorySink, provider: Server) -> None:
    """Handed on piece by piece, each event stands behind at least its own upstream event, in time and in `leg_read`."""
    client = upstream(httpx.AsyncClient())

    async def body() -> AsyncIterator[bytes]:
        async with client.stream("POST", f"{provider.url}/whole{PATH}", json={}) as response:
            held = b""
            async for piece in response.aiter_raw():
                *frames, held = (held + piece).split(b"\n\n")
                for frame in frames:
                    yield frame + b"\n\n"

    async def handler(_: Request) -> StreamingResponse:
        return streamed(body())

    with gateway(handler, client) as url, httpx.Client() as user:
        user.post(url, json={})
        until(lambda: finals(sink, "egress"))
    columns = sink.closing("egress").columns()
    assert list(columns["leg"]) == [0] * 8
    assert all(read > position for position, read in enumerate(columns["leg_read"]))
    assert list(columns["leg_read"]) == sorted(columns["leg_read"])
    assert columns["leg_read"][-1] == 8


@pytest.mark.parametrize("first", ["cut", "whole"])
def test_a_second_upstream_is_a_second_leg(sink: MemorySink, provider: Server, first: str) -> None:
    """A leg that broke is listed with its own end; so is one that is asked besides (a guardrail)."""
    client = upstream(httpx.AsyncClient())

    async def body() -> AsyncIterator[bytes]:
        with contextlib.suppress(httpx.HTTPError):
            async with client.stream("POST", f"{provider.url}/{first}{PATH}", json={}) as response:
                await response.aread()
        async with client.stream("POST", f"{provider.url}/whole{PATH}", json={}) as response:
            async for piece in response.aiter_raw():
                yield piece

    async def handler(_: Request) -> StreamingResponse:
        return streamed(body())

    with gateway(handler, client) as url, httpx.Client() as user:
        user.post(url, json={})
        until(lambda: finals(sink, "egress"))
    legs, answer = finals(sink, "ingress"), sink.closing("egress")
    assert [leg.leg for leg in legs] == [0, 1]
    assert answer.legs == tuple(leg.recorder for leg in legs)
    assert [leg.end for leg in legs] == ["protocol_error" if first == "cut" else "eof", "eof"]
    assert legs[0].totals["events"] == (3 if first == "cut" else 8)
    assert set(answer.columns()["leg"]) == {1}


def test_only_streams_and_refusals_are_legs(sink: MemorySink, provider: Server) -> None:
    """A connection that never came about, and the refusal of what is no completion, leave no leg."""
    client = upstream(httpx.AsyncClient())
    urls = ("http://127.0.0.1:9/", f"{provider.url}/refuse/v1/moderations", f"{provider.url}/whole{PATH}")
    with gateway(forward(client, *urls), client) as url, httpx.Client() as user:
        assert b"[DONE]" in user.post(url, json={}).content
        until(lambda: finals(sink, "egress"))
    assert sink.closing("egress").legs == (sink.closing("ingress").recorder,)


@pytest.mark.parametrize("begun", [False, True], ids=["asked before it answers", "within its answer"])
def test_a_refusal_is_a_leg_without_an_event(sink: MemorySink, provider: Server, begun: bool) -> None:
    """Its record has the status, and neither bytes nor text of the body, which the gateway reads as it came."""
    client = upstream(httpx.AsyncClient())
    given = []

    async def body() -> AsyncIterator[bytes]:
        if begun:
            given.append((await client.post(f"{provider.url}/refuse{PATH}", json={})).content)
        async with client.stream("POST", f"{provider.url}/whole{PATH}", json={}) as response:
            async for piece in response.aiter_raw():
                yield piece

    async def handler(_: Request) -> StreamingResponse:
        if not begun:
            given.append((await client.post(f"{provider.url}/refuse{PATH}", json={})).content)
        return streamed(body())

    with gateway(handler, client) as url, httpx.Client() as user:
        assert b"[DONE]" in user.post(url, json={}).content
        until(lambda: finals(sink, "egress") and len(finals(sink, "ingress")) == 2)
    refused, leg = finals(sink, "ingress")
    answer = sink.closing("egress")
    assert given == [b"slow down"]
    assert answer.legs == (refused.recorder, leg.recorder)
    assert (refused.leg, refused.end, refused.totals["events"], refused.totals["bytes"]) == (0, "eof", 0, 0)
    assert refused.extra["http.response.status_code"] == 429
    assert refused.extra["error.type"] == "429"
    assert points(refused) == ["ingress", "egress"]
    assert (leg.leg, leg.semantic_o) == (1, answer.semantic_o)
    assert "slow down" not in repr(sink.blocks)


def test_refusals_without_a_stream_are_nothing(sink: MemorySink, provider: Server) -> None:
    """A gateway that refuses in its turn begins no stream, and so leaves no record."""
    client = upstream(httpx.AsyncClient())

    async def handler(_: Request) -> Response:
        answer = await client.post(f"{provider.url}/refuse{PATH}", json={})
        return Response(answer.content, answer.status_code)

    with gateway(handler, client) as url, httpx.Client() as user:
        assert user.post(url, json={}).status_code == 429
    assert sink.blocks == []


def test_few_of_many_refusals_are_recorded(sink: MemorySink, provider: Server) -> None:
    """A gateway that asks again and again loses no room for the response that answers at last."""
    client = upstream(httpx.AsyncClient())
    urls = (*[f"{provider.url}/refuse{PATH}"] * (MAX_LEGS + 1), f"{provider.url}/whole{PATH}")
    with gateway(forward(client, *urls), client) as url, httpx.Client() as user:
        assert b"[DONE]" in user.post(url, json={}).content
        until(lambda: finals(sink, "egress") and len(finals(sink, "ingress")) == MAX_REFUSALS + 1)
    legs, answer = finals(sink, "ingress"), sink.closing("egress")
    assert answer.legs == tuple(leg.recorder for leg in legs)
    assert legs[-1].semantic_o == answer.semantic_o


def test_a_refusal_by_a_configured_profile_is_a_leg(provider: Server) -> None:
    """Where a setting says that a path is a completion's, its refusal is one as well."""
    client = upstream(httpx.AsyncClient())
    urls = (f"{provider.url}/refuse/ask", f"{provider.url}/whole{PATH}")
    with (
        recording(profiles=("*/ask=openai_chat",)) as sink,
        gateway(forward(client, *urls), client) as url,
        httpx.Client() as user,
    ):
        user.post(url, json={})
        until(lambda: finals(sink, "egress"))
    assert len(sink.closing("egress").legs) == 2


def test_requests_that_were_never_answered_are_counted(sink: MemorySink, provider: Server) -> None:
    """A connection that never came about; one that was answered, whatever it said, is none."""
    client = upstream(httpx.AsyncClient())
    urls = (f"http://127.0.0.1:9{PATH}", f"{provider.url}/refuse{PATH}", f"{provider.url}/whole{PATH}")
    with gateway(forward(client, *urls), client) as url, httpx.Client() as user:
        user.post(url, json={})
        user.post(url, json={})
        until(lambda: len(finals(sink, "egress")) == 2)
    assert [answer.extra["stream.unanswered"] for answer in finals(sink, "egress")] == [1, 1]
    assert all(len(answer.legs) == 2 for answer in finals(sink, "egress"))


@pytest.mark.parametrize(("path", "legs"), [(PATH, 1), ("/v1/moderations", 0)])
def test_a_completion_that_came_whole_is_noted_as_unseen(
    sink: MemorySink, provider: Server, path: str, legs: int
) -> None:
    """Its text may be in the answer, so a leg is listed whose record never comes; other side calls are none."""
    client = upstream(httpx.AsyncClient())

    async def body() -> AsyncIterator[bytes]:
        await client.post(f"{provider.url}/json{path}", json={})
        for piece in chat("made", "of it"):
            yield piece

    async def handler(_: Request) -> StreamingResponse:
        return streamed(body())

    with gateway(handler, client) as url, httpx.Client() as user:
        user.post(url, json={})
        until(lambda: finals(sink, "egress"))
    assert len(sink.closing("egress").legs) == legs
    assert ("ingress" in points(sink.closing("egress"))) is bool(legs)
    assert sink.at("ingress") == []


def test_outside_of_an_answer_nothing_is_recorded(sink: MemorySink, provider: Server) -> None:
    """The same client used elsewhere (a job, another route's background task) leaves no trace."""
    with upstream(httpx.Client()) as client:
        assert b"[DONE]" in client.post(f"{provider.url}/whole{PATH}", json={}).content
    assert sink.blocks == []


def test_after_the_answer_requests_are_no_legs(sink: MemorySink, provider: Server) -> None:
    """A background task that asks an upstream once the answer is out does not add to it."""
    client = upstream(httpx.AsyncClient())
    over = threading.Event()

    async def later() -> None:
        await client.post(f"{provider.url}/whole{PATH}", json={})
        over.set()

    async def handler(_: Request) -> StreamingResponse:
        from starlette.background import BackgroundTask

        return StreamingResponse(pieces_of(chat("a")), media_type="text/event-stream", background=BackgroundTask(later))

    with gateway(handler, client) as url, httpx.Client() as user:
        user.post(url, json={})
        assert over.wait(20)
    assert sink.closing("egress").legs == ()
    assert sink.at("ingress") == []


def test_a_leg_read_in_other_tasks_and_threads_is_the_answers_all_the_same(sink: MemorySink, provider: Server) -> None:
    """A sync client in a thread pool, as sync endpoints use it; a task that fills a queue."""
    sync_client, client = upstream(httpx.Client()), upstream(httpx.AsyncClient())

    def in_threads() -> Iterator[bytes]:
        with sync_client.stream("POST", f"{provider.url}/whole{PATH}", json={}) as response:
            yield from response.iter_raw()

    async def through_a_queue() -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue()

        async def fill() -> None:
            async with client.stream("POST", f"{provider.url}/whole{PATH}", json={}) as response:
                async for piece in response.aiter_raw():
                    queue.put_nowait(piece)
            queue.put_nowait(b"")

        async with asyncio.TaskGroup() as group:
            group.create_task(fill())
            while piece := await queue.get():
                yield piece

    bodies = [in_threads, through_a_queue]

    async def handler(_: Request) -> StreamingResponse:
        return streamed(bodies.pop()())

    with gateway(handler, client) as url, httpx.Client() as user:
        user.post(url, json={})
        user.post(url, json={})
        until(lambda: len(finals(sink, "egress")) == 2)
        until(lambda: len(finals(sink, "ingress")) == 2)
    sync_client.close()
    for answer in finals(sink, "egress"):
        [leg] = [leg for leg in finals(sink, "ingress") if leg.exchange == answer.exchange]
        assert answer.legs == (leg.recorder,)
        assert leg.semantic_o == answer.semantic_o
        assert MISSING not in answer.columns()["leg_read"][1:]


def test_fifty_answers_at_once_keep_their_legs_apart(sink: MemorySink, provider: Server) -> None:
    """Each answer lists its own leg, which saw the very content that went out."""
    client = upstream(httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=60))

    async def handler(request: Request) -> StreamingResponse:
        name = (await request.json())["name"]

        async def body() -> AsyncIterator[bytes]:
            async with client.stream("POST", f"{provider.url}/whole/{name}{PATH}", json={}) as response:
                async for piece in response.aiter_raw():
                    yield piece
                    await asyncio.sleep(0)

        return streamed(body())

    with gateway(handler, client) as url, httpx.Client(timeout=60) as user, ThreadPoolExecutor(50) as pool:

        def ask(number: int) -> bytes:
            return user.post(url, json={"name": f"answer-{number}-"}).content

        for number, content in enumerate(pool.map(ask, range(50))):
            assert content.count(f"answer-{number}-".encode()) == 6
        until(lambda: len(finals(sink, "egress")) == 50)
        until(lambda: len(finals(sink, "ingress")) == 50)
    legs = {leg.recorder: leg for leg in finals(sink, "ingress")}
    for answer in finals(sink, "egress"):
        [leg] = (legs.pop(recorder) for recorder in answer.legs)
        assert (leg.exchange, leg.semantic_o, leg.leg) == (answer.exchange, answer.semantic_o, 0)
    assert legs == {}


@pytest.mark.parametrize("configured", [False, True])
def test_the_announcement_goes_on_to_configured_gateways_only(provider: Server, configured: bool) -> None:
    """A proxy that copies its client's headers does not tell a provider; a gateway behind us adopts the stream."""
    client = upstream(httpx.AsyncClient())
    stream = "0123456789abcdef0123456789abcdef"
    announcement = {"stream-witness": format_request(stream, ("wire",)), "traceparent": "00-1-2-00"}

    async def handler(request: Request) -> StreamingResponse:
        async def body() -> AsyncIterator[bytes]:
            headers = {name: request.headers[name] for name in announcement}
            async with client.stream("POST", f"{provider.url}/whole{PATH}", json={}, headers=headers) as response:
                async for piece in response.aiter_raw():
                    yield piece

        return streamed(body())

    seen.clear()
    origins = (provider.url,) if configured else ()
    with recording(origins=origins), gateway(handler, client) as url, httpx.Client() as user:
        user.post(url, json={}, headers=announcement)
    [headers] = seen
    assert headers[b"traceparent"] == b"00-1-2-00"
    if configured:
        header = parse_request(headers[b"stream-witness"].decode())
        assert header is not None
        assert (header.id, header.points) == (stream, ())
    else:
        assert b"stream-witness" not in headers


def test_the_openai_client_as_upstream(sink: MemorySink, provider: Server) -> None:
    """A gateway that reads its provider through the SDK, re-serialising each chunk, is witnessed in the same way."""
    client = upstream(openai.AsyncOpenAI(base_url=f"{provider.url}/whole/v1", api_key="none"))

    async def body() -> AsyncIterator[str]:
        stream = await client.chat.completions.create(model="m", messages=[], stream=True)
        async for item in stream:
            yield f"data: {item.model_dump_json()}\n\n"
        yield "data: [DONE]\n\n"

    async def handler(_: Request) -> StreamingResponse:
        return streamed(body())

    with gateway(handler, client) as url, httpx.Client() as user:
        user.post(url, json={})
        until(lambda: finals(sink, "egress"))
        until(lambda: finals(sink, "ingress"))
    leg, answer = sink.closing("ingress"), sink.closing("egress")
    assert (leg.semantic_s, leg.semantic_o) == (answer.semantic_s, answer.semantic_o)
    assert leg.payload_o != answer.payload_o


def test_a_second_call_hooks_nothing_twice(sink: MemorySink, provider: Server) -> None:
    """One leg an upstream response, however often the client was passed in."""
    client = upstream(upstream(httpx.AsyncClient()))
    with gateway(forward(client, f"{provider.url}/whole{PATH}"), client) as url, httpx.Client() as user:
        user.post(url, json={})
        until(lambda: finals(sink, "egress"))
    assert len(finals(sink, "ingress")) == 1


def test_a_client_of_another_kind_is_refused() -> None:
    """With the caller's mistake named."""
    with pytest.raises(TypeError, match="int"):
        upstream(1)


@pytest.mark.parametrize("base", [httpx.Client, httpx2.AsyncClient, openai.OpenAI, openai.AsyncOpenAI])
def test_a_class_made_from_a_client_counts_as_it(base: type) -> None:
    """An application's own class is hooked like the one that it was made from."""
    made = type("OurClient", (base,), {"__module__": "shop"})
    client = made(api_key="none") if base.__module__.startswith("openai") else made()
    inner = getattr(client, "_client", client)
    ours = len(inner.event_hooks["response"])
    assert upstream(client) is client
    assert len(inner.event_hooks["response"]) == ours + 1


def test_unsampled_and_off_streams_have_no_legs(provider: Server) -> None:
    """What is not recorded going out is not recorded coming in."""
    for settings in ({"sample": 0.0}, {"mode": "off"}):
        client = upstream(httpx.AsyncClient())
        handler = forward(client, f"{provider.url}/whole{PATH}")
        with recording(**settings) as memory, gateway(handler, client) as url, httpx.Client() as user:
            assert b"[DONE]" in user.post(url, json={}).content
        assert memory.blocks == []


def test_no_text_of_an_upstream_is_in_the_record(sink: MemorySink, provider: Server) -> None:
    """Neither of its answer nor of its errors."""
    client = upstream(httpx.AsyncClient())
    urls = (f"{provider.url}/cut/canary{PATH}", f"{provider.url}/whole/canary{PATH}")
    with gateway(forward(client, *urls), client) as url, httpx.Client() as user:
        assert b"canary" in user.post(url, json={}).content
        until(lambda: finals(sink, "egress"))
    assert len(finals(sink, "ingress")) == 2
    assert not [block for block in sink.blocks if "canary" in repr(block)]
