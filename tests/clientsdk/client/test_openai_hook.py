"""The real openai package, sync and async: its streams stay what they are, and its parser testifies for `parsed`."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest

from streamwitness import faults
from streamwitness.client import applied, instrument, uninstrument
from streamwitness.providers.openai_chat import OpenAIChat
from streamwitness.semconv import ALL_PARTS, ERROR, TERMINAL, Point
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.raw_server import (
    BODY,
    CANARY,
    DONE,
    TEXTS,
    Handler,
    RawServer,
    cut,
    event,
    hang_up,
    head,
    reset,
    stream,
    wait_for_client,
)

pytestmark = pytest.mark.anyio

QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": CANARY}], "stream": True}
both = pytest.mark.parametrize("asynchronous", [False, True], ids=("sync", "async"))


async def _items(stream: Any) -> AsyncIterator[Any]:
    """A sync or an async iterator as an async one."""
    if hasattr(stream, "__aiter__"):
        async for item in stream:
            yield item
    else:
        for item in stream:
            yield item


async def _now(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value


class Session:
    """A client of either kind for one server; what it yields and raises."""

    def __init__(self, asynchronous: bool, url: str, *, observed: bool = True, **options: Any) -> None:
        kind: Any = openai.AsyncOpenAI if asynchronous else openai.OpenAI
        self.client = kind(api_key="k", base_url=url + "/v1", max_retries=0, **options)
        if observed:
            instrument(self.client)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        await _now(self.client.close())

    async def ask(self, **options: Any) -> Any:
        return await _now(self.client.chat.completions.create(**QUESTION, **options))

    async def read(self) -> tuple[list[str], BaseException | None]:
        texts: list[str] = []
        try:
            async for chunk in _items(await self.ask()):
                texts.extend(choice.delta.content or "" for choice in chunk.choices)
        except Exception as error:
            return texts, error
        return texts, None


@both
@pytest.mark.parametrize("size", [5, 100, len(BODY)])
async def test_chunks_are_recorded_as_the_wire_saw_them(asynchronous: bool, size: int, sink: MemorySink) -> None:
    """What the parser hands on has the digests of the wire's events; it hands on all but the terminator."""
    with RawServer(stream(cut(BODY, size))) as server:
        async with Session(asynchronous, server.url) as session:
            assert await session.read() == ([*TEXTS, ""], None)
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert (wire.totals["events"], parsed.totals["events"]) == (10, 9)
    assert (parsed.semantic_o, parsed.slot_digests) == (wire.semantic_o, wire.slot_digests)
    assert parsed.end in ("eof", "stopped_at_terminal")
    assert wire.end in ("eof", "stopped_at_terminal")
    assert parsed.delivers == ALL_PARTS & ~TERMINAL
    assert (wire.extra["stream.client"], parsed.extra["stream.client"]) == ("openai", "openai")
    assert (wire.exchange, wire.witness, wire.complete) == (parsed.exchange, parsed.witness, parsed.complete)


@both
async def test_keep_alive_comments_and_usage_are_healthy(asynchronous: bool, sink: MemorySink) -> None:
    """Comments in an idle gap are no events; a usage chunk without choices is one, without content."""
    usage = b'data: {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],'
    usage += b' "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}\n\n'
    body = b": keep-alive\n\n" + event("a") + b": ping\n\n: ping\n\n" + event(finish="stop") + usage + DONE
    with RawServer(stream(cut(body, 9))) as server:
        async with Session(asynchronous, server.url) as session:
            assert await session.read() == (["a", ""], None)
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert (wire.totals["comments"], wire.totals["events"], parsed.totals["events"]) == (3, 4, 3)
    assert wire.semantic_o == parsed.semantic_o
    assert parsed.complete


@both
async def test_an_error_event_is_handed_on_as_an_exception(asynchronous: bool, sink: MemorySink) -> None:
    """The package raises APIError for it, the same with the hook; it is an event at parsed, so nothing is missing."""
    body = event("a") + b'data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n' + DONE
    with RawServer(stream([body])) as server:
        async with (
            Session(asynchronous, server.url, observed=False) as plain,
            Session(asynchronous, server.url) as session,
        ):
            expected, actual = await plain.read(), await session.read()
    assert type(actual[1]) is type(expected[1]) is openai.APIError
    assert (actual[0], str(actual[1])) == (expected[0], str(expected[1]))
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert parsed.columns()["parts"][1] & ERROR
    assert list(parsed.columns()["result"]) == [0, 5]
    assert (parsed.end, wire.end) == ("stopped_at_terminal", "stopped_at_terminal")
    assert parsed.semantic_o == wire.semantic_o


