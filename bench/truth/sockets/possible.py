"""Which streams there are: not every fault has a place in every answer, nor does every client read every format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from streamwitness.semconv import Component

from .acts import CONTENT
from .bodies import FRAMING
from .faults import ERRS, SEVERED, STUCK, UNREADABLE, Fault
from .readers import acts_of
from .scenario import TRANSLATED, Scenario, events, place
from .tables import BY_EVENT, clients_of, more_clients
from .works import honest

_HELD: Final = ("long:60", "heavy")
"""The answers of those streams in which an event is held back."""


def possible(scenario: Scenario) -> bool:
    """Whether there is such a stream: the fault has its place, the parser reads the format, the gateway writes it."""
    if scenario.gateway == "translate" and not _translatable(scenario):
        return False
    if scenario.client not in (*clients_of(scenario.out), *more_clients(scenario.out), "forking"):
        return False
    if scenario.answer == "error_within" and scenario.faults:
        return False  # what is due behind an error the judge does not know yet
    if scenario.out == "gemini_array" and not _in_array(scenario):
        return False
    try:
        return all(_has_place(scenario, fault) for fault in scenario.faults)
    except LookupError:
        return False


def _has_place(scenario: Scenario, fault: Fault) -> bool:
    if fault.how in STUCK and scenario.stop != "timeout":
        return False
    if fault.how in SEVERED and scenario.gateway not in BY_EVENT:
        return False
    if fault.how in UNREADABLE and not _met(scenario, fault):
        return False
    body = events(scenario.provider, scenario.answer)
    if fault.component == "source":
        place(scenario.provider, body, fault.where)
        return _component_can(scenario, fault)
    sent = honest(scenario)
    at = place(scenario.out, sent, fault.where)
    if fault.how == "move" and at + fault.length >= len([event for event in sent if not event.comment]) - 1:
        return False
    return _component_can(scenario, fault)


def _met(scenario: Scenario, fault: Fault) -> bool:
    """Whether the client comes upon the event that is broken, and knows at once whether it goes on behind it."""
    if scenario.parser == "skips_unreadable":
        return True
    lost = fault.component == "source" and scenario.gateway == "translate"
    alone = len(scenario.faults) == 1 and not scenario.stamp and scenario.answer != "error"
    return alone and not lost and scenario.gateway in BY_EVENT


def _source_can(scenario: Scenario, fault: Fault) -> bool:
    if scenario.answer == "error" and fault.how in ("error", "cut", "break"):
        return False
    if fault.how == "reject" and (scenario.gateway not in ("reprint", "translate") or scenario.hops or scenario.stamp):
        return False  # all others answer with an error status themselves, which makes no stream
    if fault.where == "terminator" and scenario.provider not in _ENDED_BY_AN_EVENT:
        return False
    return fault.how not in _BY_FORMAT or scenario.provider in _BY_FORMAT[fault.how]


_ENDED_BY_AN_EVENT: Final = ("openai_chat", "anthropic")
_BY_FORMAT: Final = {
    "ungrammatical": ("anthropic",),
    "unfinished": _ENDED_BY_AN_EVENT,
    "late": _ENDED_BY_AN_EVENT,
}
"""What a source can do in some formats only."""


def _component_can(scenario: Scenario, fault: Fault) -> bool:
    if fault.how == "hold" and (scenario.answer not in _HELD or scenario.gateway != "pass" or scenario.stop):
        return False
    return _CAN[fault.component](scenario, fault)


def _gateway_can(scenario: Scenario, fault: Fault) -> bool:
    needs = _NEEDS.get(fault.how)
    return needs(scenario) if needs is not None else scenario.answer != "error"


_NEEDS: Final[dict[str, Callable[[Scenario], bool]]] = {
    "terminate": lambda scenario: scenario.fault("source") is not None,
    "swallow_error": lambda scenario: scenario.answer == "error",
    "dedupe": lambda scenario: scenario.answer in ("pairs", "equal"),
}
"""What a gateway does in some answers only; all else in those that are none but an error."""


def _network_can(scenario: Scenario, fault: Fault) -> bool:
    if fault.how in ERRS and scenario.answer in ("error", "error_within"):
        return False
    return fault.how != "glue" or FRAMING[scenario.out] == "sse"


def _parser_can(scenario: Scenario, fault: Fault) -> bool:
    """Where the bench has its hands in what parses."""
    return scenario.client not in ("openai_sync", "genai") and _heard(scenario, fault)


def _reducer_can(scenario: Scenario, fault: Fault) -> bool:
    """Where an application says what it takes up."""
    return scenario.client != "genai" and _heard(scenario, fault)


def _heard(scenario: Scenario, fault: Fault) -> bool:
    """An SDK hands on no terminator."""
    return scenario.client == "httpx" or fault.where != "terminator"


_CAN: Final[dict[Component, Callable[[Scenario, Fault], bool]]] = {
    "source": _source_can, "gateway": _gateway_can, "transport": _network_can, "parser": _parser_can,
    "reducer": _reducer_can,
}  # fmt: skip


def _translatable(scenario: Scenario) -> bool:
    acts = {
        act.kind
        for event in events(scenario.provider, scenario.answer)
        for act in acts_of(scenario.provider, event.data)
    }
    known = CONTENT - {"refusal"} | {"role", "finish", "terminal", "usage", "ping", "error"}
    odd = ("choices", "early_finish")
    return scenario.provider in TRANSLATED and acts <= known and scenario.answer not in odd


def _in_array(scenario: Scenario) -> bool:
    """A streamed array is one value: most of what is done to its pieces makes it no JSON at all."""
    return all(
        fault.how != "malform"
        and (
            fault.component in ("parser", "reducer", "source")
            or (fault.component == "gateway" and scenario.gateway == "reprint")
        )
        for fault in scenario.faults
    )
