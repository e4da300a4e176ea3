"""Replay under a real uvicorn: a client that lost its connection goes on where it was, or is told that it cannot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from streamwitness import faults
from streamwitness.client.resume import Checkpoint
from streamwitness.gateway import Replay, StreamWitness
from streamwitness.gateway.replay import Kept
from streamwitness.headers import format_request, parse_response
from streamwitness.runtime import ClientSettings, Runtime
from streamwitness.semconv import FIRST_NUMBER, LINKED, STAMPED
from streamwitness.testing import MemorySink
from tests.clientsdk.gateway.keeping import ANSWER, DATA, Gateway, read
from tests.clientsdk.gateway.serving import SSE, drive, until

STREAM = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize("http", ["httptools", "h11"])
def test_a_client_that_comes_back_goes_on_where_it_was(http: str) -> None:
    """It gets each event once; the app is called once, and not told; the exchanges are one stream's, numbered on."""
    gateway = Gateway(http=http)
    with gateway.serve() as url:
        checkpoint = Checkpoint()
        gateway.go(5)
        seen = read(url, checkpoint, 3)
        until(lambda: len(gateway.closings()) == 1)
        gateway.go(3)
        until(lambda: gateway.sent == 8)
        gateway.go()
        seen += read(url, checkpoint)
        until(lambda: len(gateway.closings()) == 2)
    assert seen == DATA
    assert (checkpoint.outcome, checkpoint.generation, gateway.calls, gateway.ended) == ("resumed", 0, 1, "whole")
    first, second = gateway.closings()
    assert (first.stream, first.attempt, first.end) == (second.stream, 0, "disconnected")
    assert (second.attempt, second.end, second.extra[STAMPED], second.extra[FIRST_NUMBER]) == (1, "eof", "id", 3)
    assert first.exchange[:8] == second.exchange[:8]
    assert first.exchange != second.exchange
    assert gateway.sequences(second.exchange) == list(range(3, len(ANSWER)))
    assert gateway.sequences(first.exchange) == list(range(first.totals["events"]))


def test_it_may_come_back_again_and_again() -> None:
    """Each time is one more exchange of the stream."""
    gateway = Gateway()
    with gateway.serve() as url:
        checkpoint = Checkpoint()
        seen: list[str] = []
        for _ in range(4):
            gateway.go(3)
            seen += read(url, checkpoint, 3)
        gateway.go()
        seen += read(url, checkpoint)
        until(lambda: len(gateway.closings()) == 5)
    assert seen == DATA
    assert [block.attempt for block in gateway.closings()] == list(range(5))
    assert gateway.calls == 1


def test_a_client_that_has_had_everything_is_told_so() -> None:
    """Status 204, at which a browser's EventSource stops to reconnect; no body, no record."""
    gateway = Gateway()
    with gateway.serve() as url:
        checkpoint = Checkpoint()
        gateway.go()
        assert read(url, checkpoint) == DATA
        until(lambda: gateway.closings())
        response = httpx.post(url, headers=checkpoint.headers())
    assert (response.status_code, response.content) == (204, b"")
    assert checkpoint.opened(response.headers) == "resumed"
    assert len(gateway.closings()) == 1


def test_a_client_may_come_back_while_it_still_seems_to_be_there() -> None:
    """A dead connection that nobody has noticed: the answer goes to the new one, the old one breaks off."""
    gateway = Gateway()
    with gateway.serve() as url, httpx.Client(timeout=30) as client:
        checkpoint = Checkpoint()
        gateway.go(4)
        with client.stream("POST", url, headers=checkpoint.headers()) as response:
            checkpoint.opened(response.headers)
            old = checkpoint.events(response.iter_raw())
            seen = [next(old).data, next(old).data]
            seen += read(url, checkpoint, 1000, gateway.go)
            with pytest.raises(httpx.RemoteProtocolError):
                list(old)
        until(lambda: len(gateway.closings()) == 2)
    assert seen == DATA
    assert [block.end for block in gateway.closings()] == ["disconnected", "eof"]


def test_what_comes_after_the_return_goes_out_at_once() -> None:
    """A client that came back is given each event when the app sends it, not with the next one."""
    gateway = Gateway()
    with gateway.serve() as url:
        checkpoint = Checkpoint()
        gateway.go(2)
        seen = read(url, checkpoint, 2)
        seen += read(url, checkpoint, 1, lambda: gateway.go(1))
        seen += read(url, checkpoint, 1, lambda: gateway.go(1))
        seen += read(url, checkpoint, 1000, gateway.go)
    assert seen == DATA


