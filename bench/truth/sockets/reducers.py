"""The application's code that builds the answer: it reports each event that it applies, and has its own faults."""

from __future__ import annotations

from collections import Counter
from typing import Any

from bench.truth.labels import Deed
from streamwitness.client.applying import Applied

from .acts import CONTENT, token
from .faults import KEPT, Injector, generic
from .readers import acts_of_object
from .scenario import Notebook, place
from .works import honest

Texts = dict[int, str]
"""Choice → its text."""


def plain(event: Any) -> Any:
    """What a parser has handed on as JSON would have it."""
    return event if isinstance(event, (dict, str)) else event.model_dump(by_alias=True, mode="json", warnings=False)


class ReducerFault(Exception):
    """What a fragile reducer raises."""


class Reducer:
    """Builds an answer from events, and tells `answer` of each; knows an event by the place at which it came."""

    def __init__(self, notes: Notebook, answer: Applied | None) -> None:
        scenario = notes.scenario
        self._notes, self._answer, self._count, self._at = notes, answer, 0, -1
        self._fault = scenario.fault("reducer")
        self._came: list[tuple[str, frozenset[str]]] = []
        self._went: list[str] = []
        self._applied: set[str] = set()
        self._refused: set[str] = set()
        self._given: Texts = {}
        self._right = False
        """The text that is shown is known to be the one that was given, and there is nothing else."""
        self.kept: Texts = {}
        """The texts of the answer, by choice."""
        self.events: list[Any] = []
        notes.reducer = self
        self._injector: Injector[tuple[int, Any]] | None = None
        if self._fault is not None:
            self._at = self._place(scenario.client)
            if generic(self._fault):
                self._injector = Injector(self._fault, self._at, notes.did)

    def feed(self, event: Any) -> None:
        """Take one event."""
        position, self._count = self._count, self._count + 1
        self._notes.taken += 1
        if not self._notes.scenario.faults:
            self.events.append(event)
        self._take(event, self._given)
        self._came.append((f"event {position}", self._kinds(event)))
        if self._injector is not None:
            for item in self._injector.feed((position, event)):
                self._apply(*item)
        elif self._fault is not None and self._at <= position < self._at + self._fault.length:
            self._fail(position, event, self._fault.how)
        else:
            self._apply(position, event)

    def finish(self) -> None:
        """The stream is over, or it is left: note what carries something of a kind that it takes up at all.

        And what it took up more than once, or out of order, whatever that is. Where its result is right, and shown,
        nothing was done to it that matters.
        """
        if self._right:
            self._notes.came("reducer", [name for name, _ in self._came])
            self._notes.went("reducer", [name for name, _ in self._came])
            return
        used = frozenset[str]().union(*(kinds for name, kinds in self._came if name in self._applied))
        odd = {name for name, times in Counter(self._went).items() if times > 1}
        if [name for name in self._went if name in self._applied] != [n for n, _ in self._came if n in self._applied]:
            odd |= self._applied
        due = odd | self._refused | {name for name, kinds in self._came if kinds & used}
        self._notes.came("reducer", [name for name, _ in self._came if name in due])
        went = [name for name in self._went if name in due or name not in self._applied]
        self._notes.went("reducer", went)

    def drain(self) -> None:
        """The stream has come to its end."""
        for item in self._injector.finish() if self._injector is not None else []:
            self._apply(*item)
        if self._answer is not None and self._notes.scenario.shown:
            self._show(self._answer)

    def _show(self, answer: Applied) -> None:
        """Show what was kept as the result; a defective one shows something else."""
        how = self._fault.how if self._fault is not None else ""
        content = frozenset[str]().union(*(kinds for _, kinds in self._came)) & CONTENT
        self._right = self.kept == self._given and content <= {"text"} and how not in KEPT
        other = self._notes.neighbour.reducer.kept if how == "screen" and self._notes.neighbour is not None else {}
        for choice, text in self.kept.items():
            shown = other.get(0, "") if how == "screen" else text[:-1] if how == "garble" else text
            answer.result(shown, choice)
            if shown != text:
                self._notes.did(Deed("reducer", "misapply", (self._at,)))
                self._notes.came("reducer", [f"what is kept of {choice}"])
                self._notes.went("reducer", [f"something else is kept of {choice}"])

    def _take(self, event: Any, texts: Texts) -> None:
        for act in acts_of_object(self._notes.scenario.out, plain(event)):
            if act.kind == "text":
                texts[act.choice] = texts.get(act.choice, "") + act.text

    def _apply(self, position: int, event: Any) -> None:
        self._went.append(f"event {position}")
        self._applied.add(f"event {position}")
        self._take(event, self.kept)
        if self._answer is not None:
            with self._answer.event(event):
                pass

    def _fail(self, position: int, event: Any, how: str) -> None:
        if how in KEPT or how == "mix":
            if how == "mix":
                self._mix(position)
            self._apply(position, event)
            return
        self._notes.did(Deed("reducer", "partial" if how == "partial" else "refuse", (position,)))
        if self._answer is None:
            return
        self._refused.add(f"event {position}")
        if how == "partial":
            self._went.append(f"a part of event {position}")
            self._answer.report(event, "partial", parts=())
            return
        try:
            with self._answer.event(event):
                raise ReducerFault("this reducer does not know what to do with that event")
        except ReducerFault:
            return

    def _mix(self, position: int) -> None:
        """Apply an event of another stream, as if it were one of this."""
        neighbour = self._notes.neighbour
        if neighbour is None or self._answer is None:
            return
        foreign = next(event for event in neighbour.reducer.events if self._kinds(event))
        self._notes.did(Deed("reducer", "foreign", (position,)))
        self._went.append("an event of another stream")
        self._take(foreign, self.kept)
        with self._answer.event(foreign):
            pass

    def _kinds(self, event: Any) -> frozenset[str]:
        """Which kinds of output an event carries."""
        acts = acts_of_object(self._notes.scenario.out, plain(event))
        return frozenset(act.kind for act in acts if token(act))

    def _place(self, client: str) -> int:
        """Where the fault is done, among the events that this client's parser hands on."""
        scenario = self._notes.scenario
        sent = honest(scenario)
        at = place(scenario.out, sent, self._fault.where if self._fault is not None else "middle")
        consumed = [event for event in sent if not event.comment][:at]
        is_ping = '"type":"ping"'
        return at - sum(is_ping in event.data for event in consumed) if client.startswith("anthropic") else at
