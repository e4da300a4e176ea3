"""Clients that ask more than once: that come back to a stream, read it twice at a time, or try again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

import httpx

from streamwitness import Checkpoint, applied, watch

from .acts import DONE
from .bodies import PATHS
from .parsers import DELIVERS
from .reducers import Reducer
from .scenario import Notebook
from .using import TIMEOUT, use

if TYPE_CHECKING:
    from .clients import Clients

_TIMES: Final = 4
"""Connections that a client makes at most."""


async def read_resuming(clients: Clients, notes: Notebook) -> None:
    """Come back after a lost connection, and go on where the answer was left."""
    stamp = notes.scenario.stamp
    checkpoint = Checkpoint(stamp="field" if stamp == "field" else "id")
    for _ in range(_TIMES):
        try:
            await _once(clients, notes, checkpoint)
            return
        except httpx.TransportError:
            notes.notes.update(("resumed", "recovered") if _made_good(notes) else ("resumed",))


def _made_good(notes: Notebook) -> bool:
    """Whether what a connection loses comes by the next one."""
    return all(fault.how != "drop" for fault in notes.scenario.faults if fault.component == "transport")


async def _once(clients: Clients, notes: Notebook, checkpoint: Checkpoint) -> None:
    url = f"{clients.origin}/{notes.key}{PATHS[notes.scenario.out]}"
    headers, timeout = checkpoint.headers(), httpx.Timeout(TIMEOUT)
    async with clients.seen.stream("POST", url, json={"stream": True}, headers=headers, timeout=timeout) as response:
        checkpoint.opened(response.headers)
        notes.stream = checkpoint.stream
        if response.status_code == httpx.codes.NO_CONTENT:
            return
        body = watch(_decoded(checkpoint, response), response=response, delivers=DELIVERS)
        with applied(response) as answer:
            await use(notes, body, Reducer(notes, answer))


async def _decoded(checkpoint: Checkpoint, response: httpx.Response) -> AsyncIterator[Any]:
    async for event in checkpoint.aevents(response.aiter_raw()):
        yield event.data if event.data == DONE else json.loads(event.data)


async def twice(reads: Any, clients: Clients, notes: Notebook) -> None:
    """Two tabs: the same stream, asked for by two at once."""
    notes.notes.add("two tabs")
    await asyncio.gather(reads(clients, notes), reads(clients, notes))
