"""Plain httpx with a parser of one's own, witnessed: `watch` the parser, report what was `applied`.

STREAMWITNESS_ORIGINS=http://127.0.0.1:8000 python examples/client_httpx.py http://127.0.0.1:8000
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx

import streamwitness


async def ask(base_url: str, model: str = "plain") -> None:
    """Ask for one streamed answer; prints its text, and what explains the stream, above all where it raised."""
    request = {"model": model, "messages": [{"role": "user", "content": "Who called the boat home?"}], "stream": True}
    async with (
        streamwitness.instrument(httpx.AsyncClient(base_url=base_url)) as client,
        client.stream("POST", "/v1/chat/completions", json=request) as response,
    ):
        response.raise_for_status()
        try:
            print(await read(response))
        finally:
            name = streamwitness.stream_id(response)
            print(f"streamwitness show {name}" if name else "nothing observed this stream")


async def read(response: httpx.Response) -> str:
    """The text of the answer."""
    text = ""
    events = streamwitness.watch(parse(response), response=response)
    with streamwitness.applied(events) as answer:
        async for event in events:
            with answer.event(event):
                for choice in event["choices"]:
                    text += choice["delta"].get("content") or ""
    return text


async def parse(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """The events of an SSE body up to `[DONE]`, decoded.

    Lines are cut from bytes: `response.aiter_lines()` also ends them at U+2028, which SSE does not.
    """
    held = b""
    async for piece in response.aiter_bytes():
        *lines, held = (held + piece).split(b"\n")
        for line in lines:
            data = line.removeprefix(b"data:").strip()
            if data == b"[DONE]":
                return
            if line.startswith(b"data:"):
                yield json.loads(data)


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    asyncio.run(ask(*sys.argv[1:]))
