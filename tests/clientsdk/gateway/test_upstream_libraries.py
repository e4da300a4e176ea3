"""A gateway may read its upstream by any client library: the same legs, ends, retries, fallbacks and announcements."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import certifi
import httpx
import httpx2
import openai
import pytest
import requests
from google import genai
from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamwitness.gateway import StreamWitness, upstream
from streamwitness.headers import format_request, parse_request
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.contract import CHAT, GEMINI, MESSAGES, Format
from tests.clientsdk.client.raw_server import Handler, RawServer, hang_up, head, stream
from tests.clientsdk.gateway.serving import PATH, serve, until

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

Read = Callable[[Any, str, dict[str, str]], AsyncIterator[bytes]]
"""Client, upstream URL, headers to send → the pieces of the answer that the gateway makes of it."""


async def _httpx(client: Any, url: str, headers: dict[str, str]) -> AsyncIterator[bytes]:
    async with client.stream("POST", url + CHAT.path, headers=headers) as response:
        response.raise_for_status()
        async for piece in response.aiter_bytes():
            yield piece


async def _aiohttp(client: Any, url: str, headers: dict[str, str]) -> AsyncIterator[bytes]:
    async with client.post(url + CHAT.path, headers=headers, raise_for_status=True) as response:
        async for piece in response.content.iter_any():
            yield piece


def _pieces(client: Any, url: str, headers: dict[str, str]) -> Iterator[bytes]:
    with client.post(url + CHAT.path, headers=headers, stream=True) as response:
        response.raise_for_status()
        yield from response.iter_content(None)


def _requests(client: Any, url: str, headers: dict[str, str]) -> AsyncIterator[bytes]:
    return iterate_in_threadpool(_pieces(client, url, headers))


async def _openai(client: Any, url: str, headers: dict[str, str]) -> AsyncIterator[bytes]:
    client = client.with_options(base_url=url + "/v1")
    async for chunk in await client.chat.completions.create(model="m", messages=[], stream=True, extra_headers=headers):
        yield b"data: %b\n\n" % chunk.model_dump_json().encode()
    yield b"data: [DONE]\n\n"


async def _anthropic(client: Any, url: str, headers: dict[str, str]) -> AsyncIterator[bytes]:
    made = client.with_options(base_url=url).messages.create(
        model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}], stream=True, extra_headers=headers
    )
    async for event in await made:
        yield b"event: %b\ndata: %b\n\n" % (event.type.encode(), event.model_dump_json().encode())


def _config(url: str, headers: dict[str, str]) -> Any:
    options = genai.types.HttpOptions(base_url=url, headers=headers)
    return genai.types.GenerateContentConfig(http_options=options)


def _event(chunk: Any) -> bytes:
    return (
        b"data: %b\n\n"
        % chunk.model_dump_json(exclude_none=True, by_alias=True, exclude={"sdk_http_response"}).encode()
    )


async def _google(client: Any, url: str, headers: dict[str, str]) -> AsyncIterator[bytes]:
    chunks = await client.aio.models.generate_content_stream(model="m", contents="hi", config=_config(url, headers))
    async for chunk in chunks:
        yield _event(chunk)


def _google_sync(client: Any, url: str, headers: dict[str, str]) -> AsyncIterator[bytes]:
    chunks = client.models.generate_content_stream(model="m", contents="hi", config=_config(url, headers))
    return iterate_in_threadpool(_event(chunk) for chunk in chunks)


def _genai() -> genai.Client:
    return genai.Client(
        api_key="k", http_options=genai.types.HttpOptions(retry_options=genai.types.HttpRetryOptions(attempts=1))
    )


LIBRARIES: dict[str, tuple[Callable[[], Any], Read, Format, str, str]] = {
    "httpx": (httpx.AsyncClient, _httpx, CHAT, "httpx", "protocol_error"),
    "httpx2": (httpx2.AsyncClient, _httpx, CHAT, "httpx2", "protocol_error"),
    "aiohttp": (aiohttp.ClientSession, _aiohttp, CHAT, "aiohttp", "protocol_error"),
    "requests": (requests.Session, _requests, CHAT, "requests", "protocol_error"),
    "openai": (lambda: openai.AsyncOpenAI(api_key="k", max_retries=0), _openai, CHAT, "httpx2", "protocol_error"),
    "anthropic": (
        lambda: anthropic.AsyncAnthropic(api_key="k", max_retries=0),
        _anthropic, MESSAGES, "httpx2", "protocol_error",
    ),
    "google-genai": (_genai, _google, GEMINI, "aiohttp", "protocol_error"),
    "google-genai sync": (_genai, _google_sync, GEMINI, "httpx2", "protocol_error"),
}  # fmt: skip
"""Name → how the client is made, how a gateway reads by it, what its provider speaks, which library the leg names, and
the end of a leg that breaks off."""

libraries = pytest.mark.parametrize("name", LIBRARIES)


@pytest.fixture(autouse=True)
def _few_certificates(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = "-----END CERTIFICATE-----\n"
    path = tmp_path_factory.getbasetemp() / "one.pem"
    path.write_text(Path(certifi.where()).read_text().partition(mark)[0] + mark)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))


async def _close(client: Any) -> None:
    if isinstance(client, genai.Client):
        await client.aio.aclose()
    closed = client.aclose() if hasattr(client, "aclose") else client.close()
    if hasattr(closed, "__await__"):
        await closed


@contextlib.contextmanager
def gateway(name: str, *urls: str) -> Iterator[str]:
    """A gateway that reads by this library, and passes on the first upstream that answers to its end."""
    make, read, form, *_ = LIBRARIES[name]
    clients: list[Any] = []

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        client = make()
        assert upstream(upstream(client)) is client  # the second call hooks nothing twice
        clients.append(client)
        yield
        await _close(clients[0])

    async def handler(request: Request) -> StreamingResponse:
        announced = request.headers.get("stream-witness")
        headers = {} if announced is None else {"stream-witness": announced}

        async def body() -> AsyncIterator[bytes]:
            pieces: list[bytes] = []
            for url in urls:
                with contextlib.suppress(Exception):  # of as many classes as there are libraries
                    pieces = [piece async for piece in read(clients[0], url, headers)]
                    break
            for piece in pieces:
                yield piece

        return StreamingResponse(body(), media_type="text/event-stream")

    routes = [Route("/{rest:path}", handler, methods=["POST"])]
    app = Starlette(routes=routes, middleware=[Middleware(StreamWitness)], lifespan=life)
    with serve(app, lifespan="on") as server:
        yield server.url + (form.path if form is not CHAT else PATH)


def finals(sink: MemorySink, point: Any) -> list[Any]:
    return sorted((block for block in sink.at(point) if block.final), key=lambda block: block.leg or 0)


def ask(url: str, **options: Any) -> bytes:
    """What a client of the gateway gets."""
    with httpx.Client(timeout=20) as user:
        return user.post(url, json={}, **options).content


@libraries
def test_a_stream_that_is_passed_on(name: str) -> None:
    """One leg, which saw what went out, and says by which library it was read."""
    form, library = LIBRARIES[name][2:4]
    with RawServer(stream([form.body])) as provider, recording() as sink, gateway(name, provider.url) as url:
        assert ask(url)
        until(lambda: finals(sink, "egress") and finals(sink, "ingress"))
    leg, answer = sink.closing("ingress"), sink.closing("egress")
    assert answer.legs == (leg.recorder,)
    assert (leg.end, leg.complete) in (("eof", True), ("stopped_at_terminal", True))
    assert leg.totals["events"] == len(form.events)
    assert (leg.semantic_s, leg.semantic_o) == (answer.semantic_s, answer.semantic_o)
    assert leg.extra["stream.client"] == library


def _busy(connection: Any, _request: bytes) -> None:
    connection.sendall(head("Content-Length: 0", status="503 Busy"))


@libraries
def test_a_retry_and_a_fallback_are_legs(name: str) -> None:
    """An upstream that breaks off and is asked again, one that refuses, and another that answers: three legs."""
    form, end = LIBRARIES[name][2], LIBRARIES[name][4]
    broken: Handler = stream(form.events[:3], end=False, then=hang_up)
    with (
        RawServer(broken, stream([form.body])) as first,
        RawServer(_busy) as refusing,
        recording() as sink,
        gateway(name, first.url, refusing.url, first.url) as url,
    ):
        assert ask(url)
        until(lambda: finals(sink, "egress") and len(finals(sink, "ingress")) == 3)
    legs, answer = finals(sink, "ingress"), sink.closing("egress")
    assert [leg.leg for leg in legs] == [0, 1, 2]
    assert answer.legs == tuple(leg.recorder for leg in legs)
    assert (legs[0].end, legs[0].complete) == (end, False)
    assert (legs[1].extra["http.response.status_code"], legs[1].totals["events"]) == (503, 0)
    assert legs[2].semantic_o == answer.semantic_o != legs[0].semantic_o
    assert "stream.unanswered" not in answer.extra


@pytest.mark.parametrize("twice", ["Content-Length: 0", "Content-Length: 5"])
def test_a_response_that_aiohttp_cannot_parse_refuses_nothing(twice: str) -> None:
    """It raises the error of a status 400 then, which nobody has sent: no leg, and no response has come."""

    def twofold(connection: Any, _request: bytes) -> None:
        connection.sendall(head("Content-Length: 0", twice))

    with RawServer(twofold) as provider, recording() as sink, gateway("aiohttp", provider.url) as url:
        ask(url)
        until(lambda: finals(sink, "egress"))
    assert finals(sink, "ingress") == []
    assert sink.closing("egress").extra["stream.unanswered"] == 1


@pytest.mark.parametrize("configured", [False, True])
@libraries
def test_announcements(name: str, configured: bool) -> None:
    """A header that the app copied from its client goes no further; a gateway behind adopts the stream."""
    form = LIBRARIES[name][2]
    announced = {"stream-witness": format_request("0123456789abcdef" * 2, ("wire",))}
    with RawServer(stream([form.body])) as provider:
        origins = (provider.url,) if configured else ()
        with recording(origins=origins), gateway(name, provider.url) as url:
            ask(url, headers=announced)
        header = provider.header("stream-witness")
    if configured:
        read = parse_request(header or "")
        assert read is not None
        assert (read.id, read.points) == ("0123456789abcdef" * 2, ())
    else:
        assert header is None
