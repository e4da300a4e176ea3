"""Clients: httpx with parsers of the application's own, and the SDKs of the providers, each with its reducer.

Every one reads one answer through the network, and stops early where the scenario says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anthropic
import httpx
import httpx2
import openai
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

from streamwitness import applied, instrument, stream_id, watch
from streamwitness.headers import format_request
from streamwitness.semconv import HEADER, PARTS, Stamp

from .acts import DONE, Event
from .bodies import PATHS
from .http1 import until
from .parsers import injector, parsed
from .readers import object_tokens, tokens
from .reducers import Reducer
from .scenario import Notebook, place
from .upstream import altered
from .works import honest, invented

_TIMEOUT: Final = 30.0
_IMPATIENT: Final = 0.3
"""Seconds that a client waits which is to give up."""


@dataclass
class Clients:
    """The HTTP clients of all streams; `origin` is where the network begins."""

    origin: str
    limits: httpx.Limits = field(default_factory=lambda: httpx.Limits(max_connections=None))

    def __post_init__(self) -> None:
        self.seen = instrument(httpx.AsyncClient(timeout=_TIMEOUT, limits=self.limits))
        self.unseen = httpx.AsyncClient(timeout=_TIMEOUT, limits=self.limits)

    async def aclose(self) -> None:
        """Close them."""
        await self.seen.aclose()
        await self.unseen.aclose()


Read = Callable[[Clients, Notebook], Awaitable[None]]


async def read(clients: Clients, notes: Notebook) -> None:
    """Have the scenario's client read its answer; what it raises by itself is written down and goes no further."""
    task = asyncio.create_task(_reading(clients, notes))
    if notes.scenario.stop == "cancel":
        asked = asyncio.create_task(_cancel_when_due(notes, task))
        await asyncio.gather(task, asked, return_exceptions=True)
    else:
        await task


async def _reading(clients: Clients, notes: Notebook) -> None:
    try:
        await CLIENTS[notes.scenario.client](clients, notes)
    except _PEER as error:
        notes.error = type(error).__name__
    except (KeyError, ValueError, Abort) as error:
        notes.error = type(error).__name__
    finally:
        notes.left.set()


async def _cancel_when_due(notes: Notebook, task: asyncio.Task[None]) -> None:
    due = _due(notes)
    await until(lambda: notes.taken >= due or task.done())
    notes.ends.add("client.cancel")
    task.cancel()


_PEER: Final = (httpx.TransportError, httpx2.TransportError, openai.APIError, anthropic.APIError, genai_errors.APIError)
"""What says that somebody else ended it."""


class Abort(Exception):
    """The application's own code gives up."""


async def read_httpx(clients: Clients, notes: Notebook) -> None:
    """Plain httpx with a parser of its own."""
    scenario = notes.scenario
    client = clients.unseen if scenario.setup == "gateway" else clients.seen
    timeout = httpx.Timeout(_TIMEOUT, read=_IMPATIENT if scenario.stop == "timeout" else _TIMEOUT)
    url = f"{clients.origin}/{notes.key}{PATHS[scenario.out]}"
    async with client.stream("POST", url, json={"stream": True}, headers=_asking(notes), timeout=timeout) as response:
        notes.stream = stream_id(response) or notes.stream
        body = parsed(notes, response.aiter_bytes())
        if scenario.setup == "gateway":
            await _use(notes, body, Reducer(notes, None))
            return
        watched = watch(body, response=response, delivers=[part for part in PARTS if part != "malformed"])
        with applied(response) as answer:
            await _use(notes, watched, Reducer(notes, answer))


async def read_openai(clients: Clients, notes: Notebook) -> None:
    """The `openai` package, Chat Completions."""
    async with openai.AsyncOpenAI(base_url=f"{clients.origin}/{notes.key}/v1", api_key="k", max_retries=0) as client:
        _decoding(client, notes)
        stream = await instrument(client).chat.completions.create(model="m", messages=[], stream=True)
        await _read_sdk(notes, stream)


async def read_responses(clients: Clients, notes: Notebook) -> None:
    """The `openai` package, Responses."""
    async with openai.AsyncOpenAI(base_url=f"{clients.origin}/{notes.key}/v1", api_key="k", max_retries=0) as client:
        _decoding(client, notes)
        await _read_sdk(notes, await instrument(client).responses.create(model="m", input="x", stream=True))


async def read_anthropic(clients: Clients, notes: Notebook) -> None:
    """The `anthropic` package."""
    base = f"{clients.origin}/{notes.key}"
    async with anthropic.AsyncAnthropic(base_url=base, api_key="k", max_retries=0) as client:
        _decoding(client, notes)
        stream = await instrument(client).messages.create(model="m", messages=[], max_tokens=9, stream=True)
        await _read_sdk(notes, stream)


