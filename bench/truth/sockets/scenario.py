"""One stream of the matrix: what is asked of whom, what breaks, and the notebook in which all write the truth."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from bench.truth.labels import Deed, Passage
from streamwitness.semconv import COMPONENTS, Component

from .acts import CONTENT, Act, Event, answer
from .bodies import PLAIN, Style
from .faults import KEPT, MIXED, SEVERED, STUCK, UNREADABLE, Fault
from .readers import acts_of
from .writers import Anthropic, Gemini, Ollama, OpenAIChat, Responses, Writer

WRITERS: Final[dict[str, type[Any]]] = {
    "openai_chat": OpenAIChat,
    "openai_responses": Responses,
    "anthropic": Anthropic,
    "gemini": Gemini,
    "gemini_array": Gemini,
    "ollama": Ollama,
}
"""Provider → what writes its events."""


@dataclass(frozen=True)
class Scenario:
    """What one stream is made of, by the names of the tables."""

    provider: str
    answer: str = "plain"
    gateway: str = "pass"
    client: str = "httpx"
    faults: tuple[Fault, ...] = ()
    stop: str = ""
    """What the client does by itself: break, cancel, timeout, limit, close, abort; empty: it reads to the end.

    `early`: it leaves before the first event has come.
    """
    pace: str = ""
    """`slow`: the application takes long for one of the events, and the ways to it are narrow."""
    setup: str = "both"
    """Who is instrumented: both, no_ingress, client, gateway; vanished: both, and nothing of the client comes."""
    stamp: str = ""
    """How the client asks for events to be numbered: id, field."""
    parser: str = ""
    """A defect of the client's own parser."""
    style: Style = PLAIN
    hops: str = ""
    """Two gateways in a row, and which of them is the broken one, if any is: outer, inner."""
    again: str = ""
    """Whether the client asks again: resume, tabs (both at once), retry (the first time nothing came), anew.

    `linked`: it comes back as if to resume, to a gateway that has kept nothing.
    """
    process: str = ""
    """A process of its own: `killed`, a gateway that is; child, parent, cleaning: who goes on where a client forks."""
    edits: str = ""
    """What the gateway does to the answer on purpose: filter, join, reword."""
    declares: str = ""
    """What it says that it does: filter, merge, rewrite."""
    shows: str = ""
    """What of its result the application shows: text."""

    @property
    def name(self) -> str:
        """Everything that differs from the plain stream, in one line."""
        parts = [self.provider, self.answer, self.gateway, self.client, *map(str, self.faults)]
        extra = (
            self.stop,
            self.pace,
            self.hops,
            self.again,
            self.process,
            self.edits,
            self.declares and f"says {self.declares}",
            self.shows and f"shows {self.shows}",
            self.parser,
            self.stamp,
            "" if self.setup == "both" else self.setup,
            _styled(self.style),
        )
        return "/".join([*parts, *(part for part in extra if part)])

    @property
    def stops(self) -> bool:
        """Whether the client stops by itself."""
        return bool(self.stop) or self.parser == "raises" or self.unreadable or self.stops_at_error

    @property
    def stops_at_error(self) -> bool:
        """Whether the client stops at an error behind which more comes: all do but those with a parser of their own."""
        own = ("httpx", "aiohttp", "requests", "forking")
        return self.answer == "error_within" and self.client not in own

    @property
    def unreadable(self) -> bool:
        """Whether somebody broke an event, and the client's parser raises at it."""
        return self.parser != "skips_unreadable" and any(fault.how in UNREADABLE for fault in self.faults)

    @property
    def unheard(self) -> bool:
        """Whether no record tells that the client stopped, but for the gateway's."""
        return bool(self.stop) and self.setup in ("gateway", "vanished")

    @property
    def stuck(self) -> Fault | None:
        """Where progress stops until the client has waited enough."""
        return next((fault for fault in self.faults if fault.how in STUCK), None)

    @property
    def shown(self) -> bool:
        """Whether the application shows its text as its result."""
        return bool(self.shows) or any(fault.how in KEPT for fault in self.faults)

    @property
    def neighbour(self) -> Scenario | None:
        """What the same client reads before: a stream that it will confuse with this, or the one that broke."""
        if self.again == "anew":
            return replace(self, again="", faults=(Fault("transport", "break"),))
        mixed = any(fault.how in MIXED for fault in self.faults)
        return Scenario(self.provider, "refrain", self.gateway, self.client) if mixed else None

    @property
    def behind(self) -> Scenario | None:
        """What the gateway has to do that is behind this one; it hands on what comes."""
        if not self.hops:
            return None
        own = "gateway" if self.hops == "inner" else ""
        faults = tuple(fault for fault in self.faults if fault.component in ("source", own))
        return replace(self, hops="", gateway="pass", client="httpx", faults=faults)

    def at(self, component: Component, connection: int) -> Fault | None:
        """What is broken there in the n-th connection: of a client that comes back each has its own."""
        here = [fault for fault in self.faults if fault.component == component]
        if self.again not in ("resume", "linked"):
            return here[0] if here and not (self.again == "tabs" and connection) else None
        return here[connection] if connection < len(here) else None

    @property
    def severed(self) -> bool:
        """Whether the network breaks on both sides while the gateway still has more to send."""
        return any(fault.how in SEVERED for fault in self.faults)

    @property
    def waits(self) -> bool:
        """Whether the provider waits in the midst of the answer until somebody has stopped, or let go of an event."""
        held = self.severed or any(fault.how == "hold" for fault in self.faults)
        return held or self.process == "killed" or (self.stops and self.stuck is None and not self.stops_at_error)

    @property
    def out(self) -> str:
        """The format that leaves the gateway."""
        return TRANSLATED[self.provider] if self.gateway == "translate" else self.provider

    @property
    def choices(self) -> int:
        """How many answers the stream has side by side."""
        return 2 if self.answer == "choices" else 1

    def fault(self, component: Component) -> Fault | None:
        """What is broken there; of two gateways, in the outer one."""
        if self.hops == "inner" and component == "gateway":
            return None
        return next((fault for fault in self.faults if fault.component == component), None)


