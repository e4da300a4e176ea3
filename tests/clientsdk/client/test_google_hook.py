"""What is particular to google-genai; the rest is in the contract of all adapters (`test_contract.py`)."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import aiohttp
import httpx
import httpx2
import pytest
from google import genai
from google.genai import errors, types

from streamwitness.client import google_hook, instrument, uninstrument
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.contract import GEMINI
from tests.clientsdk.client.raw_server import CANARY, RawServer, head, stream

pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),  # google-genai's
]


@pytest.fixture(autouse=True)
def _few_certificates(one_certificate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", one_certificate)


TEXTS = ["Die ", CANARY, "ja ", "ja ", " \u2028\u00e4\U0001f426", "."]


def client(url: str, **options: Any) -> genai.Client:
    """A client of the server, instrumented."""
    options = {"base_url": url, "retry_options": types.HttpRetryOptions(attempts=1), **options}
    return instrument(genai.Client(api_key="k", http_options=types.HttpOptions(**options)))


def texts(made: genai.Client) -> list[str | None]:
    """What a sync stream yields."""
    return [chunk.text for chunk in made.models.generate_content_stream(model="m", contents="hi")]


async def _closed(made: genai.Client) -> None:
    await made.aio.aclose()


async def _loop_closed(made: genai.Client) -> None:
    """Close only what belongs to the running loop."""
    api = made._api_client
    if api._aiohttp_session is not None:
        await api._aiohttp_session.close()
    else:
        await api._async_httpx_client._client_for_running_loop().aclose()


async def texts_async(made: genai.Client, close: Callable[[genai.Client], Any] = _closed) -> list[str | None]:
    """What an async stream yields."""
    try:
        chunks = await made.aio.models.generate_content_stream(model="m", contents="hi")
        return [chunk.text async for chunk in chunks]
    finally:
        await close(made)


def finals(sink: MemorySink) -> list[str]:
    """The points that were closed."""
    return sorted(block.point for block in sink.blocks if block.final)


def test_chats(sink: MemorySink) -> None:
    """A chat's streams are those of its models; each turn is a stream."""
    with RawServer(stream([GEMINI.body])) as server:
        made = client(server.url)
        chat = made.chats.create(model="m")
        for _ in range(2):
            assert [chunk.text for chunk in chat.send_message_stream("hi")] == TEXTS
    assert finals(sink) == ["parsed", "parsed", "wire", "wire"]


def test_async_chats(sink: MemorySink) -> None:
    """As sync ones."""

    async def talk(made: genai.Client) -> list[str | None]:
        chunks = await made.aio.chats.create(model="m").send_message_stream("hi")
        spoken = [chunk.text async for chunk in chunks]
        await made.aio.aclose()
        return spoken

    with RawServer(stream([GEMINI.body])) as server:
        assert asyncio.run(talk(client(server.url))) == TEXTS
    assert finals(sink) == ["parsed", "wire"]


@pytest.mark.parametrize("by_aiohttp", [True, False])
def test_a_client_used_in_several_loops(by_aiohttp: bool, sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connections are made anew in each event loop, and observed there."""
    monkeypatch.setattr("google.genai._api_client.has_aiohttp", by_aiohttp)
    with RawServer(stream([GEMINI.body])) as server:
        made = client(server.url)
        for _ in range(2):
            assert asyncio.run(texts_async(made, _loop_closed)) == TEXTS
    assert finals(sink) == ["parsed"] * 2 + ["wire"] * 2


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_clients_that_were_given_to_it(library: Any, sink: MemorySink) -> None:
    """The application's own HTTP clients are observed; they keep their hooks when the SDK's come off."""

    async def reading(url: str) -> None:
        given = {"httpx_client": library.Client(), "httpx_async_client": library.AsyncClient()}
        made = client(url, **given)
        assert texts(made) == await texts_async(made) == TEXTS
        uninstrument(made)
        assert [len(each.event_hooks["response"]) for each in given.values()] == [1, 1]
        given["httpx_client"].close()
        await given["httpx_async_client"].aclose()

    with RawServer(stream([GEMINI.body])) as server:
        asyncio.run(reading(server.url))
    assert finals(sink) == ["parsed", "parsed", "wire", "wire"]


def test_a_session_of_aiohttp_that_was_given_to_it(sink: MemorySink) -> None:
    """Likewise."""

    async def reading(url: str) -> None:
        async with aiohttp.ClientSession() as session:
            assert await texts_async(client(url, aiohttp_client=session)) == TEXTS

    with RawServer(stream([GEMINI.body])) as server:
        asyncio.run(reading(server.url))
    assert finals(sink) == ["parsed", "wire"]


def test_answers_that_are_no_streams(sink: MemorySink) -> None:
    """A whole answer is not recorded."""
    body = GEMINI.events[0].removeprefix(b"data: ").strip()

    def whole(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(head(f"Content-Length: {len(body)}", content_type="application/json") + body)

    with RawServer(whole) as server:
        assert client(server.url).models.generate_content(model="m", contents="hi").text == "Die "
    assert sink.blocks == []


def test_requests_on_the_way_are_not_its_streams(sink: MemorySink) -> None:
    """A token that is fetched while the stream is waited for is none of its business."""
    assert google_hook.SDK.reads("/v1beta/models/m:streamGenerateContent")
    assert not google_hook.SDK.reads("/token")


def _error(events: list[bytes], read: Callable[[genai.Client], Any] = texts) -> BaseException | None:
    with RawServer(stream(events)) as server, recording(mode="off"):
        try:
            read(client(server.url))
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize("line", [b"id: 01234567.0\n", b": comment\n", b"event: message\n"])
@pytest.mark.parametrize("read", [texts, lambda made: asyncio.run(texts_async(made))], ids=["sync", "async"])
def test_its_parser_raises_on_lines_that_are_not_data(line: bytes, read: Callable[[genai.Client], Any]) -> None:
    """So it asks for no `id` stamps: measured."""
    assert isinstance(_error([line + GEMINI.events[0]], read), errors.UnknownApiResponseError)
    assert _error([GEMINI.events[0]], read) is None


def test_its_parser_overlooks_an_error_behind_another_member() -> None:
    """So it asks for no `field` stamps, which stand first in the object: measured."""
    error = json.loads(GEMINI.error.removeprefix(b"data: "))
    stamped = b"data: " + json.dumps({"_stream": "01234567", "_seq": 0, **error}).encode() + b"\n\n"
    assert isinstance(_error([GEMINI.error]), errors.ServerError)
    assert _error([stamped]) is None
    assert google_hook.STAMPS == ()
