"""Faults: what can be done to events on their way through a component, each writing its own deed where it does it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from bench.truth.labels import Deed
from streamwitness.semconv import Component

T = TypeVar("T")


@dataclass(frozen=True)
class Fault:
    """What to do, in which component, where, and to how many events in a row.

    `how` is a key of that component's table (`TABLE`), `where` one of `PLACES`.
    """

    component: Component
    how: str
    where: str = "middle"
    length: int = 1

    def __str__(self) -> str:
        length = f"x{self.length}" if self.length > 1 else ""
        return f"{self.component}.{self.how}@{self.where}{length}"


_PRINTED: Final = re.compile(r"(?P<component>\w+)\.(?P<how>\w+)@(?P<where>\w+?)(x(?P<length>\d+))?")


def printed(text: str) -> Fault:
    """The fault that is printed so. Raises ValueError for none that there is."""
    told = _PRINTED.fullmatch(text)
    known = told and next((component for component in TABLE if component == told["component"]), None)
    if told is None or known is None or told["where"] not in TABLE[known].get(told["how"], ()):
        raise ValueError(f"no fault is called {text!r}")
    return Fault(known, told["how"], told["where"], int(told["length"] or 1))


HOLD_SECONDS: Final = 2.7
"""How long an event is held back: more than anybody can be excused for."""

STUCK: Final = frozenset(("silent", "stick", "mute"))
"""Nothing more comes from here until the client has waited enough; `mute`: not even the first event."""

SEVERED: Final = frozenset(("sever", "sever_reset", "err_and_hang_up"))
"""The network breaks on both sides at once, while the gateway still has more to send."""

ERRS: Final = frozenset(("err", "err_and_hang_up"))
"""What is between gateway and client sends an error of its own in place of what comes, and nothing more."""

KEPT: Final = frozenset(("screen", "garble"))
"""The application keeps another text than it was given, though it took up every event."""

UNREADABLE: Final = frozenset(("malform", "glue"))
"""An event is broken so that nobody can read it; a parser that does not skip it raises."""

MIXED: Final = frozenset(("screen", "mix"))
"""Another stream of the same process gets into this one."""

PLACES: Final = ("first", "middle", "last", "finish", "terminator")
"""First, middle and last event with content, the one with the finish, the one that ends the body."""

_EVERYWHERE: Final = PLACES
_CONTENT: Final = PLACES[:3]

TABLE: Final[dict[Component, dict[str, tuple[str, ...]]]] = {
    "source": {
        "cut": _EVERYWHERE, "break": ("middle", "last"), "reset": ("middle",),
        "error": _CONTENT, "unfinished": ("finish",), "malform": ("middle",), "drop": ("first", "middle"),
        "late": ("terminator",), "ungrammatical": ("first",), "double": ("middle",), "alter": ("middle",),
        "timeout": ("middle",), "silent": ("middle",), "mute": ("first",),
        "reject": ("first",),
    },
    "gateway": {
        "drop": _EVERYWHERE, "double": (*_CONTENT, "finish"), "move": ("first", "middle"), "alter": _CONTENT,
        "invent": _CONTENT, "cut": _EVERYWHERE, "cut_and_terminate": _CONTENT, "swallow_error": ("last",),
        "merge": ("middle",), "malform": ("middle",), "raise": _CONTENT, "error": ("middle", "last"),
        "dedupe": ("middle",), "terminate": ("last",), "hold": ("first",), "stick": ("middle",),
        "mute": ("first",),
    },
    "transport": {
        "drop": _EVERYWHERE, "double": (*_CONTENT, "finish"), "move": ("first", "middle"), "alter": _CONTENT,
        "invent": ("middle",), "cut": _EVERYWHERE, "break": ("middle", "last"), "reset": ("middle", "last"),
        "glue": ("middle",), "cut_inside": ("middle",), "hold": ("first",), "stick": ("middle",), "mute": ("first",),
        "sever": ("first", "middle"), "sever_reset": ("first", "middle"), "err": ("middle", "last"),
        "err_and_hang_up": ("middle",),
    },
    "parser": {
        "drop": _EVERYWHERE, "double": _CONTENT, "move": ("first", "middle"), "alter": _CONTENT, "invent": ("middle",),
        "cut": ("middle", "last"),
    },
    "reducer": {
        "forget": _EVERYWHERE, "double": (*_CONTENT, "finish"), "move": ("first", "middle"), "raise": _CONTENT,
        "partial": ("middle",), "cut": ("middle", "last"),
        "screen": ("last",), "garble": ("middle",), "mix": ("middle",),
    },
}  # fmt: skip
"""Component → what can be done there → at which places. Parsers have defects of their own besides (`parsers.py`)."""


class Injector(Generic[T]):
    """Does one fault to the items that pass; items are numbered as they come in.

    `at` is the first position that it is done to. `alter` and `invent` make what comes instead or besides.
    """

    def __init__(
        self,
        fault: Fault,
        at: int,
        did: Callable[[Deed], None],
        *,
        alter: Callable[[T], T] | None = None,
        invent: Callable[[T], Sequence[T]] | None = None,
    ) -> None:
        self.fault, self.over = fault, False
        """`over`: nothing more passes."""
        self._at, self._did, self._alter, self._invent = at, did, alter, invent
        self._count, self._kept, self._cut = 0, list[T](), list[int]()
        self._act = _ACTS[fault.how]

    def feed(self, item: T) -> list[T]:
        """What goes on instead of this item."""
        position, self._count = self._count, self._count + 1
        if self.over:
            return []
        if self._kept and position >= self._at + self.fault.length:
            kept, self._kept = self._kept, []
            self._deed("move", *range(self._at, self._at + len(kept)))
            return [item, *kept]
        if not self._at <= position < self._at + self.fault.length:
            return [item]
        return self._act(self, item, position)

    def finish(self) -> list[T]:
        """What goes on at the end: what was kept for a place that never came, as if nothing had been done."""
        kept, self._kept = self._kept, []
        return kept

    def _deed(self, act: str, *at: int) -> None:
        self._did(Deed(self.fault.component, act, at))

    def drop(self, _item: T, position: int) -> list[T]:
        """Lose it."""
        self._deed("drop", position)
        return []

    def double(self, item: T, position: int) -> list[T]:
        """Hand it on twice."""
        self._deed("double", position)
        return [item, item]

    def move(self, item: T, _position: int) -> list[T]:
        """Hand it on behind the next."""
        self._kept.append(item)
        return []

    def alter(self, item: T, position: int) -> list[T]:
        """Hand on something else."""
        if self._alter is None:
            return [item]
        changed = self._alter(item)
        if changed != item:
            self._deed("alter", position)
        return [changed]

    def invent(self, item: T, position: int) -> list[T]:
        """Hand on something that nobody sent, before it."""
        made = list(self._invent(item)) if self._invent is not None else []
        if made:
            self._deed("invent", position)
        return [*made, item]

    def cut(self, _item: T, position: int) -> list[T]:
        """Hand on nothing from here on."""
        self._deed("cut", position)
        self.over = True
        return []

    def nothing(self, item: T, _position: int) -> list[T]:
        """Done elsewhere."""
        return [item]


_ACTS: Final[dict[str, Callable[[Injector[Any], Any, int], list[Any]]]] = {
    "drop": Injector.drop, "forget": Injector.drop, "double": Injector.double,
    "move": Injector.move, "alter": Injector.alter, "invent": Injector.invent, "cut": Injector.cut,
}  # fmt: skip
"""What is done to items as they pass; the rest is done by the component itself."""


def generic(fault: Fault) -> bool:
    """Whether an `Injector` can do it."""
    return fault.how in _ACTS
