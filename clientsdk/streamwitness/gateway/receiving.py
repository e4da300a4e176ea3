"""One pending `receive()` shared by the app and the hook, so that a client's leaving is seen whatever the app awaits.

Many apps never look: they only send, and servers swallow what is sent to a client that has gone. Two concurrent calls
of a server's `receive` steal each other's messages (uvicorn 0.54 hands one of them an empty body), so once the hook
watches there is one call, made by a task of its own, and the app is handed its messages in order.

    direct ── watch() ──▶ watching ── the app returns, or the server's receive raises ──▶ direct
    the app's calls       one task calls ahead: a little of a request body that the app has not read, and, the body
    pass through          over, the disconnect, of which every later call is told again
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from .asgi import Message, Receive

MAX_HELD_BYTES: Final = 1 << 16
"""Once this much of a body waits for the app no more is read ahead. A server that gives even a short body in two
messages (hypercorn) would otherwise never come to speak of the disconnect to an app that does not read it."""

MAX_HELD_MESSAGES: Final = 16


class SharedReceive:
    """The app's `receive`. `on_disconnect` is called once, with nothing, as soon as `http.disconnect` is known.

    What is read ahead of the request body waits for the app, bounded by MAX_HELD_BYTES and MAX_HELD_MESSAGES.
    """

    def __init__(self, receive: Receive, on_disconnect: Callable[[], None]) -> None:
        self._receive = receive
        self._on_disconnect = on_disconnect
        self._queue: deque[Message] = deque()
        self._held = 0
        self._gone: Message | None = None
        self._error: Exception | None = None
        self._body_over = False
        self._in_flight = 0
        self._watching = False
        self._task: asyncio.Task[None] | None = None
        self._arrived: asyncio.Event | None = None
        """Set by the task when it has news; None while no task runs."""
        self._kept_from_app: asyncio.Event | None = None
        """While set to an event, the app is not told of the disconnect before that event."""

    async def __call__(self) -> Message:
        """The next message, as the server's `receive` would give it."""
        while True:
            if self._queue:
                return self._take()
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._gone is not None:
                return await self._told(self._gone)
            if self._arrived is None:
                return await self._direct()
            await self._arrived.wait()

    def watch(self) -> None:
        """Start to look ahead for the disconnect. Without asyncio (trio) only the app's own calls are observed."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        self._watching = True
        self._look_ahead()

    def hold(self) -> None:
        """From now on the app is not told that its client has gone: somebody else takes what it sends."""
        self._kept_from_app = asyncio.Event()

    def release(self, *, gone: bool = False) -> None:
        """The app may be told again. `gone`: its client is as good as gone, whatever the server says."""
        if gone and self._gone is None:
            self._gone = {"type": "http.disconnect"}
            if self._arrived is not None:
                self._arrived.set()
        if self._kept_from_app is not None:
            self._kept_from_app.set()

    @property
    def gone(self) -> bool:
        """Whether the client is known to have gone."""
        return self._gone is not None

    def stop(self) -> None:
        """The app has returned: nobody waits any more."""
        self._watching = False
        if self._task is not None:
            self._task.cancel()

    async def _direct(self) -> Message:
        self._in_flight += 1
        try:
            message = await self._receive()
            self._note(message)
        finally:
            self._in_flight -= 1
            self._look_ahead()
        return await self._told(message) if message is self._gone else message

    async def _told(self, gone: Message) -> Message:
        if self._kept_from_app is not None:
            await self._kept_from_app.wait()
        return gone

    def _take(self) -> Message:
        message = self._queue.popleft()
        self._held -= len(message.get("body", b""))
        self._look_ahead()
        return message

    def _look_ahead(self) -> None:
        """Have one call pending, unless there is one, or enough waits for the app, or there is no more to learn."""
        if not self._watching or self._in_flight or self._full():
            return
        if self._arrived is not None or self._gone is not None:
            return
        self._arrived = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._pump())

    async def _pump(self) -> None:
        try:
            while await self._fetch():
                self._wake(asyncio.Event())
        except Exception as error:  # the server's; it is the app's to see, if it ever asks
            self._watching, self._error = False, error
        finally:
            self._wake(None)

    async def _fetch(self) -> bool:
        """Take one message from the server; True where the next may be asked for at once.

        After the last piece of the body only the disconnect is left to come: the app goes on with what it has while
        we wait for it. Anything else then is not what ASGI says, and nothing is asked for until the app has taken
        it: a `receive` that always answers would never let go of the event loop.
        """
        over_before = self._body_over
        message = await self._receive()
        self._note(message)
        if message["type"] == "http.disconnect":
            return False
        self._queue.append(message)
        self._held += len(message.get("body", b""))
        return not over_before and (self._body_over or not self._full())

    def _full(self) -> bool:
        return self._held >= MAX_HELD_BYTES or len(self._queue) >= MAX_HELD_MESSAGES

    def _wake(self, following: asyncio.Event | None) -> None:
        arrived, self._arrived = self._arrived, following
        if arrived is not None:
            arrived.set()

    def _note(self, message: Message) -> None:
        if message["type"] == "http.disconnect":
            if self._gone is None:
                self._gone = message
                self._on_disconnect()
        elif message["type"] == "http.request" and not message.get("more_body", False):
            self._body_over = True
