"""Running scenarios: servers, network and clients on one loop in a thread; each stream becomes a Trial."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, TypeVar

import uvicorn

from bench.truth.labels import STOOD_STILL, Trial
from streamwitness import runtime
from streamwitness.blocks import Block
from streamwitness.recorder import Recorder
from streamwitness.semconv import ROLE_POINTS, Point

from . import clients, http1, relay, upstream
from .gateways import Gateway, Witnessed
from .heartbeat import Heartbeat
from .passages import passages
from .scenario import Notebook, Scenario
from .truth import ended, expected

T = TypeVar("T")

AT_ONCE: Final = 24
"""Streams that run side by side."""
TRIES: Final = 3
"""How often a stream is run until it comes to the end that it is to have."""

_WARM: Final = {"httpx": "ollama", **clients.FORMATS}
"""Client → what it reads before all others begin."""

STAMPED: Final = "stamped"
"""Paths of streams that may be numbered begin with this."""


def run(selection: Iterable[Scenario]) -> Iterator[Trial]:
    """Run each scenario over real sockets. One that cannot be run as described, tried again too, raises BenchError."""
    numbered = enumerate(selection)
    with _loop() as loop, _world(loop) as world:
        for client, provider in _WARM.items():  # an SDK builds its classes at its first answer, while all others wait
            loop(world.play(Notebook(client, Scenario(provider, client=client))))
        begun = deque(loop.begin(_insisted(world, *which)) for which in islice(numbered, AT_ONCE))
        while begun:
            trials = begun.popleft().result()
            begun.extend(loop.begin(_insisted(world, *which)) for which in islice(numbered, 1))
            yield from trials


async def _insisted(world: World, number: int, scenario: Scenario) -> list[Trial]:
    """Run a scenario, and again where the machine was too busy for its time limits; what failed is said."""
    for again in range(1, TRIES):
        try:
            return await world.play(_notebook(scenario, f"{number}-{again}"))
        except BenchError as error:
            print(f"tried again: {error}", file=sys.stderr)
    return await world.play(_notebook(scenario, f"{number}-{TRIES}"))


class BenchError(RuntimeError):
    """The bench itself is broken: a stream did not come to its end, or its telemetry did not come."""


class Sink:
    """Keeps the blocks of each stream, and knows which recorders are still open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: dict[str, list[Block]] = {}
        self._open: dict[str, int] = {}

    def put(self, block: Block) -> None:
        """Keep a block."""
        with self._lock:
            self._blocks.setdefault(block.stream, []).append(block)

    def track(self, recorder: Recorder) -> None:
        """Recorders close by themselves."""

    def of(self, stream: str) -> list[Block]:
        """The blocks of a stream, as they came."""
        with self._lock:
            return list(self._blocks.get(stream, ()))

    def closed(self, stream: str) -> Counter[Point]:
        """How many closing blocks of a stream have come from each point."""
        return Counter(block.point for block in self.of(stream) if block.final)

    def take(self, stream: str) -> list[Block]:
        """The same, and forget them."""
        with self._lock:
            return self._blocks.pop(stream, [])

    def flush(self, timeout: float = 0.0) -> bool:
        """Nothing waits."""
        return True

    def shutdown(self, timeout: float = 0.0) -> bool:
        """Nothing waits."""
        return True


