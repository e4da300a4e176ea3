"""The demo's provider: speaks OpenAI Chat Completions over SSE; the model's name chooses the script."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from .scripts import steps
from .serving import pause, port, serve


async def chat(request: Request) -> StreamingResponse:
    """POST /v1/chat/completions."""
    model = (await request.json())["model"]
    return StreamingResponse(_body(model), media_type="text/event-stream")


async def _body(script: str) -> AsyncIterator[bytes]:
    for step in steps(script):
        if isinstance(step, bytes):
            yield step
        else:
            await pause(step)


app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])

if __name__ == "__main__":
    serve(app, port(sys.argv[1:], "streamwitness.demo.provider"))
