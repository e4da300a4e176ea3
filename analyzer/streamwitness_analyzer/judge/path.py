"""One exchange as one client process saw it, from what the gateway read to what the application used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from streamwitness.semconv import POINTS, Point

from .attribute import Fault, Step
from .client.named import Named
from .gateway.upstream import Upstream
from .testimony.records import Exchange, Record

T = TypeVar("T")


@dataclass(slots=True)
class Path:
    """One exchange as one client process saw it: records in path order, the hops between, the faults."""

    exchange: Exchange
    upstream: Upstream
    records: list[Record]
    earlier: Sequence[Path] = ()
    """Those of the exchanges that are sorted before this one: what another gateway sent that this one read is there."""
    steps: list[Step] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    named: Named | None = None
    cut_upstream: bool = False
    """Whether it is the rest of an answer whose upstream was never complete (`together.py`)."""
    ambiguous: tuple[Point, ...] = ()
    """Points of which one process holds several records."""
    silent: tuple[Point, ...] = ()
    """Points that its client process announced, and of which it told nothing."""
    _by_point: dict[Point, Record] = field(init=False)
    _made: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_point = {record.point: record for record in reversed(self.records)}

    def record(self, point: Point) -> Record | None:
        """The record of a point on this path."""
        return self._by_point.get(point)

    def once(self, what: str, make: Callable[[], T]) -> T:
        """What is told of this path, made once however often it is told; asked only when its hops are judged."""
        if what not in self._made:
            self._made[what] = make()
        made: T = self._made[what]
        return made

    @property
    def due(self) -> list[Point]:
        """The points, in order, that told something of it, or should have."""
        held = {record.point for record in self.records} | self.exchange.expected
        return [point for point in POINTS if point in held]

    @property
    def first(self) -> int:
        """The number in the stream of this exchange's first event at gateway out; 0 where none are known."""
        egress = self.record("egress")
        return (egress.first_number or 0) if egress is not None else 0
