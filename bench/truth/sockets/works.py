"""What gateways do with events, sans-IO: hand on, print anew, translate, merge; honest and with a fault."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Final, Protocol

from bench.truth.labels import Deed

from .acts import DONE, Act, Event
from .edits import EDITS, deed_of, hidden
from .faults import Fault, Injector, generic
from .readers import acts_of, is_complete, tokens
from .scenario import Notebook, Scenario, events, place, writer, written
from .upstream import altered


class Work(Protocol):
    """One answer's events on their way through a gateway."""

    def feed(self, event: Event) -> list[Event]:
        """What goes out for what came in."""

    def finish(self) -> list[Event]:
        """What goes out at the upstream's end."""


class Pass:
    """Hands on the bytes as they came."""

    def feed(self, event: Event) -> list[Event]:
        """See `Work`."""
        return [event]

    def finish(self) -> list[Event]:
        """See `Work`."""
        return []


class Reprint(Pass):
    """Prints the JSON anew: other spaces, other escapes, members in another order. Comments go."""

    def feed(self, event: Event) -> list[Event]:
        """See `Work`."""
        if event.comment:
            return []
        try:
            data = event.data if event.data == DONE else json.dumps(json.loads(event.data), sort_keys=True)
        except ValueError:
            return [Event(event.name, event.data)]
        return [Event(event.name, data)]


class Translate:
    """Writes what an event says in another format."""

    def __init__(self, source: str, target: str) -> None:
        self._source, self._pen = source, writer(target)
        self._seen: set[str] = set()

    def feed(self, event: Event) -> list[Event]:
        """See `Work`."""
        if event.comment:
            return []
        acts = acts_of(self._source, event.data)
        self._seen.update(act.kind for act in acts)
        return [made for act in acts for made in self._pen.write(act)]

    def finish(self) -> list[Event]:
        """A terminator, where the answer is complete without one."""
        lacks = self._source == "openai_chat" and "finish" in self._seen and "terminal" not in self._seen
        return list(self._pen.write(Act("terminal"))) if lacks else []


WORKS: Final = {
    "pass": Pass,
    "reprint": Reprint,
    "buffer": Pass,
    "chunked": Pass,
    "failover": Pass,
    "asks_again": Pass,
    "read_on": Pass,
}
"""Gateway → its work; `translate` is made for its formats."""


def work(scenario: Scenario) -> Work:
    """The honest work of this scenario's gateway."""
    if scenario.gateway == "translate":
        return Translate(scenario.provider, scenario.out)
    return WORKS[scenario.gateway]()


def honest(scenario: Scenario) -> tuple[Event, ...]:
    """What an honest gateway of this sort makes of the whole answer."""
    return _honest(scenario.provider, scenario.answer, scenario.gateway, scenario.out, scenario.edits)


@cache
def _honest(provider: str, name: str, gateway: str, out: str, edits: str) -> tuple[Event, ...]:
    done = Translate(provider, out) if gateway == "translate" else WORKS[gateway]()
    edit = EDITS[edits](out)
    made = (*(made for event in events(provider, name) for made in done.feed(event)), *done.finish())
    return (*(out for event in made for out in edit.feed(event)), *edit.finish())


class GatewayFault(Exception):
    """What a broken gateway's code raises."""


