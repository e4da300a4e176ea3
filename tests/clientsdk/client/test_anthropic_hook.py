"""The real anthropic package: every way to its events, each recorded once; what its parser consumes is declared."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest
from opentelemetry.sdk.trace import TracerProvider

from streamwitness.client import instrument, uninstrument
from streamwitness.client.anthropic_hook import DELIVERS
from streamwitness.client.identify import stream_id
from streamwitness.semconv import ALL_PARTS, ERROR, PING
from streamwitness.testing import MemorySink
from tests.clientsdk.client.adapters import each, now
from tests.clientsdk.client.contract import MESSAGES
from tests.clientsdk.client.raw_server import CANARY, RawServer, cut, head, stream, wait_for_client

pytestmark = pytest.mark.anyio

QUESTION: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": CANARY}]}
COUNT = len(MESSAGES.events)
both = pytest.mark.parametrize("asynchronous", [False, True], ids=("sync", "async"))


def client_of(asynchronous: bool, url: str, **options: Any) -> Any:
    """An instrumented client."""
    kind: Any = anthropic.AsyncAnthropic if asynchronous else anthropic.Anthropic
    return instrument(kind(api_key="k", base_url=url, max_retries=0, **options))


def _entering(manager: Any) -> Any:
    return manager.__aenter__() if hasattr(manager, "__aenter__") else manager.__enter__()


def _leaving(manager: Any) -> Any:
    nothing = (None, None, None)
    return manager.__aexit__(*nothing) if hasattr(manager, "__aexit__") else manager.__exit__(*nothing)


async def _helper(client: Any) -> None:
    manager = client.messages.stream(**QUESTION)
    answer = await now(_entering(manager))
    assert "".join([text async for text in each(answer.text_stream)]) == f"Die {CANARY}ja ja "
    assert (await now(answer.get_final_message())).stop_reason == "end_turn"
    await now(_leaving(manager))


async def _beta_helper(client: Any) -> None:
    manager = client.beta.messages.stream(**QUESTION)
    answer = await now(_entering(manager))
    assert [item.type async for item in each(answer)][-1] == "message_stop"
    await now(_leaving(manager))


async def _beta(client: Any) -> None:
    answer = await now(client.beta.messages.create(**QUESTION, stream=True))
    assert [item.type async for item in each(answer)][-1] == "message_stop"


async def _raw(client: Any) -> None:
    raw = await now(client.messages.with_raw_response.create(**QUESTION, stream=True))
    parsed = await now(raw.parse())
    assert parsed is await now(raw.parse())
    assert [item.type async for item in each(parsed)][-1] == "message_stop"


async def _streaming(client: Any) -> None:
    manager = client.messages.with_streaming_response.create(**QUESTION, stream=True)
    response = await now(_entering(manager))
    assert [item.type async for item in each(await now(response.parse()))][-1] == "message_stop"
    await now(_leaving(manager))


async def _copy(client: Any) -> None:
    copied = client.with_options(timeout=9)
    assert [item.type async for item in each(await now(copied.messages.create(**QUESTION, stream=True)))]


@both
@pytest.mark.parametrize("way", [_helper, _beta, _beta_helper, _raw, _streaming, _copy])
async def test_every_way_to_a_stream_is_observed_once(
    asynchronous: bool, way: Callable[[Any], Any], sink: MemorySink
) -> None:
    """The helpers' events are made out of the stream's; those beneath are recorded, each once, without the ping."""
    with RawServer(stream(cut(MESSAGES.body, 50))) as server:
        client = client_of(asynchronous, server.url)
        await way(client)
        await now(client.close())
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert (wire.totals["events"], parsed.totals["events"]) == (COUNT, COUNT - 1)
    assert (parsed.semantic_o, parsed.complete, parsed.delivers) == (wire.semantic_o, True, DELIVERS)
    assert wire.totals["pings"] == 1


async def test_what_its_parser_consumes_is_declared() -> None:
    """Pings, and nothing else."""
    assert DELIVERS == ALL_PARTS & ~PING


@both
@pytest.mark.parametrize("way", [_copy, _raw, _streaming])
async def test_middleware_of_the_application_stays(
    asynchronous: bool, way: Callable[[Any], Any], sink: MemorySink
) -> None:
    """Middleware sees what it sees without the hook, and the events are recorded once with it, too."""
    seen: list[int] = []

    def handle(request: Any, call_next: Any) -> Any:
        response = call_next(request)
        seen.append(response.status_code)
        return response

    async def handle_async(request: Any, call_next: Any) -> Any:
        response = await call_next(request)
        seen.append(response.status_code)
        return response

    with RawServer(stream([MESSAGES.body])) as server:
        client = client_of(asynchronous, server.url, middleware=[handle_async if asynchronous else handle])
        await way(client)
        await now(client.close())
    assert seen == [200]
    assert sink.closing("parsed").totals["events"] == COUNT - 1


@both
async def test_its_own_tracing_stays(asynchronous: bool, sink: MemorySink) -> None:
    """The package wraps the body for spans of its own: its wrapper and ours do not get in each other's way."""
    options = {"open_telemetry": {"traces": {"tracer_provider": TracerProvider()}}}
    with RawServer(stream([MESSAGES.body])) as server:
        client = client_of(asynchronous, server.url, **options)
        answer = await now(client.messages.create(**QUESTION, stream=True))
        assert len([item async for item in each(answer)]) == COUNT - 1
        assert answer.response.elapsed.total_seconds() > 0
        await now(client.close())
    assert sink.closing("parsed").totals["events"] == COUNT - 1