ENDINGS: dict[str, tuple[Handler, str, str]] = {
    "reset": (stream([event("a")], end=False, then=reset), "reset", "reset"),
    "incomplete": (stream([event("a")], end=False, then=hang_up), "protocol_error", "protocol_error"),
    "timeout": (stream([event("a")], end=False, then=wait_for_client), "timeout", "timeout"),
    "clean end without a terminator": (stream([event("a")]), "eof", "eof"),
    "not JSON": (stream([event("a"), b"data: {no\n\n"]), "raised", "cancelled"),
}


@both
@pytest.mark.parametrize("name", ENDINGS)
async def test_endings_raise_the_same(asynchronous: bool, name: str, sink: MemorySink) -> None:
    """Every way a stream ends early looks to the application as without the hook, and is told apart."""
    handler, parsed_end, wire_end = ENDINGS[name]
    options = {"timeout": 0.2} if name == "timeout" else {}
    with RawServer(handler) as server:
        async with (
            Session(asynchronous, server.url, observed=False, **options) as plain,
            Session(asynchronous, server.url, **options) as session,
        ):
            expected, actual = await plain.read(), await session.read()
    assert (actual[0], type(actual[1]), str(actual[1])) == (expected[0], type(expected[1]), str(expected[1]))
    assert (sink.closing("parsed").end, sink.closing("wire").end) == (parsed_end, wire_end)


@both
async def test_closing_early_is_a_cancellation_at_both_points(asynchronous: bool, sink: MemorySink) -> None:
    """A client that closes with events still in flight has cancelled, also where the body had come whole."""
    with RawServer(stream([event("a"), event("b")], end=False, then=wait_for_client), stream()) as server:
        async with Session(asynchronous, server.url) as session:
            for _ in range(2):
                answer = await session.ask()
                async for _chunk in _items(answer):
                    break
                await _now(answer.close())
            for _ in range(10):  # an async generator that was left is closed by a task of its event loop
                await asyncio.sleep(0)
    assert [block.end for block in sink.at("parsed") if block.final] == ["cancelled", "cancelled"]
    assert [block.totals["events"] for block in sink.at("parsed") if block.final] == [1, 1]
    assert next(block.end for block in sink.at("wire") if block.final) == "cancelled"


@both
async def test_what_the_sdk_hands_on_after_a_close_is_recorded(asynchronous: bool, sink: MemorySink) -> None:
    """A loop that closes its stream and reads on is given what had come: it came, was handed on, and is applied."""
    body = [b"".join(event(text) for text in "abcdef")]
    with RawServer(stream(body, end=False, then=wait_for_client)) as server:
        async with Session(asynchronous, server.url) as session:
            answer = await session.ask()
            with contextlib.suppress(openai.APIConnectionError, httpx.StreamError), applied(answer) as report:
                async for chunk in _items(answer):
                    report.report(chunk)
                    if chunk.choices[0].delta.content == "c":
                        await _now(answer.close())
    points: tuple[Point, ...] = ("wire", "parsed", "applied")
    told = [(sink.closing(point).totals["events"], sink.closing(point).end) for point in points]
    assert told == [(6, "cancelled")] * 3


async def test_a_loop_that_asks_no_more_is_over_at_the_next_tick(sink: MemorySink) -> None:
    """Whoever keeps a loop that he has left holds no record open by it."""
    with RawServer(stream([event("a") + event("b")], end=False, then=wait_for_client)) as server:
        async with Session(False, server.url) as session:
            answer = await session.ask()
            loop = iter(answer)
            next(loop)
            answer.close()
            assert [block for block in sink.at("parsed") if block.final] == []
            for now in (1, 2):
                for recorder in list(sink.tracked):
                    recorder.tick(now)
            assert (sink.closing("parsed").end, sink.closing("parsed").totals["events"]) == ("cancelled", 1)
            del loop


