"""Situations, each as rows of the matrix: what is odd about them is not what is broken, or not that alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from .bodies import FRAMING
from .clients import HELPERS
from .faults import Fault
from .processes import FORKS
from .scenario import Scenario
from .tables import ANSWERS, BY_EVENT, LEAVING, SHOWN, STOPS, clients_behind, clients_of, faults, more_clients, stops_of


def healthy(provider: str) -> Iterator[Scenario]:
    """Those in which nothing is done to the stream."""
    yield from slow(provider)
    yield from showing(provider)
    yield from editing(provider, ON_PURPOSE)
    yield from asking_again(provider)
    yield from in_a_row(provider)
    yield from otherwise_read(provider)
    yield from leaving(provider)
    yield from (Scenario(provider, "long:60", client="forking", process=who) for who in FORKS)


def faulty(provider: str) -> Iterator[Scenario]:
    """Those in which something is."""
    yield from stuck(provider)
    yield from coming_back(provider)
    yield from in_a_row_and_broken(provider)
    yield from otherwise_read_and_broken(provider)
    for gateway in ("pass", "reprint"):
        for client in ("httpx", *(client for client in RETRYING if reads(client, provider))):
            yield Scenario(provider, "long:60", gateway, client, process="killed")
    yield from editing(provider, UNASKED)
    yield from edited_and_broken(provider)
    yield from (replace(scenario, faults=(Fault("gateway", "hold", "first"),)) for scenario in slow(provider))
    for fault in (fault for fault in faults() if fault.component in ("reducer", "parser")):
        yield from (Scenario(provider, client=one, faults=(fault,), shows="text") for one in clients_of(provider))


def leaving(provider: str) -> Iterator[Scenario]:
    """Clients that leave before the first event, or of which no record comes."""
    for gateway in BY_EVENT:
        yield Scenario(provider, "long:60", gateway, stop="early")
        for setup in ("gateway", "vanished"):
            yield from (Scenario(provider, "long:60", gateway, stop=stop, setup=setup) for stop in LEAVING)


def otherwise_read(provider: str) -> Iterator[Scenario]:
    """Other HTTP libraries, and the helpers of SDKs."""
    for client in more_clients(provider):
        answers = (*ANSWERS[""], *ANSWERS[provider])
        yield from (Scenario(provider, answer, client=client) for answer in answers)
        yield from (Scenario(provider, size, client=client, stop=stop) for size in ("plain", "long:60")
                    for stop in stops_of(client))  # fmt: skip
        yield from (Scenario(provider, gateway=gateway, client=client) for gateway in ("reprint", "chunked", "buffer"))
    for client in ("aiohttp", "requests"):
        yield from (Scenario(provider, client=client, shows="text", edits=edit) for edit in ("", "join"))


def otherwise_read_and_broken(provider: str) -> Iterator[Scenario]:
    """The same, and something is lost, or more than was sent."""
    for client in more_clients(provider):
        for fault in filter(lambda fault: fault.how in SIMPLE and survives(client, fault), faults()):
            yield Scenario(provider, client=client, faults=(fault,))
            yield Scenario(provider, "long:60", "reprint", client, (fault,))


def survives(client: str, fault: Fault) -> bool:
    """Whether this client takes it; aiohttp throws away what it has when a connection breaks, helpers want order."""
    breaks = ("break", "reset", "raise")
    if client == "aiohttp":
        return fault.how not in breaks
    return client not in HELPERS or (fault.component != "reducer" and fault.where in ("first", "middle", "last"))


SIMPLE: Final = frozenset(("drop", "double", "move", "alter", "invent", "forget", "cut", "raise", "break", "reset"))
"""Faults that are tried with every client."""


def in_a_row(provider: str) -> Iterator[Scenario]:
    """Two gateways in a row."""
    for gateway in BY_EVENT:
        for client in clients_behind(provider, gateway):
            yield Scenario(provider, gateway=gateway, client=client, hops="outer")
    yield from (Scenario(provider, answer, hops="outer") for answer in ("equal", "tools", "reasoning", "long:60"))
    yield from (Scenario(provider, "long:60", stop=stop, hops="outer") for stop in STOPS)
    if FRAMING[provider] == "sse":
        yield Scenario(provider, "long:60", hops="outer", stamp="id")


def in_a_row_and_broken(provider: str) -> Iterator[Scenario]:
    """The same, and one of them is, or what is around them."""
    for fault in faults():
        if fault.component == "gateway" and fault.how in IN_A_ROW and str(fault) != "gateway.raise@first":
            for hops in ("outer", "inner") if FRAMING[provider] != "json_array" else ("outer",):
                yield Scenario(provider, faults=(fault,), hops=hops)
                yield Scenario(provider, "long:60", "reprint", faults=(fault,), hops=hops)
    for fault in AROUND:
        yield Scenario(provider, "long:60", faults=(fault,), hops="outer")


AROUND: Final = (
    Fault("source", "cut"), Fault("source", "break"), Fault("source", "error"), Fault("transport", "drop"),
    Fault("transport", "break"), Fault("parser", "drop"),
)  # fmt: skip
"""What is done around them."""
IN_A_ROW: Final = frozenset(("drop", "double", "move", "alter", "invent", "cut", "raise", "error"))
"""What is done to the one or the other of two gateways in a row."""


def asking_again(provider: str) -> Iterator[Scenario]:
    """Two at once, or once more: after nothing came, and after an answer broke."""
    for answer in ("plain", "equal", "tools", "long:60"):
        yield Scenario(provider, answer, again="tabs")
        yield from (Scenario(provider, answer, client=one, again="retry") for one in RETRYING if reads(one, provider))
    yield from (Scenario(provider, client=client, again="anew") for client in clients_of(provider))


def coming_back(provider: str) -> Iterator[Scenario]:
    """A client that lost its connection and goes on where it was; and one of two tabs that lacks something."""
    for how in ("drop", "double", "alter", "break"):
        yield Scenario(provider, faults=(Fault("transport", how, "last"),), again="tabs")
    if FRAMING[provider] != "sse":
        return
    for lost in LOST_WAYS:
        yield Scenario(provider, "long:60", faults=(lost,), stamp="id", again="linked")
    for stamp in ("id", "field"):
        for lost in LOST_WAYS:
            for gateway in BY_EVENT:
                yield Scenario(provider, "long:60", gateway, faults=(lost,), stamp=stamp, again="resume")
            for answer in ("plain", "equal", "pairs", "tools", "reasoning"):
                yield Scenario(provider, answer, faults=(lost,), stamp=stamp, again="resume")
            for second in MORE_LOST:
                yield Scenario(provider, "long:60", faults=(lost, second), stamp=stamp, again="resume")


LOST_WAYS: Final = (
    Fault("transport", "break"), Fault("transport", "reset"), Fault("transport", "sever"),
    Fault("transport", "sever_reset"),
)  # fmt: skip
"""How a connection is lost to which the client comes back."""
MORE_LOST: Final = (Fault("transport", "drop", "last"), Fault("transport", "break", "last"), Fault("gateway", "drop"))
"""What else happens to it then."""
RETRYING: Final = ("openai", "responses", "anthropic")
"""Clients that try again by themselves."""


def reads(client: str, provider: str) -> bool:
    """Whether this client reads this format."""
    return client in clients_of(provider)


def slow(provider: str) -> Iterator[Scenario]:
    """A slow application, so that everybody before it has to wait."""
    if provider == "gemini_array":  # one value, that the bench's own reader takes byte by byte
        return
    for gateway in BY_EVENT:
        for client in clients_behind(provider, gateway):
            yield Scenario(provider, "heavy", gateway, client, pace="slow")
    yield from (Scenario(provider, "heavy", stop=stop, pace="slow") for stop in STOPS)


def showing(provider: str) -> Iterator[Scenario]:
    """An application that shows what it kept."""
    answers = [name for name in SHOWN if name in (*ANSWERS[""], *ANSWERS[provider])]
    for client in clients_of(provider):
        yield from (Scenario(provider, answer, client=client, shows="text") for answer in answers)
        yield from (Scenario(provider, client=client, stop=stop, shows="text") for stop in stops_of(client))
    for gateway in ("reprint", "translate"):
        yield from (
            Scenario(provider, gateway=gateway, client=one, shows="text") for one in clients_behind(provider, gateway)
        )


ON_PURPOSE: Final = (
    ("filter", "filter"), ("join", "merge"), ("join", ""), ("reword", "rewrite"), ("", "filter"), ("", "merge"),
    ("", "rewrite"),
)  # fmt: skip
"""(what a gateway does, what it says that it does), in order."""
UNASKED: Final = (("filter", ""), ("filter", "merge"), ("filter", "rewrite"), ("reword", ""), ("reword", "merge"),
                   ("reword", "filter"))  # fmt: skip
"""The same, not in order."""


def editing(provider: str, edits: Sequence[tuple[str, str]]) -> Iterator[Scenario]:
    """A gateway that edits, and says what it does, or something else, or nothing."""
    for edit, said in edits:
        for gateway in BY_EVENT:
            for client in clients_behind(provider, gateway):
                yield Scenario(provider, gateway=gateway, client=client, edits=edit, declares=said)
        for answer in ("pairs", "tools", "reasoning", "long:60"):
            yield Scenario(provider, answer, edits=edit, declares=said)
        yield from (Scenario(provider, "long:60", edits=edit, declares=said, stop=stop) for stop in ("break", "cancel"))


def edited_and_broken(provider: str) -> Iterator[Scenario]:
    """Something else is done besides, which no edit excuses."""
    behind = (Fault("transport", "drop"), Fault("parser", "double"), Fault("reducer", "forget"), Fault("source", "cut"))
    for edit, said in ON_PURPOSE:
        own = (Fault("gateway", how) for how in ("double", "move", *(() if edit != "join" else ("drop", "alter"))))
        for fault in (*own, *behind):
            yield Scenario(provider, faults=(fault,), edits=edit, declares=said)
            yield Scenario(provider, "long:60", "reprint", faults=(fault,), edits=edit, declares=said)


_STANDING_STILL: Final = (
    Fault("source", "silent"), Fault("gateway", "stick"), Fault("transport", "stick"), Fault("source", "mute", "first"),
    Fault("gateway", "mute", "first"), Fault("transport", "mute", "first"),
)  # fmt: skip


def stuck(provider: str, faults: Sequence[Fault] = _STANDING_STILL) -> Iterator[Scenario]:
    """Somebody stands still until the client has waited enough."""
    for fault in faults:
        for gateway in BY_EVENT:
            for client in clients_behind(provider, gateway):
                yield Scenario(provider, "long:60", gateway, client, (fault,), "timeout")
