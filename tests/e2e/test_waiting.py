"""Over real sockets, in real time, with less patience: a gateway that holds back, and clients that give up waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

import streamwitness
from streamwitness.gateway import StreamWitness, upstream
from streamwitness.testing import recording
from streamwitness_analyzer.decode import decode_otlp
from streamwitness_analyzer.judge import judge, waiting
from streamwitness_analyzer.judge.ending import stalls
from tests.analyzer.kit import otlp
from tests.clientsdk.gateway.serving import PATH, SSE, chat, serve, until

ANSWER = chat(*(f"word {number} " for number in range(4)))
BUDGET_MS = 250
LIMIT = 1.0
"""Seconds that clients here wait for a piece."""

Pieces = AsyncIterator[bytes]


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules are those of every day, the budget is not."""
    for module in (waiting, stalls):
        monkeypatch.setattr(module, "BUDGET_MS", BUDGET_MS)


def provider(sent: int, pause: float) -> Any:
    """Sends so many pieces, pauses, and sends the rest."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        for number, piece in enumerate(ANSWER):
            if number == sent:
                await asyncio.sleep(pause)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})

    return app


def gateway(target: str, answer: Callable[[Pieces], Pieces]) -> Any:
    """Makes its answer of what it reads."""

    async def read() -> Pieces:
        client = upstream(httpx.AsyncClient(timeout=30))
        async with client, client.stream("POST", target + PATH, json={}) as response:
            async for piece in response.aiter_raw():
                yield piece

    async def endpoint(_: Request) -> StreamingResponse:
        return StreamingResponse(answer(read()), media_type="text/event-stream")

    return Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], middleware=[Middleware(StreamWitness)])


async def pass_on(pieces: Pieces) -> Pieces:
    """What a gateway should do."""
    async for piece in pieces:
        yield piece


async def all_at_the_end(pieces: Pieces) -> Pieces:
    """Gathers the whole answer first."""
    for piece in [piece async for piece in pieces]:
        yield piece


async def nothing(pieces: Pieces) -> Pieces:
    """Reads the whole answer, and hangs."""
    async for _ in pieces:
        pass
    await asyncio.sleep(3600)
    yield b""


def asked(provided: Any, answer: Callable[[Pieces], Pieces]) -> dict[str, Any]:
    """The verdict on what a client got, or did not get, that waits for `LIMIT` seconds."""

    with (
        serve(provided) as source,
        serve(gateway(source.url, answer)) as served,
        recording(origins=(served.url,)) as sink,
        streamwitness.instrument(httpx.Client(timeout=LIMIT)) as client,
    ):
        with suppress(httpx.ReadTimeout), client.stream("POST", served.url + PATH, json={}) as response:
            for _ in response.iter_raw():
                pass
        until(lambda: sum(block.final for block in sink.blocks) == 3)
    blocks, refused = decode_otlp(otlp(sink.blocks), "any")
    assert refused == []
    return judge(blocks, settled=True)


def test_a_gateway_that_gathers_the_answer() -> None:
    """What came before the pause was held over it; what came behind it was not."""
    verdict = asked(provider(3, 0.6), all_at_the_end)
    told = [f for f in verdict["findings"] if f["suspects"] == ["gateway"]]
    assert [(f["kind"], f["confidence"], f["sequence"]) for f in told] == [("delayed", "certain", [0, 2])]
    assert (verdict["ending"]["class"], verdict["integrity"]) == ("completed", "intact")


def test_a_provider_that_stops() -> None:
    """The gateway waits as its client does."""
    ending = asked(provider(3, 10 * LIMIT), pass_on)["ending"]
    assert (ending["class"], ending["by"], ending["after"]) == ("stalled", "source", 2)


def test_headers_then_nothing() -> None:
    """The gateway has the answer, and its client gives up."""
    ending = asked(provider(len(ANSWER), 0), nothing)["ending"]
    assert (ending["class"], ending["by"]) == ("stalled_before_first", "gateway")
