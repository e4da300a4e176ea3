"""An LLM gateway of thirty lines on Starlette, witnessed: what it read (`ingress`) and what it sent (`egress`).

UPSTREAM=http://127.0.0.1:8001 python examples/gateway_starlette.py 8000
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamwitness.gateway import StreamWitness, upstream

UPSTREAM = os.environ.get("UPSTREAM", "http://127.0.0.1:8001")

client = upstream(httpx.AsyncClient(base_url=UPSTREAM, timeout=60))


async def chat(request: Request) -> StreamingResponse:
    """POST /v1/chat/completions: ask the provider, hand its answer on piece by piece."""
    headers = {"content-type": "application/json", "authorization": request.headers.get("authorization", "")}
    question = client.build_request("POST", "/v1/chat/completions", content=await request.body(), headers=headers)
    answer = await client.send(question, stream=True)
    return StreamingResponse(pieces(answer), answer.status_code, media_type=answer.headers.get("content-type"))


async def pieces(answer: httpx.Response) -> AsyncIterator[bytes]:
    """The body as it comes; the upstream connection is given back however this ends."""
    try:
        async for piece in answer.aiter_bytes():
            yield piece
    finally:
        await answer.aclose()


app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
app.add_middleware(StreamWitness)  # first, so that it is innermost

if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
