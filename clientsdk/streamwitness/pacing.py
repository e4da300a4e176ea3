"""pace(): a stream of deltas for a slow consumer, with asyncio around the bounded queue of `reducers.Paced`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator

from .reducers import Paced, Rendered
from .reducers.paced import LIMIT_BYTES

__all__ = ["pace"]


async def pace(deltas: AsyncIterable[tuple[str, str]], *, limit: int = LIMIT_BYTES) -> AsyncIterator[list[Rendered]]:
    """Read (slot, delta) pairs as fast as `limit` allows, and yield what has come each time the consumer asks.

    What the source raises is raised once all that came before it was yielded. Closing this closes nothing but the
    reading task; the source is its owner's to close.
    """
    paced, room, news = Paced(limit), asyncio.Event(), asyncio.Event()

    async def read() -> None:
        try:
            async for slot, delta in deltas:
                while not paced.offer(slot, delta):
                    room.clear()
                    await room.wait()
                news.set()
        finally:
            news.set()

    reading = asyncio.create_task(read())
    try:
        while True:
            await news.wait()
            news.clear()
            rendered = paced.take()
            room.set()
            if rendered:
                yield rendered
            elif reading.done():
                break
            if reading.done():
                news.set()
        await reading
    finally:
        reading.cancel()
        await asyncio.wait((reading,))  # not the task itself: whoever is cancelled meanwhile is to learn of it
        if not reading.cancelled():
            reading.exception()  # was raised above, or nobody wants it any more