@pytest.mark.anyio
async def test_the_app_is_no_faster_than_whoever_continues() -> None:
    """A slow follower makes the app wait, as a server makes it wait for its own client."""
    gone, asked, room = asyncio.Event(), asyncio.Event(), asyncio.Event()
    sent: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        await send({"type": "http.response.body", "body": ANSWER[0], "more_body": True})
        await asked.wait()
        for number, event in enumerate(ANSWER[1:]):
            await send({"type": "http.response.body", "body": event, "more_body": True})
            sent.append(number)
        await send({"type": "http.response.body"})

    async def leaving() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def slow(message: Any) -> None:
        asked.set()
        if message.get("body"):
            await room.wait()

    async def first(message: Any) -> None:
        heads.append(message)
        if message.get("body"):
            gone.set()

    heads: list[Any] = []
    hook = StreamWitness(app, Runtime(ClientSettings(mode="stamp"), MemorySink()), replay=Replay())
    asking = [(b"stream-witness", format_request(STREAM, (), "id").encode())]
    one = asyncio.create_task(drive(hook, headers=asking, receive=leaving, send=first))
    await gone.wait()
    tag = header_tag(heads[0])
    two = asyncio.create_task(drive(hook, headers=[*asking, (b"last-event-id", tag + b".0")], send=slow))
    await asked.wait()
    for _ in range(50):
        await asyncio.sleep(0)
    assert sent == []
    room.set()
    await asyncio.gather(one, two)
    assert len(sent) == len(ANSWER) - 1


def header_tag(head: Any) -> bytes:
    """The tag of a response's events."""
    header = parse_response(dict(head["headers"])[b"stream-witness"].decode())
    assert header is not None
    return header.exchange[:8].encode()


@pytest.mark.parametrize(
    "changed",
    [
        {"headers": {"Authorization": "Bearer other"}},
        {"headers": {"Cookie": "session=2"}},
        {"params": {"tenant": "2"}},
        {"headers": {"stream-witness": format_request(STREAM, (), "id", key=False)}},
    ],
    ids=["credentials", "cookie", "query", "stream id"],
)
def test_nobody_else_is_given_what_is_kept(changed: Any) -> None:
    """Whoever asks with other credentials, for another path or by a guessed tag gets an answer of their own."""
    gateway = Gateway()
    with gateway.serve() as url:
        checkpoint = Checkpoint()
        gateway.go(2)
        read(url, checkpoint, 2, headers={"Authorization": "Bearer mine"})
        gateway.go(40)
        seen = read(url, checkpoint, headers={"Authorization": "Bearer mine"} | changed.pop("headers", {}), **changed)
        assert seen == DATA
        assert (checkpoint.outcome, checkpoint.generation, gateway.calls) == ("new_generation", 1, 2)


@pytest.mark.parametrize(
    ("bounds", "late"),
    [({"events": 2}, True), ({"bytes": 150}, True), ({"seconds": 1}, True), ({"events": 0}, False)],
    ids=["events", "bytes", "age", "no replay"],
)
def test_what_is_no_longer_kept_is_made_anew(bounds: Any, late: bool) -> None:
    """The app is told that its client has gone; the new stream names the old one; the helper does not glue them."""
    gateway = Gateway(**bounds)
    with gateway.serve() as url:
        checkpoint = Checkpoint()
        gateway.go(3)
        read(url, checkpoint, 3)
        old = checkpoint.stream
        until(lambda: len(gateway.closings()) == 1)
        gateway.go(4 if "seconds" not in bounds else 0)
        until(lambda: gateway.ended)
        gateway.go()
        gateway.go()
        assert read(url, checkpoint) == DATA
        until(lambda: len(gateway.closings()) == 2)
    assert (checkpoint.outcome, checkpoint.generation, gateway.calls) == ("new_generation", 1, 2)
    anew = next(block for block in gateway.closings() if block.stream != old)
    assert (anew.stream, anew.attempt, anew.extra[LINKED]) == (checkpoint.stream, 0, old)


def test_another_replica_makes_it_anew() -> None:
    """What one process keeps another does not have."""
    here, there = Gateway(), Gateway()
    with here.serve() as first, there.serve() as second:
        checkpoint = Checkpoint()
        here.go(3)
        there.go()
        assert read(first, checkpoint, 3) == DATA[:3]
        assert read(second, checkpoint) == DATA
    assert (checkpoint.outcome, checkpoint.generation) == ("new_generation", 1)


