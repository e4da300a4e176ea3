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