class Broken:
    """A gateway's work with its fault in it; notes what an honest one would have sent, and what went out."""

    def __init__(self, notes: Notebook) -> None:
        self.over = False
        """The gateway ends its answer here, as if that were the end."""
        self.holding = False
        """What comes out now is to be held back for a while."""
        self._whole = False
        self.last: list[Event] = []
        """What it writes by itself behind that."""
        self.error: Exception | None = None
        """What its code raises here."""
        scenario = notes.scenario
        self._notes, self._out, self._work = notes, scenario.out, work(scenario)
        self._fault = scenario.fault("gateway")
        self._count, self._at, self._made = 0, -1, 0
        self._edit = EDITS[scenario.edits](scenario.out)
        self._edited_as = deed_of(scenario.edits, scenario.declares)
        notes.notes.update(_known_by(scenario))
        self._last: Event | None = None
        self._injector: Injector[Event] | None = None
        if self._fault is not None:
            sent = honest(scenario)
            self._at = place(self._out, sent, self._fault.where) if self._fault.how != "mute" else 0
            if generic(self._fault):
                self._injector = Injector(
                    self._fault, self._at, notes.did, alter=lambda event: altered(self._out, event)._replace(raw=b""),
                    invent=lambda event: invented(self._out, event),
                )  # fmt: skip

    def feed(self, event: Event) -> Iterator[Event]:
        """What goes out for what came in; nothing any more once it is `over`."""
        self._had_the_end(event)
        for made in self._work.feed(event):
            yield from self._editing(made)

    def finish(self) -> Iterator[Event]:
        """What goes out at the end."""
        for made in self._work.finish():
            yield from self._editing(made)
        for made in self._edit.finish():
            yield from self._passing(made)
        if self._injector is not None:
            yield from self._sent(self._injector.finish())

    def _editing(self, event: Event) -> Iterator[Event]:
        """What is done on purpose; where nobody was told so, it is a deed like any."""
        made, position = self._edit.feed(event), self._made
        self._made += not event.comment
        if self._edited_as is not None:
            self._notes.came("gateway", tokens(self._out, [event]))
            if made != [event]:
                self._did(self._edited_as, position)
        for out in made:
            yield from self._passing(out)

    def _passing(self, event: Event) -> list[Event]:
        if event.comment:
            return [] if self.over else [event]
        if self._edited_as is None:
            self._notes.came("gateway", tokens(self._out, [event]))
        if self.over:
            return []
        position, self._count = self._count, self._count + 1
        if self._injector is not None:
            made = self._injector.feed(event)
            if self._injector.over:
                self._ended("cut")
            return self._sent(made)
        return self._sent(self._by_hand(event, position, self._fault) if self._fault is not None else [event])

    def _sent(self, made: list[Event]) -> list[Event]:
        for event in made:
            if not event.comment:
                self._notes.went("gateway", tokens(self._out, [event]))
            self._notes.out("gateway", event)
        return made

    def _by_hand(self, event: Event, position: int, fault: Fault) -> list[Event]:
        if fault.how == "terminate":
            return [event]
        if fault.how == "swallow_error":
            return self._swallowing(event, position)
        if fault.how == "dedupe":
            return self._deduped(event, position)
        if fault.how in ("hold", "stick", "mute"):
            self.holding = position == self._at
            return [event]
        inside = self._at <= position < self._at + fault.length
        if fault.how == "merge":
            return self._merging(event, position)
        if not inside:
            return [event]
        return self._once(event, position, fault.how)

    def _once(self, event: Event, position: int, how: str) -> list[Event]:
        if how == "malform":
            self._did("malform", position)
            return [event._replace(data=event.data[: len(event.data) * 2 // 3], raw=b"")]
        self._did("cut", position)
        self._ended(how)
        if how == "raise":
            self.error = GatewayFault("this gateway's code is broken here")
            return []
        if how == "cut_and_terminate":
            self.last = self._quietly(terminator(self._out))  # let go by its own will, it may finish by itself
        if how == "error":
            self.last = self._quietly(written(self._out, [Act("error", "bad gateway")]))
        return []

    def _quietly(self, made: list[Event]) -> list[Event]:
        """What is sent, and was never meant to come from the upstream."""
        for event in made:
            self._notes.out("gateway", event)
        return made

    def upstream_over(self) -> list[Event]:
        """The upstream has ended, in whatever way: one that hides an early end makes up the rest."""
        sent = self._notes.passed.get("gateway", [])
        if self._fault is None or self._fault.how != "terminate":
            return []
        if is_complete(self._out, sent, choices=self._notes.scenario.choices):
            return []
        self._did("invent", self._count)
        return self._sent(terminator(self._out))

    def _swallowing(self, event: Event, position: int) -> list[Event]:
        if not any(act.kind == "error" for act in acts_of(self._out, event.data)):
            return [event]
        self._did("swallow", position)
        return []

    def _deduped(self, event: Event, position: int) -> list[Event]:
        same = self._last is not None and event.data == self._last.data and bool(tokens(self._out, [event]))
        self._last = event
        if same:
            self._did("drop", position)
        return [] if same else [event]

    def _merging(self, event: Event, position: int) -> list[Event]:
        """Two texts become one, and the last letter of the first is lost between them."""
        if position == self._at:
            self._last = event
            return []
        if self._last is None:
            return [event]
        first, self._last = self._last, None
        acts = [*acts_of(self._out, first.data), *acts_of(self._out, event.data)]
        if len(acts) != 2 or acts[0].kind != acts[1].kind or acts[0].choice != acts[1].choice:  # nothing to merge
            return [first, event]
        self._did("merge", self._at)
        joined = acts[0].text.rstrip()[:-1] + acts[1].text
        return [event._replace(data=event.data.replace(acts[1].text, joined, 1), raw=b"")]

    def _ended(self, how: str) -> None:
        """It sends no more by its own will, whatever it has read."""
        self.over = True
        self._notes.ends.add(f"gateway.{how}")
        if not self._whole or how == "raise":  # whether it would still have sent what it had read nobody knows
            self._notes.stopped.add("gateway")

    def _had_the_end(self, event: Event) -> None:
        """Who has read the upstream to its end has not let go of it."""
        scenario = self._notes.scenario
        ending = ("terminal", "finish") if scenario.provider == "openai_responses" else ("terminal",)
        if any(act.kind in ending for act in acts_of(scenario.provider, event.data)):
            self._whole = True
            if not scenario.stops and self.error is None:
                self._notes.stopped.discard("gateway")

    def _did(self, act: str, *at: int) -> None:
        self._notes.did(Deed("gateway", act, at))


def _known_by(scenario: Scenario) -> Iterator[str]:
    """What an edit leaves to be known: of events that were joined no count, and nothing where it may be the edit."""
    joined = scenario.edits == "join"
    if joined:
        yield "recut"
    broken = joined and scenario.fault("gateway") is not None  # no event of the answer is one that came in
    if broken or hidden(scenario.edits, scenario.declares) or scenario.edits == "reword":
        yield "edited"


def terminator(provider: str) -> list[Event]:
    """A finish and an end as if all were well."""
    acts = (Act("finish", "stop"), Act("terminal"))
    return written(provider, list(acts))


def invented(provider: str, model: Event) -> list[Event]:
    """An event like the model, with words that nobody said."""
    for act in acts_of(provider, model.data):
        if act.text and act.kind in ("text", "reason", "refusal", "args"):
            return [model._replace(data=model.data.replace(act.text, "mistletoe ", 1), raw=b"")]
    return []
