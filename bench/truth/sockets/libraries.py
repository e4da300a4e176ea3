"""Other HTTP libraries than httpx: aiohttp, and requests in a thread; with the same parsers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import closing
from typing import Any

import aiohttp
import requests

from streamwitness import applied, instrument, stream_id, watch

from .bodies import PATHS
from .parsers import DELIVERS, parsed
from .reducers import Reducer
from .scenario import Notebook
from .using import TIMEOUT, patience, use, use_sync


async def read_aiohttp(origin: str, notes: Notebook) -> None:
    """The `aiohttp` package."""
    url = f"{origin}/{notes.key}{PATHS[notes.scenario.out]}"
    timeout = aiohttp.ClientTimeout(sock_connect=TIMEOUT, sock_read=patience(notes))
    async with (
        instrument(aiohttp.ClientSession(timeout=timeout)) as session,
        session.post(url, json={"stream": True}) as response,
    ):
        notes.stream = stream_id(response) or notes.stream
        body = watch(parsed(notes, response.content.iter_any()), response=response, delivers=DELIVERS)
        with applied(response) as answer:
            await use(notes, body, Reducer(notes, answer))


async def read_requests(origin: str, notes: Notebook) -> None:
    """The `requests` package, in a thread."""
    await asyncio.to_thread(_read_requests, origin, notes)


def _read_requests(origin: str, notes: Notebook) -> None:
    url = f"{origin}/{notes.key}{PATHS[notes.scenario.out]}"
    with (
        instrument(requests.Session()) as session,
        session.post(url, json={"stream": True}, stream=True, timeout=(TIMEOUT, patience(notes))) as response,
    ):
        notes.stream = stream_id(response) or notes.stream
        events = _in_step(parsed(notes, _async(response.iter_content(None))))
        with closing(watch(events, response=response, delivers=DELIVERS)) as body, applied(response) as answer:
            use_sync(notes, body, Reducer(notes, answer))


async def _async(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def _in_step(events: AsyncIterator[Any]) -> Iterator[Any]:
    """An async generator that never has to wait, without a loop."""
    while True:
        try:
            events.__anext__().__await__().send(None)
        except StopIteration as step:
            yield step.value
        except StopAsyncIteration:
            return
