"""An envelope for gateways that speak a protocol of their own: wrap any iterator of deltas, and read it back.

    return StreamingResponse(envelope.wrap(deltas), media_type="text/event-stream")     # the gateway

    reader = envelope.Reader()                                                           # who reads it
    for piece in body:
        for delta in reader.feed(piece):
            show(delta.text)
    reader.finish()
    if not reader.complete: print(reader.problems)

What goes over the wire, and what may follow what: docs/envelope.md.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Final, Literal, NamedTuple, overload

import msgspec

from .events import Frame
from .framing import FRAMINGS
from .providers.envelope import CONTENT, KINDS, SHAPE, TRANSITIONS, Checksum, Delta, Event, Grammar, slot_of
from .providers.objects import decode
from .semconv import FINISH_REASONS

__all__ = ["KINDS", "PROBLEMS", "TRANSITIONS", "Delta", "Finish", "Problem", "Reader", "Usage", "Writer", "wrap"]

Framing = Literal["sse", "ndjson"]

PROBLEMS: Final = {
    "gap": "events are missing before this one",
    "duplicate": "an event that was read before; not handed on again",
    "wrong_stream": "an event of another stream; not handed on",
    "transition": "a kind that must not follow the one before",
    "after_completion": "an event behind the end; not handed on",
    "malformed": "no event of the envelope; not handed on",
    "last": "the completion counts other events than have come",
    "checksum": "the text that has come is not the text that was sent",
    "no_completion": "the stream ended without its completion",
}
"""What a reader may find → what it means."""
_MAX_PROBLEMS: Final = 100
_REFUSED: Final = frozenset(("duplicate", "wrong_stream", "after_completion", "malformed"))


class Usage(NamedTuple):
    """Tokens of the whole answer so far."""

    input: int | None = None
    output: int | None = None


class Finish(NamedTuple):
    """Why the answer ends (semconv.FINISH_REASONS): the last thing that `wrap` takes; without it, `stop`."""

    reason: str


class Problem(NamedTuple):
    """Something wrong in a stream: a word of PROBLEMS, the number of the event where it showed, and particulars."""

    what: str
    seq: int | None
    detail: str = ""


Item = str | tuple[str, str] | Delta | Usage | Finish
"""What `wrap` takes: a text, a kind and its text, or one of the above."""


class Writer:
    """Makes the events of one stream, sans-IO. ValueError where its own reader would refuse what it is to write."""

    def __init__(self, stream: str | None = None, *, framing: Framing = "sse", model: str | None = None) -> None:
        if framing not in _FRAMES:
            raise ValueError(f"unknown framing {framing!r}, known: {', '.join(_FRAMES)}")
        self.stream = stream or secrets.token_hex(16)
        self._model = model
        self._before, self._after = _FRAMES[framing]
        self._next = 0
        self._grammar, self._checksum = Grammar(), Checksum()

    def start(self) -> bytes:
        """The first event."""
        return self._write(Event(kind="start", model=self._model))

    def write(self, item: Item) -> bytes:
        """The event for an item, a Finish included."""
        if isinstance(item, str):
            return self._write(Event(kind="text", delta=item))
        if isinstance(item, Usage):
            return self._write(Event(kind="usage", input=item.input, output=item.output))
        if isinstance(item, Finish):
            return self.completion(item.reason)
        delta = Delta(*item)
        event = Event(kind=delta.kind, delta=delta.text, slot=delta.slot or None, upstream=delta.upstream or None)
        if delta.kind not in CONTENT:
            raise ValueError(f"no kind of delta: {delta.kind!r}, known: {', '.join(CONTENT)}")
        if delta.slot and slot_of(event) != delta.slot:
            raise ValueError(f"no slot of kind {delta.kind!r}: {delta.slot!r}; a slot is choice/kind/ordinal")
        return self._write(event)

    def ping(self) -> bytes:
        """A sign of life."""
        return self._write(Event(kind="ping"))

    def error(self, message: str) -> bytes:
        """The end of a stream that failed; nothing may follow."""
        return self._write(Event(kind="error", message=message))

    def completion(self, finish: str = "stop") -> bytes:
        """The end of a whole answer; nothing may follow."""
        if finish not in FINISH_REASONS:
            raise ValueError(f"unknown finish {finish!r}, known: {', '.join(FINISH_REASONS)}")
        return self._write(Event(kind="completion", last=self._next, finish=finish, checksum=str(self._checksum)))

    def _write(self, event: Event) -> bytes:
        if after := self._grammar.step(event):
            raise ValueError(f"{event.kind} must not follow {after}")
        event.stream, event.seq = self.stream, self._next
        self._next += 1
        if event.delta is not None:
            event.delta = event.delta.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
        self._checksum.add(event)
        return self._before + msgspec.json.encode(event) + self._after


_FRAMES: Final = {"sse": (b"data: ", b"\n\n"), "ndjson": (b"", b"\n")}
"""Framing → what stands before and after an event."""


@overload
def wrap(
    deltas: Iterable[Item], stream: str | None = None, *, framing: Framing = "sse", model: str | None = None
) -> Iterator[bytes]: ...
@overload
def wrap(
    deltas: AsyncIterable[Item], stream: str | None = None, *, framing: Framing = "sse", model: str | None = None
) -> AsyncIterator[bytes]: ...
def wrap(
    deltas: Iterable[Item] | AsyncIterable[Item],
    stream: str | None = None,
    *,
    framing: Framing = "sse",
    model: str | None = None,
) -> Iterator[bytes] | AsyncIterator[bytes]:
    """The stream of an iterator of deltas: start, one event a delta, and the completion when the iterator has ended.

    `stream` is its id (without one, a random one), `framing` `sse` or `ndjson`. What the iterator raises comes out
    unchanged, after an error event with the exception's class, and so does ValueError for what is no item or must not
    stand where it does. A stream that is closed early just ends.
    """
    writer = Writer(stream, framing=framing, model=model)
    if isinstance(deltas, AsyncIterable):
        return _wrap_async(writer, deltas)
    return _wrap(writer, deltas)


def _made(writer: Writer, item: Item, finish: Finish) -> tuple[bytes, Finish]:
    """The event for an item; a finish waits for the end."""
    return (b"", item) if isinstance(item, Finish) else (writer.write(item), finish)


def _wrap(writer: Writer, deltas: Iterable[Item]) -> Iterator[bytes]:
    yield writer.start()
    finish = Finish("stop")
    items = iter(deltas)
    try:
        while True:
            try:
                item = next(items)
                event, finish = _made(writer, item, finish)
            except StopIteration:
                break
            except Exception as error:
                yield writer.error(type(error).__name__)
                raise
            if event:
                yield event
    finally:
        if (close := getattr(items, "close", None)) is not None:
            close()
    yield writer.write(finish)


async def _wrap_async(writer: Writer, deltas: AsyncIterable[Item]) -> AsyncIterator[bytes]:
    yield writer.start()
    finish = Finish("stop")
    items = aiter(deltas)
    try:
        while True:
            try:
                item = await anext(items)
                event, finish = _made(writer, item, finish)
            except StopAsyncIteration:
                break
            except Exception as error:
                yield writer.error(type(error).__name__)
                raise
            if event:
                yield event
    finally:
        if (close := getattr(items, "aclose", None)) is not None:
            await close()
    yield writer.write(finish)


class Reader:
    """Reads one stream back, sans-IO: bytes in, deltas out. A broken stream is told in `problems`, never raised.

    After a gap deltas are still handed on: whoever needs a true prefix stops at the first problem.
    """

    def __init__(self, framing: Framing = "sse") -> None:
        if framing not in _FRAMES:
            raise ValueError(f"unknown framing {framing!r}, known: {', '.join(_FRAMES)}")
        self._framer = FRAMINGS[framing]()
        self.stream: str | None = None
        """The stream's id, from its first event."""
        self.model: str | None = None
        self.usage = Usage()
        self.finish_reason: str | None = None
        self.error: str | None = None
        """What an error event said."""
        self.problems: list[Problem] = []
        """The first hundred of what was wrong, in order."""
        self.counts = dict.fromkeys(PROBLEMS, 0)
        """How often each was."""
        self._next = 0
        self._ended = self._finished = False
        self._grammar, self._checksum = Grammar(), Checksum()

    @property
    def complete(self) -> bool:
        """Whether the whole answer has come, once and in order."""
        return self.finish_reason is not None and not self.problems

    def feed(self, piece: bytes) -> list[Delta]:
        """The deltas of the events that end in this piece of the body."""
        return self._deltas(self._framer.feed(piece))

    def finish(self) -> list[Delta]:
        """The body has ended: what only the end completes, and whether anything is missing."""
        if self._finished:
            return []
        self._finished = True
        frames, _ = self._framer.finish()
        deltas = self._deltas(frames)
        if not self._ended:
            self._tell("no_completion", None)
        return deltas

    def read(self, data: bytes) -> Delta | None:
        """One event's data, already framed; gives its delta, if it has one to hand on."""
        try:
            event = SHAPE.decode(data)
        except (ValueError, RecursionError):
            event = _lenient(data)
        if event.seq is None or event.seq < 0 or not event.kind:
            self._tell("malformed", event.seq)
            return None
        if self.stream is None:
            self.stream = event.stream
        if self._refused(event):
            return None
        return self._take(event)

    def _deltas(self, frames: list[Frame]) -> list[Delta]:
        made = (self.read(frame.data) for frame in frames)
        return [delta for delta in made if delta is not None]

    def _refused(self, event: Event) -> bool:
        seq = event.seq or 0
        if event.stream != self.stream:
            return self._tell("wrong_stream", seq, event.stream or "")
        if self._ended:
            return self._tell("after_completion", seq)
        if seq < self._next:
            return self._tell("duplicate", seq)
        if seq > self._next:
            self._tell("gap", seq, f"{seq - self._next} missing")
        self._next = seq + 1
        return False

    def _take(self, event: Event) -> Delta | None:
        if after := self._grammar.step(event):
            self._tell("transition", event.seq, f"{event.kind} after {after}")
        self._checksum.add(event)
        if event.kind in CONTENT:
            return Delta(event.kind, event.delta or "", slot_of(event), event.upstream or "")
        if event.kind == "start":
            self.model = event.model
        elif event.kind == "usage":
            self.usage = Usage(event.input, event.output)
        elif event.kind == "error":
            self._ended, self.error = True, event.message or "error"
        elif event.kind == "completion":
            self._complete(event)
        return None

    def _complete(self, event: Event) -> None:
        self._ended, self.finish_reason = True, event.finish or "other"
        if event.last != event.seq:
            self._tell("last", event.seq, f"it says {event.last}")
        if event.checksum != str(self._checksum):
            self._tell("checksum", event.seq, f"it says {event.checksum}, the text has {self._checksum}")

    def _tell(self, what: str, seq: int | None, detail: str = "") -> bool:
        """Note a problem; whether the event is not to be handed on."""
        self.counts[what] += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(Problem(what, seq, detail[:256]))
        return what in _REFUSED


def _lenient(data: bytes) -> Event:
    """An event whose fields do not all have the right types; without a number where it is none."""
    try:
        value = decode(data)
    except ValueError:
        return Event()
    return SHAPE.lenient(value) if isinstance(value, dict) else Event()
