"""Gateways: one ASGI app that forwards in several manners; witnessed, partly or not at all, as the scenario says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Final

import httpx
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bench.truth.labels import Deed
from streamwitness.gateway import Replay, StreamWitness, edited, upstream
from streamwitness.headers import parse_request, parse_response
from streamwitness.semconv import HEADER

from .acts import Act, Event
from .bodies import FRAMING, PATHS, PLAIN, TYPES, Framer, Splitter
from .http1 import key_of
from .relay import held, in_transit
from .scenario import Notebook, written
from .works import Broken

_PATIENCE: Final = 0.3
"""Seconds a gateway waits for an upstream that is to be too slow."""
_KEPT_SECONDS: Final = 5.0
"""How long an answer waits for a client that may come back."""
_CHUNK: Final = 61

ON_BREAK: Final = {"reprint": "end", "translate": "error"}
"""What a gateway does when its upstream breaks: ends the body, sends an error; all others raise."""

_AS_IT_CAME: Final = frozenset(("pass", "failover", "asks_again", "read_on"))
"""Gateways that hand on pieces without looking at them, unless they are broken."""


class Refused(httpx.TransportError):
    """The upstream does not answer this request; to a gateway as if it had broken off."""


class Gateway:
    """The gateway's code. `origin` is the provider's."""

    def __init__(self, notebooks: Mapping[str, Notebook], origin: str) -> None:
        self._notebooks, self._origin = notebooks, origin
        self.own = ""
        """Where this gateway is, for one in front of it."""
        limits = httpx.Limits(max_connections=None)
        self._seen = upstream(httpx.AsyncClient(timeout=30, limits=limits))
        self._unseen = httpx.AsyncClient(timeout=30, limits=limits)
        self._reading: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        notes = self._notebooks[key_of(scope["path"])]
        while (await receive()).get("more_body"):
            pass
        body = self._modes(notes)
        if notes.behind is not None:
            body = await _asked_before(body)
        response = StreamingResponse(body, media_type=TYPES[FRAMING[notes.scenario.out]])
        await response(scope, receive, send)

    async def aclose(self) -> None:
        """Close the clients, and wait for what still reads."""
        await asyncio.gather(*self._reading, return_exceptions=True)
        await self._seen.aclose()
        await self._unseen.aclose()

    async def _modes(self, notes: Notebook) -> AsyncIterator[bytes]:
        """The body, in the manner of how this gateway writes."""
        gateway = notes.scenario.gateway
        body = self._read_on(notes) if gateway == "read_on" else self._body(notes)
        if gateway not in ("buffer", "chunked"):
            async for piece in body:
                yield piece
            return
        held = b""
        async for piece in body:
            held += piece
            while gateway == "chunked" and len(held) >= _CHUNK:
                yield held[:_CHUNK]
                held = held[_CHUNK:]
        if held:
            yield held

    async def _body(self, notes: Notebook) -> AsyncIterator[bytes]:
        """The body, event by event or as it came."""
        if notes.scenario.gateway in ("failover", "asks_again"):
            await self._try_first(notes)
        if notes.scenario.declares:
            edited(notes.scenario.declares)  # type: ignore[arg-type]
        broken = Broken(notes)
        framer = Framer(FRAMING[notes.scenario.out], PLAIN)
        try:
            async for piece in self._forwarded(notes, broken, framer):
                yield piece
        except httpx.TransportError as error:
            for last in broken.upstream_over() or _on_break(notes, error):
                yield framer.frame(last)

    async def _forwarded(self, notes: Notebook, broken: Broken, framer: Framer) -> AsyncIterator[bytes]:
        scenario = notes.scenario
        splitter = Splitter(FRAMING[scenario.provider])
        as_it_came = scenario.gateway in _AS_IT_CAME and scenario.fault("gateway") is None and not scenario.edits
        async for piece in self._pieces(notes, ""):
            outs = _through(notes, broken, splitter.feed(piece))
            for made in [list(outs)] if as_it_came else ([out] for out in outs):
                if broken.holding:
                    await _hold(notes)
                yield piece if as_it_came else framer.frame(made[0])
            if broken.error is not None:
                raise broken.error
            if broken.over:
                break
        for last in _behind(broken):
            yield framer.frame(last)
        if not (as_it_came or broken.over):
            yield framer.end() if scenario.gateway in ("reprint", "translate") else splitter.rest

    async def _pieces(self, notes: Notebook, attempt: str) -> AsyncIterator[bytes]:
        scenario = notes.scenario
        client = self._seen if scenario.setup in ("both", "gateway", "vanished") else self._unseen
        asked = f"{self._origin}/{notes.key}" if notes.behind is None else f"{self.own}/{notes.behind.key}"
        url = f"{asked}{attempt}{PATHS[scenario.provider]}"
        slow = any(fault.how == "timeout" for fault in scenario.faults)
        timeout = httpx.Timeout(30, read=_PATIENCE) if slow else httpx.Timeout(30)
        async with client.stream("POST", url, json={"stream": True}, timeout=timeout) as response:
            if response.is_error:
                raise Refused(f"the upstream says {response.status_code}")
            async for piece in response.aiter_raw():
                yield piece

    async def _try_first(self, notes: Notebook) -> None:
        """The first upstream breaks before anything was handed on, or refuses."""
        try:
            async for _ in self._pieces(notes, "~first"):
                pass
        except httpx.TransportError:
            return
        raise RuntimeError("the first upstream was to fail")

    async def _read_on(self, notes: Notebook) -> AsyncIterator[bytes]:
        """Read the upstream in a task that nobody stops, whatever becomes of the client."""
        queue: asyncio.Queue[bytes] = asyncio.Queue()

        async def pump() -> None:
            async for piece in self._body(notes):
                if notes.left.is_set() and not any(deed.act == "keep_running" for deed in notes.deeds):
                    notes.did(Deed("gateway", "keep_running", (notes.read,)))
                queue.put_nowait(piece)
            queue.put_nowait(b"")

        task = asyncio.create_task(pump())
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)
        while piece := await queue.get():
            yield piece


def _through(notes: Notebook, broken: Broken, events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        notes.read += not event.comment
        yield from broken.feed(event)


async def _asked_before(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The body, once the upstream has answered: as most gateways do it that are in front of another."""
    first = await anext(body, b"")

    async def whole() -> AsyncIterator[bytes]:
        yield first
        async for piece in body:
            yield piece

    return whole()


