"""What truly became of a stream, from the notebook: who ended it and how, and which points testify."""

from __future__ import annotations

from typing import Final

from bench.truth.labels import Ended
from streamwitness.semconv import Point

from .acts import Event
from .readers import acts_of, has_error, is_complete
from .scenario import Notebook

_SETUPS: Final[dict[str, tuple[Point, ...]]] = {
    "both": ("ingress", "egress", "wire", "parsed"),
    "no_ingress": ("egress", "wire", "parsed"),
    "client": ("wire", "parsed"),
    "gateway": ("ingress", "egress"),
}
"""Who is instrumented → the points that testify, without `applied`."""

_CLIENT: Final = {
    "client.break": "client_cancelled",
    "client.close": "client_cancelled",
    "client.cancel": "client_cancelled",
    "client.timeout": "client_timeout",
    "client.fork": "client_cancelled",
    "client.limit": "client_timeout",
    "client.abort": "client_reducer_abort",
    "parser.raise": "client_parser_abort",
}

_SOURCE: Final = {
    "source.cut": "upstream_truncated",
    "source.break": "upstream_truncated",
    "source.reset": "upstream_truncated",
    "source.timeout": "upstream_timeout",
    "source.error": "upstream_error",
    "source.unfinished": "protocol_violation",
}


_CLEAN: Final = frozenset(("transport.cut", "transport.cut_inside"))
"""Ends of the network that look like an end in order."""
_BROKEN: Final = frozenset(("transport.break", "transport.reset", "transport.sever", "transport.sever_reset"))
"""Those that do not."""


_KILLED: Final = frozenset(("protocol_violation", "network_lost", "unwitnessed"))
"""What a gateway's death is to all others, by whether the connection ends or is reset; whose it was no record tells."""


def expected(notes: Notebook) -> frozenset[Point]:
    """The points that are to testify."""
    scenario = notes.scenario
    points = frozenset(_SETUPS[scenario.setup])
    reports = scenario.client != "genai" and scenario.setup != "gateway"
    return points | {"applied"} if reports else points


def ended(notes: Notebook) -> Ended:
    """The true ending; where a part of the path is not instrumented, what of it can be known is the judge's affair."""
    if notes.scenario.stuck is not None and "machine.stood_still" in notes.ends:
        return Ended(frozenset(), None)  # then all stood still, and not only who was to
    if notes.scenario.again == "tabs" and any(end.startswith("transport.") for end in notes.ends):
        return Ended(frozenset(), None)  # one tab had all, the other had not
    if "gateway.killed" in notes.ends:
        return Ended(_KILLED, None)
    ending, by = _ended(notes)
    fault = notes.scenario.fault("gateway")
    if ending == "completed" and fault is not None and fault.how == "cut_and_terminate":
        by = "gateway"  # the end is its own
    either = {"completed"} if by == "source" and _finished(notes) else set()
    if "client.limit" in notes.ends:  # in the client's code a limit of its own is a cancelled task
        either.add("client_cancelled")
    return Ended(frozenset({ending} | either), by)


def _ended(notes: Notebook) -> tuple[str, str | None]:
    client = next((_CLIENT[end] for end in sorted(notes.ends) if end in _CLIENT), None)
    source = _source(notes)
    if client is not None:  # the provider waited for it: nothing was complete by then
        if notes.scenario.stuck is not None:
            return "stalled", notes.scenario.stuck.component
        return ("client_abandoned" if _lets_go(notes) else client), "client"
    if _whole(notes, "transport"):
        broken = source if source is not None and not _whole(notes, "source") else None
        return (broken, "source") if broken is not None else ("completed", "source")
    if _arrived(notes):
        return "completed", "source"
    if _failed(notes, "transport"):
        return _error(notes, source)
    if source is not None and not _whole(notes, "gateway") and not _lost_below(notes):
        return source, "source"
    if _failed(notes, "gateway") and source == "upstream_error" and notes.ends & _CLEAN:
        return source, "source"  # it had failed before; its error is what is missing
    if any(end.startswith("transport.") for end in notes.ends) or _whole(notes, "gateway"):
        return "network_lost", "transport"
    if notes.ends & {"gateway.raise", "gateway.error"}:
        return "gateway_error", "gateway"
    return ("gateway_truncated", "gateway") if _whole(notes, "source") or notes.ends else (source or "?", "source")


def _finished(notes: Notebook) -> bool:
    """Whether all that the source lacks is its terminator, and what left the gateway needs none."""
    told = {act.kind for event in _out(notes, "source") for act in acts_of(notes.scenario.provider, event.data)}
    return "finish" in told and _whole(notes, "transport")


def _lets_go(notes: Notebook) -> bool:
    """Whether nobody closes what the client stops reading: google-genai's generators do not."""
    return notes.scenario.client == "genai" and not notes.ends & {"client.cancel", "client.limit", "client.timeout"}


def _arrived(notes: Notebook) -> bool:
    """Whether the body came to its end in order, with the finish or the terminator of an answer that was sent whole.

    Then it has ended as it should, whatever was lost of it.
    """
    out = notes.scenario.out
    kinds = {act.kind for event in _out(notes, "transport") for act in acts_of(out, event.data)}
    broken = notes.ends & _BROKEN
    return not broken and _whole(notes, "gateway") and bool(kinds & {"finish", "terminal"})


def _source(notes: Notebook) -> str | None:
    """How the source failed the stream, if it did."""
    told = next((_SOURCE[end] for end in sorted(notes.ends) if end in _SOURCE), None)
    if told is not None:
        return told
    if _failed(notes, "source"):
        return "upstream_error"
    return None


def _error(notes: Notebook, source: str | None) -> tuple[str, str]:
    """An error reached the client: whose is it?"""
    if source is not None:
        return source, "source"
    return "gateway_error", "gateway"


def _lost_below(notes: Notebook) -> bool:
    """Whether the network broke off before the source's end could be told."""
    return any(end.startswith("transport.") for end in notes.ends)


def _whole(notes: Notebook, component: str) -> bool:
    provider = notes.scenario.provider if component == "source" else notes.scenario.out
    return is_complete(provider, _out(notes, component), choices=notes.scenario.choices)


def _failed(notes: Notebook, component: str) -> bool:
    provider = notes.scenario.provider if component == "source" else notes.scenario.out
    return has_error(provider, _out(notes, component))


def _out(notes: Notebook, component: str) -> list[Event]:
    return notes.passed.get(component, [])