class World:
    """The servers that all streams share."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._notebooks: dict[str, Notebook] = {}

    async def start(self) -> None:
        """Start them: provider, gateway, network, clients."""
        self._provider = await upstream.serve(self._notebooks)
        self._gateway = Gateway(self._notebooks, _origin(self._provider))
        app = Witnessed(self._gateway, self._notebooks)
        config = uvicorn.Config(
            app, host="127.0.0.1", port=0, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=2
        )
        self._server = uvicorn.Server(config)
        self._serving = asyncio.create_task(self._server.serve())
        if not await http1.until(lambda: self._server.started):
            raise BenchError("the gateway did not start")
        listening = self._server.servers[0].sockets[0]
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, relay.NARROW)  # that of each connection, too
        port = listening.getsockname()[1]
        self.own = self._gateway.own = f"http://127.0.0.1:{port}"
        self._relay = await relay.serve(self._notebooks, port)
        self.origin = _origin(self._relay)
        self._clients = clients.Clients(self.origin, _origin(self._provider))
        self._heartbeat = Heartbeat()

    async def stop(self) -> None:
        """Stop them all, and wait for it."""
        await self._heartbeat.stop()
        await self._clients.aclose()
        self._relay.close()
        self._server.should_exit = True
        await self._serving
        await self._gateway.aclose()
        self._provider.close()
        await self._relay.wait_closed()
        await self._provider.wait_closed()

    async def play(self, notes: Notebook) -> list[Trial]:
        """Run a stream, beside others; a neighbour that it has comes as a stream of its own."""
        every = [notes, *([notes.neighbour] if notes.neighbour is not None else [])]
        answered = [*every, *([notes.behind] if notes.behind is not None else [])]
        self._notebooks.update((one.key, one) for one in answered)
        late = self._heartbeat.late
        try:
            await self._read(notes)
            if self._heartbeat.stood_still(late):
                notes.notes.add(STOOD_STILL)
            return [await self._trial(one, notes.scenario.name) for one in every]
        finally:
            for one in answered:
                del self._notebooks[one.key]

    async def _read(self, notes: Notebook) -> None:
        try:
            await asyncio.wait_for(clients.read(self._clients, notes), http1.WAIT_SECONDS * 2)
        except TimeoutError as error:
            raise BenchError(f"{notes.scenario.name}: the client does not come to an end") from error

    async def _trial(self, notes: Notebook, name: str) -> Trial:
        notes.take_over()
        points = expected(notes)
        if notes.scenario.client == "genai" and (notes.error or notes.scenario.stop):
            await _collected(lambda: not self._lacking(notes, points))
        if not await http1.until(lambda: bool(notes.stream) and not self._lacking(notes, points), 10.0):
            lacking = ", ".join(sorted(self._lacking(notes, points)))
            raise BenchError(f"{notes.scenario.name}: no closing block from {lacking}; client: {notes.error or 'well'}")
        scenario = notes.scenario
        return Trial(
            name=name if name == scenario.name else f"{name}#{scenario.name}",
            provider=scenario.provider, gateway=scenario.gateway, client=scenario.client,
            deeds=tuple(notes.deeds), passages=passages(notes),
            ended=ended(notes), blocks=_sent_by(scenario, _with_roles(self._sink.take(notes.stream))),
            points=points, notes=frozenset(notes.notes) | frozenset(_known_of(scenario)),
        )  # fmt: skip

    def _lacking(self, notes: Notebook, points: frozenset[Point]) -> set[Point]:
        """The points whose closing blocks have not all come: one for each connection, but for what the gateway read."""
        scenario = notes.scenario
        if scenario.process == "killed":
            points = points - {"ingress", "egress"}
        times = notes.connections if scenario.again in ("resume", "tabs") else 1
        closed = self._sink.closed(notes.stream)
        if scenario.hops:
            return {point for point in points if closed[point] < (2 if point in ("ingress", "egress") else 1)}
        legs = times if scenario.again == "tabs" else 1
        return {point for point in points if closed[point] < (legs if point == "ingress" else times)}


async def _collected(over: Callable[[], bool]) -> None:
    """Collect what nobody holds any more: google-genai's generators close no response, and end only so."""
    for _ in range(20):
        gc.collect()
        if await http1.until(over, 0.05):
            return


def _known_of(scenario: Scenario) -> Iterator[str]:
    if scenario.declares == "rewrite":
        yield "rewrites"
    if scenario.setup == "vanished":  # of whom nothing is held
        yield "unprovable"


def _sent_by(scenario: Scenario, blocks: list[Block]) -> list[Block]:
    """What is ever sent of that: of a client that dies with what it has recorded, nothing."""
    return [block for block in blocks if scenario.setup != "vanished" or block.role == "gateway"]


def _with_roles(blocks: list[Block]) -> list[Block]:
    """As a collector says it: each process has a key that testifies for its own points."""
    for block in blocks:
        block.role = next(role for role, points in ROLE_POINTS.items() if block.point in points)
    return blocks


def _origin(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def _notebook(scenario: Scenario, number: str) -> Notebook:
    key = f"{STAMPED if scenario.stamp else 'plain'}-{number}"
    notes = Notebook(key, scenario)
    if scenario.behind is not None:
        notes.behind = Notebook(f"{key}-behind", scenario.behind, left=notes.left)
    if scenario.neighbour is not None:
        notes.neighbour = Notebook(f"{key}-neighbour", scenario.neighbour)
    return notes


class _Loop:
    """An event loop in a thread; called with a coroutine, it gives its result."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sockets")
        self._thread.start()

    def __call__(self, work: Coroutine[Any, Any, T]) -> T:
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have it done beside others."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        self(self._finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _finish(self) -> None:
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()


@contextmanager
def _loop() -> Iterator[_Loop]:
    loop = _Loop()
    try:
        yield loop
    finally:
        loop.close()


@contextmanager
def _world(loop: _Loop) -> Iterator[World]:
    """The servers, and a runtime of the SDK that records into our sink."""
    sink = Sink()
    world = World(sink)
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # servers that write to a connection that is gone are no news
    before = runtime.replace(runtime.Runtime(runtime.ClientSettings(), sink))
    try:
        loop(world.start())
        settings = runtime.ClientSettings(
            mode="stamp", stamp_paths=(f"/{STAMPED}-*",), origins=(world.origin, world.own)
        )
        runtime.replace(runtime.Runtime(settings, sink))
        try:
            yield world
        finally:
            loop(world.stop())
    finally:
        runtime.replace(before)
