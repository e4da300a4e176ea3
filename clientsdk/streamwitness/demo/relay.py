"""A TCP relay that loses a connection: after n events it takes a few more from the gateway and resets both sides."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Final

SWALLOWED: Final = 3
"""Events taken from the gateway that never reach the client, as those in flight when a network breaks."""


@contextlib.contextmanager
def relay(port: int, events: int) -> Iterator[int]:
    """Relay to `port` on loopback while the block lasts; gives the relay's own port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(_listen(port, events), loop).result()
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        asyncio.run_coroutine_threadsafe(_stop(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _listen(port: int, events: int) -> asyncio.Server:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, out = await asyncio.open_connection("127.0.0.1", port)
        pump = asyncio.create_task(_pump(reader, out))
        try:
            await _pump_events(upstream, writer, events)
        finally:
            pump.cancel()
            _reset(out)
            _reset(writer)

    return await asyncio.start_server(connected, "127.0.0.1", 0)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)


async def _pump_events(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, events: int) -> None:
    """Hand on the response's head and `events` events, then swallow a few and return."""
    writer.write(await reader.readuntil(b"\r\n\r\n"))
    for _ in range(events):
        writer.write(await reader.readuntil(b"\n\n"))
    await writer.drain()
    for _ in range(SWALLOWED):
        await reader.readuntil(b"\n\n")


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _stop(server: asyncio.Server) -> None:
    server.close()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
