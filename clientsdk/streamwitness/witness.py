"""One process's view of one exchange: it gives its points their identity, and makes their recorders."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from .blocks import Block
from .observer import BodyObserver
from .recorder import Recorder, Sink, new_id
from .semconv import ALL_PARTS, KEY_BYTES, POINTS, Level, Point
from .tracing import HostSpan


@dataclass(frozen=True, slots=True)
class Identity:
    """Which stream and exchange a witness testifies for, and the stream's secret for digests.

    `stream` is 32 hex digits, `exchange` 16; `attempt` 0 for the first exchange of a stream; `hop` counts gateways
    from the provider outwards. `key` never enters telemetry.
    """

    stream: str
    exchange: str
    key: bytes
    attempt: int = 0
    hop: int = 0
    sampled: bool = True

    @classmethod
    def new(cls, stream: str | None = None) -> Identity:
        """A fresh exchange with a key of its own, of the given stream or a fresh one."""
        return cls(stream or secrets.token_hex(16), new_id(), secrets.token_bytes(KEY_BYTES))


class Witness:
    """Makes the recorders of one process for one exchange.

    `expected` are the points that should testify (this process's and those announced to it); `host` the host's span
    that was active; `clock` a monotonic clock in ns, `wall` the Unix time in ns
    (None: the machine's, of which a step is told only beside the machine's own monotonic clock).
    """

    __slots__ = (
        "_context",
        "_expected",
        "_host",
        "_level",
        "_sink",
        "_wall",
        "_wall_now",
        "clock",
        "id",
        "identity",
        "parsed",
        "wire",
    )

    def __init__(
        self,
        identity: Identity,
        sink: Sink,
        *,
        level: Level = "digests",
        expected: tuple[Point, ...] = (),
        host: HostSpan | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
        wall: Callable[[], int] | None = None,
    ) -> None:
        self.id = new_id()
        self.identity = identity
        self.clock = clock
        self.wire: BodyObserver | None = None
        self.parsed: Recorder | None = None
        self._sink, self._level, self._host = sink, level, host
        self._context = host.context if host is not None else None
        if host is not None:
            host.begins(identity.stream)
        self._expected = sum(1 << POINTS.index(point) for point in set(expected))
        unix = wall or time.time_ns
        self._wall_now = (lambda: unix() - clock()) if wall or clock is time.monotonic_ns else None
        self._wall = unix() - clock()

    def recorder(
        self,
        point: Point,
        *,
        delivers: int = ALL_PARTS,
        of: Point | None = None,
        leg: int | None = None,
        client: str | None = None,
        id: str | None = None,
    ) -> Recorder:
        """A recorder for one point.

        `delivers` is the mask of parts that this point hands on, `of` the point whose positions its rows name,
        `leg` the number of the upstream response (ingress), `client` the library that reads here, `id` the recorder's
        where another process has told it.
        """
        identity = self.identity
        template = Block(
            stream=identity.stream, exchange=identity.exchange, witness=self.id, recorder=id or new_id(), point=point,
            index=0, position=0, row_count=0, attempt=identity.attempt, hop=identity.hop, leg=leg, of=of,
            delivers=delivers, expected=self._expected | 1 << POINTS.index(point), context=self._context,
        )  # fmt: skip
        recorder = Recorder(
            template,
            self._sink,
            key=self.key,
            level=self._level,
            started=self.clock(),
            wall=self._wall,
            client=client,
            wall_now=self._wall_now,
        )
        self._sink.track(recorder)
        if point == "parsed":
            self.parsed = recorder
        return recorder

    def body(
        self,
        point: Point,
        *,
        path: str,
        content_type: str,
        client: str | None = None,
        leg: int | None = None,
        named: str | None = None,
    ) -> BodyObserver:
        """An observer of a response body for one point: bytes go in, framed and read events are recorded.

        `named` is the provider's profile where a setting names it; else it is found by path, type and first event.
        """
        observer = BodyObserver(self.recorder(point, leg=leg, client=client), path, content_type, self.clock, named)
        if self.identity.attempt:
            observer.rest = _not_known
        if self._host is not None and point in ("wire", "egress"):
            observer.on_close = self._host.ends
        if point == "wire":
            self.wire = observer
        return observer

    @property
    def key(self) -> bytes | None:
        """The stream's key for digests; None where none are made."""
        return self.identity.key if self._level == "digests" else None

    def expect(self, point: Point) -> None:
        """Say in the blocks of this witness that a record of this point is expected as well."""
        self._expected |= 1 << POINTS.index(point)
        if self.wire is not None:
            self.wire.recorder.expect(point)
        if self.parsed is not None:
            self.parsed.expect(point)


def _not_known() -> bool:
    """Whether an answer is complete of which another exchange carried the beginning."""
    return False
