"""The demo's applications: real HTTP and SDK clients, each with the two lines that instrument it, some with a bug.

Every one reports its reducer (`applied`), so that all points of the path testify.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx
import openai

from streamwitness import applied, instrument, stream_id, watch

_MESSAGES: Final = [{"role": "user", "content": "Who called the boat home?"}]
_READ_SECONDS: Final = 0.03
_THINKS_SECONDS: Final = 0.2
_PATIENCE_SECONDS: Final = 0.6


@dataclass(frozen=True, slots=True)
class Call:
    """What to ask, and where this application misbehaves: `at` is an event's position, None for nowhere."""

    url: str
    model: str
    headers: dict[str, str]
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the application knows afterwards: which stream it was, and the status that every log shows."""

    stream: str
    status: int


def read_openai(call: Call, *, pause: float = 0.0) -> Outcome:
    """The `openai` package, sync."""
    text = []
    with _openai(call) as client, _ask(client, call) as stream, applied(stream) as answer:
        try:
            for chunk in stream:
                with answer.event(chunk):
                    text += _deltas(chunk)
                time.sleep(pause)
        except openai.APIError:
            text.append(" [the provider failed]")
        return _outcome(stream, stream.response)


def read_openai_slowly(call: Call) -> Outcome:
    """A reader that takes its time with every event."""
    return read_openai(call, pause=_READ_SECONDS)


def read_openai_async(call: Call) -> Outcome:
    """The `openai` package, async."""
    return asyncio.run(_read_openai_async(call))


async def _read_openai_async(call: Call) -> Outcome:
    async with openai.AsyncOpenAI(base_url=f"{call.url}/v1", api_key="demo", max_retries=0) as client:
        instrument(client)
        stream = await client.chat.completions.create(**_request(call))
        text = []
        with applied(stream) as answer:
            async for chunk in stream:
                with answer.event(chunk):
                    text += _deltas(chunk)
        return _outcome(stream, stream.response)


def read_openai_with_fragile_reducer(call: Call) -> Outcome:
    """The code that builds the answer raises on one delta; the application shrugs and goes on."""
    text = []
    with _openai(call) as client, _ask(client, call) as stream, applied(stream) as answer:
        for position, chunk in enumerate(stream):
            try:
                with answer.event(chunk):
                    if position == call.at:
                        raise ValueError("this reducer does not know what to do with that delta")
                    text += _deltas(chunk)
            except ValueError:
                continue
        return _outcome(stream, stream.response)


def read_openai_and_cancel(call: Call) -> Outcome:
    """The user presses stop while the answer is still coming."""
    text = []
    with _openai(call) as client, _ask(client, call) as stream, applied(stream) as answer:
        for position, chunk in enumerate(stream):
            with answer.event(chunk):
                text += _deltas(chunk)
            if position == call.at:
                time.sleep(_THINKS_SECONDS)  # meanwhile the gateway goes on sending
                stream.close()
                break
        return _outcome(stream, stream.response)


def read_httpx(call: Call) -> Outcome:
    """Plain httpx with a small parser that splits events at blank lines, and only there."""
    return _read_httpx(call, lambda response: _events(response.iter_bytes()))


def read_httpx_impatiently(call: Call) -> Outcome:
    """Plain httpx with a read timeout of its own, shorter than the provider's silence."""
    return _read_httpx(call, lambda response: _events(response.iter_bytes()), patience=_PATIENCE_SECONDS)


def read_httpx_iter_lines(call: Call) -> Outcome:
    """Plain httpx with `iter_lines()`, a common idiom: it ends lines where SSE does not, at U+2028 among others."""
    return _read_httpx(call, _lines)


