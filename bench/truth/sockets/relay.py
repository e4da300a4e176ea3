"""The network: a relay on raw sockets between gateway and client, which hands on, loses, damages and breaks off."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import Mapping
from typing import Final

from bench.truth.labels import Deed
from streamwitness.headers import parse_response
from streamwitness.semconv import HEADER

from . import http1
from .acts import Act, Event
from .bodies import FRAMING, PLAIN, Framer, Splitter
from .faults import ERRS, HOLD_SECONDS, SEVERED, Injector, generic
from .readers import acts_of
from .scenario import Notebook, place, written
from .upstream import altered
from .works import honest, invented
from .writers import dumps

_STOOD_STILL_SECONDS: Final = 0.7
"""A loop that hears so late of what happened in itself was kept from running."""
NARROW: Final = 1 << 15
"""Bytes that fit into a narrow way."""


class Connection:
    """One response on its way to the client."""

    def __init__(self, notes: Notebook, writer: asyncio.StreamWriter, number: int, first: int) -> None:
        scenario = notes.scenario
        self.over = False
        """Nothing more is handed on."""
        self.end = "eof"
        """eof, break (no last chunk), reset."""
        self.severed = False
        """The connection to the gateway breaks, too, and it may have more to send."""
        self._notes, self._writer, self._out = notes, writer, scenario.out
        self._splitter = Splitter(FRAMING[scenario.out])
        self._fault = scenario.at("transport", number)
        self._count, self._at = first, -1
        self._glued: Event | None = None
        self._held: Event | None = None
        self._injector: Injector[Event] | None = None
        if self._fault is not None:
            sent = honest(scenario)
            self._at = place(self._out, sent, self._fault.where) if self._fault.how != "mute" else 0
            if generic(self._fault):
                self._injector = Injector(
                    self._fault, self._at - first, notes.did, alter=self._flipped, invent=self._foreign
                )

    async def pass_on(self, data: bytes) -> None:
        """Hand on what came, or what is left of it."""
        made = [(event, self._passing(event)) for event in self._splitter.feed(data)]
        if self._fault is None:
            await self._send(data)
            return
        for event, pieces in made:
            if event is self._held:
                await held(self._notes)
            for piece in pieces:
                await self._send(piece)

    async def finish(self) -> None:
        """The gateway's body is over: so is what was cut off, only now, so that all that was sent is known."""
        if self.end == "reset":
            await self._wait_for_client()
        if self.over:
            return
        rest = [event.raw for event in self._noted(self._injector.finish() if self._injector is not None else [])]
        for piece in (*rest, self._splitter.rest if self._fault is not None else b""):
            await self._send(piece)

    def _passing(self, event: Event) -> list[bytes]:
        if event.comment:
            return [] if self.over else [event.raw]
        if not self._notes.scenario.severed:
            self._notes.came("transport", [in_transit(self._notes, event)])
        if self.over:
            return []
        position, self._count = self._count, self._count + 1
        if self._injector is not None:
            made = [out.raw for out in self._noted(self._injector.feed(event))]
            if self._injector.over:
                self._stop("cut", "eof")
            return made
        if self._glued is not None:
            first, self._glued = self._glued, None
            self._notes.did(Deed("transport", "merge", (position - 1, position)))
            self._noted([event._replace(data=f"{first.data}\n{event.data}")])
            return [event.raw]
        if self._fault is not None and position == self._at:
            return self._by_hand(event, position)
        return [out.raw for out in self._noted([event])]

    def _by_hand(self, event: Event, position: int) -> list[bytes]:
        how = self._fault.how if self._fault is not None else ""
        if how in ("hold", "stick", "mute"):
            self._held = event
            self._notes.did(Deed("transport", "delay", (position,)))
            return [out.raw for out in self._noted([event])]
        if how == "glue":
            self._glued = event
            return [event.raw[:-1]]
        self._notes.did(Deed("transport", "cut", (position,)))
        self.severed = how in SEVERED
        self._stop(how, _ENDS.get(how, "eof"))
        if how in ERRS:
            return self._erring(position)
        return [event.raw[: len(event.raw) // 2]] if how == "cut_inside" else []

    def _erring(self, position: int) -> list[bytes]:
        """What a proxy says that has had enough."""
        self._notes.did(Deed("transport", "invent", (position,)))
        framer = Framer(FRAMING[self._out], PLAIN)
        return [framer.frame(event) for event in self._noted(written(self._out, [Act("error", "proxy gave up")]))]

    def _stop(self, how: str, end: str) -> None:
        self.over, self.end = True, end
        self._notes.ends.add(f"transport.{how}")

    def _noted(self, made: list[Event]) -> list[Event]:
        for event in made:
            self._notes.went("transport", [in_transit(self._notes, event)])
            self._notes.out("transport", event)
        return made

    def _flipped(self, event: Event) -> Event:
        """One bit of a letter of what it says is turned over."""
        return altered(self._out, event)

    def _foreign(self, event: Event) -> list[Event]:
        """An event with other words in its place, and without a number: who injects it knows none."""
        framer = Framer(FRAMING[self._out], PLAIN)
        return [other._replace(raw=framer.frame(_unnumbered(other))) for other in invented(self._out, event)]

    async def _send(self, data: bytes) -> None:
        self._writer.write(http1.chunk(data))
        await self._writer.drain()

    async def _wait_for_client(self) -> None:
        """What lies unread in a socket is lost with a RST: let the client take what it is to have."""
        passed = self._notes.passed.get("transport", [])
        due = sum(bool({act.kind for act in acts_of(self._out, e.data)} - {"terminal", "ping"}) for e in passed)
        await http1.until(lambda: self._notes.taken >= due, 5.0)


def _unnumbered(event: Event) -> Event:
    if not event.data.startswith('{"_stream"'):
        return event
    value = {name: member for name, member in json.loads(event.data).items() if name not in ("_stream", "_seq")}
    return event._replace(data=dumps(value))


_ENDS: Final = {"break": "break", "reset": "reset", "sever": "break", "sever_reset": "reset"}
"""How a connection is ended by the fault; all others end the body as if in order."""


async def held(notes: Notebook) -> None:
    """Keep an event: for a while, or until one is told that the client has gone."""
    if notes.scenario.stuck is not None:
        await asyncio.sleep(http1.WAIT_SECONDS)
        return
    await asyncio.sleep(HOLD_SECONDS)
    notes.left.set()


def in_transit(notes: Notebook, event: Event) -> str:
    """What can be told apart of an event in transit: its bytes; with its number, where it has one."""
    if notes.scenario.stamp:
        return event.raw.strip().decode(errors="replace")
    return f"{event.name}|{event.data}"


_NUMBER: Final = re.compile(r'^id:.*$\n?|"_stream":"[^"]*","_seq":\d+,?', re.MULTILINE)


def unnumbered(transit: str) -> str:
    """What `in_transit` tells of an event, but for its number."""
    return _NUMBER.sub("", transit)


async def _relay(
    notes: Notebook, number: int, gateway: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Connection:
    head = await http1.read_head(gateway)
    told = parse_response(head.fields.get(HEADER.encode(), b"").decode())
    connection = Connection(notes, writer, number, told.first if told is not None else 0)
    writer.write(head.raw[:-2] + b"connection: close\r\n\r\n")
    if not head.is_chunked:
        writer.write(await gateway.read())
        return connection
    try:
        async for data in http1.chunks(gateway):
            await connection.pass_on(data)
            if connection.severed:
                break
    except asyncio.IncompleteReadError:
        connection.end = "break" if connection.end == "eof" and not connection.over else connection.end
    await connection.finish()
    return connection


async def serve(notebooks: Mapping[str, Notebook], port: int) -> asyncio.Server:
    """Relay to `port` on loopback, from a port of the system's choosing."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await _connected(notebooks, port, reader, writer)
        writer.close()

    return await asyncio.start_server(connected, "127.0.0.1", 0)


async def _connected(
    notebooks: Mapping[str, Notebook], port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    head = await http1.read_head(reader)
    body = await reader.readexactly(head.length)
    notes = notebooks[head.key]
    number, notes.connections = notes.connections, notes.connections + 1
    if notes.scenario.again == "retry" and not number:
        http1.reset(writer)
        return
    gateway, out = await _towards(notes, notes.port or port, writer)
    out.write(head.raw + body)
    passing = asyncio.create_task(_relay(notes, number, gateway, writer))
    leaving = asyncio.create_task(reader.read())
    try:
        await asyncio.wait((passing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if passing.done():
            await _end(passing.result(), writer)
            if notes.scenario.severed and passing.result().end == "reset":
                http1.reset(out)
    finally:
        passing.cancel()
        leaving.cancel()
        await asyncio.gather(passing, leaving, return_exceptions=True)
        out.close()
        if notes.left_at and asyncio.get_running_loop().time() - notes.left_at > _STOOD_STILL_SECONDS:
            notes.ends.add("machine.stood_still")
        if notes.scenario.severed or notes.scenario.unheard:
            notes.left.set()


async def _towards(
    notes: Notebook, port: int, client: asyncio.StreamWriter
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the gateway; a narrow one on both sides where the application is to be slow."""
    if notes.scenario.pace != "slow":
        return await asyncio.open_connection("127.0.0.1", port)
    client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, NARROW)
    client.transport.set_write_buffer_limits(high=NARROW)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    return await asyncio.open_connection(sock=sock, limit=NARROW)


async def _end(connection: Connection, writer: asyncio.StreamWriter) -> None:
    if connection.end == "reset":
        http1.reset(writer)
        return
    if connection.end == "eof":
        writer.write(http1.LAST_CHUNK)
    await http1.close(writer)
