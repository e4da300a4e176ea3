"""The matrix: every fault at every place, through every gateway, to every client, and the healthy streams beside them.

`matrix()` is all of it, in an order that is always the same; `select()` a part by name and seed, of which a third is
healthy; `reduced()` a small part in which nothing is left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from . import situations
from .blends import blends
from .bodies import FRAMING, Style
from .edits import deed_of
from .faults import KEPT, SEVERED, STUCK, Fault, printed
from .possible import possible
from .scenario import Scenario
from .tables import ANSWERS, BY_EVENT, GATEWAYS, PROVIDERS, clients_behind, clients_of, faults, stops_of

_STYLES: Final = {
    "": Style(),
    "crlf": Style(newline=b"\r\n"),
    "cr": Style(newline=b"\r"),
    "tight": Style(space=b""),
    "bom": Style(bom=True),
    "comments": Style(comments=2),
    "multiline": Style(multiline=True),
    "dribble": Style(cut=7),
    "odd": Style(cut=113),
    "at_once": Style(cut=-1),
}
_GENAI_CANNOT: Final = frozenset(("cr", "tight", "bom", "comments", "multiline"))
"""Styles that google-genai's own parser does not survive."""

_APART: Final = frozenset(
    ("timeout", "reset", "raise", "break", "terminate", "hold", "mix", "err", "reject", *STUCK, *SEVERED, *KEPT)
)
"""Faults that are not tried beside another."""
_MANY: Final = 20
"""Events in a row that something is done to, in an answer of many."""
_PARSER_NEEDS: Final[dict[str, dict[str, object]]] = {
    "skips_unreadable": {"faults": (Fault("source", "malform"),)},
    "forgets_last": {},
    "first_line_only": {"style": _STYLES["multiline"]},
    "dedupes": {"answer": "pairs"},
    "read_is_event": {"style": _STYLES["odd"]},
    "splits_lines": {"answer": "unicode"},
    "wants_a_space": {"style": _STYLES["tight"]},
    "limits_size": {},
    "raises": {},
}
"""Defective parser → what brings its defect out."""

_SINGLE: Final = (
    "provider", "gateway", "client", "stop", "pace", "hops", "again", "edits", "declares", "shows", "setup", "stamp",
    "parser",
)  # fmt: skip
"""What of a scenario is one of several; a process of its own takes too long to start."""

REDUCED: Final = 80


def matrix(seed: int = 0) -> list[Scenario]:
    """All of it."""
    return list(_matrix(seed).values())


@cache
def _matrix(seed: int) -> dict[str, Scenario]:
    """Its streams by their names."""
    scenarios = [*healthy(), *faulty(), *pairs(seed), *blends(_styles)]
    return {scenario.name: scenario for scenario in scenarios if possible(scenario)}


def called(name: str) -> Scenario:
    """The stream of this name. Raises LookupError where there is none.

    Which two faults come together is drawn by seed; a name says it, whatever the seed was.
    """
    found = _matrix(0).get(name) or _pair(name)
    if found is None or found.name != name or not possible(found):
        raise LookupError(f"no stream is called {name!r}")
    return found


def _pair(name: str) -> Scenario | None:
    provider, *what = name.split("/")
    if provider not in PROVIDERS or len(what) != _PARTS_OF_A_PAIR:
        return None
    answer, gateway, client, *both = what
    try:
        return Scenario(provider, answer, gateway, client, tuple(map(printed, both)))
    except ValueError:
        return None


_PARTS_OF_A_PAIR: Final = 5
"""Answer, gateway, client and two faults."""


