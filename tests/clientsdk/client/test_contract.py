"""One contract for every client adapter: the application sees what it sees without the hook, and all ends are told.

Each test runs the real client against a real server, mostly twice: plain, then observed, and compares.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from streamwitness.client import instrument, uninstrument
from streamwitness.gateway.stamp import SSERewriter
from streamwitness.semconv import CLIENT_ENDS, MISSING, Stamp
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.adapters import ADAPTERS
from tests.clientsdk.client.contract import CHAT, Adapter, Session
from tests.clientsdk.client.raw_server import (
    CANARY,
    Handler,
    RawServer,
    chunked,
    cut,
    hang_up,
    head,
    reset,
    stream,
    wait_for_client,
)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),  # google-genai's
    pytest.mark.filterwarnings("ignore:Unclosed (connection|client session|connector):ResourceWarning"),  # if dropped
]

Which = Callable[[Adapter], bool]
Test = TypeVar("Test", bound=Callable[..., object])

TOO_SHORT = 0.15
"""A timeout in s that a server which sends nothing more runs into."""


def only(which: Which) -> Callable[[Test], Test]:
    """The test is about these adapters; the others are left out, so that a skipped test is always a lack."""

    def chosen(test: Test) -> Test:
        test.which = which  # type: ignore[attr-defined]
        return test

    return chosen


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each test with every adapter that it is about; where it asks for a stamp, with each that the adapter declares."""
    which: Which = getattr(metafunc.function, "which", lambda _: True)
    adapters = {adapter.name.replace(" ", "-"): adapter for adapter in ADAPTERS if which(adapter)}
    if "stamp" in metafunc.fixturenames:
        pairs = {f"{name}-{stamp}": (adapter, stamp) for name, adapter in adapters.items() for stamp in adapter.stamps}
        metafunc.parametrize(("adapter", "stamp"), pairs.values(), ids=pairs)
    else:
        metafunc.parametrize("adapter", adapters.values(), ids=adapters)


