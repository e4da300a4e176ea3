"""The application's loop around an answer: it applies each event, is slow where it is to be, and stops by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Protocol

from .http1 import until
from .scenario import Notebook, place
from .works import honest

TIMEOUT: Final = 30.0
_IMPATIENT: Final = 1.5
"""Seconds that a client waits which is to give up."""
_STUCK: Final = 3.6
"""Seconds that it waits where somebody is to be told to have stood still."""
SLOW_SECONDS: Final = 2.4
"""How long a slow application takes for one event: more than anybody else would be excused for."""


class Builds(Protocol):
    """What builds an answer from events."""

    def feed(self, event: Any) -> None:
        """Take one event."""

    def drain(self) -> None:
        """The stream has come to its end."""

    def finish(self) -> None:
        """It is over, or it is left."""


_INSIDE: Final = ("break", "close", "abort")
"""Stops that the application's loop makes; the others come from outside of it."""


class Abort(Exception):
    """The application's own code gives up."""


def patience(notes: Notebook) -> float:
    """How long the client waits for the next piece."""
    if notes.scenario.stop != "timeout":
        return TIMEOUT
    return _STUCK if notes.scenario.stuck else _IMPATIENT


async def use(notes: Notebook, body: Any, reducer: Builds) -> None:
    """Apply each event, and stop where the scenario says so."""
    scenario = notes.scenario
    due = _due(notes) if scenario.stop or scenario.pace else -1
    stop = due if scenario.stop in _INSIDE else -1
    try:
        async for event in body:
            reducer.feed(event)
            if notes.taken == due and scenario.pace == "slow":
                await asyncio.sleep(SLOW_SECONDS)
            if notes.taken == stop:
                await _stop(notes, body)
                return
        reducer.drain()
    finally:
        reducer.finish()


def use_sync(notes: Notebook, body: Any, reducer: Builds) -> None:
    """The same without asyncio."""
    scenario = notes.scenario
    due = _due(notes) if scenario.stop or scenario.pace else -1
    try:
        for event in body:
            reducer.feed(event)
            if notes.taken == due and scenario.pace == "slow":
                time.sleep(SLOW_SECONDS)
            if notes.taken == due and scenario.stop in _INSIDE:
                notes.ends.add(f"client.{scenario.stop}")
                if scenario.stop == "abort":
                    raise Abort("the application's own code gives up")
                return
        reducer.drain()
    finally:
        reducer.finish()


async def _stop(notes: Notebook, body: Any) -> None:
    stop = notes.scenario.stop
    notes.ends.add(f"client.{stop}")
    if stop == "abort":
        raise Abort("the application's own code gives up")
    if stop == "close":
        closing = getattr(body, "aclose", None)
        with suppress(RuntimeError):
            await (closing() if closing is not None else body.close())


async def cancelled(notes: Notebook, reading: Awaitable[None]) -> None:
    """Cancel the reading task when it has had enough."""
    task = asyncio.ensure_future(reading)
    await until(lambda: notes.taken >= _due(notes) or task.done())
    notes.ends.add("client.cancel")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def early(notes: Notebook, reading: Awaitable[None]) -> None:
    """Cancel the reading task when it has been answered, and has nothing yet."""
    task = asyncio.ensure_future(reading)
    await until(lambda: notes.opened or task.done())
    notes.ends.add("client.cancel")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def limited(notes: Notebook, reading: Awaitable[None]) -> None:
    """Have a limit for the whole answer run out then."""
    with suppress(TimeoutError):
        async with asyncio.timeout(None) as limit:
            asked = asyncio.create_task(_run_out(notes, limit))
            try:
                await reading
            finally:
                asked.cancel()


async def _run_out(notes: Notebook, limit: asyncio.Timeout) -> None:
    await until(lambda: notes.taken >= _due(notes))
    notes.ends.add("client.limit")
    limit.reschedule(asyncio.get_running_loop().time())


FROM_OUTSIDE: Final[dict[str, Callable[[Notebook, Awaitable[None]], Awaitable[None]]]] = {
    "cancel": cancelled,
    "early": early,
    "limit": limited,
}
"""Stop → how somebody else than the loop makes it."""


def _due(notes: Notebook) -> int:
    """After how many events the client stops: before the place at which the provider waits."""
    scenario = notes.scenario
    return max(1, place(scenario.out, honest(scenario), "first") + 1)
