"""pace() lets a source run only as far ahead as the limit says, and drops nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from streamwitness.pacing import pace

pytestmark = pytest.mark.anyio


class Source:
    """Deltas as fast as they are asked for."""

    def __init__(self, count: int, error: Exception | None = None) -> None:
        self.count, self.error = count, error
        self.read = 0
        self.full = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[tuple[str, str]]:
        for at in range(self.count):
            self.read = at + 1
            yield "t", f"{at:4}"
            await asyncio.sleep(0)
        if self.error is not None:
            raise self.error


async def test_a_source_waits_for_a_slow_consumer() -> None:
    """While the consumer renders, no more than the limit is read ahead; then everything comes, merged."""
    source = Source(1000)
    text = ""
    frames = 0
    async for rendered in pace(source, limit=40):
        ahead = source.read - len(text) // 4
        assert ahead <= 11 + sum(item.deltas for item in rendered)
        text += "".join(item.text for item in rendered)
        frames += 1
        for _ in range(30):
            await asyncio.sleep(0)
    assert text == "".join(f"{at:4}" for at in range(1000))
    assert frames < 500


async def test_an_error_of_the_source_comes_after_what_came_before_it() -> None:
    """Deltas are never dropped for an error behind them."""
    text: list[str] = []

    async def consume() -> None:
        async for rendered in pace(Source(3, ConnectionResetError())):
            text.extend(item.text for item in rendered)

    with pytest.raises(ConnectionResetError):
        await consume()
    assert "".join(text) == "   0   1   2"


async def test_a_consumer_that_stops_ends_the_reading() -> None:
    """Closing the pacer cancels its task, also one that waits for room."""
    source = Source(10**9)
    frames = pace(source, limit=8)
    await anext(frames)
    await frames.aclose()  # type: ignore[attr-defined]
    read = source.read
    await asyncio.sleep(0)
    assert source.read == read


async def test_deltas_without_text_are_bounded_as_well() -> None:
    """Events that add nothing fill the memory, too: a source of them waits for its consumer."""
    read = 0

    async def empty() -> AsyncIterator[tuple[str, str]]:
        nonlocal read
        for read in range(1000):
            yield str(read % 2), ""
            await asyncio.sleep(0)

    paced = pace(empty(), limit=40)
    await anext(paced)
    for _ in range(300):
        await asyncio.sleep(0)
    assert read <= 42
    await paced.aclose()


async def test_closing_early_raises_nothing_of_the_source() -> None:
    """A consumer that has had enough is not told that the source has failed meanwhile."""
    paced = pace(Source(1, ValueError("late")), limit=40)
    await anext(paced)
    for _ in range(10):
        await asyncio.sleep(0)
    await paced.aclose()


async def test_a_consumer_that_is_cancelled_while_it_closes_is_cancelled() -> None:
    """The source takes its time to stop; the cancellation of the one who waits for it is not lost."""
    stopping, may = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[tuple[str, str]]:
        try:
            yield "t", "word"
            await asyncio.Event().wait()
        finally:
            stopping.set()
            await may.wait()

    paced = pace(slow(), limit=40)
    await anext(paced)
    await asyncio.sleep(0)
    closing = asyncio.create_task(paced.aclose())
    await stopping.wait()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    may.set()