def select(*, limit: int | None = None, seed: int = 0, name: str = "") -> list[Scenario]:
    """Those whose name holds `name`: the healthy ones, and twice as many that are not; at most `limit` of all."""
    found = [scenario for scenario in matrix(seed) if name in scenario.name]
    chance = random.Random(seed)
    chance.shuffle(found)
    well = [scenario for scenario in found if is_healthy(scenario)]
    broken = [scenario for scenario in found if not is_healthy(scenario)]
    if name and limit is None:
        return found
    if limit is not None:
        well = well[: max(-(-limit // 3), limit - len(broken))]
        broken = broken[: limit - len(well)]
    chosen = [*well, *broken[: 2 * len(well)]]
    chance.shuffle(chosen)
    return chosen


def is_healthy(scenario: Scenario) -> bool:
    """Whether nothing is broken, and nothing done on purpose that nobody was told of."""
    done = scenario.faults or scenario.parser or scenario.process == "killed"
    return not done and deed_of(scenario.edits, scenario.declares) is None


def reduced(seed: int = 0) -> list[Scenario]:
    """At most `REDUCED` streams with every fault, provider, gateway, client, stop and defect among them.

    But none with a process of its own, which takes long to start, and none that was blended.
    """
    rows = filter(possible, [*healthy(), *faulty(), *pairs(seed)])
    pool = [scenario for scenario in dict.fromkeys(rows) if not scenario.process]
    random.Random(seed).shuffle(pool)
    tries = [(scenario, features(scenario)) for scenario in pool]
    missing = set().union(*(tried for _, tried in tries))
    chosen: list[Scenario] = []
    while missing and len(chosen) < REDUCED:
        best, tried = max(tries, key=lambda one: len(one[1] & missing))
        missing -= tried
        chosen.append(best)
        tries = [one for one in tries if one[1] & missing]
    more = [scenario for scenario in pool if is_healthy(scenario) and scenario not in chosen]
    return [*chosen, *more[: REDUCED - len(chosen)]]


def features(scenario: Scenario) -> set[str]:
    """What a stream tries, so that a small selection can be held to leave nothing out."""
    named = (f"{fault.component}.{fault.how}" for fault in scenario.faults)
    met = {f"{scenario.client} meets what nobody can read"} if scenario.unreadable else set()
    seen = {f"broken, and instrumented {scenario.setup}"} if scenario.faults else set()
    return {*named, *met, *seen, *(f"{name} {getattr(scenario, name)}" for name in _SINGLE)}


def healthy() -> Iterator[Scenario]:
    """Streams to which nothing is done: every answer, style, gateway, client, stop, and installation."""
    for provider in PROVIDERS:
        for client in clients_of(provider):
            for answer in (*ANSWERS[""], *ANSWERS[provider]):
                yield Scenario(provider, answer, client=client)
            for style in _styles(provider, client):
                yield Scenario(provider, client=client, style=style)
                yield Scenario(provider, "tools", client=client, style=style)
            for stop in stops_of(client):
                yield from (Scenario(provider, size, client=client, stop=stop) for size in ("plain", "long:60"))
            yield from (Scenario(provider, client=client, setup=setup) for setup in ("no_ingress", "client"))
        for answer in ("plain", "tools", "unicode"):
            yield Scenario(provider, answer, setup="gateway")
        yield Scenario(provider, gateway="read_on")
        yield from situations.healthy(provider)
        for gateway in GATEWAYS[1:]:
            for answer in (*ANSWERS[""], *ANSWERS[provider]):
                yield from (Scenario(provider, answer, gateway, client) for client in clients_behind(provider, gateway))
        yield from stamped(Scenario(provider, "equal"), Scenario(provider, "pairs"), Scenario(provider, "tools"))


def faulty() -> Iterator[Scenario]:
    """One fault at a time, and those that belong together."""
    for provider in PROVIDERS:
        for fault in faults():
            yield from _alone(provider, fault)
        yield from _at_length(provider)
        yield from _partly_seen(provider)
        yield from _unreadable(provider)
        yield from _defects(provider)
        yield from _covered(provider)
        yield from (
            Scenario(provider, "long:60", faults=(Fault(who, "hold", "first"),)) for who in ("gateway", "transport")
        )
        yield from (Scenario(provider, "long:60", "read_on", stop=stop) for stop in ("cancel", "break"))
        yield from situations.faulty(provider)


def _alone(provider: str, fault: Fault) -> Iterator[Scenario]:
    """One fault, with every gateway, client and sort of answer."""
    for gateway in ("pass", "reprint", "translate", "chunked"):
        for client in clients_behind(provider, gateway):
            yield Scenario(provider, gateway=gateway, client=client, faults=(fault,))
    for answer in ("pairs", "equal", "tools", "reasoning", "refrain", "error"):
        yield Scenario(provider, answer, faults=(fault,))
    for gateway in ("buffer", "failover", "asks_again"):
        yield Scenario(provider, gateway=gateway, faults=(fault,))
    yield from stamped(Scenario(provider, "equal", faults=(fault,)))


def _at_length(provider: str) -> Iterator[Scenario]:
    """The same to many events in a row."""
    for fault in (fault for fault in faults() if fault.length > 1):
        for gateway in BY_EVENT:
            for client in clients_behind(provider, gateway):
                yield Scenario(provider, "long:60", gateway, client, (replace(fault, length=_MANY),))


def _partly_seen(provider: str) -> Iterator[Scenario]:
    """Only one side of the path is instrumented, or not what the gateway reads."""
    for setup in ("no_ingress", "client", "gateway"):
        for fault in (fault for fault in faults() if fault.how in (*situations.SIMPLE, "error")):
            yield Scenario(provider, faults=(fault,), setup=setup)


def _unreadable(provider: str) -> Iterator[Scenario]:
    """Events that nobody can read, and a client that goes on all the same, or whose parser raises."""
    for fault in (Fault("source", "malform"), Fault("gateway", "malform"), Fault("transport", "glue")):
        for answer in ("plain", "pairs", "tools"):
            scenario = Scenario(provider, answer, faults=(fault,), parser="skips_unreadable")
            yield from (scenario, replace(scenario, gateway="reprint"))
            for gateway in BY_EVENT:
                for client in clients_behind(provider, gateway):
                    yield Scenario(provider, answer, gateway, client, (fault,))


def _defects(provider: str) -> Iterator[Scenario]:
    """Parsers with defects of their own, and what brings them out."""
    for parser, needs in _PARSER_NEEDS.items():
        scenario = Scenario(provider, parser=parser)
        yield replace(scenario, **needs)  # type: ignore[arg-type]
        yield replace(scenario, gateway="reprint", **needs)  # type: ignore[arg-type]


def _covered(provider: str) -> Iterator[Scenario]:
    """The upstream breaks off, and the gateway hides it."""
    for how in ("cut", "break", "reset", "timeout"):
        for gateway in ("pass", "reprint", "translate"):
            for client in clients_behind(provider, gateway):
                both = (Fault("source", how), Fault("gateway", "terminate"))
                yield Scenario(provider, "long:60", gateway, client, both)


def pairs(seed: int) -> Iterator[Scenario]:
    """Two faults at once, in different components."""
    chance = random.Random(seed)
    known = [fault for fault in faults() if fault.how not in _APART]
    for _ in range(400):
        first, second = chance.sample(known, 2)
        if first.component == second.component or (_ends(first) and _ends(second)):
            continue
        provider, answer = chance.choice(PROVIDERS), chance.choice(("plain", "pairs", "equal", "tools", "long:60"))
        gateway = chance.choice(("pass", "reprint", "translate"))
        client = chance.choice(clients_behind(provider, gateway) or ["httpx"])
        yield Scenario(provider, answer, gateway, client, (first, second))


def _ends(fault: Fault) -> bool:
    """Whether it may change how the stream ends; of two of those nobody can say whose doing the end was."""
    if fault.component in ("parser", "reducer"):
        return False
    ending = ("cut", "error", "cut_and_terminate", "cut_inside", "unfinished", "swallow_error", "malform", "late")
    return fault.how in ending or fault.where in ("finish", "terminator")


def stamped(*scenarios: Scenario) -> Iterator[Scenario]:
    """The same with numbered events, in both ways."""
    for scenario in scenarios:
        framing = FRAMING[scenario.provider]
        if framing == "sse":
            yield replace(scenario, stamp="id")
        if framing != "json_array":
            yield replace(scenario, stamp="field")
        if scenario.provider in ("openai_chat", "anthropic"):
            yield replace(
                scenario, stamp="sdk", client={"openai_chat": "openai"}.get(scenario.provider, scenario.provider)
            )


def _styles(provider: str, client: str) -> Sequence[Style]:
    names = [name for name in _STYLES if name and not (client == "genai" and name in _GENAI_CANNOT)]
    sse = FRAMING[provider] == "sse"
    return [_STYLES[name] for name in names if sse or name in ("dribble", "odd", "at_once")]