async def test_a_stop_button_is_a_cancellation_whatever_its_reader_raises(sink: MemorySink) -> None:
    """Another task closes the stream while its reader waits, whose parser then fails: it did not fail by itself."""
    with RawServer(stream([event("a")], end=False, then=wait_for_client)) as server:
        async with Session(True, server.url) as session:
            answer, first = await session.ask(), asyncio.Event()

            async def read() -> None:
                async for _ in answer:
                    first.set()

            reading = asyncio.ensure_future(read())
            await first.wait()
            await answer.close()
            with contextlib.suppress(openai.APIConnectionError, httpx.StreamError):
                await reading
    assert sink.closing("wire").end == "cancelled"
    assert sink.closing("parsed").end != "raised"


async def test_a_stream_that_is_dropped_is_abandoned(sink: MemorySink) -> None:
    """A loop left by break and a stream that nobody closes: both points say abandoned."""
    with RawServer(stream([event("a")], end=False, then=wait_for_client)) as server:
        async with Session(False, server.url) as session:
            answer = await session.ask()
            next(answer)
            del answer
            gc.collect()
    assert (sink.closing("parsed").end, sink.closing("wire").end) == ("abandoned", "abandoned")


@both
async def test_the_stream_keeps_its_type(asynchronous: bool, sink: MemorySink) -> None:
    """Streams are openai's own, with their response, and work as context managers."""
    with RawServer(stream()) as server:
        async with Session(asynchronous, server.url) as session:
            answer = await session.ask()
            assert type(answer) is (openai.AsyncStream if asynchronous else openai.Stream)
            assert answer.response.status_code == 200
            assert len([chunk async for chunk in _items(answer)]) == 9


async def test_every_way_to_a_stream_is_observed(sink: MemorySink) -> None:
    """with_options, raw responses, streaming responses and the stream() helper end at the same parser."""
    with RawServer(stream()) as server, openai.OpenAI(api_key="k", base_url=server.url + "/v1") as client:
        completions = instrument(client).chat.completions
        list(client.with_options(timeout=9).chat.completions.create(**QUESTION))
        list(completions.with_raw_response.create(**QUESTION).parse())
        with completions.with_streaming_response.create(**QUESTION) as response:
            list(response.parse())
        with completions.stream(model="m", messages=QUESTION["messages"]) as helper:
            assert helper.get_final_completion().choices[0].message.content == "".join(TEXTS)
    assert [block.totals["events"] for block in sink.at("parsed") if block.final] == [9, 9, 9, 9]


async def test_legacy_completions_are_observed(sink: MemorySink) -> None:
    """`completions.create`: another path and other chunks, the same parser."""
    chunk = b'data: {"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [%b]}\n\n'
    texts = [chunk % b'{"index": 0, "text": "ja ", "finish_reason": null}'] * 2
    body = [*texts, chunk % b'{"index": 0, "text": "", "finish_reason": "stop"}', DONE]
    with RawServer(stream(body)) as server, openai.OpenAI(api_key="k", base_url=server.url + "/v1") as client:
        answer = instrument(client).completions.create(model="m", prompt="x", stream=True)
        assert [chunk.choices[0].text for chunk in answer] == ["ja ", "ja ", ""]
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert (wire.totals["events"], parsed.totals["events"]) == (4, 3)
    assert wire.totals["content"] == parsed.totals["content"] == 6
    assert (parsed.semantic_o, parsed.complete) == (wire.semantic_o, wire.complete)
    assert "stream.observer_fault" not in parsed.extra


async def test_azure_is_observed(sink: MemorySink) -> None:
    """Its path is rewritten later than we look at it."""
    with RawServer(stream()) as server:
        client = instrument(openai.AzureOpenAI(api_key="k", azure_endpoint=server.url, api_version="v"))
        assert len(list(client.chat.completions.create(**QUESTION))) == 9
        client.close()
    assert b"/openai/deployments/m/chat/completions" in server.requests[0]
    assert sink.closing("parsed").semantic_o == sink.closing("wire").semantic_o


async def test_async_raw_responses_are_observed(sink: MemorySink) -> None:
    """The same for the async client."""
    with RawServer(stream()) as server:
        async with openai.AsyncOpenAI(api_key="k", base_url=server.url + "/v1") as client:
            completions = instrument(client).chat.completions
            raw = await completions.with_raw_response.create(**QUESTION)
            assert len([chunk async for chunk in raw.parse()]) == 9
            async with completions.with_streaming_response.create(**QUESTION) as response:
                assert len([chunk async for chunk in await response.parse()]) == 9
    assert [block.totals["events"] for block in sink.at("parsed") if block.final] == [9, 9]


