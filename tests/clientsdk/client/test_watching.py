"""watch(): any iterator keeps all that it can do, and what it hands on is recorded at `parsed`."""

from __future__ import annotations

import gc
import itertools
import json
from collections.abc import AsyncIterator, Generator, Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import httpx2
import pytest

from streamwitness import faults
from streamwitness.client import instrument, watch
from streamwitness.semconv import ASKED_AGAIN, FINISH, READ_OUT, SHARED_NUMBERS
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.raw_server import BODY, CANARY, RawServer, cut, event, stream, wait_for_client

pytestmark = pytest.mark.anyio


def parse(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """An application's own parser."""
    for line in response.iter_raw():
        for field in line.decode().split("\n\n"):
            if field.startswith("data: {"):
                yield json.loads(field[6:])


def buggy(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """A parser that splits lines at U+2028."""
    for whole in response.read().decode().split("\n\n"):
        for line in whole.splitlines():
            try:
                yield json.loads(line.removeprefix("data: "))
            except ValueError:
                continue


DICTS: list[dict[str, Any]] = [json.loads(e.removeprefix(b"data: ")) for e in BODY.split(b"\n\n")[:9]]


def test_the_applications_parser_is_compared_with_the_wire(sink: MemorySink) -> None:
    """A faithful parser has the wire's digests; the default holds it to neither terminator nor errors."""
    with (
        RawServer(stream([BODY])) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        assert list(watch(parse(response), response=response)) == DICTS
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert (parsed.exchange, parsed.semantic_o, parsed.end) == (wire.exchange, wire.semantic_o, "eof")
    assert parsed.delivers == 0
    assert wire.expected >> 4 & 1


@pytest.mark.parametrize(("events", "read_out"), [(None, True), (1, None)])
def test_a_parser_that_was_given_the_whole_body_says_so(
    events: int | None, read_out: bool | None, sink: MemorySink
) -> None:
    """One that returns of its own accord ends as if that were all, and never saw the end."""
    with (
        RawServer(stream([event("a") + event("b")])) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        list(watch(itertools.islice(parse(response), events), response=response))
    parsed = sink.closing("parsed")
    assert (parsed.end, parsed.extra.get(READ_OUT)) == ("eof", read_out)


@pytest.mark.parametrize("again", [True, False])
def test_an_iterator_that_asks_again_by_itself_says_so(again: bool, sink: MemorySink) -> None:
    """What it hands on then came with another response; one that the application asked for is its own affair."""
    with RawServer(stream([event("a")]), stream([event("b")])) as server, instrument(httpx.Client()) as client:

        def asked() -> httpx.Response:
            return client.send(client.build_request("POST", server.url + "/v1/chat/completions"), stream=True)

        def reconnecting() -> Iterator[dict[str, Any]]:
            yield from parse(first)
            yield from parse(asked()) if again else ()

        first = asked()
        assert len(list(watch(reconnecting(), response=first))) == 1 + again
        if not again:
            asked().read()
    assert sink.closing("parsed").extra.get(ASKED_AGAIN) == (True if again else None)


def test_a_parser_that_loses_an_event_has_fewer(sink: MemorySink) -> None:
    """The event that a parser swallows is at the wire and not at parsed."""
    body = event("a") + 'data: {"choices":[{"index":0,"delta":{"content":"x\u2028y"}}]}\n\n'.encode() + event("b")
    with (
        RawServer(stream([body])) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        assert len(list(watch(buggy(response)))) == 2
    assert (sink.closing("wire").totals["judged"], sink.closing("parsed").totals["judged"]) == (3, 2)


def test_the_newest_open_response_is_taken_without_response(sink: MemorySink) -> None:
    """Once the response has ended, an iterator is not tied to it any more."""
    with RawServer(stream()) as server, httpx.Client() as client:
        instrument(client).post(server.url + "/v1/chat/completions")
        list(watch(iter(DICTS)))
    assert sink.closing("parsed").stream != sink.closing("wire").stream


async def test_async_generators_are_watched(sink: MemorySink) -> None:
    """The async client and an async parser."""

    async def parse_async(response: httpx.Response) -> AsyncIterator[Any]:
        body = (await response.aread()).decode()
        for field in body.split("\n\n"):
            if field.startswith("data: {"):
                yield json.loads(field[6:])

    with RawServer(stream(cut(BODY, 99))) as server:
        async with (
            httpx.AsyncClient() as client,
            instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
        ):
            assert [item async for item in watch(parse_async(response), response=response)] == DICTS
    assert sink.closing("parsed").semantic_o == sink.closing("wire").semantic_o


@pytest.mark.parametrize("items", [
    DICTS,
    [json.dumps(item) for item in DICTS],
    [json.dumps(item).encode() for item in DICTS],
    [SimpleNamespace(event="", data=json.dumps(item)) for item in DICTS],
], ids=("dicts", "texts", "bytes", "SSE objects"))  # fmt: skip
def test_items_of_every_kind_read_the_same(items: list[Any], sink: MemorySink) -> None:
    """Decoded events, raw data fields and SSE objects are the same events."""
    assert list(watch(items, profile="openai_chat")) == items
    block = sink.closing("parsed")
    assert (block.totals["events"], block.totals["judged"], block.total_parts[9]) == (9, 9, 1)
    assert FINISH == 1 << 9


@pytest.mark.parametrize("items", [["Hal", "lo"], [object()]])
def test_what_is_no_event_makes_the_point_unknown(items: list[Any], sink: MemorySink) -> None:
    """Texts of the answer, or objects that nobody can read, accuse no parser."""
    with (
        RawServer(stream()) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        assert list(watch(items, response=response)) == items
    assert sink.closing("parsed").extra["stream.observer_fault"] in ("NotAnEventError", "Unreadable")


def test_generators_keep_send_throw_and_close(sink: MemorySink) -> None:
    """A coroutine-like generator works through the watch, and what it yields is recorded."""

    def talk() -> Generator[Any, Any, str]:
        got = yield DICTS[0]
        try:
            yield got
        except KeyError:
            yield DICTS[2]
        return "result"

    def outer() -> Generator[Any, Any, Any]:
        return (yield from watch(talk()))

    watched = watch(talk())
    assert next(watched) is DICTS[0]
    assert watched.send(DICTS[1]) is DICTS[1]
    assert watched.throw(KeyError()) is DICTS[2]
    watched.close()
    assert (sink.closing("parsed").totals["events"], sink.closing("parsed").end) == (3, "cancelled")
    talking = outer()
    next(talking), talking.send(DICTS[1])
    with pytest.raises(StopIteration) as stop:
        talking.send(None)
    assert stop.value.value == "result"


def test_exceptions_are_the_parsers_own(sink: MemorySink) -> None:
    """What a parser raises comes out unchanged; the record ends as raised, with the class and no text."""
    error = ValueError(CANARY)

    def failing() -> Iterator[Any]:
        yield DICTS[0]
        raise error

    with pytest.raises(ValueError, match=CANARY) as caught:
        list(watch(failing()))
    assert caught.value is error
    block = sink.closing("parsed")
    assert (block.end, block.end_detail) == ("raised", "ValueError")
    assert CANARY not in repr(block.attributes())


def test_attributes_and_context_managers_show_through(sink: MemorySink) -> None:
    """A stream object of any library is still itself behind the watch."""

    class Stream:
        request_id = "r1"
        exited: Any = None

        def __enter__(self) -> Stream:
            return self

        def __exit__(self, *error: Any) -> None:
            self.exited = error

        def __iter__(self) -> Iterator[Any]:
            return iter(DICTS)

    inner = Stream()
    with watch(inner) as watched:
        assert watched.request_id == "r1"
        assert next(iter(watched)) is DICTS[0]
    assert inner.exited == (None, None, None)
    assert sink.closing("parsed").end == "cancelled"


def test_closing_the_response_ends_the_record(sink: MemorySink) -> None:
    """An application that leaves the `with` of its response has cancelled the parser, too."""
    with (
        RawServer(stream([event("a")], end=False, then=wait_for_client)) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        watched = watch(parse(response), response=response)
        next(watched)
    assert (sink.closing("parsed").end, sink.closing("wire").end) == ("cancelled", "cancelled")


def test_a_dropped_iterator_is_abandoned(sink: MemorySink) -> None:
    """Garbage collection ends its record."""
    watched = watch(iter(DICTS))
    next(watched)
    del watched
    gc.collect()
    assert sink.closing("parsed").end == "abandoned"


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_dropped_parser_abandons_its_response_too(library: Any, sink: MemorySink) -> None:
    """httpx2 closes the response of a generator that nobody holds any more; that is not the application closing it."""
    with RawServer(stream([event("a")], end=False, then=wait_for_client)) as server, library.Client() as client:
        request = client.build_request("POST", server.url + "/v1/chat/completions")
        watched = watch(parse(instrument(client).send(request, stream=True)))
        next(watched)
        del watched
        gc.collect()
    assert (sink.closing("parsed").end, sink.closing("wire").end) == ("abandoned", "abandoned")


def test_an_iterator_beside_a_watched_response_is_not_tied_to_it(sink: MemorySink) -> None:
    """The newest response has its parser already: what else is watched stands alone."""
    with (
        RawServer(stream([BODY])) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        list(zip(watch(parse(response)), watch(iter(DICTS)), strict=False))
    wire = sink.closing("wire")
    streams = {block.stream for block in sink.at("parsed")}
    assert len(streams) == 2
    assert wire.stream in streams


def test_a_second_watch_records_nothing(sink: MemorySink) -> None:
    """One response has one parser."""
    with (
        RawServer(stream([BODY])) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        list(watch(watch(parse(response), response=response)))
    assert sink.closing("parsed").totals["events"] == 9


def test_arguments_are_checked(sink: MemorySink) -> None:
    """Mistakes of the caller are errors."""
    with pytest.raises(TypeError, match="not int"):
        watch(3)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="unknown part 'txt'"):
        watch([], delivers=["txt"])


def test_nothing_of_ours_reaches_the_host(sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where making the record fails, the iterator just iterates."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("streamwitness.client.watching._alone", broken)
    with faults.quiet():
        assert list(watch(DICTS)) == DICTS
    assert sink.blocks == []


def test_mode_off() -> None:
    """Switched off, the iterator passes through."""
    with recording(mode="off") as sink:
        assert list(watch(DICTS)) == DICTS
    assert sink.blocks == []


def texts(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """A parser that makes objects of the application's own."""
    for chunk in parse(response):
        for choice in chunk["choices"]:
            yield {"text": choice["delta"].get("content"), "finish": choice.get("finish_reason")}


@pytest.mark.parametrize("make", [texts, lambda r: list(texts(r)), lambda r: map(str.encode, map(repr, texts(r)))])
def test_events_of_the_applications_own_making_are_unknown(sink: MemorySink, make: Any) -> None:
    """Objects that hold what the body said in another form are no loss, and say nothing about completion."""
    with (
        RawServer(stream([BODY])) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        assert list(watch(make(response), response=response))
    parsed = sink.closing("parsed")
    assert parsed.extra["stream.observer_fault"] == "NotAnEventError"
    assert parsed.complete is None


def test_own_events_among_the_providers_do_no_harm(sink: MemorySink) -> None:
    """A marker that the parser adds is not held against an iterator that hands on all the rest."""
    with (
        RawServer(stream([BODY])) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        list(watch([{"type": "start"}, *parse(response), {"type": "end"}], response=response))
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert parsed.semantic_o == wire.semantic_o
    assert "stream.observer_fault" not in parsed.extra


@pytest.mark.parametrize(("seen_by_watch", "fault"), [(slice(2, None), True), (slice(0, None), False)])
def test_a_watch_that_begins_late_is_unknown(sink: MemorySink, seen_by_watch: slice, fault: bool) -> None:
    """Events that were read before watch() are not lost; a first one that is put back is fine."""
    with (
        RawServer(stream(cut(BODY, 40))) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        parser = lines(response)
        head = [next(parser), next(parser)]
        list(watch(itertools.chain(head[seen_by_watch], parser), response=response))
    assert ("stream.observer_fault" in sink.closing("parsed").extra) is fault


def lines(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """A parser that reads no further than it must."""
    for line in response.iter_lines():
        if line.startswith("data: {"):
            yield json.loads(line[6:])


def test_what_is_handed_on_after_the_terminator_is_not_the_answers(sink: MemorySink) -> None:
    """It is counted as at the wire: a parser that reads on has invented nothing."""
    body = event("a") + b"data: [DONE]\n\n" + event("late")
    with (
        RawServer(stream([body])) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        fields = [field.removeprefix("data: ") for field in response.read().decode().split("\n\n") if field]
        list(watch(iter(fields), response=response))
    wire, parsed = sink.closing("wire"), sink.closing("parsed")
    assert (parsed.totals["events"], parsed.totals["judged"]) == (3, 1)
    assert parsed.semantic_o == wire.semantic_o


def test_an_event_too_large_to_be_read_at_the_wire_is_unknown_behind_it(sink: MemorySink) -> None:
    """The parser reads what our own framing skipped, which invents nothing."""
    with (
        RawServer(stream([event("a"), event("x" * (1 << 20)), event("b")])) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        assert len(list(watch(lines(response), response=response))) == 3
    assert "stream.observer_fault" in sink.closing("parsed").extra


def test_calls_that_a_parser_gives_one_number_are_told(sink: MemorySink) -> None:
    """At the wire each has its own."""

    def call(number: int) -> bytes:
        said = {"index": number, "id": f"call_{number}", "function": {"name": "look", "arguments": "{}"}}
        return b"data: %b\n\n" % json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [said]}}]}).encode()

    def under_one(response: httpx.Response) -> Iterator[dict[str, Any]]:
        for item in parse(response):
            item["choices"][0]["delta"]["tool_calls"][0]["index"] = 0
            yield item

    with (
        RawServer(stream([call(0) + call(1)])) as server,
        httpx.Client() as client,
        instrument(client).stream("POST", server.url + "/v1/chat/completions") as response,
    ):
        list(watch(under_one(response), response=response))
    told = [sink.closing(point).extra.get(SHARED_NUMBERS) for point in ("wire", "parsed")]
    assert told == [None, 1]
