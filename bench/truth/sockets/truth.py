"""What truly became of a stream, from the notebook: who ended it and how, and which points testify."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bench.truth.labels import Ended, Passage, known_to_feed
from streamwitness.semconv import Point

from .acts import Event
from .readers import acts_of, has_error, is_complete
from .scenario import Notebook

_SETUPS: Final[dict[str, tuple[Point, ...]]] = {
    "both": ("ingress", "egress", "wire", "parsed"),
    "no_ingress": ("egress", "wire", "parsed"),
    "client": ("wire", "parsed"),
    "gateway": ("ingress", "egress"),
    "vanished": ("ingress", "egress"),
}
"""Who is instrumented → the points that testify, without `applied`."""

_UNHEARD: Final = {"gateway": "client_gone", "vanished": "client_vanished"}
"""Who is instrumented → what a client has done of which the gateway tells alone that it left."""

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

_CLOSING: Final = frozenset(("client.cancel", "client.limit", "client.timeout", "parser.raise"))
"""What ends a generator from within, so that whatever client closes what it has read."""

_SOURCE: Final = {
    "source.cut": "upstream_truncated",
    "source.break": "upstream_truncated",
    "source.reset": "upstream_truncated",
    "source.timeout": "upstream_timeout",
    "source.error": "upstream_error",
    "source.reject": "upstream_rejected",
    "source.unfinished": "protocol_violation",
}


_CLEAN: Final = frozenset(("transport.cut", "transport.cut_inside"))
"""Ends of the network that look like an end in order."""
_BROKEN: Final = frozenset(("transport.break", "transport.reset", "transport.sever", "transport.sever_reset"))
"""Those that do not."""


_KILLED: Final = frozenset(("protocol_violation", "network_lost", "unwitnessed"))
"""What a gateway's death is to all others, by whether the connection ends or is reset; whose it was no record tells."""


_HUNG_UP: Final = frozenset(("protocol_violation", "network_lost"))
"""What it is that a proxy errs and lets go of the gateway: with the gateway's records alone, a lost connection."""


def expected(notes: Notebook) -> frozenset[Point]:
    """The points that are to testify."""
    scenario = notes.scenario
    points = frozenset(_SETUPS[scenario.setup])
    reports = scenario.client != "genai" and scenario.setup not in _UNHEARD
    return points | {"applied"} if reports else points


def ended(notes: Notebook) -> Ended:
    """The true ending; where a part of the path is not instrumented, what of it can be known is the judge's affair."""
    facts = _Facts(notes)
    real = next(make(facts) for so, make in _ENDINGS if so(facts))
    either = {"completed"} if real.by in ("source", "gateway") and _finished(notes) else set()
    if "client.limit" in notes.ends:  # in the client's code a limit of its own is a cancelled task
        either.add("client_cancelled")
    seen = _seen(notes)
    return replace(real, ending=real.ending | either, seen=seen) if real.ending else real


def _seen(notes: Notebook) -> bool:
    """Whether those who testify have seen how it ended, and that it was this answer."""
    scenario = notes.scenario
    if scenario.setup != "both" and scenario.faults:
        return False
    before, after = (tuple(side.get("gateway", ())) for side in (notes.before, notes.after))
    passage = Passage("gateway", before, after)
    return not passage.visible or known_to_feed(scenario.gateway, scenario.provider, passage)


class _Facts:
    """What the notebook says of a stream's end."""

    def __init__(self, notes: Notebook) -> None:
        scenario, self._notes = notes.scenario, notes
        fault = scenario.fault("gateway")
        self.stuck = scenario.stuck
        self.own_end = fault is not None and fault.how == "cut_and_terminate"
        """The gateway wrote an end of its own."""
        self.client = next((_CLIENT[end] for end in sorted(notes.ends) if end in _CLIENT), "")
        """How the client stopped by itself; the provider waited for it: nothing was complete by then."""
        self.source = next((_SOURCE[end] for end in sorted(notes.ends) if end in _SOURCE), "")
        """How the source failed the stream."""
        if not self.source and self.failed("source"):
            self.source = "upstream_error"
        self.lets_go = scenario.client == "genai" and not notes.ends & _CLOSING
        """Nobody closes what the client stops reading: google-genai's generators do not."""
        self.unheard = _UNHEARD.get(scenario.setup, "")
        """What it is that a client left of which no record comes."""
        self.network = any(end.startswith("transport.") for end in notes.ends)
        """The network broke off."""
        self.tabs = scenario.again == "tabs"

    def did(self, *ends: str) -> bool:
        """Whether one of these ends was written down."""
        return not self._notes.ends.isdisjoint(ends)

    @property
    def any(self) -> bool:
        """Whether any was."""
        return bool(self._notes.ends)

    def whole(self, component: str) -> bool:
        """Whether a whole answer left this component."""
        return _whole(self._notes, component)

    def failed(self, component: str) -> bool:
        """Whether an error did."""
        return has_error(_format(self._notes, component), _out(self._notes, component))

    @property
    def arrived(self) -> bool:
        """Whether the body came to its end in order, with the finish or terminator of an answer that was sent whole.

        Then it has ended as it should, whatever was lost of it.
        """
        return not self.did(*_BROKEN) and self.whole("gateway") and self.told_its_end("transport")

    def told_its_end(self, component: str) -> bool:
        """Whether a finish or a terminator left this component."""
        return not {"finish", "terminal"}.isdisjoint(_kinds(self._notes, component))


