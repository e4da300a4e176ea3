"""A gateway whose upstream is read by another process: the web process puts jobs into a pipe, the worker answers there.

Both are this file: `uvicorn tests.clientsdk.gateway.worker:app`, and `python -m tests.clientsdk.gateway.worker`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

import streamwitness
from streamwitness.gateway import StreamWitness, link, linked, upstream
from tests.clientsdk.gateway.serving import PATH

END = b"\n"
"""The line that ends an answer."""


async def answered(queue: Any, job: dict[str, Any], lost: int) -> AsyncIterator[bytes]:
    """What the worker brings, without one of its events."""
    queue.stdin.write(json.dumps(job).encode() + b"\n")
    await queue.stdin.drain()
    number = 0
    while (line := await queue.stdout.readline()) != END:
        if number != lost:
            yield bytes.fromhex(line.decode())
        number += 1


async def answer(request: Request) -> StreamingResponse:
    """POST with the provider's `url`, the number of an event to `lose`, and `alone` for a job without a token."""
    asked = request.query_params
    job = {"url": asked["url"], "link": None if "alone" in asked else link()}
    body = answered(request.app.state.worker, job, int(asked.get("lose", -1)))
    return StreamingResponse(body, media_type="text/event-stream")


@asynccontextmanager
async def life(app: Starlette) -> AsyncIterator[None]:
    """The worker lives as long as the web process."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", __spec__.name)
    app.state.worker = worker = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    yield
    if worker.stdin is not None:
        worker.stdin.close()
    await worker.wait()


app = Starlette(routes=[Route(PATH, answer, methods=["POST"])], middleware=[Middleware(StreamWitness)], lifespan=life)


def work() -> None:
    """Do the jobs that come on standard input, an event a line."""
    with upstream(httpx.Client(trust_env=False)) as client:
        for line in sys.stdin:
            job = json.loads(line)
            inside = linked(job["link"]) if job["link"] is not None else nullcontext()
            with inside, client.stream("POST", job["url"]) as response:
                body = b"".join(response.iter_raw())
            for event in body.split(b"\n\n")[:-1]:
                sys.stdout.write((event + b"\n\n").hex() + "\n")
            sys.stdout.write(END.decode())
            sys.stdout.flush()
    streamwitness.flush()


if __name__ == "__main__":
    work()