TRANSLATED: Final = {"openai_chat": "anthropic", "anthropic": "openai_chat"}
"""What a translating gateway makes of a format."""


def writer(provider: str) -> Writer:
    """A writer of this format."""
    made: Writer = WRITERS[provider]()
    return made


@cache
def events(provider: str, name: str) -> tuple[Event, ...]:
    """The events of an answer as this provider writes it."""
    pen = Responses(parts=True) if provider == "openai_responses" else writer(provider)
    return tuple(event for act in answer(name) for event in pen.write(act))


def written(provider: str, acts: list[Act]) -> list[Event]:
    """The events that say these acts."""
    pen = writer(provider)
    return [event for act in acts for event in pen.write(act)]


@cache
def place(provider: str, body: tuple[Event, ...], where: str) -> int:
    """The position of a place (`faults.PLACES`) among the events of a body; comments do not count.

    Raises LookupError where the body has no such place.
    """
    whole = [event for event in body if not event.comment]
    kinds = [
        {act.kind for act in acts_of(provider, event.data) if act.text or act.kind not in CONTENT} for event in whole
    ]
    said = [i for i, kind in enumerate(kinds) if kind & CONTENT]
    wanted = {"finish": "finish", "terminator": "terminal"}.get(where)
    found = [i for i, kind in enumerate(kinds) if wanted in kind] if wanted else said
    if not found:
        raise LookupError(f"no {where} here")
    return found[{"first": 0, "middle": len(found) // 2}.get(where, -1)]


@dataclass
class Notebook:
    """The truth of one stream, written by those who do it; several threads write."""

    key: str
    scenario: Scenario
    deeds: list[Deed] = field(default_factory=list)
    before: dict[str, list[str]] = field(default_factory=dict)
    after: dict[str, list[str]] = field(default_factory=dict)
    passed: dict[str, list[Event]] = field(default_factory=dict)
    """Component → the events that came out of it."""
    ends: set[str] = field(default_factory=set)
    """What ended where: source.cut, gateway.raise, client.break, …"""
    stream: str = ""
    read: int = 0
    """Events that the gateway has read."""
    sent: list[str] = field(default_factory=list)
    """Events that the gateway had handed to its server before it knew that its client had gone."""
    port: int = 0
    """Of a gateway of its own; 0: that of all."""
    connections: int = 0
    """That the client has made."""
    opened: bool = False
    """The client has the head of the response."""
    taken: int = 0
    """Events that the client's code was given."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """The client, or the gateway, has stopped by itself."""
    behind: Notebook | None = None
    """What is noted at the gateway behind this one."""
    neighbour: Notebook | None = None
    """Another stream that the same client reads before."""
    reducer: Any = None
    """What has built the answer; as long as it lives, so do the objects that it was given."""
    left_at: float = 0.0
    """When the client had let go of its connection, by the loop's clock."""
    notes: set[str] = field(default_factory=set)
    error: str = ""
    stopped: set[str] = field(default_factory=set)
    """Components behind which somebody stopped by himself."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        if self.scenario.stops:
            self.stopped.update(COMPONENTS)

    def did(self, deed: Deed) -> None:
        """Write down a deed."""
        with self._lock:
            self.deeds.append(deed)

    def came(self, component: str, tokens: list[str]) -> None:
        """These went into a component."""
        self.before.setdefault(component, []).extend(tokens)

    def went(self, component: str, tokens: list[str]) -> None:
        """These came out of it."""
        self.after.setdefault(component, []).extend(tokens)

    def out(self, component: str, event: Event) -> None:
        """This event came out of a component."""
        self.passed.setdefault(component, []).append(event)

    def take_over(self) -> None:
        """What was noted at the gateway behind this one is of this stream, too."""
        if self.behind is None:
            return
        self.deeds += self.behind.deeds
        self.ends |= self.behind.ends
        self.passed["source"] = self.behind.passed.get("source", [])
        if self.scenario.hops == "inner":
            for mine, other in ((self.before, self.behind.before), (self.after, self.behind.after)):
                mine["gateway"] = other.get("gateway", [])
            self.stopped |= self.behind.stopped

    def passages(self, components: tuple[Component, ...]) -> tuple[Passage, ...]:
        """What went in and out, of those components that noted anything."""
        return tuple(
            Passage(name, tuple(self.before.get(name, ())), tuple(self.after.get(name, ())), name in self.stopped)
            for name in components
            if name in self.before or name in self.after
        )


def _styled(style: Style) -> str:
    plain = PLAIN
    names = {name: getattr(style, name) for name in ("newline", "space", "bom", "comments", "multiline", "cut")}
    return ",".join(f"{name}={value!r}" for name, value in names.items() if value != getattr(plain, name))
