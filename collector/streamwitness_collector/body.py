"""The body of a request, read and inflated within every bound: size, time, and bytes under way."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request

from .budget import Lease
from .config import CollectorSettings
from .decompress import BodyTooLargeError, decompress

READ_SECONDS: Final = 30.0
"""How long a body may take to arrive; a sender that drips holds memory only so long."""

SMALL: Final = 1 << 18
"""Decoded bodies up to here are worked on at once, larger ones in a thread, so that they hold nobody up."""


async def read(request: Request, settings: CollectorSettings, lease: Lease) -> bytes:
    """The body as received; raises BodyTooLargeError, BudgetExceededError, TimeoutError, ClientDisconnect."""
    most = settings.max_body_bytes
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > most:
        raise BodyTooLargeError(f"the body has {announced} bytes, at most {most} are taken; send smaller batches")
    pieces: list[bytes] = []
    size = 0
    async with asyncio.timeout(READ_SECONDS):
        async for piece in request.stream():
            size += len(piece)
            if size > most:
                raise BodyTooLargeError(f"the body has more than {most} bytes; send smaller batches")
            lease.resize(size)
            pieces.append(piece)
    return b"".join(pieces)


async def inflate(body: bytes, encoding: str, limit: int, threads: asyncio.Semaphore) -> bytes:
    """The body without its Content-Encoding, at most `limit` bytes; raises what decompress.decompress raises.

    At most as many large bodies are inflated at one time as `threads` allows, so their memory is bounded too.
    """
    try:
        return decompress(body, encoding, min(limit, SMALL))
    except BodyTooLargeError:
        async with threads:
            return await asyncio.to_thread(decompress, body, encoding, limit)
