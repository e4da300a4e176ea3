"""Replay when those who read come, go and are cut off in unlucky moments: nobody waits for ever, no body has a hole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from streamwitness.gateway import Replay, StreamWitness
from streamwitness.headers import format_request, parse_response
from streamwitness.runtime import ClientSettings, Runtime
from streamwitness.testing import MemorySink
from tests.clientsdk.gateway.keeping import ANSWER
from tests.clientsdk.gateway.serving import SSE, drive

pytestmark = pytest.mark.anyio

STREAM = "0123456789abcdef0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"
GONE = {"type": "http.disconnect"}


class Stage:
    """A hook with an app that sends an event each time it may, and the clients' sides of its connections."""

    def __init__(self, **bounds: Any) -> None:
        self.may, self.over = asyncio.Semaphore(0), asyncio.Event()
        self.sent = 0
        self.told: list[Any] = []
        """What the app's own receive gave."""
        self.hook = StreamWitness(
            self._app, Runtime(ClientSettings(mode="stamp"), MemorySink()), replay=Replay(**bounds)
        )

    async def _app(self, _scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        listening = asyncio.create_task(self._listen(receive))
        try:
            for event in ANSWER:
                await self.may.acquire()
                await send({"type": "http.response.body", "body": event, "more_body": True})
                self.sent += 1
            await send({"type": "http.response.body"})
        finally:
            listening.cancel()
            self.over.set()

    async def _listen(self, receive: Any) -> None:
        self.told.append(await receive())

    def ask(self, client: Client, stream: str = STREAM, place: bytes = b"") -> asyncio.Task[Any]:
        headers = [(b"stream-witness", format_request(stream, (), "id").encode())]
        headers += [(b"last-event-id", place)] if place else []
        return asyncio.create_task(drive(self.hook, headers=headers, receive=client.receive, send=client.send))


class Client:
    """What a server does for one connection."""

    def __init__(self, stuck: Callable[[Any], bool] = lambda _: False) -> None:
        self.gone, self.never = asyncio.Event(), asyncio.Event()
        self.messages: list[Any] = []
        self._stuck = stuck

    async def receive(self) -> Any:
        await self.gone.wait()
        return GONE

    async def send(self, message: Any) -> None:
        if self._stuck(message):
            await self.never.wait()
        self.messages.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)

    def place(self, number: int) -> bytes:
        header = parse_response(dict(self.messages[0]["headers"])[b"stream-witness"].decode())
        assert header is not None
        return f"{header.exchange[:8]}.{number}".encode()


async def settled() -> None:
    """Let every task go as far as it can."""
    for _ in range(60):
        await asyncio.sleep(0)


async def test_a_follower_that_is_cancelled_at_its_head_holds_nobody_up() -> None:
    """The app goes on though the follower never came to read."""
    stage, first, second = Stage(), Client(), Client(stuck=lambda message: message["type"] == "http.response.start")
    one = stage.ask(first)
    stage.may.release()
    await settled()
    first.gone.set()
    two = stage.ask(second, place=first.place(0))
    await settled()
    two.cancel()
    await asyncio.gather(two, return_exceptions=True)
    for _ in ANSWER:
        stage.may.release()
    await settled()
    assert stage.sent == len(ANSWER)
    await one


async def test_an_old_connection_never_goes_on_behind_a_hole() -> None:
    """One that is still there when another takes over breaks off for good, also once nothing is kept any more."""
    stage, first, second, other = Stage(streams=1), Client(), Client(), Client()
    one = stage.ask(first)
    stage.may.release()
    await settled()
    had = first.body
    two = stage.ask(second, place=first.place(0))
    await settled()
    stage.may.release()
    await settled()
    assert b"word 1 " in second.body
    second.gone.set()
    three = stage.ask(other, OTHER)  # there is room for one stream: that of the two is given up
    await settled()
    for _ in range(2 * len(ANSWER)):
        stage.may.release()
    await settled()
    assert first.body == had
    assert stage.told[:1] == [GONE]
    await asyncio.gather(one, two, three)


async def test_a_client_that_was_gone_before_the_head_is_waited_for_by_nobody() -> None:
    """An app that was told of the disconnect before it began is told again, however often it asks."""
    told: list[Any] = []

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        told.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        await send({"type": "http.response.body", "body": ANSWER[0], "more_body": True})
        told.append(await receive())

    client = Client()
    client.gone.set()
    hook = StreamWitness(app, Runtime(ClientSettings(mode="stamp"), MemorySink()), replay=Replay())
    headers = [(b"stream-witness", format_request(STREAM, (), "id").encode())]
    await asyncio.wait_for(drive(hook, headers=headers, receive=client.receive, send=client.send), 5)
    assert told == [GONE, GONE]
