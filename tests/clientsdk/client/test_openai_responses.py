"""The Responses API of the real openai package: every way to its events, each recorded once, nothing consumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest

from streamwitness.client import instrument
from streamwitness.semconv import ALL_PARTS
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.adapters import each, now
from tests.clientsdk.client.contract import RESPONSES
from tests.clientsdk.client.raw_server import CANARY, RawServer, cut, head, stream

pytestmark = pytest.mark.anyio

QUESTION: dict[str, Any] = {"model": "m", "input": CANARY}
COUNT = len(RESPONSES.events)
both = pytest.mark.parametrize("asynchronous", [False, True], ids=("sync", "async"))


def client_of(asynchronous: bool, url: str) -> Any:
    """An instrumented client."""
    kind: Any = openai.AsyncOpenAI if asynchronous else openai.OpenAI
    return instrument(kind(api_key="k", base_url=url + "/v1", max_retries=0))


async def _helper(client: Any) -> None:
    manager = client.responses.stream(**QUESTION)
    async with _entered(manager) as answer:
        async for _ in each(answer):
            pass
        assert (await now(answer.get_final_response())).output_text.startswith("Die ")


async def _raw(client: Any) -> None:
    raw = await now(client.responses.with_raw_response.create(**QUESTION, stream=True))
    assert [item.type async for item in each(raw.parse())][-1] == "response.completed"


async def _streaming(client: Any) -> None:
    async with _entered(client.responses.with_streaming_response.create(**QUESTION, stream=True)) as response:
        assert [item.type async for item in each(await now(response.parse()))][-1] == "response.completed"


async def _retrieved(client: Any) -> None:
    answer = await now(client.responses.retrieve("resp_1", stream=True))
    assert [item.sequence_number async for item in each(answer)] == list(range(COUNT))


class _entered:  # noqa: N801 - used like a function
    """A sync or an async context manager as an async one."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    async def __aenter__(self) -> Any:
        manager = self._manager
        return await manager.__aenter__() if hasattr(manager, "__aenter__") else manager.__enter__()

    async def __aexit__(self, *error: Any) -> None:
        manager = self._manager
        await now(manager.__aexit__(*error) if hasattr(manager, "__aexit__") else manager.__exit__(*error))


@both
@pytest.mark.parametrize("way", [_helper, _raw, _streaming, _retrieved])
async def test_every_way_to_a_stream_is_observed_once(
    asynchronous: bool, way: Callable[[Any], Any], sink: MemorySink
) -> None:
    """The helper's events are made out of the stream's; those beneath are recorded, each once."""
    with RawServer(stream(cut(RESPONSES.body, 50))) as server:
        client = client_of(asynchronous, server.url)
        await way(client)
        await now(client.close())
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert (wire.totals["events"], parsed.totals["events"]) == (COUNT, COUNT)
    assert (parsed.semantic_o, parsed.complete, parsed.delivers) == (wire.semantic_o, True, ALL_PARTS)


@both
async def test_an_error_event_without_a_member_of_that_name_is_an_event(asynchronous: bool, sink: MemorySink) -> None:
    """The API's own `error` event is yielded, and ends nothing."""
    fields = {"type": "error", "code": "server_error", "message": "overloaded", "param": None, "sequence_number": 1}
    body = RESPONSES.events[0] + b"event: error\ndata: " + json.dumps(fields).encode() + b"\n\n"
    with RawServer(stream([body])) as server:
        client = client_of(asynchronous, server.url)
        types = [item.type async for item in each(await now(client.responses.create(**QUESTION, stream=True)))]
        await now(client.close())
    assert types == ["response.created", "error"]
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert parsed.columns().get("result") == wire.columns().get("result")
    assert list(parsed.columns()["parts"]) == list(wire.columns()["parts"])


@pytest.mark.parametrize("raw", [False, True])
async def test_parsed_is_announced_where_it_runs_by_itself(raw: bool) -> None:
    """A raw response is parsed if the application likes: then its own block says that `parsed` is to be expected."""
    with RawServer(stream([RESPONSES.body])) as server, recording(origins=(server.url,)) as memory:
        with client_of(False, server.url) as client:
            if raw:
                list(client.responses.with_raw_response.create(**QUESTION, stream=True).parse())
            else:
                list(client.responses.create(**QUESTION, stream=True))
        announced = server.header("stream-witness") or ""
    assert ("points=(wire parsed)" in announced) != raw
    assert memory.closing("parsed").expected >> 4 & 1


async def test_an_answer_without_a_stream_is_left_alone(sink: MemorySink) -> None:
    """`create` without stream=True: nothing is announced for `parsed`, and nothing recorded."""
    body = b'{"id": "resp_1", "object": "response", "output": []}'

    def whole(connection: Any, _request: bytes) -> None:
        connection.sendall(head(f"Content-Length: {len(body)}", content_type="application/json") + body)

    with RawServer(whole) as server, client_of(False, server.url) as client:
        assert client.responses.create(**QUESTION).id == "resp_1"
    assert sink.blocks == []
