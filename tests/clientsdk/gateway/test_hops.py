"""Gateways in a row, HTTP/2, and who gets to see the stream's key."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import hypercorn.asyncio
import hypercorn.config
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

import streamwitness
from streamwitness.gateway import StreamWitness, upstream
from streamwitness.headers import format_request, parse_request, parse_response
from streamwitness.semconv import UPSTREAM_EXCHANGE
from streamwitness.testing import MemorySink, recording
from streamwitness_analyzer.judge import judge
from tests.clientsdk.gateway.serving import PATH, SSE, chat, plain, serve, until

ANSWER = chat(*(f"word {number} " for number in range(8)))
BODY = b"".join(ANSWER)
STREAM = "0123456789abcdef0123456789abcdef"
KEY = "stream-witness-key"


class Hop:
    """A gateway that passes an upstream's answer on, as many are written; `eager` begins its own answer first."""

    def __init__(self, target: str, *, eager: bool = False, edit: Any = lambda piece: piece) -> None:
        self.target, self._eager, self._edit = target, eager, edit
        self.seen: list[dict[str, str]] = []
        """The headers that its code has seen: of requests, and of upstream responses."""

    async def _pieces(self, response: httpx.Response, client: httpx.AsyncClient) -> AsyncIterator[bytes]:
        try:
            async for piece in response.aiter_raw():
                yield self._edit(piece)
        finally:
            await response.aclose()
            await client.aclose()

    async def _ask(self) -> tuple[httpx.Response, httpx.AsyncClient]:
        client = upstream(httpx.AsyncClient())
        response = await client.send(client.build_request("POST", self.target + PATH, json={}), stream=True)
        self.seen.append(dict(response.headers))
        return response, client

    async def _late(self) -> AsyncIterator[bytes]:
        async for piece in self._pieces(*await self._ask()):
            yield piece

    async def _endpoint(self, request: Request) -> Response:
        self.seen.append(dict(request.headers))
        if self._eager:
            return StreamingResponse(self._late(), media_type="text/event-stream")
        response, client = await self._ask()
        kept = {name: value for name, value in response.headers.items() if name.startswith(("content-type", "stream"))}
        return StreamingResponse(self._pieces(response, client), headers=kept)

    def app(self) -> Any:
        return Starlette(routes=[Route(PATH, self._endpoint, methods=["POST"])], middleware=[Middleware(StreamWitness)])


@contextlib.contextmanager
def row(*, eager: bool = False, edit: Any = lambda piece: piece) -> Iterator[tuple[str, MemorySink, list[Hop]]]:
    """Provider, two gateways; the outer one knows the inner one, the client knows the outer one."""
    with serve(plain(ANSWER)) as provider:
        inner = Hop(provider.url)
        with serve(inner.app()) as first:
            outer = Hop(first.url, eager=eager, edit=edit)
            with serve(outer.app()) as second, recording(origins=(first.url, second.url)) as sink:
                yield second.url, sink, [inner, outer]


def asked(url: str, sink: MemorySink, records: int = 5) -> httpx.Response:
    """An instrumented client's request, and its answer when all have testified."""
    with streamwitness.instrument(httpx.Client(timeout=30)) as client:
        response = client.post(url + PATH, json={})
    until(lambda: sum(block.final for block in sink.blocks) == records)
    return response


def closing(sink: MemorySink) -> dict[tuple[str, int], Any]:
    """Closing blocks by point and hop."""
    return {(block.point, block.hop): block for block in sink.blocks if block.final}


def test_each_gateway_is_a_hop_of_the_same_stream() -> None:
    """Counted from the provider outwards, each with an exchange of its own; the outer one names the inner one's."""
    with row() as (url, sink, _):
        response = asked(url, sink)
        found = closing(sink)
    header = parse_response(response.headers["stream-witness"])
    assert header is not None
    assert response.content == BODY
    assert set(found) == {("ingress", 0), ("egress", 0), ("ingress", 1), ("egress", 1), ("wire", 1)}
    assert {block.stream for block in found.values()} == {header.id}
    assert header.hop == 1
    assert found["egress", 1].exchange == found["ingress", 1].exchange == found["wire", 1].exchange == header.exchange
    assert found["egress", 0].exchange == found["ingress", 0].exchange != header.exchange
    assert found["ingress", 1].extra[UPSTREAM_EXCHANGE] == found["egress", 0].exchange
    assert UPSTREAM_EXCHANGE not in found["ingress", 0].extra


def test_gateways_in_a_row_share_the_streams_key() -> None:
    """So the digests of one and the same event are the same at all of them."""
    with row() as (url, sink, _):
        asked(url, sink)
        found = closing(sink)
    assert len({(block.payload_s, block.payload_o) for block in found.values()}) == 1


