"""Streams that nobody thought of: what the other rows try one at a time, drawn together at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from .bodies import FRAMING, PLAIN, Style
from .faults import KEPT, STUCK, UNREADABLE, Fault
from .scenario import TRANSLATED, Scenario
from .situations import SIMPLE, survives
from .tables import ANSWERS, BY_EVENT, GATEWAYS, PROVIDERS, clients_behind, faults, more_clients, stops_of

_MANY: Final = 3000
_APART: Final = frozenset(("hold", "mix", "terminate", *KEPT, *STUCK, *UNREADABLE))
"""Faults that need an answer, a gateway or a client of their own."""
_SETUPS: Final = ("both", "both", "both", "no_ingress", "client", "gateway")
_STOPPED: Final = ("plain", "equal", "pairs", "tools", "reasoning", "unicode", "long:60", "long:700")
"""Answers that are long enough to be stopped in their midst."""
Styles = Callable[[str, str], Sequence[Style]]
"""Provider and client → how its events may be written down."""


def blends(styles: Styles) -> Iterator[Scenario]:
    """The same ones ever again, so that each is found by its name; to every third nothing is done."""
    chance = random.Random("blends")
    known = [fault for fault in faults() if fault.how not in _APART]
    for number in range(_MANY):
        fault = chance.choice(known)
        provider = chance.choice(PROVIDERS)
        gateway = chance.choice([one for one in GATEWAYS if one != "translate" or provider in TRANSLATED])
        done = (fault,) if number % 3 else ()
        client = chance.choice(_clients(provider, gateway, done))
        plain = Scenario(provider, gateway=gateway, client=client, faults=done)
        yield replace(plain, **_odd(chance, plain, styles))


def _clients(provider: str, gateway: str, done: tuple[Fault, ...]) -> list[str]:
    more = more_clients(TRANSLATED.get(provider, provider) if gateway == "translate" else provider)
    survivors = (one for one in more if all(fault.how in SIMPLE and survives(one, fault) for fault in done))
    return [*clients_behind(provider, gateway), *survivors]


def _odd(chance: random.Random, scenario: Scenario, styles: Styles) -> dict[str, Any]:
    """What is odd about it: its answer, how that is written down, who is instrumented, and so on."""
    own = scenario.client == "httpx"
    stamp = chance.choice(("", "", "id", "field")) if own and FRAMING[scenario.provider] == "sse" else ""
    setup = chance.choice(_SETUPS) if own and not stamp else "both"
    in_a_row = setup == "both" and scenario.gateway in BY_EVENT and chance.random() < 0.25
    in_a_row = in_a_row and all(fault.how != "raise" for fault in scenario.faults)  # it may raise before it answers
    answer = chance.choice((*ANSWERS[""], *ANSWERS[scenario.provider], "long:60"))
    stops = not scenario.faults and scenario.gateway in BY_EVENT and answer in _STOPPED
    return {
        "answer": answer,
        "stop": chance.choice(("", *stops_of(scenario.client))) if stops else "",
        "style": chance.choice((PLAIN, *styles(scenario.provider, scenario.client))),
        "stamp": stamp,
        "setup": setup,
        "hops": "outer" if in_a_row else "",
        "shows": chance.choice(("", "", "", "text")),
    }
