"""What a selection of the matrix tries, counted: so that a reader sees what was run, and a test what must be there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from .edits import deed_of
from .matrix import is_healthy
from .scenario import Scenario

Coverage = Counter[tuple[str, str]]
"""(what is counted, its name) → streams."""


def counted(scenarios: Iterable[Scenario]) -> Coverage:
    """How many streams try what; one with two faults counts at both."""
    out: Coverage = Counter()
    for scenario in scenarios:
        tried = [(what, name) for what, names in _WHAT.items() for name in names(scenario)]
        out.update(dict.fromkeys([*tried, *((f"faults of {who}", how) for who, how in _faults(scenario))], 1))
    return out


def _faults(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Whose they are and how they are called; parsers have defects of their own, gateways edits that nobody is told."""
    yield from ((fault.component, fault.how) for fault in scenario.faults)
    if scenario.parser:
        yield "parser", scenario.parser
    if deed_of(scenario.edits, scenario.declares) is not None:
        yield "gateway", f"{scenario.edits} undeclared"
    if scenario.process == "killed":
        yield "gateway", "killed"


def _done(scenario: Scenario) -> str:
    if is_healthy(scenario):
        return "nothing"
    return "two faults at once" if len({*_faults(scenario)}) > 1 else "one fault"


_WHAT: Final[dict[str, Callable[[Scenario], Iterable[str]]]] = {
    "done": lambda one: [_done(one)],
    "place": lambda one: [fault.where for fault in one.faults],
    "events in a row": lambda one: [str(fault.length) for fault in one.faults],
    "provider": lambda one: [one.provider],
    "gateway": lambda one: [one.gateway, *(["two in a row"] if one.hops else [])],
    "client": lambda one: [one.client],
    "numbered": lambda one: [one.stamp or "no"],
    "instrumented": lambda one: [one.setup],
    "answer": lambda one: [one.answer],
    "client stops": lambda one: [one.stop or "no"],
    "client asks again": lambda one: [one.again or "no"],
}
"""What is counted → the names under which a stream counts."""
