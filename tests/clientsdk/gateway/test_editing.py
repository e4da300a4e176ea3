"""edited(): what a gateway's own code declares stands in the closing block of its answer."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamwitness.gateway import StreamWitness, edited, upstream
from streamwitness.gateway.context import GatewayExchange, bound
from streamwitness.runtime import ClientSettings, Runtime
from streamwitness.semconv import EDITED
from streamwitness.testing import MemorySink, recording
from streamwitness_analyzer.judge import judge
from tests.clientsdk.gateway.serving import PATH, chat, plain, serve

pytestmark = pytest.mark.anyio

ANSWER = chat(*(f"word {number} " for number in range(8)))


def answered(handler: Callable[[Request, Any], AsyncIterator[bytes]], **settings: Any) -> Any:
    """The blocks of a gateway that answers so, over real sockets; the handler gets its client and the provider."""
    with recording(**settings) as sink, serve(plain(ANSWER)) as provider:

        async def answer(request: Request) -> StreamingResponse:
            return StreamingResponse(handler(request, provider.url + PATH), media_type="text/event-stream")

        app = Starlette(routes=[Route(PATH, answer, methods=["POST"])], middleware=[Middleware(StreamWitness)])
        with serve(app) as server:
            httpx.post(server.url + PATH, trust_env=False)
        return sink


async def filtering(_: Request, provider: str) -> AsyncIterator[bytes]:
    """Leaves two events out, and says so."""
    async with upstream(httpx.AsyncClient(trust_env=False)) as client, client.stream("POST", provider) as response:
        body = b"".join([piece async for piece in response.aiter_raw()])
    for event in body.split(b"\n\n")[:-1]:
        if b"word 3" in event or b"word 5" in event:
            edited("filter")
            continue
        yield event + b"\n\n"


async def unspoken(request: Request, provider: str) -> AsyncIterator[bytes]:
    """Declares from a thread that has no context, by the request's scope."""
    thread = threading.Thread(target=lambda: edited("rewrite", scope=request.scope))
    thread.start()
    thread.join()
    edited("merge")
    edited("merge")
    yield b"".join(ANSWER)


def test_a_filter_that_says_so_is_intact() -> None:
    """Two events fewer than were read, and nobody calls it a fault."""
    sink = answered(filtering)
    verdict = judge(sink.blocks, settled=True)
    assert sink.closing("egress").extra[EDITED] == ["filter"]
    assert (verdict["integrity"], verdict["findings"], verdict["ending"]["class"]) == ("intact", [], "completed")
    assert [note["sentence"] for note in verdict["notes"]] == ["The gateway says that it left out 2 events on purpose."]


def test_declared_from_anywhere_and_told_once() -> None:
    """By the scope where there is no context; each kind once, in the order of the table."""
    assert answered(unspoken).closing("egress").extra[EDITED] == ["merge", "rewrite"]


def test_with_mode_off_it_does_nothing() -> None:
    """No record, no error."""
    assert answered(filtering, mode="off").blocks == []


def test_outside_of_a_request_it_does_nothing() -> None:
    """Nobody is answering, or not any more."""
    edited("filter")
    edited("filter", scope={})
    edited("filter", scope={"streamwitness.gateway": None})
    exchange = GatewayExchange(Runtime(ClientSettings(), MemorySink()), None)
    exchange.leg_ids()
    with bound(exchange):
        edited("filter")
    edited("filter", scope={"streamwitness.gateway": exchange})
    assert exchange.edits() == {}


def test_an_unknown_kind_is_the_callers_mistake() -> None:
    """Also where nothing is witnessed."""
    with pytest.raises(ValueError, match="unknown edit 'sieve'; known: filter, merge, rewrite"):
        edited("sieve")  # type: ignore[arg-type]


def test_an_answer_without_a_declaration_says_nothing() -> None:
    """The attribute is absent."""
    exchange = GatewayExchange(Runtime(ClientSettings(), MemorySink()), None)
    assert exchange.edits() == {}