@both
async def test_an_error_event_says_what_it_said_at_the_wire(asynchronous: bool, sink: MemorySink) -> None:
    """It is raised with the class of its type, and is an event at `parsed` all the same."""
    with RawServer(stream([*MESSAGES.events[:4], MESSAGES.error])) as server:
        client = client_of(asynchronous, server.url)
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            async for _ in each(await now(client.messages.create(**QUESTION, stream=True))):
                pass
        await now(client.close())
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert parsed.columns()["parts"][-1] & ERROR
    assert list(parsed.columns()["result"]) == [0, 0, 0, 5]
    assert (parsed.end, parsed.semantic_o) == ("stopped_at_terminal", wire.semantic_o)


@both
async def test_vertex_shares_it(asynchronous: bool, sink: MemorySink) -> None:
    """A client that rewrites the path later is observed like any other."""
    kind: Any = anthropic.AsyncAnthropicVertex if asynchronous else anthropic.AnthropicVertex
    with RawServer(stream([MESSAGES.body])) as server:
        client = instrument(kind(region="r", project_id="p", access_token="t", base_url=server.url))
        assert len([item async for item in each(await now(client.messages.create(**QUESTION, stream=True)))]) == 9
        await now(client.close())
    assert b":streamRawPredict" in server.requests[0]
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert (parsed.totals["events"], parsed.semantic_o, parsed.complete) == (COUNT - 1, wire.semantic_o, True)


def _message(payload: bytes, **headers: str) -> bytes:
    """A message of the AWS event stream."""
    fields = b"".join(
        b"%c%b\x07%b%b" % (len(name), name.encode(), struct.pack(">H", len(value)), value.encode())
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(fields) + len(payload), len(fields))
    made = prelude + struct.pack(">I", zlib.crc32(prelude)) + fields + payload
    return made + struct.pack(">I", zlib.crc32(made))


def _chunk(event: bytes) -> bytes:
    """An event as Bedrock wraps it."""
    data = base64.b64encode(event.partition(b"data: ")[2].strip()).decode()
    names = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return _message(json.dumps({"bytes": data}).encode(), **names)


@both
async def test_bedrock_shares_it(asynchronous: bool, sink: MemorySink) -> None:
    """Another framing and another decoder: what is parsed is what came in the messages."""
    kind: Any = anthropic.AsyncAnthropicBedrock if asynchronous else anthropic.AnthropicBedrock
    body = b"".join(_chunk(event) for event in MESSAGES.events)

    def handle(connection: Any, _request: bytes) -> None:
        connection.sendall(
            head(f"Content-Length: {len(body)}", content_type="application/vnd.amazon.eventstream") + body
        )

    with RawServer(handle) as server:
        client = instrument(kind(aws_region="r", api_key="k", base_url=server.url))
        assert len([item async for item in each(await now(client.messages.create(**QUESTION, stream=True)))]) == 9
        await now(client.close())
    assert b"/invoke-with-response-stream" in server.requests[0]
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert (parsed.totals["events"], parsed.semantic_o, parsed.complete) == (COUNT - 1, wire.semantic_o, True)


async def test_the_stream_knows_its_id(sink: MemorySink) -> None:
    """stream_id() of the stream, and of the helper's."""
    with RawServer(stream([MESSAGES.body])) as server, client_of(False, server.url) as client:
        with client.messages.create(**QUESTION, stream=True) as answer:
            first = stream_id(answer)
        with client.messages.stream(**QUESTION) as helper:
            second = stream_id(helper)
    assert [block.stream for block in sink.at("wire") if block.final] == [first, second]


async def test_closing_the_helper_is_a_cancellation(sink: MemorySink) -> None:
    """Its `with` block ends before the answer does."""
    with (
        RawServer(stream(MESSAGES.events[:4], end=False, then=wait_for_client)) as server,
        client_of(False, server.url) as client,
        client.messages.stream(**QUESTION) as helper,
    ):
        next(helper)
    assert (sink.closing("wire").end, sink.closing("parsed").end) == ("cancelled", "cancelled")


async def test_a_given_http_client_is_observed_and_given_back(sink: MemorySink) -> None:
    """`http_client=` is hooked as well; taking the hooks off gives the SDK's methods back."""
    with RawServer(stream([MESSAGES.body])) as server, httpx2.Client() as http:
        client = client_of(False, server.url, http_client=http)
        assert len(list(client.messages.create(**QUESTION, stream=True))) == COUNT - 1
        uninstrument(client)
        uninstrument(http)
        assert "request" not in vars(client)
        list(client.messages.create(**QUESTION, stream=True))
    assert sink.closing("parsed").totals["events"] == COUNT - 1
