"""The little of HTTP/1.1 that the bench speaks on raw sockets: heads, chunks, and three ways of ending a connection."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable
from typing import Final

HEAD_END: Final = b"\r\n\r\n"
LAST_CHUNK: Final = b"0\r\n\r\n"

WAIT_SECONDS: Final = 20.0
"""How long a condition may take before the bench itself is called broken."""


class Head:
    """Request or response head, as it came, and what of it matters."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        first, *lines = raw.rstrip(b"\r\n").split(b"\r\n")
        self.first = first.decode("latin-1")
        pairs = (line.partition(b":") for line in lines)
        self.fields = {name.strip().lower(): value.strip() for name, _, value in pairs}

    @property
    def key(self) -> str:
        """The first segment of a request's path."""
        return key_of(self.first.split(" ")[1])

    @property
    def length(self) -> int:
        """Size of the body where it is announced."""
        return int(self.fields.get(b"content-length", b"0"))

    @property
    def is_chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return self.fields.get(b"transfer-encoding", b"").lower() == b"chunked"


def key_of(path: str) -> str:
    """Which stream a path is of: its first segment, without what stands behind a `~`."""
    return path.lstrip("/").partition("/")[0].partition("~")[0]


async def read_head(reader: asyncio.StreamReader) -> Head:
    """The next head. Raises asyncio.IncompleteReadError where none comes."""
    return Head(await reader.readuntil(HEAD_END))


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The chunks of a body. Raises asyncio.IncompleteReadError where the connection ends before the last one."""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        data = await reader.readexactly(size + 2)
        yield data[:-2]
    await reader.readuntil(b"\r\n")


def chunk(data: bytes) -> bytes:
    """A piece of body as one chunk; empty for an empty piece, which would end the body."""
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with RST."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def close(writer: asyncio.StreamWriter) -> None:
    """End a connection with FIN, once all is sent."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def until(condition: Callable[[], bool], seconds: float = WAIT_SECONDS) -> bool:
    """Wait for a condition; whether it came about."""
    loop = asyncio.get_running_loop()
    over = loop.time() + seconds
    while not condition():
        if loop.time() > over:
            return False
        await asyncio.sleep(0.002)
    return True