async def test_a_given_http_client_is_observed(sink: MemorySink) -> None:
    """`http_client=` of the older httpx is hooked as well."""
    with RawServer(stream()) as server, httpx.Client() as http:
        client = openai.OpenAI(api_key="k", base_url=server.url + "/v1", http_client=http)  # type: ignore[arg-type]
        assert len(list(instrument(client).chat.completions.create(**QUESTION))) == 9
    assert sink.closing("wire").semantic_o == sink.closing("parsed").semantic_o


async def test_retries_are_responses_of_their_own(sink: MemorySink) -> None:
    """A request that is sent again gets another stream id, and only the answer is recorded."""

    def busy(connection: Any, _request: bytes) -> None:
        connection.sendall(
            head("Content-Length: 2", "Retry-After-Ms: 1", status="503 Busy", content_type="application/json") + b"{}"
        )

    with RawServer(busy, stream()) as server, recording(origins=(server.url,)) as memory:
        with openai.OpenAI(api_key="k", base_url=server.url + "/v1", max_retries=1) as client:
            list(instrument(client).chat.completions.create(**QUESTION))
        first, second = (server.header("stream-witness", number) for number in (0, 1))
    assert first is not None
    assert second is not None
    assert first != second
    assert memory.closing("wire").stream in second


async def test_points_are_announced_only_where_they_will_testify(sink: MemorySink) -> None:
    """`parsed` is announced for streamed chat completions, `wire` for everything else."""

    def models(connection: Any, _request: bytes) -> None:
        connection.sendall(head("Content-Length: 27", content_type="application/json") + b'{"object":"list","data":[]}')

    with RawServer(stream()) as server, recording(origins=(server.url,)):
        with openai.OpenAI(api_key="k", base_url=server.url + "/v1", max_retries=0) as client:
            list(instrument(client).chat.completions.create(**QUESTION))
            server.handlers[:] = [models]
            client.models.list()
        announced = [server.header("stream-witness", number) or "" for number in (0, 1)]
    assert "points=(wire parsed)" in announced[0]
    assert "points=(wire)" in announced[1]


async def test_applied_is_named_by_the_chunk(sink: MemorySink) -> None:
    """A reducer that skips a chunk and one that raises: rows name what they are of, the exception stays."""
    with RawServer(stream()) as server:
        async with Session(False, server.url) as session:
            answer = await session.ask()
            report = applied(answer)

            def reduce() -> None:
                for number, chunk in enumerate(answer):
                    if number != 2:
                        with report.event(chunk):
                            1 / (4 - number)

            with pytest.raises(ZeroDivisionError):
                reduce()
            answer.close()
    block = sink.closing("applied")
    assert list(block.columns()["of"]) == [0, 1, 3, 4]
    assert list(block.columns()["result"]) == [6, 6, 6, 5]
    assert (block.of, block.end, block.end_detail) == ("parsed", "raised", "ZeroDivisionError")
    assert sink.closing("parsed").expected >> 5 & 1


async def test_an_observer_that_raises_leaves_the_host_alone(sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours at parsed costs that record, which says so."""

    def broken(*_: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(OpenAIChat, "read_object", broken)
    with RawServer(stream()) as server, faults.quiet():
        async with Session(False, server.url) as session:
            assert await session.read() == ([*TEXTS, ""], None)
    assert sink.closing("parsed").extra["stream.observer_fault"] == "RuntimeError"
    assert "stream.observer_fault" not in sink.closing("wire").extra


async def test_no_content_in_any_block(sink: MemorySink) -> None:
    """Neither the question nor the answer nor an error's text is found in any block."""
    failing = event(CANARY) + b'data: {"error": {"message": "%b"}}\n\n' % CANARY.encode()
    with RawServer(stream(), stream([failing])) as server:
        async with Session(True, server.url) as session:
            await session.read()
            await session.read()
    exported = repr([block.attributes() for block in sink.blocks])
    assert len(sink.blocks) >= 4
    assert CANARY not in exported


@both
async def test_uninstrument_takes_the_parser_hook_off(asynchronous: bool, sink: MemorySink) -> None:
    """Afterwards the client's own methods are back; its HTTP client is released by itself."""
    with RawServer(stream()) as server:
        async with Session(asynchronous, server.url) as session:
            uninstrument(session.client)
            uninstrument(session.client._client)
            assert await session.read() == ([*TEXTS, ""], None)
            assert "request" not in vars(session.client)
    assert sink.blocks == []