@pytest.mark.parametrize("place", ["{tag}.99", "00000000.1"], ids=["number", "tag"])
def test_a_place_that_was_never_sent_is_not_gone_on_from(place: str) -> None:
    """A number beyond what there is, or a tag of another exchange, belongs to no event of this stream."""
    gateway = Gateway()
    with gateway.serve() as url:
        checkpoint = Checkpoint()
        gateway.go(3)
        read(url, checkpoint, 3)
        checkpoint.last = place.format(tag=checkpoint.last.partition(".")[0])
        gateway.go(40)
        assert read(url, checkpoint) == DATA
    assert checkpoint.outcome == "new_generation"


def test_streams_beyond_the_bound_push_the_oldest_out() -> None:
    """Memory is bounded by the number of streams, too."""
    gateway = Gateway(streams=1)
    with gateway.serve() as url:
        one, other = Checkpoint(), Checkpoint()
        gateway.go(3)
        read(url, one, 3)
        until(lambda: len(gateway.closings()) == 1)
        gateway.go()
        read(url, other, 2)
        gateway.go(40)
        assert read(url, other) == DATA[2:]
        assert read(url, one) == DATA
    assert (other.outcome, one.outcome) == ("resumed", "new_generation")


def test_an_answer_that_breaks_off_breaks_off_for_whoever_continues_it() -> None:
    """The app raises while a follower reads: no clean end is invented."""

    class Broken(Gateway):
        async def body(self) -> AsyncIterator[bytes]:
            for event in ANSWER[:3]:
                await self._turn()
                yield event
            await self._turn()
            raise RuntimeError

    gateway = Broken()
    with gateway.serve() as url:
        checkpoint = Checkpoint()
        gateway.go(2)
        read(url, checkpoint, 2)
        until(lambda: len(gateway.closings()) == 1)
        with pytest.raises(httpx.RemoteProtocolError):
            read(url, checkpoint, 1000, began=lambda: gateway.go(2))
        until(lambda: len(gateway.closings()) == 2)
    assert checkpoint.last.endswith(".2")
    assert [block.end for block in gateway.closings()] == ["disconnected", "raised"]


def test_what_is_kept_is_in_no_record() -> None:
    """Neither words nor key: the blocks of all exchanges hold numbers and digests."""
    gateway = Gateway()
    with gateway.serve() as url:
        checkpoint = Checkpoint()
        gateway.go()
        read(url, checkpoint, 3)
        read(url, checkpoint)
        until(lambda: len(gateway.closings()) == 2)
    exported = b"".join(repr(block).encode() for block in gateway.sink.blocks)
    assert b"word" not in exported


def test_a_client_that_did_not_ask_leaves_the_app_to_learn_of_it() -> None:
    """Without stamps nothing is kept: the disconnect is the app's to know, as ever."""
    gateway = Gateway()
    with gateway.serve() as url:
        gateway.go(2)
        with httpx.Client() as client, client.stream("POST", url) as response:
            next(response.iter_raw())
        until(lambda: gateway.ended)
    assert gateway.ended in ("CancelledError", "GeneratorExit")


def test_an_error_of_ours_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be kept is sent all the same; it cannot be continued, and the app is told of the disconnect."""

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("canary")

    monkeypatch.setattr(Kept, "write", fail)
    gateway = Gateway()
    with faults.quiet(), gateway.serve() as url:
        checkpoint = Checkpoint()
        gateway.go()
        assert read(url, checkpoint) == DATA
        gateway.go(3)
        again = Checkpoint()
        read(url, again, 2)
        until(lambda: gateway.ended != "whole" and gateway.ended)
        gateway.go(40)
        assert read(url, again) == DATA
    assert again.outcome == "new_generation"


@pytest.mark.parametrize("bound", ["events", "bytes", "seconds", "streams"])
def test_bounds_are_at_least_one(bound: str) -> None:
    """A mistake of the caller's is named."""
    with pytest.raises(ValueError, match=bound):
        Replay(**{bound: 0})


def test_the_responses_header_says_where_it_goes_on() -> None:
    """So that a client knows before the first event."""
    gateway = Gateway()
    with gateway.serve() as url:
        checkpoint = Checkpoint()
        gateway.go()
        read(url, checkpoint, 4)
        headers = checkpoint.headers()
        response = httpx.post(url, headers=headers)
    header = parse_response(response.headers["stream-witness"])
    assert header is not None
    assert (header.id, header.attempt, header.first, header.stamp) == (checkpoint.stream, 1, 4, "id")
    assert "stream-witness-key" not in response.headers
