"""One pending receive() for the app and the hook: nothing stolen, nothing lost, the disconnect seen at once."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from streamwitness.gateway.receiving import MAX_HELD_BYTES, MAX_HELD_MESSAGES, SharedReceive

pytestmark = pytest.mark.anyio

LAST = {"type": "http.request", "body": b"last", "more_body": False}
FIRST = {"type": "http.request", "body": b"first", "more_body": True}
GONE = {"type": "http.disconnect"}


class Wire:
    """A server's receive: messages come when the test puts them; calls at the same time are counted."""

    def __init__(self, *messages: Any) -> None:
        self.queue: asyncio.Queue[Any] = asyncio.Queue()
        for message in messages:
            self.queue.put_nowait(message)
        self.pending = self.most = self.gone = 0

    async def receive(self) -> Any:
        self.pending += 1
        self.most = max(self.most, self.pending)
        try:
            message = await self.queue.get()
        finally:
            self.pending -= 1
        if isinstance(message, Exception):
            raise message
        return message

    def note(self) -> None:
        self.gone += 1

    def shared(self) -> SharedReceive:
        return SharedReceive(self.receive, self.note)


async def settle() -> None:
    """Let every task go on until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_without_watching_calls_pass_through() -> None:
    """Nothing is asked of the server that the app did not ask."""
    wire = Wire(FIRST, LAST)
    shared = wire.shared()
    await settle()
    assert wire.queue.qsize() == 2
    assert [await shared(), await shared()] == [FIRST, LAST]


async def test_a_disconnect_is_seen_though_the_app_never_asks() -> None:
    """The body unread, the app only sends: still its client's leaving is known."""
    wire = Wire(LAST)
    shared = wire.shared()
    shared.watch()
    await settle()
    assert wire.gone == 0
    wire.queue.put_nowait(GONE)
    await settle()
    assert wire.gone == 1
    shared.stop()


async def test_the_app_gets_everything_in_order() -> None:
    """What was read ahead is handed on; after the end every call says that the client has gone."""
    wire = Wire(FIRST, LAST, GONE)
    shared = wire.shared()
    shared.watch()
    await settle()
    assert [await shared() for _ in range(5)] == [FIRST, LAST, GONE, GONE, GONE]
    assert (wire.gone, wire.most) == (1, 1)


async def test_a_body_in_several_messages_does_not_hide_the_disconnect() -> None:
    """hypercorn gives even a short body in two; the app need not read it."""
    wire = Wire(FIRST, LAST, GONE)
    shared = wire.shared()
    shared.watch()
    await settle()
    assert wire.gone == 1
    assert [await shared() for _ in range(3)] == [FIRST, LAST, GONE]


async def test_of_a_long_body_little_is_read_ahead() -> None:
    """Back-pressure stays with the app: more is asked for when it has taken what waits."""
    long = {**FIRST, "body": bytes(MAX_HELD_BYTES)}
    wire = Wire(*[FIRST] * (MAX_HELD_MESSAGES + 3), long, long, LAST)
    shared = wire.shared()
    shared.watch()
    await settle()
    assert wire.queue.qsize() == 6
    got = [await shared()]
    await settle()
    assert wire.queue.qsize() == 5
    while got[-1] is not long:
        got.append(await shared())
        await settle()
    assert wire.queue.qsize() == 1
    assert [await shared(), await shared()] == [long, LAST]
    shared.stop()


async def test_an_app_that_waits_already_keeps_its_call() -> None:
    """Watching begins while the app's own call is pending: no second one is made beside it."""
    wire = Wire()
    shared = wire.shared()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(shared())
        await settle()
        shared.watch()
        await settle()
        assert wire.pending == 1
        wire.queue.put_nowait(LAST)
        await settle()
        assert wire.pending == 1
        wire.queue.put_nowait(GONE)
    assert waiting.result() == LAST
    await settle()
    assert (wire.gone, wire.most) == (1, 1)


async def test_an_app_that_gives_up_waiting_does_not_end_the_watch() -> None:
    """A cancelled call (a poll whether the client is there) loses nothing, before and while watching."""
    wire = Wire()
    shared = wire.shared()
    shared.watch()
    for _ in range(3):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await shared()
    wire.queue.put_nowait(LAST)
    assert await shared() == LAST
    wire.queue.put_nowait(GONE)
    await settle()
    assert wire.gone == 1


async def test_two_callers_share_one_disconnect() -> None:
    """Starlette and the handler may both listen: both are told."""
    wire = Wire(LAST)
    shared = wire.shared()
    shared.watch()
    assert await shared() == LAST
    async with asyncio.TaskGroup() as group:
        both = [group.create_task(shared()) for _ in range(2)]
        await settle()
        wire.queue.put_nowait(GONE)
    assert [task.result() for task in both] == [GONE, GONE]
    assert wire.most == 1


async def test_a_receive_that_always_answers_does_not_hold_the_loop() -> None:
    """Home-made test harnesses return a request for ever, without waiting: the watch gives up."""
    calls = 0

    async def always() -> Any:
        nonlocal calls
        calls += 1
        return LAST

    shared = SharedReceive(always, lambda: None)
    shared.watch()
    await settle()
    assert calls == 2
    assert [await shared() for _ in range(3)] == [LAST, LAST, LAST]
    assert calls == 3


async def test_an_error_of_the_server_is_the_apps_to_see() -> None:
    """It is raised to the app if it asks, once, and nowhere else."""
    wire = Wire(RuntimeError("receive failed"), LAST)
    shared = wire.shared()
    shared.watch()
    await settle()
    with pytest.raises(RuntimeError, match="receive failed"):
        await shared()
    assert await shared() == LAST


async def test_stopping_leaves_nothing_pending() -> None:
    """When the app has returned, no call is left at the server."""
    wire = Wire(LAST)
    shared = wire.shared()
    shared.watch()
    await settle()
    assert wire.pending == 1
    shared.stop()
    await settle()
    assert wire.pending == 0


@pytest.mark.parametrize("watched", [True, False], ids=["watching", "asked directly"])
async def test_a_disconnect_that_is_held_back_comes_when_it_is_released(watched: bool) -> None:
    """While somebody may come back the hook knows, and the app does not."""
    wire = Wire(LAST)
    shared = wire.shared()
    shared.hold()
    if watched:
        shared.watch()
    assert await shared() == LAST
    waiting = asyncio.create_task(shared())
    wire.queue.put_nowait(GONE)
    await settle()
    assert (wire.gone, waiting.done()) == (1, False)
    shared.release()
    assert [await waiting, await shared()] == [GONE, GONE]
