"""Healthy streams of real hooks, over real sockets: their closing blocks say that all is well, and no rule is asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anthropic
import httpx
import openai
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

import streamwitness
from bench import judging
from streamwitness.gateway import StreamWitness, upstream
from streamwitness.runtime import configure
from streamwitness.testing import MemorySink, recording
from streamwitness_analyzer.decode import decode_otlp
from streamwitness_analyzer.judge import hops, judge
from streamwitness_analyzer.judge.testimony.records import collect
from streamwitness_analyzer.judge.well import sound
from tests.analyzer.kit import otlp
from tests.clientsdk.client.contract import CHAT, MESSAGES, RESPONSES, Format
from tests.clientsdk.gateway.serving import plain, serve, until


def _chat(client: Any) -> Any:
    return client.chat.completions.create(model="m", messages=[], stream=True)


def _responses(client: Any) -> Any:
    return client.responses.create(model="m", input="?", stream=True)


def _messages(client: Any) -> Any:
    return client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}], stream=True)


CLIENTS: dict[str, tuple[Format, type, str, Callable[[Any], Any]]] = {
    "chat": (CHAT, openai.OpenAI, "/v1", _chat),
    "responses": (RESPONSES, openai.OpenAI, "/v1", _responses),
    "messages": (MESSAGES, anthropic.Anthropic, "", _messages),
}
"""Name → what is spoken, and the client that asks for it."""


def _as_it_came(line: str) -> str:
    return line


def _anew(line: str) -> str:
    """The same written by another encoder."""
    data = line.partition(": ")[2]
    return f"data: {json.dumps(json.loads(data), separators=(' ,', ' :'))}" if data.startswith("{") else line


def _gateway(upstream_url: str, written: Callable[[str], str]) -> Starlette:
    async def answer(request: Request) -> StreamingResponse:
        url, body = upstream_url + request.url.path, await request.body()

        async def lines() -> AsyncIterator[str]:
            async with upstream(httpx.AsyncClient()) as client, client.stream("POST", url, content=body) as response:
                async for line in response.aiter_lines():
                    yield f"{written(line)}\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    return Starlette(routes=[Route("/{path:path}", answer, methods=["POST"])], middleware=[Middleware(StreamWitness)])


def _record(name: str, mode: str, written: Callable[[str], str]) -> MemorySink:
    """What is recorded of an answer that was applied to its end."""
    spoken, kind, base, ask = CLIENTS[name]
    provider = plain(spoken.events, [(b"content-type", b"text/event-stream")])
    with recording(mode=mode) as sink, serve(provider) as source, serve(_gateway(source.url, written)) as gateway:
        configure(origins=[gateway.url])
        with streamwitness.instrument(kind(base_url=gateway.url + base, api_key="k")) as client:
            stream = ask(client)
            with streamwitness.applied(stream) as applied:
                for event in stream:
                    with applied.event(event):
                        pass
        until(lambda: {block.point for block in sink.blocks if block.final} >= {"egress", "applied"})
    return sink


@pytest.mark.parametrize("written", [_as_it_came, _anew])
@pytest.mark.parametrize("mode", ["observe", "stamp"])
@pytest.mark.parametrize("name", CLIENTS)
def test_no_rule_is_asked_of_a_healthy_stream(
    name: str, mode: str, written: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the hooks tell of it besides; and the rules would have said the same."""
    blocks, refused = decode_otlp(otlp(_record(name, mode, written).blocks), "any")
    assert refused == []
    (exchange,) = collect(blocks).exchanges
    assert len(exchange.records) == 5
    assert sound(exchange, ()) is not None
    told = judge(blocks, settled=True)
    monkeypatch.setattr(hops, "sound", lambda exchange, earlier: None)
    assert told == judge(blocks, settled=True)
    assert told["integrity"] == "intact"


def test_the_bench_judges_what_hooks_tell() -> None:
    """What closing blocks of the bench's streams say is what those of real hooks do; times come and go."""
    closing = {block.point: block for block in judging.healthy(40) if block.final}
    for block in _record("chat", "observe", _as_it_came).blocks:
        told = {name for name in block.extra if not name.endswith((".ms", ".after"))}
        assert told <= closing[block.point].extra.keys()
        assert (block.end, block.delivers, block.expected) == (
            closing[block.point].end, closing[block.point].delivers, closing[block.point].expected,
        )  # fmt: skip
