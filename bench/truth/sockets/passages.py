"""What truly went into and came out of each component, from the notebook: the labels that a verdict is held against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from bench.truth.labels import Deed, Passage
from bench.truth.scoring.difference import missing
from streamwitness.semconv import COMPONENTS

from . import relay
from .readers import tokens
from .scenario import Notebook
from .works import terminator


def passages(notes: Notebook) -> tuple[Passage, ...]:
    """Those of a stream that is over; notes what of them cannot be known."""
    if notes.scenario.severed:
        notes.came("transport", notes.sent)
        notes.stopped.add("gateway")
    if "gateway.cut_and_terminate" in notes.ends and "gateway" not in notes.stopped:
        notes.went("gateway", tokens(notes.scenario.out, terminator(notes.scenario.out)))  # it looks like the real one
    if _taken_back(notes):
        notes.notes.add("undone")
    if notes.scenario.stamp and _by_number_alone(notes):
        notes.notes.add("numbers alone")
    every = notes.passages(COMPONENTS)
    if notes.scenario.again == "resume":
        return tuple(map(_come_again, every))
    if notes.scenario.again or notes.scenario.severed:
        return every
    return tuple(_placed(passage, notes.deeds) if passage.component == "transport" else passage for passage in every)


def _placed(passage: Passage, deeds: Sequence[Deed]) -> Passage:
    """What went over the network was noted event by event, so that each has its place; which of two that changed
    places was moved nobody can know."""
    mine = [deed for deed in deeds if deed.component == passage.component]
    gone = {at for deed in mine if deed.act in ("drop", "merge") for at in deed.at}
    gone |= {at for deed in mine if deed.act == "cut" for at in range(deed.at[0], len(passage.before))}
    moved = any(deed.act == "move" for deed in mine)
    return replace(passage, by_event=True, lost=None if moved else frozenset(gone))


def _come_again(passage: Passage) -> Passage:
    """Events in transit have their numbers with them: one that went twice and came once is not missing."""
    if passage.component != "transport":
        return passage
    return replace(passage, again=missing(passage.before, passage.after) - len({*passage.before} - {*passage.after}))


def _by_number_alone(notes: Notebook) -> bool:
    """Whether the network did nothing that shows, but in the numbers of events that are equal."""
    sent, came = (
        [relay.unnumbered(text) for text in side.get("transport", ())] for side in (notes.before, notes.after)
    )
    return sent == came


def _taken_back(notes: Notebook) -> bool:
    """Whether the parser lost what the network added, or the other way round; by what the events say."""
    out, passed = notes.scenario.out, notes.passed
    sent, came = (Counter(tokens(out, passed.get(who, []))) for who in ("gateway", "transport"))
    taken, handed = (Counter(side.get("parser", ())) for side in (notes.before, notes.after))
    return bool((came - sent) & (taken - handed) or (sent - came) & (handed - taken))
