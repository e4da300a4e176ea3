"""The SDKs of the providers, each as an application uses it, with a decoder that a scenario may break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import anthropic
import httpx
import httpx2
import openai
from google import genai
from google.genai import types as genai_types

from streamwitness import applied, instrument, stream_id

from .acts import Event
from .parsers import injector
from .readers import tokens
from .reducers import Reducer
from .scenario import Notebook
from .upstream import altered
from .using import TIMEOUT, patience, use, use_sync
from .works import invented


def openai_client(origin: str, notes: Notebook, *, retries: int = 0) -> openai.AsyncOpenAI:
    """A client of the `openai` package, instrumented, with the scenario's decoder. Close it."""
    http = httpx2.AsyncClient(verify=False)  # what a client verifies takes it long to load, and here is nothing
    client = openai.AsyncOpenAI(
        base_url=f"{origin}/{notes.key}/v1", api_key="k", max_retries=retries, http_client=http, timeout=_timeout(notes)
    )
    _decoding(client, notes)
    return instrument(client)


def anthropic_client(origin: str, notes: Notebook, *, retries: int = 0) -> anthropic.AsyncAnthropic:
    """The same of the `anthropic` package."""
    http = httpx2.AsyncClient(verify=False)
    client = anthropic.AsyncAnthropic(
        base_url=f"{origin}/{notes.key}", api_key="k", max_retries=retries, http_client=http, timeout=_timeout(notes)
    )
    _decoding(client, notes)
    return instrument(client)


def _timeout(notes: Notebook) -> Any:
    return httpx2.Timeout(TIMEOUT, read=patience(notes))


async def read_openai(origin: str, notes: Notebook) -> None:
    """The `openai` package, Chat Completions."""
    async with openai_client(origin, notes, retries=notes.scenario.again == "retry") as client:
        stream = await client.chat.completions.create(model="m", messages=[], stream=True)
        await _read(notes, stream)


async def read_responses(origin: str, notes: Notebook) -> None:
    """The `openai` package, Responses."""
    async with openai_client(origin, notes, retries=notes.scenario.again == "retry") as client:
        await _read(notes, await client.responses.create(model="m", input="x", stream=True))


async def read_anthropic(origin: str, notes: Notebook) -> None:
    """The `anthropic` package."""
    async with anthropic_client(origin, notes, retries=notes.scenario.again == "retry") as client:
        stream = await client.messages.create(model="m", messages=[], max_tokens=9, stream=True)
        await _read(notes, stream)


async def _read(notes: Notebook, stream: Any) -> None:
    notes.stream = stream_id(stream) or notes.stream
    try:
        with applied(stream) as answer:
            await use(notes, _objects(stream), Reducer(notes, answer))
    finally:
        await stream.close()


async def _objects(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """An SDK's objects as they come; closing this closes no stream."""
    async for value in stream:
        yield value


async def read_openai_sync(origin: str, notes: Notebook) -> None:
    """The same package without asyncio, in a thread."""
    await asyncio.to_thread(_read_openai_sync, origin, notes)


def _read_openai_sync(origin: str, notes: Notebook) -> None:
    http = httpx2.Client(verify=False)
    base = f"{origin}/{notes.key}/v1"
    with openai.OpenAI(base_url=base, api_key="k", max_retries=0, http_client=http, timeout=_timeout(notes)) as client:
        instrument(client)
        with (
            client.chat.completions.create(model="m", messages=[], stream=True) as stream,
            applied(stream) as answer,
        ):
            notes.stream = stream_id(stream) or notes.stream
            use_sync(notes, stream, Reducer(notes, answer))


async def read_genai(origin: str, notes: Notebook) -> None:
    """The `google-genai` package; it has no place for `applied`."""
    http = httpx.AsyncClient(verify=False)
    options = genai_types.HttpOptions(
        base_url=f"{origin}/{notes.key}", httpx_async_client=http, timeout=int(patience(notes) * 1000)
    )
    client = instrument(genai.Client(api_key="k", http_options=options))
    try:
        stream = await client.aio.models.generate_content_stream(model="m", contents="x")
        await use(notes, stream, Reducer(notes, None))
    finally:
        await client.aio.aclose()
        client.close()
        await http.aclose()


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