def _by(ending: str, by: str) -> Callable[[_Facts], Ended]:
    return lambda facts: Ended(frozenset((ending,)), by)


def _by_source(facts: _Facts) -> Ended:
    return Ended(frozenset((facts.source or "?",)), "source")


def _by_client(facts: _Facts) -> Ended:
    if facts.unheard:  # and if all had left the gateway, it was complete
        return Ended(frozenset((facts.unheard, *(["completed"] if facts.whole("gateway") else []))), "client")
    return Ended(frozenset((facts.client,)), "client")


def _by_network(facts: _Facts) -> Ended:
    """Who broke off an answer that its source had ended already is not the only one: of the gateway's records alone
    the source's end is the whole truth."""
    ended = frozenset(((facts.source, "source"),)) if facts.source else frozenset[tuple[str, str]]()
    return Ended(frozenset(("network_lost",)), "transport", before=ended)


def _by_gateway(facts: _Facts) -> Ended:
    """One that told an end of what is no whole answer has broken the protocol, too."""
    both = {"gateway_truncated"} | ({"protocol_violation"} if facts.told_its_end("gateway") else set())
    return Ended(frozenset(both), "gateway")


def _stalled(facts: _Facts) -> Ended:
    stuck = facts.stuck
    what = "stalled_before_first" if stuck is not None and stuck.how == "mute" else "stalled"
    return Ended(frozenset((what,)), stuck.component if stuck is not None else None)


def _unknown(_: _Facts) -> Ended:
    return Ended(frozenset(), None)


_ENDINGS: Final[tuple[tuple[Callable[[_Facts], bool], Callable[[_Facts], Ended]], ...]] = (
    # all stood still, and not only who was to
    (lambda its: its.stuck is not None and its.did("machine.stood_still"), _unknown),
    # one tab had all, the other had not
    (lambda its: its.tabs and its.network, _unknown),
    (lambda its: its.did("gateway.killed"), lambda its: Ended(_KILLED, None)),
    # the client stopped, because it had waited enough or by its own will
    (lambda its: bool(its.client) and its.stuck is not None, _stalled),
    (lambda its: bool(its.client) and its.lets_go, _by("client_abandoned", "client")),
    (lambda its: bool(its.client), _by_client),
    # a whole answer came; what the source lacked, the gateway had made up
    (lambda its: its.whole("transport") and bool(its.source) and not its.whole("source"), _by_source),
    (lambda its: (its.whole("transport") or its.arrived) and its.own_end, _by("completed", "gateway")),
    (lambda its: its.whole("transport") or its.arrived, _by("completed", "source")),
    # an error came: whose is it?
    (lambda its: its.did("transport.err"), _by("protocol_violation", "transport")),
    (lambda its: its.did("transport.err_and_hang_up"), lambda _: Ended(_HUNG_UP, "transport")),
    (lambda its: its.failed("transport") and bool(its.source), _by_source),
    (lambda its: its.failed("transport"), _by("gateway_error", "gateway")),
    # a part came
    (lambda its: bool(its.source) and not its.whole("gateway") and not its.network, _by_source),
    # the source had failed before the network ended the body in order: its error is what is missing
    (lambda its: its.failed("gateway") and its.source == "upstream_error" and its.did(*_CLEAN), _by_source),
    (lambda its: its.network, _by_network),
    (lambda its: its.did("gateway.raise", "gateway.error"), _by("gateway_error", "gateway")),
    # its first finish was none, and it broke off behind that
    (lambda its: its.whole("gateway") and bool(its.source), _unknown),
    (lambda its: its.whole("gateway"), _by_network),
    (lambda its: its.whole("source") or its.any, _by_gateway),
    (lambda its: True, _by_source),
)
"""Whether it ended so, and how: the first that is so holds."""


def _finished(notes: Notebook) -> bool:
    """Whether it may be taken for completed: all that the source lacks is its terminator, and what left the gateway
    needs none; or an error came behind the finish."""
    if _failed_behind_its_finish(notes, "transport") or _went_on(notes):
        return True
    return "finish" in _kinds(notes, "source") and (
        _whole(notes, "transport") or _failed_behind_its_finish(notes, "source")
    )


def _went_on(notes: Notebook) -> bool:
    """Whether the client read on behind an error, to the finish."""
    return not notes.error and "finish" in _kinds(notes, "transport")


def _failed_behind_its_finish(notes: Notebook, component: str) -> bool:
    kinds = _kinds(notes, component)
    return "finish" in kinds and kinds[-1] == "error"


def _kinds(notes: Notebook, component: str) -> list[str]:
    """What was told by what left it."""
    return [act.kind for event in _out(notes, component) for act in acts_of(_format(notes, component), event.data)]


def _whole(notes: Notebook, component: str) -> bool:
    return is_complete(_format(notes, component), _out(notes, component), choices=notes.scenario.choices)


def _format(notes: Notebook, component: str) -> str:
    """In which format leaves it what leaves it."""
    return notes.scenario.provider if component == "source" else notes.scenario.out


def _out(notes: Notebook, component: str) -> list[Event]:
    return notes.passed.get(component, [])