async def _read_sdk(notes: Notebook, stream: Any) -> None:
    notes.stream = stream_id(stream) or notes.stream
    try:
        with applied(stream) as answer:
            await _use(notes, _objects(notes, stream), Reducer(notes, answer))
    finally:
        await stream.close()


async def read_openai_sync(clients: Clients, notes: Notebook) -> None:
    """The same package without asyncio, in a thread."""
    await asyncio.to_thread(_read_openai_sync, clients.origin, notes)


def _read_openai_sync(origin: str, notes: Notebook) -> None:
    with openai.OpenAI(base_url=f"{origin}/{notes.key}/v1", api_key="k", max_retries=0) as client:
        instrument(client)
        with (
            client.chat.completions.create(model="m", messages=[], stream=True) as stream,
            applied(stream) as answer,
        ):
            notes.stream = stream_id(stream) or notes.stream
            reducer = Reducer(notes, answer)
            try:
                for chunk in stream:
                    reducer.feed(chunk)
                reducer.drain()
            finally:
                reducer.finish()


async def read_genai(clients: Clients, notes: Notebook) -> None:
    """The `google-genai` package; it has no place for `applied`."""
    http = httpx.AsyncClient(timeout=_TIMEOUT)
    options = genai_types.HttpOptions(base_url=f"{clients.origin}/{notes.key}", httpx_async_client=http)
    client = instrument(genai.Client(api_key="k", http_options=options))
    try:
        stream = await client.aio.models.generate_content_stream(model="m", contents="x")
        await _use(notes, stream, Reducer(notes, None))
    finally:
        await client.aio.aclose()
        client.close()
        await http.aclose()


CLIENTS: Final[dict[str, Read]] = {
    "httpx": read_httpx,
    "openai": read_openai,
    "openai_sync": read_openai_sync,
    "responses": read_responses,
    "anthropic": read_anthropic,
    "genai": read_genai,
}
"""Name → how it reads."""

FORMATS: Final = {
    "openai": "openai_chat",
    "openai_sync": "openai_chat",
    "responses": "openai_responses",
    "anthropic": "anthropic",
    "genai": "gemini",
}
"""Client → the one format that it reads; httpx reads all."""


async def _use(notes: Notebook, body: Any, reducer: Reducer) -> None:
    """The application's loop: apply each event, and stop where the scenario says so."""
    due = _due(notes) if notes.scenario.stop in ("break", "close", "abort") else -1
    try:
        async for event in body:
            reducer.feed(event)
            if notes.taken == due:
                await _stop(notes, body)
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


async def _objects(notes: Notebook, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """An SDK's objects as they come, noted."""
    async for value in stream:
        yield value


def _decoding(client: Any, notes: Notebook) -> None:
    """Give an SDK's client a decoder that notes what comes through, and breaks it where the scenario says so."""
    make = client._make_sse_decoder
    client._make_sse_decoder = lambda: _Decoder(make(), notes)


class _Decoder:
    """An SDK's decoder with a fault in it."""

    def __init__(self, inner: Any, notes: Notebook) -> None:
        self._inner, self._notes = inner, notes
        out = notes.scenario.out
        self._fault = injector(
            notes, alter=lambda sse: _changed(sse, altered(out, _event(sse))), invent=lambda sse: _made(out, sse)
        )

    async def aiter_bytes(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        """The SDK's own events, or what the fault leaves of them."""
        out, fault = self._notes.scenario.out, self._fault
        async with aclosing(self._inner.aiter_bytes(pieces)) as body:
            async for sse in body:
                self._notes.came("parser", tokens(out, [_event(sse)]))
                for made in self._feed(sse):
                    self._notes.went("parser", tokens(out, [_event(made)]))
                    yield made
        for made in fault.finish() if fault is not None else []:
            self._notes.went("parser", tokens(out, [_event(made)]))
            yield made

    def _feed(self, sse: Any) -> list[Any]:
        return self._fault.feed(sse) if self._fault is not None else [sse]


def _event(sse: Any) -> Event:
    return Event(sse.event or "", sse.data or "")


def _changed(sse: Any, event: Event) -> Any:
    return type(sse)(event=sse.event, data=event.data, id=sse.id, retry=sse.retry)


def _made(provider: str, sse: Any) -> Iterator[Any]:
    yield from (_changed(sse, event) for event in invented(provider, _event(sse)))


def _asking(notes: Notebook) -> dict[str, str]:
    """The header of an application that asks for numbered events itself."""
    stamp: Stamp | str = notes.scenario.stamp
    if not stamp:
        return {}
    return {HEADER: format_request(f"{hash(notes.key) & (1 << 128) - 1:032x}", ("wire",), stamp)}  # type: ignore[arg-type]


def _due(notes: Notebook) -> int:
    """After how many events the client stops: before the place at which the provider waits."""
    scenario = notes.scenario
    sent = honest(scenario)
    return max(1, place(scenario.out, sent, "first") + 1)


__all__ = ["CLIENTS", "DONE", "FORMATS", "Clients", "object_tokens", "read"]
