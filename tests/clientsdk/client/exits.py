"""What a client's process may do with a stream, and how it may end: as a program, `NAME URL` does one of them."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai

import streamwitness

URL = sys.argv[-1]
held: list[Any] = []
"""What is still referred to when the process ends."""


def ask(client: Any) -> Any:
    """A stream of chunks, or in an async client what becomes one."""
    return client.chat.completions.create(model="m", messages=[], stream=True)


def sync_client() -> openai.OpenAI:
    return streamwitness.instrument(openai.OpenAI(api_key="k", base_url=f"{URL}/v1", max_retries=0))


def async_client() -> openai.AsyncOpenAI:
    return streamwitness.instrument(openai.AsyncOpenAI(api_key="k", base_url=f"{URL}/v1", max_retries=0))


def opened() -> Any:
    """A stream of which the first event was read."""
    stream = iter(ask(sync_client()))
    next(stream)
    return stream


def reads_to_the_end() -> None:
    list(ask(sync_client()))


def never_closes() -> None:
    client = streamwitness.instrument(httpx.Client())
    held.append(client.send(client.build_request("POST", URL), stream=True))
    b"".join(held[0].iter_raw())


def ends_with_a_stream_open() -> None:
    held.append(opened())


def never_asks_for_an_event() -> None:
    held.append(ask(sync_client()))


def lets_go_of_a_stream() -> None:
    opened()
    gc.collect()


def breaks_out_and_closes() -> None:
    with ask(sync_client()) as stream:
        for _ in stream:
            break


def exits_in_the_loop() -> None:
    for _ in ask(sync_client()):
        sys.exit(3)


def raises_in_the_loop() -> None:
    for _ in ask(sync_client()):
        raise RuntimeError("the application's own")


def reads_twice() -> None:
    client = streamwitness.instrument(httpx.Client())
    with client.stream("POST", URL) as response:
        b"".join(response.iter_raw())
        try:
            list(response.iter_raw())
        except httpx.StreamConsumed:
            return
    sys.exit(9)


def reads_in_threads() -> None:
    client = sync_client()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: list(ask(client)), range(6)))


def cancels_a_task() -> None:
    async def main() -> None:
        began = asyncio.Event()

        async def read(stream: Any) -> None:
            async for _ in stream:
                began.set()

        async with async_client() as client:
            task = asyncio.create_task(read(await ask(client)))
            await began.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def closes_a_generator_over_it() -> None:
    async def texts(stream: Any) -> AsyncIterator[Any]:
        async for item in stream:
            yield item

    async def main() -> None:
        async with async_client() as client:
            stream = await ask(client)
            reading: Any = texts(stream)
            await anext(reading)
            await reading.aclose()
            await stream.close()

    asyncio.run(main())


def forks() -> None:
    held.append(opened())
    warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what is tried
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    way: Callable[[], None] = globals()[sys.argv[1]]
    way()