@pytest.fixture(autouse=True)
def _few_certificates(one_certificate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", one_certificate)


@pytest.fixture(scope="module", autouse=True)
def _small_heap() -> Iterator[None]:
    """What the libraries made when they were imported need not be looked through each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@asynccontextmanager
async def session(adapter: Adapter, url: str, *, observed: bool = True, **options: Any) -> AsyncIterator[Session]:
    """A client of the server, closed at the end."""
    opened = adapter.open(url, **options)
    if observed:
        instrument(opened.client)
    try:
        yield opened
    finally:
        await opened.close()


async def read(opened: Session) -> tuple[Any, BaseException | None]:
    """Everything that an application reads, and what ended it."""
    items: list[Any] = []
    try:
        async for item in opened.items(await opened.ask()):
            items.append(item)  # noqa: PERF401 - what was read before the exception counts
    except Exception as error:
        return whole(items), error
    return whole(items), None


def whole(items: list[Any]) -> Any:
    """Bytes without their cuts, which are the network's; objects as they are."""
    return b"".join(items) if items and isinstance(items[0], bytes) else items


def alike(error: BaseException | None) -> list[tuple[type, str]]:
    """An exception and its causes, to be compared."""
    chain = []
    while error is not None:
        chain.append((type(error), str(error)))
        error = error.__cause__
    return chain


def closings(adapter: Adapter, sink: MemorySink) -> dict[str, str | None]:
    """Point → how it ended; every point has exactly one closing block."""
    return {point: sink.closing(point).end for point in adapter.points}


async def forgotten() -> None:
    """Let the loop close the generators that nobody holds any more, and collect them."""
    for _ in range(2):
        gc.collect()
        for _ in range(25):
            await asyncio.sleep(0)


def slow(adapter: Adapter, received: threading.Semaphore) -> Handler:
    """A server that sends each event only when the one before has been received."""

    def handle(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(head("Transfer-Encoding: chunked"))
        first, *rest = chunked(adapter.format.events)
        connection.sendall(first)
        for piece in rest:
            received.acquire(timeout=5)
            connection.sendall(piece)

    return handle


def held(adapter: Adapter, looked: threading.Semaphore) -> Handler:
    """A server that keeps the body until somebody has looked at the head; aiohttp closes a response that has come."""

    def handle(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(head("Transfer-Encoding: chunked", "X-Some: thing"))
        looked.acquire(timeout=5)
        connection.sendall(b"".join(chunked([adapter.format.body])))

    return handle


def started(adapter: Adapter) -> Handler:
    """A server that sends three events and waits."""
    return stream(adapter.format.events[:3], end=False, then=wait_for_client)


@pytest.mark.parametrize("size", [7, 1 << 20])
async def test_a_healthy_stream(adapter: Adapter, size: int, sink: MemorySink) -> None:
    """The same items with and without the hook; the record has each event once, and says whose it is."""
    form = adapter.format
    with RawServer(stream(cut(form.body, size))) as server:
        async with session(adapter, server.url, observed=False) as plain, session(adapter, server.url) as opened:
            expected, actual = await read(plain), await read(opened)
    assert actual == expected
    assert set(closings(adapter, sink).values()) <= {"eof", "stopped_at_terminal"}
    wire = sink.closing("wire")
    assert (wire.totals["events"], wire.extra["stream.client"]) == (len(form.events), adapter.client)
    if adapter.parses:
        parsed = sink.closing("parsed")
        assert parsed.totals["events"] == len(form.events) - adapter.consumed == len(actual[0])
        assert (parsed.exchange, parsed.witness) == (wire.exchange, wire.witness)
        assert parsed.delivers != 0


@only(lambda adapter: adapter.parses)
async def test_what_was_parsed_is_what_came(adapter: Adapter, sink: MemorySink) -> None:
    """Both points of a client with a parser have the same digests."""
    with RawServer(stream([adapter.format.body])) as server:
        async with session(adapter, server.url) as opened:
            await read(opened)
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert parsed.totals["judged"] > 0
    assert (parsed.semantic_o, parsed.slot_digests) == (wire.semantic_o, wire.slot_digests)
    assert (parsed.complete, wire.complete) == (True, True)


def _answer(status: str, content_type: str, body: bytes) -> Handler:
    def handle(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(head(f"Content-Length: {len(body)}", status=status, content_type=content_type) + body)

    return handle


_JSON = "application/json"
ENDINGS = {"reset": "reset", "incomplete": "protocol_error", "timeout": "timeout", "no terminator": "eof"}
"""Name → end at `wire` (`Adapter.ends` where an adapter differs)."""


def broken(adapter: Adapter, name: str) -> Handler:
    """A server that breaks the stream off in this way."""
    sent = adapter.format.events[:4]
    return {
        "reset": stream(sent, end=False, then=reset),
        "incomplete": stream(sent, end=False, then=hang_up),
        "timeout": stream(sent, end=False, then=wait_for_client),
        "no terminator": stream(sent),
        "an error event": stream([*sent, adapter.format.error]),
        "not JSON": stream([*sent, b"event: message_start\ndata: {no\n\n"]),
        "an error page": _answer("200 OK", "text/html", b"<!DOCTYPE html>\n<html><p>busy</p></html>\n"),
        "a JSON error": _answer("200 OK", _JSON, b'{"error": {"message": "busy"}}'),
        "a status": _answer("503 Busy", _JSON, b'{"error": {"message": "busy"}}'),
    }[name]


NAMES = (*ENDINGS, "an error event", "not JSON", "an error page", "a JSON error", "a status")


@pytest.mark.parametrize("name", NAMES)
async def test_a_broken_stream(adapter: Adapter, name: str, sink: MemorySink) -> None:
    """The same items and the same exception, its message and its causes; the end is told apart."""
    options = {"timeout": TOO_SHORT} if name == "timeout" else {}
    with RawServer(broken(adapter, name)) as server:
        async with (
            session(adapter, server.url, observed=False, **options) as plain,
            session(adapter, server.url, **options) as opened,
        ):
            expected, actual = await read(plain), await read(opened)
    both = min(len(actual[0]), len(expected[0])) if name == "reset" else None  # a reset overtakes what is not read yet
    assert actual[0][:both] == expected[0][:both]
    assert alike(actual[1]) == alike(expected[1])
    if name in ENDINGS:
        ends = closings(adapter, sink)
        assert ends["wire"] == adapter.ends.get(name, ENDINGS[name])
        assert len(set(ends.values())) == 1


@pytest.mark.parametrize(("name", "said"), [("an error page", "html"), ("a JSON error", "json_error")])
async def test_something_else_than_a_stream(adapter: Adapter, name: str, said: str, sink: MemorySink) -> None:
    """Where a parser waits for events, a body of another type is observed, and the record says what it was."""
    with RawServer(broken(adapter, name)) as server:
        async with session(adapter, server.url) as opened:
            await read(opened)
            await forgotten()
    if adapter.parses:
        assert sink.closing("wire").extra["stream.misframed"] == said
    else:
        assert sink.blocks == []


async def test_an_error_event(adapter: Adapter, sink: MemorySink) -> None:
    """A parser that raises on the provider's error event has handed it on."""
    with RawServer(broken(adapter, "an error event")) as server:
        async with session(adapter, server.url) as opened:
            raised = (await read(opened))[1] is not None  # an exception that is kept keeps the generators that it left
            await forgotten()
    ends = closings(adapter, sink)
    if adapter.parses:
        assert raised
        assert sink.closing("parsed").columns()["result"][-1] == 5
        assert ends["parsed"] == "stopped_at_terminal"


async def test_what_else_the_application_sees(adapter: Adapter, sink: MemorySink) -> None:
    """Type, status, headers and the like are the same, before any of the body has come and after it was read."""
    looked = threading.Semaphore(0)
    seen: list[list[dict[str, Any]]] = []
    with RawServer(held(adapter, looked)) as server:
        for observed in (False, True):
            async with session(adapter, server.url, observed=observed) as opened:
                answer = await opened.ask()
                before = opened.look(answer)
                looked.release()
                async for _ in opened.items(answer):
                    pass
                seen.append([before, opened.look(answer)])
    assert seen[0] == seen[1]


async def test_each_piece_is_passed_on_before_the_next_is_asked_for(adapter: Adapter, sink: MemorySink) -> None:
    """A server that waits for each event to be received is not kept waiting."""
    received = threading.Semaphore(0)
    with RawServer(slow(adapter, received)) as server:
        async with session(adapter, server.url) as opened:
            count = 0
            async for _ in opened.items(await opened.ask()):
                count += 1
                received.release(1 + (adapter.consumed if adapter.parses else 0))
    assert count == len(adapter.format.events) - adapter.consumed
    assert sink.closing("wire").totals["events"] == len(adapter.format.events)


async def test_close_after_break(adapter: Adapter, sink: MemorySink) -> None:
    """An application that stops early has cancelled; as many connections are opened as without the hook."""
    connections = []
    for observed in (False, True):
        with RawServer(started(adapter), stream([adapter.format.body])) as server:
            async with session(adapter, server.url, observed=observed) as opened:
                answer = await opened.ask()
                items = opened.items(answer)
                await anext(items)
                await opened.stop(answer)
                del answer, items
                await forgotten()
                await read(opened)
                await read(opened)
            connections.append(server.connections)
    assert connections[0] == connections[1]
    first = [next(block for block in sink.blocks if block.point == point and block.final) for point in adapter.points]
    assert [block.end for block in first] == [adapter.ends.get("stop", "cancelled")] * len(first)
    assert len([block for block in sink.blocks if block.final]) == 3 * len(adapter.points)


@only(lambda adapter: adapter.parses)
async def test_left_early_behind_the_whole_body(adapter: Adapter, sink: MemorySink) -> None:
    """However few events an application takes of a body that has come, its parser's record is sound."""
    with RawServer(stream([adapter.format.body])) as server:
        for taken in (1, 2, 3):
            sink.blocks.clear()
            async with session(adapter, server.url) as opened:
                answer = await opened.ask()
                items = opened.items(answer)
                for _ in range(taken):
                    await anext(items)
                await opened.stop(answer)
                del answer, items
                await forgotten()
            parsed = sink.closing("parsed")
            assert (parsed.totals["events"], parsed.extra.get("stream.observer_fault")) == (taken, None)


async def test_an_exception_in_the_loop(adapter: Adapter, sink: MemorySink) -> None:
    """The application's own exception passes, and each point is closed once the stream is."""
    with RawServer(started(adapter)) as server:
        async with session(adapter, server.url) as opened:
            answer = await opened.ask()
            with pytest.raises(ZeroDivisionError):  # noqa: PT012 - the loop is what is tested
                async for _ in opened.items(answer):
                    1 / 0  # noqa: B018
            await opened.stop(answer)
            await forgotten()
    assert set(closings(adapter, sink).values()) == {adapter.ends.get("stop", "cancelled")}


async def test_dropped(adapter: Adapter, sink: MemorySink) -> None:
    """A stream that nobody closes: one closing block for each point, and it is the reader's own stop."""
    with RawServer(started(adapter)) as server:
        async with session(adapter, server.url) as opened:
            answer = await opened.ask()
            items = opened.items(answer)
            await anext(items)
            del items, answer
            await forgotten()
        await forgotten()  # aiohttp keeps a response as long as its connection
    assert {CLIENT_ENDS[end or ""] for end in closings(adapter, sink).values()} == {"own"}


@only(lambda adapter: "eager" in adapter.handles)
async def test_a_stream_that_nobody_reads(adapter: Adapter, sink: MemorySink) -> None:
    """Closed before its first item was asked for: it leaves a record all the same, where its server was asked."""
    with RawServer(started(adapter)) as server:
        async with session(adapter, server.url) as opened:
            await opened.stop(await opened.ask())
    gc.collect()
    assert set(closings(adapter, sink).values()) <= {"cancelled", "abandoned"}
    assert sink.closing(adapter.points[-1]).totals["events"] == 0


@only(lambda adapter: adapter.asynchronous)
async def test_no_generator_of_ours(adapter: Adapter, sink: MemorySink) -> None:
    """A loop that shuts down closes all async generators at once: the hook puts none between the library's own."""
    begun: list[list[str]] = []
    hooks = sys.get_asyncgen_hooks()

    def beginning(generator: Any) -> None:
        begun[-1].append(generator.__qualname__)
        if hooks.firstiter is not None:
            hooks.firstiter(generator)

    sys.set_asyncgen_hooks(firstiter=beginning)
    try:
        with RawServer(stream([adapter.format.body])) as server:
            for observed in (False, True):
                begun.append([])
                async with session(adapter, server.url, observed=observed) as opened:
                    await read(opened)
    finally:
        sys.set_asyncgen_hooks(*hooks)
    assert begun[1] == begun[0]


@only(lambda adapter: adapter.asynchronous)
async def test_a_cancelled_task(adapter: Adapter, sink: MemorySink) -> None:
    """A task that is cancelled while it waits for the next event: cancelled at each point. Threads cannot be."""
    begun = asyncio.Event()

    async def reading(opened: Session) -> None:
        async for _ in opened.items(await opened.ask()):
            begun.set()

    with RawServer(started(adapter)) as server:
        async with session(adapter, server.url) as opened:
            task = asyncio.create_task(reading(opened))
            await begun.wait()
            for _ in range(20):  # until it waits for what does not come
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await forgotten()
    assert set(closings(adapter, sink).values()) == {"cancelled"}


async def test_read_to_the_end_and_never_closed(adapter: Adapter, sink: MemorySink) -> None:
    """The end is that of the body; closing the client afterwards adds nothing."""
    with RawServer(stream([adapter.format.body])) as server:
        async with session(adapter, server.url) as opened:
            answer = await opened.ask()
            async for _ in opened.items(answer):
                pass
            ends = closings(adapter, sink)
        assert closings(adapter, sink) == ends
    assert set(ends.values()) <= {"eof", "stopped_at_terminal"}


@only(lambda adapter: "proxy" in adapter.handles)
async def test_proxies_of_the_environment_are_honoured(
    adapter: Adapter, sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request goes through the proxy that the environment names, where the client looks for one."""
    with RawServer(stream([adapter.format.body])) as server:
        monkeypatch.setenv("HTTP_PROXY", server.url)
        monkeypatch.setenv("http_proxy", server.url)
        async with session(adapter, "http://llm.invalid") as opened:
            _, error = await read(opened)
    assert error is None
    assert server.requests[0].startswith(b"POST http://llm.invalid/")
    assert sink.closing("wire").totals["events"] == len(adapter.format.events)


async def test_a_second_call_changes_nothing(adapter: Adapter, sink: MemorySink) -> None:
    """Instrumented twice, observed once."""
    with RawServer(stream([adapter.format.body])) as server:
        async with session(adapter, server.url) as opened:
            assert instrument(opened.client) is opened.client
            await read(opened)
    assert len([block for block in sink.blocks if block.final]) == len(adapter.points)


async def test_uninstrument_gives_the_client_back(adapter: Adapter, sink: MemorySink) -> None:
    """Its attributes are those that it had."""
    opened = adapter.open("http://llm.invalid")
    before = dict(vars(opened.client))
    uninstrument(instrument(opened.client))
    after = dict(vars(opened.client))
    await opened.close()
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before if not isinstance(before[name], (int, str)))


async def test_everything(adapter: Adapter, sink: MemorySink) -> None:
    """instrument() alone: each point is recorded once, also where the client is instrumented as well; then no more."""
    with RawServer(stream([adapter.format.body])) as server:
        async with session(adapter, server.url, observed=False) as early:
            instrument()
            try:
                instrument()
                async with (
                    session(adapter, server.url, observed=False) as late,
                    session(adapter, server.url) as both,
                ):
                    for opened in (early, late, both):
                        sink.blocks.clear()
                        await read(opened)
                        assert set(closings(adapter, sink).values()) <= {"eof", "stopped_at_terminal"}
                        assert sink.closing("wire").extra["stream.client"] == adapter.client
            finally:
                uninstrument()
            sink.blocks.clear()
            await read(early)
    assert sink.blocks == []


async def test_announced_and_identified(adapter: Adapter) -> None:
    """A configured gateway is told the points; the identity that it answers is the stream's, its key is kept secret."""
    identity = (
        'stream-witness: v=1, id="0123456789abcdef0123456789abcdef", exchange="0123456789abcdef", hop=0',
        "stream-witness-key: " + "ab" * 16,
    )
    with RawServer(stream([adapter.format.body], *identity)) as server, recording(origins=(server.url,)) as memory:
        async with session(adapter, server.url) as opened:
            answer = await opened.ask()
            seen = opened.look(answer)
            async for _ in opened.items(answer):
                pass
    assert f"points=({' '.join(adapter.points)})" in (server.header("stream-witness") or "")
    assert {block.stream for block in memory.blocks} == {"0123456789abcdef0123456789abcdef"}
    assert "ab" * 16 not in repr(seen)


async def test_numbers_in_the_events(adapter: Adapter, stamp: Stamp) -> None:
    """A client asks for the numbers that its parser survives, yields the same events with them, and reads them."""
    exchange = "0123456789abcdef"
    header = f'stream-witness: v=1, id="{"12" * 16}", exchange="{exchange}", hop=0, stamp={stamp}'
    body = b": comment\n\n".join(adapter.format.events)
    stamped = SSERewriter(exchange, stamp).feed(body, last=True)
    with RawServer(stream([body]), stream(cut(stamped, 11), header)) as server:
        async with session(adapter, server.url, observed=False) as plain:
            expected = await read(plain)
        with recording(mode="stamp", origins=(server.url,)) as memory:
            async with session(adapter, server.url) as opened:
                actual = await read(opened)
    assert f"accept-stamp={adapter.stamps[0]}" in (server.header("stream-witness", 1) or "")
    assert (actual[1], len(actual[0])) == (expected[1], len(expected[0]))
    assert stamp == "field" or actual[0] == expected[0]
    sequence = list(memory.closing("wire").columns()["sequence"])
    unstamped = stamp == "field" and adapter.format is CHAT  # its terminator is no JSON
    assert sequence == [*range(len(sequence) - unstamped), *[MISSING] * unstamped]
    assert memory.closing("wire").semantic_o == memory.closing("parsed").semantic_o


async def test_no_numbers_for_an_unknown_parser(adapter: Adapter) -> None:
    """Where it is not known who parses, none are asked for; in mode `observe` never."""
    for mode in ("observe", "stamp"):
        with RawServer(stream([adapter.format.body])) as server, recording(mode=mode, origins=(server.url,)):
            async with session(adapter, server.url) as opened:
                await read(opened)
        asked = "accept-stamp=none" not in (server.header("stream-witness") or "")
        assert asked == (mode == "stamp" and bool(adapter.stamps))


async def test_no_content_in_any_block(adapter: Adapter, sink: MemorySink) -> None:
    """Neither the question nor the answer."""
    with RawServer(stream([adapter.format.body])) as server:
        async with session(adapter, server.url) as opened:
            await read(opened)
    assert sink.blocks
    assert CANARY not in repr([block.attributes() for block in sink.blocks])
