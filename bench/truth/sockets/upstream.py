"""The provider: a raw HTTP server that says an answer in its format, and breaks it where the scenario says so."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bench.truth.labels import Deed

from . import http1
from .acts import CONTENT, Act, Event
from .bodies import FRAMING, TYPES, Framer, cut
from .faults import Fault
from .readers import acts_of
from .scenario import Notebook, events, place, writer, written

_EVIDENT: Final = {
    ("openai_responses", "drop"): "hole",
    ("openai_responses", "double"): "ungrammatical",
}
"""(format, what was done) → the act where the format itself gives it away: by its numbers, and the whole at its end.

A whole that merely differs proves nothing: servers trim, and filters replace (docs/design.md §7.2).
"""

_STOPS: Final = frozenset(("cut", "break", "reset", "timeout", "silent", "mute", "reject", "error"))
_FROM_THE_BEGINNING: Final = ("mute", "reject")
"""What leaves nothing of the answer."""
_REFUSAL: Final = b'{"error":{"message":"rate limit","type":"rate_limit_error","code":429}}'

_OTHER_ID: Final = (("chatcmpl-1", "chatcmpl-0"), ("msg_1", "msg_0"), ("resp_1", "resp_0"), ('"r1"', '"r0"'))
"""What a response is called, and what another one is."""


class Script:
    """What one request is answered with: the events that are sent, and how the body ends."""

    def __init__(self, notes: Notebook, *, first: bool) -> None:
        scenario = notes.scenario
        self._notes, self._provider = notes, scenario.provider
        self.end = "eof"
        """eof, break (no last chunk), reset, timeout, silent and mute (nothing more comes), reject (no success)."""
        whole = events(scenario.provider, scenario.answer)
        fault = scenario.fault("source")
        if first and scenario.gateway == "asks_again":
            self.events, self.end = [], "reject"
        elif first:
            self.events, self.end = _attempt(scenario.provider), "break"
        else:
            self.events = list(whole) if fault is None else self._broken(whole, fault)
            self._note()
        late = scenario.severed or scenario.unreadable
        before = 0 if scenario.stop == "early" else len(whole) * 3 // 4 if late else len(whole) // 2
        self.pause = before if scenario.waits and not first else None
        """Position at which the provider waits until somebody has stopped."""

    def _broken(self, whole: tuple[Event, ...], fault: Fault) -> list[Event]:
        at = _index(whole, place(self._provider, whole, fault.where))
        at = 0 if fault.how in _FROM_THE_BEGINNING else at
        position = sum(not event.comment for event in whole[:at])
        if fault.how in _STOPS:
            return self._stopped(whole, fault, at, position)
        stop = at + fault.length
        changed = {
            "unfinished": [],
            "drop": [],
            "malform": [event._replace(data=event.data[: len(event.data) * 2 // 3]) for event in whole[at:stop]],
            "late": [*whole[at:stop], *_more(self._provider)],
            "ungrammatical": list(whole[at:stop]),
            "double": [event for event in whole[at:stop] for _ in (0, 1)],
            "alter": [altered(self._provider, event) for event in whole[at:stop]],
        }[fault.how]
        if fault.how == "ungrammatical":
            at, stop, changed, position = at - 1, at, [], position - 1
        act = {"unfinished": "drop"}.get(fault.how, fault.how)
        act = _EVIDENT.get((self._provider, act), act)
        self._notes.did(Deed("source", act, tuple(range(position, position + max(stop - at, 1)))))
        self._notes.ends.add(f"source.{fault.how}")
        return [*whole[:at], *changed, *whole[stop:]]

    def _stopped(self, whole: tuple[Event, ...], fault: Fault, at: int, position: int) -> list[Event]:
        self._notes.did(Deed("source", "cut", (position,)))
        self._notes.ends.add(f"source.{fault.how}")
        if fault.how == "error":
            return [*whole[:at], *writer(self._provider).write(Act("error", "overloaded"))]
        self.end = "eof" if fault.how == "cut" else fault.how
        return list(whole[:at])

    def _note(self) -> None:
        for event in self.events:
            self._notes.out("source", event)


def _attempt(provider: str) -> list[Event]:
    """The beginning of another answer: the attempt that breaks before a gateway fails over."""
    made = written(provider, [Act("role"), *(Act("text", word) for word in ("quince ", "rowan ", "spruce "))])
    for one, other in _OTHER_ID:
        made = [event._replace(data=event.data.replace(one, other)) for event in made]
    return made


def altered(provider: str, event: Event) -> Event:
    """The event with another letter in what it says."""
    for act in acts_of(provider, event.data):
        if act.kind in CONTENT and act.text:
            other = chr(ord(act.text[0]) ^ 0x20) + act.text[1:] if act.text[0].isalpha() else "X" + act.text[1:]
            raw = event.raw.replace(act.text.encode(), other.encode(), 1)
            return event._replace(data=event.data.replace(act.text, other, 1), raw=raw)
    return event


async def answer(notes: Notebook, path: str, reader: asyncio.StreamReader, writer_: asyncio.StreamWriter) -> None:
    """Answer one request."""
    scenario = notes.scenario
    script = Script(notes, first="~first" in path)
    framing = FRAMING[scenario.provider]
    if script.end == "reject":
        await _refuse(writer_)
        return
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: {TYPES[framing]}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )
    writer_.write(head.encode())
    framer = Framer(framing, scenario.style)
    frames = [framer.frame(event) for event in script.events]
    if script.end == "eof" and not any(end.startswith("source.") for end in notes.ends):
        frames.append(framer.end())
    if script.pause is not None:
        for piece in cut(frames[: script.pause], scenario.style.cut):
            writer_.write(http1.chunk(piece))
        frames = frames[script.pause :]
        await writer_.drain()
        await asyncio.wait_for(notes.left.wait(), http1.WAIT_SECONDS)
    for piece in cut(frames, scenario.style.cut):
        writer_.write(http1.chunk(piece))
        await writer_.drain()
    await _end(script, notes, reader, writer_)


async def _refuse(writer_: asyncio.StreamWriter) -> None:
    """Too many requests, as JSON."""
    head = f"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: {len(_REFUSAL)}\r\n"
    writer_.write(head.encode() + b"connection: close\r\n\r\n" + _REFUSAL)
    await http1.close(writer_)


async def _end(script: Script, notes: Notebook, reader: asyncio.StreamReader, writer_: asyncio.StreamWriter) -> None:
    if script.end == "eof":
        writer_.write(http1.LAST_CHUNK)
    elif script.end == "reset":
        sent = sum(not event.comment for event in script.events)
        await http1.until(lambda: notes.read >= sent)  # what lies unread in a socket is lost with a RST
        http1.reset(writer_)
        return
    elif script.end in ("timeout", "silent", "mute"):
        await asyncio.wait_for(reader.read(), http1.WAIT_SECONDS)  # until the gateway lets go
    await http1.close(writer_)


async def serve(notebooks: Mapping[str, Notebook]) -> asyncio.Server:
    """Listen on a port of the system's choosing; `notebooks` is asked for each request's stream."""

    async def connected(reader: asyncio.StreamReader, writer_: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await http1.read_head(reader)
            await reader.readexactly(head.length)
            await answer(notebooks[head.key], head.first, reader, writer_)
        writer_.close()

    return await asyncio.start_server(connected, "127.0.0.1", 0)


def _index(body: Sequence[Event], position: int) -> int:
    """The index of the event at a position, with the comments counted."""
    return [i for i, event in enumerate(body) if not event.comment][position]


def _more(provider: str) -> Iterator[Event]:
    """An event with content, as it would come in the midst of an answer."""
    pen = writer(provider)
    made = [event for act in (Act("role"), Act("text", "postscript ")) for event in pen.write(act)]
    yield made[-1]
