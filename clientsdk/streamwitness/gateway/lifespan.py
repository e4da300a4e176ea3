"""A last flush before the server is told that the app has shut down: servers end by signal, without `atexit`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from streamwitness import faults

from .asgi import Message, Send

FLUSH_SECONDS: Final = 2.0
"""What shutting down may take longer because of us."""

_LAST: Final = frozenset(("lifespan.shutdown.complete", "lifespan.shutdown.failed"))


def flushing(send: Send, end: Callable[[], None], flush: Callable[[float], None]) -> Send:
    """`send` of a lifespan scope that calls `end()`, then `flush(seconds)` off the event loop, when shutting down.

    Whatever they do, the message goes on, after at most the time that `flush` was given.
    """

    async def wrapped(message: Message) -> None:
        if message["type"] in _LAST:
            try:
                end()
                await _off_the_loop(flush)
            except Exception as error:
                faults.fault("gateway.lifespan", error)
        await send(message)

    return wrapped


async def _off_the_loop(flush: Callable[[float], None]) -> None:
    """Run `flush` in a thread of its own: the loop's executor would wait for it at the end, however long it takes."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[BaseException | None] = loop.create_future()

    def tell(error: BaseException | None) -> None:
        if not over.done():
            over.set_result(error)

    def work() -> None:
        error: BaseException | None = None
        try:
            flush(FLUSH_SECONDS)
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the loop has not waited for us and is closed
            loop.call_soon_threadsafe(tell, error)

    threading.Thread(target=work, name="streamwitness-flush", daemon=True).start()
    with suppress(TimeoutError):
        if error := await asyncio.wait_for(over, FLUSH_SECONDS):
            faults.fault("gateway.lifespan", error)
