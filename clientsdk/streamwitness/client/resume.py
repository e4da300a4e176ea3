"""A client's place in a stream, so that it can go on after a lost connection, and never glues two answers together.

    checkpoint = Checkpoint()
    while not done:
        with client.stream("POST", url, json=question, headers=checkpoint.headers()) as response:
            checkpoint.opened(response.headers)
            for event in checkpoint.events(response.iter_bytes()):
                if event.generation != shown: ...      # another answer: what was shown of the old one goes
                ...

Works with any HTTP client: it needs the response's headers and the (content-decoded) pieces of its body. The place
moves when an event is handed to the application, and at no other time: what was read and not handed out comes again.

What a server does with the place is a policy that is declared, and checked as far as the ids allow:

    server            the first event after the place is     else
    resumes_after     the next one                           the last one again: skipped; one further on: `gap`
    replays_last      the last one again, which is skipped   a new generation
    starts_anew       of another answer                      –

An instrumented gateway says itself what it does, in its header; then that is believed.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from streamwitness.events import Frame
from streamwitness.framing import FRAMINGS, Framer, framing_of
from streamwitness.headers import LAST_EVENT_ID, ResponseHeader, format_request, parse_event_id, parse_response
from streamwitness.semconv import HEADER, Stamp
from streamwitness.stamping import ANOTHERS, StampReader, stamp_reader, tag_of

Server = Literal["resumes_after", "replays_last", "starts_anew"]
Outcome = Literal["began", "resumed", "replayed_last", "gap", "new_generation"]


class Event(NamedTuple):
    """An event for the application: SSE name and data (a stamp in it taken out), its id, and whose answer it is of.

    `generation` counts the answers from 0: an event of a higher one continues nothing that came before. `fault` says
    why an event has neither name nor data (`Frame.fault`).
    """

    name: str
    data: str
    id: str
    generation: int
    fault: str = ""


class Checkpoint:
    """Where the application is in one stream, through all its connections; not thread-safe.

    `server` declares what the server does with `Last-Event-ID`; `stamp` is the numbering that an instrumented gateway
    is asked for.
    """

    def __init__(self, server: Server = "resumes_after", *, stamp: Stamp = "id") -> None:
        self.stream = secrets.token_hex(16)
        """The stream's id: proposed by us, or the gateway's."""
        self.last = ""
        """Id of the event that the application was handed last; "" before the first."""
        self.generation = 0
        self.outcome: Outcome | None = None
        """What came of the newest connection; None until that is known, at the latest with its first event."""
        self._server, self._stamp = server, stamp
        self._asked = False
        self._since = 0  # events handed out after `last` that had no id of their own
        self._skip = 0  # events to come that the application has had
        self._framer: Framer = FRAMINGS["sse"]()
        self._read: StampReader | None = None
        self._tag = ""

    def headers(self) -> dict[str, str]:
        """The request headers for the next connection, the first one or one more."""
        if self._asked and not self.last:
            self.stream = secrets.token_hex(16)  # nothing to continue: what comes is made anew
        self._asked = True
        ours = {HEADER: format_request(self.stream, (), self._stamp, key=False)}
        return ours | {LAST_EVENT_ID: self.last} if self.last else ours

    def opened(self, headers: Mapping[str, str], path: str = "") -> Outcome | None:
        """A response has begun; the outcome, where its headers already tell. `headers`: any case, as libraries give."""
        said = {name.lower(): value for name, value in headers.items()}
        self._framer = FRAMINGS[framing_of(path, said.get("content-type", "")) or "sse"]()
        header = parse_response(said.get(HEADER, ""))
        self._read = stamp_reader(header.exchange, header.stamp) if header is not None else None
        self._tag = tag_of(header.exchange) if header is not None else ""
        self._skip, self.outcome = 0, None
        if not self.last and not self._since:
            self.outcome = "began"
        elif not self.last or self._server == "starts_anew":
            self._begin_anew()
        elif header is not None:
            self._told(header)
        if header is not None:
            self.stream = header.id
        return self.outcome

    def events(self, pieces: Iterable[bytes]) -> Iterator[Event]:
        """The events that the application lacks, as they come."""
        for piece in pieces:
            yield from self.take(piece)
        yield from self.finish()

    async def aevents(self, pieces: AsyncIterable[bytes]) -> AsyncIterator[Event]:
        """The same of an async body."""
        async for piece in pieces:
            for event in self.take(piece):
                yield event
        for event in self.finish():
            yield event

    def take(self, piece: bytes) -> Iterator[Event]:
        """The events that end in this piece. The place moves with each one that is taken from the iterator."""
        return self._handed(self._framer.feed(piece))

    def finish(self) -> Iterator[Event]:
        """The body has ended: events that only its end completes."""
        return self._handed(self._framer.finish()[0])

    def _handed(self, frames: list[Frame]) -> Iterator[Event]:
        for frame in frames:
            id_, data = self._identified(frame)
            if self.outcome is None:
                self._decide(id_)
            if self._skip:
                self._skip -= 1
                continue
            if id_ and id_ != self.last:
                self.last, self._since = id_, 0
            else:
                self._since += 1
            name, text = frame.name.decode(errors="replace"), data.decode(errors="replace")
            yield Event(name, text, id_, self.generation, frame.fault)

    def _identified(self, frame: Frame) -> tuple[str, bytes]:
        """An event's id and its data, the stamp out of it. Among stamps others' ids are no place to go on from."""
        if self._read is None:
            return frame.id.decode(errors="replace"), frame.data
        number, data = self._read(frame)
        if number < ANOTHERS:
            return f"{self._tag}.{number}", data
        return ("" if parse_event_id(self.last) else frame.id.decode(errors="replace")), data

    def _told(self, header: ResponseHeader) -> None:
        """What an instrumented gateway says that it does."""
        place = parse_event_id(self.last)
        if header.id != self.stream or not header.attempt or place is None:
            self._begin_anew()
        else:
            self.outcome = "resumed" if header.first == place[1] + 1 else "gap"
            self._skip = self._since

    def _decide(self, id_: str) -> None:
        """What the first event says that the server does; nothing is continued that is not known to be."""
        if id_ == self.last:
            self.outcome, self._skip = "replayed_last", 1 + self._since
        elif not id_ or self._server == "replays_last":
            self._begin_anew()
        else:
            self.outcome = self._numbered(parse_event_id(self.last), parse_event_id(id_))
            if self.outcome == "new_generation":
                self._begin_anew()

    def _numbered(self, place: tuple[str, int] | None, first: tuple[str, int] | None) -> Outcome:
        """The outcome by our own ids; others say nothing, and the server's word is taken."""
        if place is None and first is None:
            return "resumed"
        if place is None or first is None or place[0] != first[0] or first[1] <= place[1]:
            return "new_generation"
        return "resumed" if first[1] == place[1] + 1 else "gap"

    def _begin_anew(self) -> None:
        self.outcome = "new_generation"
        self.generation += 1
        self.last, self._since = "", 0
