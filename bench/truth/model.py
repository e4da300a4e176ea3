"""Streams without sockets: a model of the path that makes random answers, faults and stops, and notes what it did.

Blocks are made from lists of events (bench/truth/build.py), so that hundreds of thousands of streams can be
judged; `sockets/` has the same over real connections, bytes and recorders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from streamwitness.blocks import Block
from streamwitness.semconv import ERROR, RESPONSE_ID, TERMINAL, Component, Point

from .build import (
    DELIVERED_BY_SDK,
    LEG,
    Event,
    How,
    answer,
    handed_on,
    path,
    random_cuts,
    used,
)
from .labels import Deed, Ended, Passage, Trial

ALPHABETS: Final = (1, 2, 3, 5, 20, 200, 0)
"""Different texts in an answer; 0: every text is new."""
_POINTS: Final[tuple[Point, ...]] = ("ingress", "egress", "wire", "parsed", "applied")
_MOST: Final = 50
"""Texts in an answer."""
_SETUPS: Final[tuple[frozenset[Point], ...]] = (
    frozenset(_POINTS), frozenset(_POINTS), frozenset(_POINTS),
    frozenset(("egress", "wire", "parsed", "applied")), frozenset(("ingress", "egress")),
    frozenset(("wire", "parsed", "applied")), frozenset(("ingress", "egress", "wire")),
)  # fmt: skip
"""Which points are instrumented; the whole path is the most frequent."""


def words(rng: Random, n: int, new: int = 1000) -> list[int]:
    """Texts of an answer over a random alphabet; an unbounded one begins at `new`."""
    size = rng.choice(ALPHABETS)
    if size == 0:
        return [new + i for i in range(n)]
    weights = [1 / (i + 1) for i in range(size)] if rng.random() < 0.5 else [1.0] * size
    return [1000 + i for i in rng.choices(range(size), weights, k=n)]


# --------------------------------------------------------------------------- faults


def _drop(rng: Random, out: list[Event]) -> tuple[int, ...]:
    at = rng.randrange(len(out))
    del out[at]
    return (at,)


def _burst(rng: Random, out: list[Event]) -> tuple[int, ...]:
    at = rng.randrange(len(out))
    stop = min(len(out), at + rng.randint(2, 6))
    del out[at:stop]
    return tuple(range(at, stop))


def _double(rng: Random, out: list[Event]) -> tuple[int, ...]:
    at = rng.randrange(len(out))
    out.insert(min(len(out), at + rng.randint(1, 4)), out[at])
    return (at,)


def _again(rng: Random, out: list[Event]) -> tuple[int, ...]:
    at = rng.randrange(len(out))
    stop = min(len(out), at + rng.randint(2, 5))
    out[stop:stop] = out[at:stop]
    return tuple(range(at, stop))


def _invent(rng: Random, out: list[Event]) -> tuple[int, ...]:
    at = rng.randint(0, len(out))
    out.insert(at, Event(500_000 + rng.randrange(1000)))
    return (at,)


def _move(rng: Random, out: list[Event]) -> tuple[int, ...]:
    at = rng.randrange(len(out))
    out.insert(rng.randint(0, len(out) - 1), out.pop(at))
    return (at,)


def _swap(rng: Random, out: list[Event]) -> tuple[int, ...]:
    at = rng.randrange(len(out))
    if at + 1 < len(out):
        out[at], out[at + 1] = out[at + 1], out[at]
    return (at,)


def _alter(rng: Random, out: list[Event]) -> tuple[int, ...]:
    at = rng.randrange(len(out))
    out[at] = Event(700_000 + rng.randrange(1000))
    return (at,)


def _tail(rng: Random, out: list[Event]) -> tuple[int, ...]:
    at = rng.randrange(len(out))
    gone = tuple(range(at, len(out)))
    del out[at:]
    return gone


FAULTS: Final[dict[str, tuple[str, Callable[[Random, list[Event]], tuple[int, ...]]]]] = {
    "drop": ("drop", _drop),
    "burst": ("drop", _burst),
    "double": ("double", _double),
    "again": ("double", _again),
    "invent": ("invent", _invent),
    "move": ("move", _move),
    "swap": ("move", _swap),
    "alter": ("alter", _alter),
    "tail": ("cut", _tail),
}
"""Fault → its act, and what does it: changes the list, returns the places among what came in."""


def damaged(rng: Random, who: Component, events: Sequence[Event], count: int, deeds: list[Deed]) -> list[Event]:
    """A copy of the events with so many random faults, each noted."""
    out = list(events)
    for _ in range(count):
        if not out:
            break
        act, fault = FAULTS[rng.choice(tuple(FAULTS))]
        deeds.append(Deed(who, act, fault(rng, out)))
    return _ended_by_terminal(out)


def _ended_by_terminal(events: list[Event]) -> list[Event]:
    """Nothing stands behind a terminator: a reader stops there, and recorders count what follows apart."""
    terminals = [event for event in events if event.parts & TERMINAL]
    return [*(event for event in events if not event.parts & TERMINAL), *terminals[:1]]


_REDUCER: Final = ("raise", "forget", "double", "move")


def _reduced(rng: Random, events: Sequence[Event], count: int, deeds: list[Deed]) -> list[Event]:
    """What a faulty reducer reports."""
    out = used(events)
    for _ in range(count):
        if not out:
            break
        i = rng.randrange(len(out))
        how = rng.choice(_REDUCER)
        if how == "raise" and sum(event.of == out[i].of for event in out) > 1:
            continue  # raised, then applied, is applied in the end
        if how in ("raise", "forget") and out[i].content and _last_text(out, i):
            continue  # as if the application had no use for texts, of which it took none
        deeds.append(Deed("reducer", {"raise": "refuse", "forget": "drop"}.get(how, how), (out[i].of,)))
        if how == "raise":
            out[i] = replace(out[i], result="raised")
        elif how == "forget":
            del out[i]
        elif how == "double":
            out.insert(i + 1, out[i])
        elif i + 1 < len(out):
            out[i], out[i + 1] = out[i + 1], out[i]
    return out


def _last_text(rows: Sequence[Event], i: int) -> bool:
    return not any(row.content and row.result == "applied" for k, row in enumerate(rows) if k != i)


# --------------------------------------------------------------------------- how it ends


@dataclass(frozen=True)
class End:
    """A way to end: which points it cuts, what each then says, and the ending that this is.

    `cut` names the first point that has less than the one before it; "" where all is passed on. Points behind it have
    what it has. `ends` are how ingress, egress, wire, parsed and applied say they ended.
    """

    ending: str
    by: str | None
    cut: str
    ends: tuple[str, str, str, str, str]
    act: tuple[Component, str] | None = None
    error: bool = False

    @property
    def stopped(self) -> bool:
        """Whether the client stopped by itself."""
        return self.ends[2] in _OWN


ENDS: Final[dict[str, End]] = {
    "complete": End("completed", "source", "", ("eof", "eof", "eof", "eof", "eof")),
    "at the terminal": End("completed", "source", "", ("eof", "eof", *("stopped_at_terminal",) * 3)),
    "source cuts": End("upstream_truncated", "source", "ingress", ("eof",) * 5, ("source", "cut")),
    "source resets": End(
        "upstream_truncated", "source", "ingress", ("reset", "raised", "reset", "reset", "reset"), ("source", "cut")
    ),
    "source errs": End(
        "upstream_error", "source", "ingress", ("eof", "eof", "eof", "raised", "raised"), ("source", "cut"), error=True
    ),
    "gateway cuts": End("gateway_truncated", "gateway", "egress", ("eof",) * 5, ("gateway", "cut")),
    "gateway raises": End(
        "gateway_error", "gateway", "egress", ("cancelled", "raised", *("protocol_error",) * 3),
    ),
    "gateway is stopped": End(
        "gateway_shutdown", "gateway", "egress", ("cancelled", "shutdown", "reset", "reset", "reset"),
    ),
    "transport resets": End(
        "network_lost", "transport", "wire", ("eof", "eof", *("reset",) * 3), ("transport", "cut")
    ),
    "transport ends early": End("network_lost", "transport", "wire", ("eof",) * 5, ("transport", "cut")),
    "client cancels": End("client_cancelled", "client", "wire", ("cancelled", "disconnected", *("cancelled",) * 3)),
    "client waits no longer": End("client_timeout", "client", "wire", ("eof", "disconnected", *("timeout",) * 3)),
    "client leaves": End("client_abandoned", "client", "wire", ("eof", "eof", *("abandoned",) * 3)),
}  # fmt: skip
"""Name → what happens. The last three are a client's own stop: what came later is nobody's loss."""

_OWN: Final = frozenset(("cancelled", "timeout", "abandoned"))


# --------------------------------------------------------------------------- one path


def whole(rng: Random, name: str, *, most: int = _MOST) -> Trial:
    """Ingress → … → applied; often healthy, else with faults in up to four components, ended in any way."""
    sort = rng.choice(tuple(ENDS)) if rng.random() < 0.4 else rng.choice(("complete", "at the terminal"))
    end = ENDS[sort]
    guilty = () if rng.random() < 0.4 else tuple(c for c in _BELOW if rng.random() < 0.4)
    deeds: list[Deed] = []
    start = answer(words(rng, rng.randint(0, most)))
    seen = _seen(rng, start, end, guilty, deeds)
    setup = rng.choice(_SETUPS)
    blocks = _blocks(rng, seen, end, setup)
    return Trial(
        name, "model", "pass-through", "model", tuple(deeds), _passages(seen, end), _ended(seen, end, setup), blocks,
        setup, frozenset((sort,)),
    )  # fmt: skip


_BELOW: Final[tuple[Component, ...]] = ("gateway", "transport", "parser", "reducer")
ID: Final = ((RESPONSE_ID, "one"),)
"""Providers give an answer an id; a gateway that passes on passes it on."""
_Seen = dict[Point, list[Event]]


def _seen(rng: Random, start: list[Event], end: End, guilty: Sequence[Component], deeds: list[Deed]) -> _Seen:
    def count(who: Component) -> int:
        return rng.randint(1, 2) if who in guilty else 0

    ingress = _cut(rng, start, end, "ingress", deeds)
    if end.error:
        ingress = [*ingress, Event(parts=ERROR)]
    egress = _cut(rng, damaged(rng, "gateway", ingress, count("gateway"), deeds), end, "egress", deeds)
    egress = [replace(event) for event in egress]  # a copy is an event of its own (`missed`)
    wire = _cut(rng, damaged(rng, "transport", egress, count("transport"), deeds), end, "wire", deeds)
    parsed = damaged(rng, "parser", _delivered(wire), count("parser"), deeds)
    parsed = [replace(event, parts=event.parts & ~TERMINAL) for event in parsed]
    return {"ingress": ingress, "egress": egress, "wire": wire, "parsed": parsed,
            "applied": _reduced(rng, parsed, count("reducer"), deeds)}  # fmt: skip


def _delivered(wire: Sequence[Event]) -> list[Event]:
    """What an SDK hands on: no terminator, and an error as an exception."""
    return [event for event in handed_on(wire) if not event.parts & ERROR]


def _cut(rng: Random, events: list[Event], end: End, point: str, deeds: list[Deed]) -> list[Event]:
    """What is left where this point is the one that ends early: before the finish, so that it shows."""
    if end.cut != point or not events:
        return events
    last = next((i for i, event in enumerate(events) if event.text == 900_000), len(events) - 1)
    at = rng.randint(0, last)
    if end.act is not None:
        deeds.append(Deed(end.act[0], end.act[1], tuple(range(at, len(events)))))
    return events[:at]


def _passages(seen: _Seen, end: End) -> tuple[Passage, ...]:
    """What went into and came out of each component, in the digests that the comparison of its two points goes by."""
    stopped = end.stopped
    raised = stopped or end.error  # an error in the answer reaches the application as an exception
    broke = end.ends[1] in ("raised", "shutdown", "disconnected")
    reported = {event.of for event in seen["applied"]}  # what says nothing may be reported or not
    applied = tuple(str(e.of) for e in used(seen["parsed"]) if e.content or e.of in reported)
    told = tuple(str(e.of) for e in seen["applied"] if e.result == "applied")
    return (
        Passage("gateway", _told(seen["ingress"]), _told(seen["egress"]), broke),
        Passage(
            "transport",
            in_bytes(seen["egress"]),
            in_bytes(seen["wire"]),
            stopped,
            by_event=True,
            due=reached(seen["egress"], seen["wire"]),
            lost=missed(seen["egress"], seen["wire"]),
        ),
        Passage("parser", said(seen["wire"]), said(seen["parsed"]), raised),
        Passage("reducer", applied, told, raised),
    )


def said(events: Sequence[Event]) -> tuple[str, ...]:
    return tuple(str(event.text) for event in events if event.judged)


def _told(events: Sequence[Event]) -> tuple[str, ...]:
    """What was said, and whether it was said that it failed."""
    return said(events) + (("error",) if any(event.parts & ERROR for event in events) else ())


def reached(sent: Sequence[Event], came: Sequence[Event]) -> int:
    """How many of the events were due, up to the furthest that came: each is an object of its own."""
    here = {id(event) for event in came}
    return max((i + 1 for i, event in enumerate(sent) if id(event) in here), default=0)


def missed(sent: Sequence[Event], came: Sequence[Event]) -> frozenset[int]:
    """Places of the events that never came, as the objects that they are."""
    here = {id(event) for event in came}
    return frozenset(i for i, event in enumerate(sent) if id(event) not in here)


def in_bytes(events: Sequence[Event]) -> tuple[str, ...]:
    """Tokens of what is compared on the way: every event."""
    return tuple(f"{event.text} {event.parts}" for event in events)


def _ended(seen: _Seen, end: End, setup: frozenset[Point]) -> Ended:
    """The ending, as it can be known: only where the whole path testified and no fault took the end away."""
    if setup != frozenset(_POINTS) or any(_finish(seen[p]) != _finish(seen["ingress"]) for p in _POINTS[1:]):
        return Ended(frozenset(), None) if end.cut == "" or setup != frozenset(_POINTS) else _known(seen, end)
    return _known(seen, end)


def _known(seen: _Seen, end: End) -> Ended:
    before = {"ingress": "ingress", "egress": "ingress", "wire": "egress", "": "applied"}[end.cut]
    if end.cut in ("egress", "wire") and not _finish(seen[before]):  # type: ignore[index]
        return Ended(frozenset(), None)
    if end.cut == "egress" and not set(said(seen["ingress"])) & set(said(seen["egress"])):
        return Ended(frozenset(), None)  # nothing came out that could be known as this answer
    if end.cut == "ingress" and any(_finish(seen[point]) for point in _POINTS):
        return Ended(frozenset(), None)
    return Ended(frozenset((end.ending,)), end.by)


def _finish(events: Sequence[Event]) -> bool:
    return any(event.text == 900_000 for event in events)


def _blocks(rng: Random, seen: _Seen, end: End, setup: frozenset[Point]) -> list[Block]:
    low, high = rng.choice(((1, 3), (2, 16), (6, 16), (512, 512)))
    ends = dict(zip(_POINTS, end.ends, strict=True))
    terminal = bool(seen["wire"][-1:]) and bool(seen["wire"][-1].parts & TERMINAL)
    if ends["wire"] == "stopped_at_terminal" and not terminal:
        ends |= dict.fromkeys(("wire", "parsed", "applied"), "eof")
    hows: dict[str, Any] = {
        "ingress": How("ingress", leg=0, end=ends["ingress"], extra=ID),
        "egress": How("egress", legs=(LEG,) if "ingress" in setup else (), end=ends["egress"], extra=ID),
        "wire": How("wire", end=ends["wire"]),
        "parsed": How("parsed", end=ends["parsed"], delivers=DELIVERED_BY_SDK & ~ERROR),
        "applied": How("applied", end=ends["applied"], of="parsed"),
    }
    given = [seen[point] if point in setup else None for point in _POINTS]
    return path(*given, cuts=lambda n: random_cuts(rng, n, low, high), **hows)