async def _hold(notes: Notebook) -> None:
    """Keep what is to be sent next for longer than anybody should."""
    notes.did(Deed("gateway", "delay", (notes.read - 1,)))
    await held(notes)


def _behind(broken: Broken) -> list[Event]:
    """What it sends behind the last event that it took from its upstream."""
    return broken.last if broken.over else [*broken.finish(), *broken.upstream_over()]


def _on_break(notes: Notebook, error: Exception) -> list[Event]:
    scenario = notes.scenario
    manner = ON_BREAK.get(scenario.gateway, "raise")
    notes.ends.add(f"gateway.on_break.{manner}")
    if manner == "raise":
        raise error
    made = written(scenario.out, [Act("error", "upstream broke")]) if manner == "error" else []
    for event in made:
        notes.out("gateway", event)
    return made


class Witnessed:
    """The gateway with its middleware where the scenario has it instrumented; learns the id of each stream.

    Where the network is to break while it sends, it also notes what was sent before that was known.
    """

    def __init__(self, app: ASGIApp, notebooks: Mapping[str, Notebook]) -> None:
        self._plain, self._seen, self._notebooks = app, StreamWitness(app), notebooks
        self._keeping = StreamWitness(app, replay=Replay(seconds=_KEPT_SECONDS))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and look at the head of the answer."""
        notes = self._notebooks[key_of(scope["path"])]

        splitter, gone = Splitter(FRAMING[notes.scenario.out]), False

        async def looking() -> Message:
            nonlocal gone
            message = await receive()
            gone = gone or message["type"] == "http.disconnect"
            return message

        async def learning(message: Message) -> None:
            if message["type"] == "http.response.start":
                values = [value for name, value in message["headers"] if name == HEADER.encode()]
                header = parse_response(values[0].decode()) if values else None
                notes.stream = header.id if header is not None else notes.stream
            await send(message)
            if not gone:
                whole = splitter.feed(message.get("body", b""))
                notes.sent += [in_transit(notes, event) for event in whole if not event.comment]

        proposed = [value for name, value in scope["headers"] if name == HEADER.encode()]
        asked = parse_request(proposed[0].decode()) if proposed else None
        notes.stream = notes.stream or (asked.id if asked is not None and asked.id else "")
        seen = self._keeping if notes.scenario.again == "resume" else self._seen
        app = self._plain if notes.scenario.setup == "client" else seen
        await app(scope, looking, learning)