def _read_httpx(
    call: Call, parse: Callable[[httpx.Response], Iterator[Any]], *, patience: float | None = 5.0
) -> Outcome:
    text = []
    with httpx.Client(timeout=httpx.Timeout(5.0, read=patience)) as client:
        instrument(client)
        with client.stream(
            "POST", f"{call.url}/v1/chat/completions", json=_body(call), headers=call.headers
        ) as response:
            events = watch(parse(response), response=response)
            with applied(response) as answer:
                try:
                    for event in events:
                        with answer.event(event):
                            text += _json_deltas(event)
                except httpx.TransportError:
                    text.append(" [the connection broke]")
            return _outcome(response, response)


def read_httpx_async(call: Call) -> Outcome:
    """Plain httpx, async, compressed on the way."""
    return asyncio.run(_read_httpx_async(call))


async def _read_httpx_async(call: Call) -> Outcome:
    text = []
    async with httpx.AsyncClient() as client:
        instrument(client)
        headers = {**call.headers, "accept-encoding": "gzip"}
        async with client.stream(
            "POST", f"{call.url}/v1/chat/completions", json=_body(call), headers=headers
        ) as response:
            events = watch(_events_async(response), response=response)
            with applied(response) as answer:
                async for event in events:
                    with answer.event(event):
                        text += _json_deltas(event)
            return _outcome(response, response)


def _events(pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    held = b""
    for piece in pieces:
        *whole, held = (held + piece).split(b"\n\n")
        yield from _parsed(whole)


async def _events_async(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    held = b""
    async for piece in response.aiter_bytes():
        *whole, held = (held + piece).split(b"\n\n")
        for event in _parsed(whole):
            yield event


def _parsed(events: Iterable[bytes]) -> Iterator[Any]:
    for event in events:
        if event.startswith(b"data: "):
            data = event.removeprefix(b"data: ")
            yield "[DONE]" if data == b"[DONE]" else json.loads(data)


def _lines(response: httpx.Response) -> Iterator[Any]:
    for line in response.iter_lines():
        if line == "data: [DONE]":
            yield "[DONE]"
        elif line.startswith("data: "):
            try:
                yield json.loads(line.removeprefix("data: "))
            except json.JSONDecodeError:
                continue  # "some keep-alive", thinks the author of such code


def _openai(call: Call) -> openai.OpenAI:
    return instrument(openai.OpenAI(base_url=f"{call.url}/v1", api_key="demo", max_retries=0))


def _ask(client: openai.OpenAI, call: Call) -> openai.Stream[Any]:
    return client.chat.completions.create(**_request(call))  # type: ignore[no-any-return]


def _outcome(stream: Any, response: Any) -> Outcome:
    observed = stream_id(stream)
    if observed is None:
        raise RuntimeError("nothing observes this stream: is STREAMWITNESS_MODE off, or STREAMWITNESS_SAMPLE below 1?")
    return Outcome(observed, response.status_code)


def _request(call: Call) -> dict[str, Any]:
    return {**_body(call), "extra_headers": call.headers}


def _body(call: Call) -> dict[str, Any]:
    return {"model": call.model, "messages": _MESSAGES, "stream": True}


def _deltas(chunk: Any) -> list[str]:
    return [choice.delta.content for choice in chunk.choices if choice.delta.content]


def _json_deltas(event: Any) -> list[str]:
    if not isinstance(event, dict):
        return []
    return [choice["delta"]["content"] for choice in event["choices"] if choice["delta"].get("content")]


CLIENTS: Final[dict[str, tuple[str, Callable[[Call], Outcome]]]] = {
    "openai": ("openai", read_openai),
    "openai_async": ("openai async", read_openai_async),
    "openai_slow": ("openai", read_openai_slowly),
    "openai_reducer": ("openai", read_openai_with_fragile_reducer),
    "openai_cancel": ("openai", read_openai_and_cancel),
    "httpx": ("httpx", read_httpx),
    "httpx_impatient": ("httpx", read_httpx_impatiently),
    "httpx_async": ("httpx async", read_httpx_async),
    "httpx_iter_lines": ("httpx", read_httpx_iter_lines),
}
"""Client of a scenario → what the table shows, and the application."""
