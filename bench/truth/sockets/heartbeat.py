"""Whether the machine stood still: what then came late, nobody held back."""

from __future__ import annotations

import asyncio
from typing import Final

_EVERY_SECONDS: Final = 0.05
_TOO_LATE_SECONDS: Final = 0.7
"""A loop that was kept from running for so long, all in all, explains what its streams waited."""


class Heartbeat:
    """A task that wakes again and again, and knows by how much it was late in all."""

    def __init__(self) -> None:
        self.late = 0.0
        self._task = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _EVERY_SECONDS
            await asyncio.sleep(_EVERY_SECONDS)
            self.late += max(0.0, loop.time() - due - _EVERY_SECONDS)

    def stood_still(self, since: float) -> bool:
        """Whether it was late by too much since `late` was this."""
        return self.late - since > _TOO_LATE_SECONDS

    async def stop(self) -> None:
        """Beat no more."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
