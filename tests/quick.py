"""A uvicorn that ends at once: its own looks whether it should every 100 ms, which hundreds of servers add up."""

from __future__ import annotations

import asyncio
from typing import Final

import uvicorn

_TICK: Final = 0.005


class QuickServer(uvicorn.Server):
    """Looks every 5 ms whether it should exit; all else is uvicorn's."""

    async def main_loop(self) -> None:
        """As uvicorn's, which renews its date header every tenth time."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 1
            await asyncio.sleep(_TICK)
