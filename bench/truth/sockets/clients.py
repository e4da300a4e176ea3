"""Clients: HTTP libraries with parsers of the application's own, and the SDKs of the providers, each with its reducer.

Every one reads one answer through the network, and stops early where the scenario says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import requests
from google.genai import errors as genai_errors
from opentelemetry.trace import NonRecordingSpan, SpanContext, use_span

from streamwitness import applied, instrument, stream_id, watch
from streamwitness.headers import format_request
from streamwitness.semconv import HEADER, Stamp

from . import again, helpers, libraries, processes, sdks
from .bodies import PATHS
from .parsers import DELIVERS, parsed
from .reducers import Reducer
from .scenario import Notebook
from .using import FROM_OUTSIDE, TIMEOUT, Abort, patience, use


@dataclass
class Clients:
    """The HTTP clients of all streams; `origin` is where the network begins."""

    origin: str
    provider: str
    """Where the provider is."""
    limits: httpx.Limits = field(default_factory=lambda: httpx.Limits(max_connections=None))

    def __post_init__(self) -> None:
        self.seen = instrument(httpx.AsyncClient(timeout=TIMEOUT, limits=self.limits))
        self.unseen = httpx.AsyncClient(timeout=TIMEOUT, limits=self.limits)

    async def aclose(self) -> None:
        """Close them."""
        await self.seen.aclose()
        await self.unseen.aclose()


Read = Callable[[Clients, Notebook], Awaitable[None]]


async def read(clients: Clients, notes: Notebook) -> None:
    """Have the scenario's client read its answer; what it raises by itself is written down and goes no further."""
    if notes.neighbour is not None:
        await read(clients, notes.neighbour)
    outside = FROM_OUTSIDE.get(notes.scenario.stop)
    if notes.scenario.process == "killed":
        await processes.with_killed_gateway(clients.provider, notes, lambda: _reading(clients, notes))
        return
    reading = _reading(clients, notes)
    await (outside(notes, reading) if outside is not None else reading)


async def _reading(clients: Clients, notes: Notebook) -> None:
    try:
        with use_span(_ONE_TRACE):
            await CLIENTS[notes.scenario.client](clients, notes)
    except (*_PEER, KeyError, ValueError, Abort) as error:
        notes.error = type(error).__name__
        told = f"{notes.error} {error}".lower()
        if notes.scenario.stop == "timeout" and ("timeout" in told or "timed out" in told):
            notes.ends.add("client.timeout")
        if notes.scenario.unreadable and isinstance(error, ValueError):
            notes.ends.add("parser.raise")
    finally:
        if not notes.scenario.unheard:  # else the network says so, when the gateway can know
            notes.left.set()
        notes.left_at = asyncio.get_running_loop().time()


_ONE_TRACE: Final = NonRecordingSpan(SpanContext(1 << 100, 1 << 50, is_remote=False))
"""The host's own span, in which all streams are read: one trace holds them all."""
_PEER: Final = (
    httpx.TransportError, httpx2.TransportError, openai.APIError, anthropic.APIError, genai_errors.APIError,
    aiohttp.ClientError, requests.RequestException, TimeoutError,
)  # fmt: skip
"""What says that somebody else ended it, or that the client waited no longer."""


async def read_httpx(clients: Clients, notes: Notebook) -> None:
    """Plain httpx with a parser of its own; as often as is asked for."""
    if notes.scenario.again in ("resume", "linked"):
        await again.read_resuming(clients, notes)
    elif notes.scenario.again == "tabs":
        await again.twice(_read_httpx, clients, notes)
    else:
        await _read_httpx(clients, notes)


async def _read_httpx(clients: Clients, notes: Notebook) -> None:
    scenario = notes.scenario
    client = clients.unseen if scenario.setup == "gateway" else clients.seen
    timeout = httpx.Timeout(TIMEOUT, read=patience(notes))
    url = f"{clients.origin}/{notes.key}{PATHS[scenario.out]}"
    async with client.stream("POST", url, json={"stream": True}, headers=_asking(notes), timeout=timeout) as response:
        notes.stream = stream_id(response) or notes.stream
        notes.opened = True
        body = parsed(notes, response.aiter_bytes())
        if scenario.setup == "gateway":
            await use(notes, body, Reducer(notes, None))
            return
        watched = watch(body, response=response, delivers=DELIVERS)
        with applied(response) as answer:
            await use(notes, watched, Reducer(notes, answer))


def _sdk(reads: Callable[[str, Notebook], Awaitable[None]]) -> Read:
    async def reading(clients: Clients, notes: Notebook) -> None:
        await reads(clients.origin, notes)

    return reading


CLIENTS: Final[dict[str, Read]] = {
    "httpx": read_httpx,
    "openai": _sdk(sdks.read_openai),
    "openai_sync": _sdk(sdks.read_openai_sync),
    "responses": _sdk(sdks.read_responses),
    "anthropic": _sdk(sdks.read_anthropic),
    "genai": _sdk(sdks.read_genai),
    "forking": _sdk(processes.read_forking),
    "aiohttp": _sdk(libraries.read_aiohttp),
    "requests": _sdk(libraries.read_requests),
    "openai_helper": _sdk(helpers.read_openai),
    "responses_helper": _sdk(helpers.read_responses),
    "anthropic_helper": _sdk(helpers.read_anthropic),
}
"""Name → how it reads."""

FORMATS: Final = {
    "openai": "openai_chat",
    "openai_sync": "openai_chat",
    "responses": "openai_responses",
    "anthropic": "anthropic",
    "genai": "gemini",
}
"""SDK → the one format that it reads; HTTP libraries read all."""

HELPERS: Final = {
    "openai_helper": "openai_chat",
    "responses_helper": "openai_responses",
    "anthropic_helper": "anthropic",
}
"""The same of the SDKs' helpers."""


def _asking(notes: Notebook) -> dict[str, str]:
    """The header of an application that asks for numbered events itself."""
    stamp: Stamp | str = notes.scenario.stamp or ("none" if notes.scenario.again == "tabs" else "")
    if not stamp:
        return {}
    return {HEADER: format_request(f"{hash(notes.key) & (1 << 128) - 1:032x}", ("wire",), stamp)}  # type: ignore[arg-type]


__all__ = ["CLIENTS", "FORMATS", "HELPERS", "Clients", "read"]
