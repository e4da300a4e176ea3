"""The gateway that real servers run in processes of their own: it streams an answer, and may leave it open for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, ClassVar

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from uvicorn_worker import UvicornWorker as _UvicornWorker

from streamwitness.gateway import StreamWitness
from tests.clientsdk.gateway.serving import PATH, chat

ANSWER = chat(*(f"word {number} " for number in range(8)))


async def whole() -> AsyncIterator[bytes]:
    """The answer, an event a piece."""
    for piece in ANSWER:
        yield piece


async def unfinished() -> AsyncIterator[bytes]:
    """Two events, and then nothing any more."""
    yield ANSWER[0]
    yield ANSWER[1]
    await asyncio.Event().wait()


async def answer(request: Request) -> StreamingResponse:
    """POST with `?open` for the answer that does not end."""
    body = unfinished() if "open" in request.query_params else whole()
    return StreamingResponse(body, media_type="text/event-stream")


app = Starlette(routes=[Route(PATH, answer, methods=["POST"])], middleware=[Middleware(StreamWitness)])


class UvicornWorker(_UvicornWorker):
    """Under gunicorn: without this it waits for open answers until gunicorn kills it, and nothing is flushed."""

    CONFIG_KWARGS: ClassVar[dict[str, Any]] = {**_UvicornWorker.CONFIG_KWARGS, "timeout_graceful_shutdown": 1}