def test_an_answer_that_begins_before_its_upstream_does_not_know_its_place() -> None:
    """It stays hop 0 and keeps a key of its own: what is between the two cannot be compared, and nobody is accused."""
    with row(eager=True) as (url, sink, _):
        assert asked(url, sink).content == BODY
        verdict = judge(sink.blocks, settled=True)
    assert len({block.exchange for block in sink.blocks}) == 2
    assert {block.hop for block in sink.blocks} == {0}
    assert (verdict["ending"]["class"], verdict["integrity"], verdict["findings"]) == ("completed", "unproven", [])


def test_two_honest_gateways_are_intact() -> None:
    """No word of a fault where there is none."""
    with row() as (url, sink, _):
        asked(url, sink)
        verdict = judge(sink.blocks, settled=True)
    assert (verdict["ending"]["class"], verdict["integrity"], verdict["findings"]) == ("completed", "intact", [])


def test_a_gateway_that_loses_an_event_is_the_one_that_did() -> None:
    """The outer one swallowed it: neither the inner gateway nor the way between them is a suspect."""
    lost: list[bytes] = []

    def edit(piece: bytes) -> bytes:
        lost.append(ANSWER[3])
        return piece.replace(ANSWER[3], b"")

    with row(edit=edit) as (url, sink, _):
        assert ANSWER[3] not in asked(url, sink).content
        verdict = judge(sink.blocks, settled=True)
    assert [(f["kind"], f["suspects"]) for f in verdict["findings"]] == [("gap", ["gateway"])]


def test_the_key_is_seen_by_the_hooks_alone() -> None:
    """Neither the gateways' code nor the client's finds it in any header, nor does it stand in any block."""
    with row() as (url, sink, hops):
        response = asked(url, sink)
        plainly = httpx.post(url + PATH, headers={"stream-witness": format_request(STREAM, ("wire",))})
        key = plainly.headers[KEY]  # what an announced client is sent, and its hook takes off
        until(lambda: sum(block.final for block in sink.blocks) == 9)
    seen = [dict(response.headers), dict(response.request.headers), *hops[0].seen, *hops[1].seen]
    assert len(key) == 32
    assert all(KEY not in headers and key not in headers.values() for headers in seen)
    told = "".join(map(repr, sink.blocks))
    assert key not in told
    assert repr(bytes.fromhex(key))[2:-1] not in told


def test_an_upstream_that_was_not_asked_is_not_believed() -> None:
    """A provider that calls itself a gateway moves nobody's place, and its key stays out of sight."""
    lying = [*SSE, (b"stream-witness", b'v=1, id="%b", exchange="0123456789abcdef", hop=7' % STREAM.encode())]
    with serve(plain(ANSWER, [*lying, (KEY.encode(), b"00" * 16)])) as provider:
        hop = Hop(provider.url)
        with serve(hop.app()) as server, recording(origins=(server.url,)) as sink:
            response = asked(server.url, sink, 3)
    header = parse_response(response.headers["stream-witness"])
    assert header is not None
    assert header.hop == 0
    assert header.id != STREAM
    assert all(KEY not in headers for headers in hop.seen)
    assert UPSTREAM_EXCHANGE not in sink.closing("ingress").extra


# --------------------------------------------------------------------------- HTTP/2


@contextlib.contextmanager
def http2(app: Any) -> Iterator[str]:
    """A hypercorn that speaks HTTP/2 without TLS, for clients that begin with it."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = hypercorn.config.Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.errorlog = None
    stop = asyncio.Event()
    loop = asyncio.new_event_loop()
    over = hypercorn.asyncio.serve(app, config, shutdown_trigger=stop.wait)
    thread = threading.Thread(target=loop.run_until_complete, args=(over,))
    thread.start()
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@pytest.mark.parametrize("stamp", ["none", "id", "field"])
def test_headers_and_stamps_over_http2(stamp: Any) -> None:
    """They are lower case there, and a body has no chunks; all else is the same."""
    with recording(mode="stamp") as sink, http2(StreamWitness(plain(ANSWER))) as url:
        asking = {"Stream-Witness": format_request(STREAM, ("wire",), stamp)}
        with httpx.Client(http1=False, http2=True, timeout=30) as client:
            response = client.get(url + PATH, headers=asking)
        until(lambda: any(block.final for block in sink.blocks))
    header = parse_response(response.headers["stream-witness"])
    assert response.http_version == "HTTP/2"
    assert header is not None
    assert (header.id, header.stamp, len(response.headers[KEY])) == (STREAM, stamp, 32)
    assert (response.content == BODY) is (stamp == "none")
    assert sink.closing("egress").end == "eof"


def test_what_a_gateway_asks_of_an_inner_one() -> None:
    """Only what it needs: the stream, and no stamps."""
    with row() as (url, sink, hops):
        asked(url, sink)
    header = parse_request(hops[0].seen[0]["stream-witness"])
    assert header is not None
    assert (header.points, header.stamp) == ((), "none")
