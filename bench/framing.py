"""What it costs to cut an ordinary Chat Completions event out of a body, beside clients that do the same.

The peers read the same bytes in the same run: httpx-sse's EventSource over text decoded as httpx does, and the `openai`
package's own decoder. Their count of events is checked, so that no wrong parse is measured. The other framings, which
have no peer in Python that reads pieces, are timed over the same events, for information.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from fuzz.corpus import ENCODERS
from streamwitness.framing import FRAMINGS

from . import ordinary
from .measure import Figure, Scale, cpu

Reads = Sequence[bytes]


def reads(size: int, events: int, framing: str = "sse") -> Reads:
    """A body of ordinary events in reads of `size` bytes; 0: one event a read."""
    encode = ENCODERS[framing]
    stream = [(b"", event.data) for event in ordinary.stream(events)]
    if not size:
        return [encode([event]) for event in stream]
    body = encode(stream)
    return [body[at : at + size] for at in range(0, len(body), size)]


def frame(body: Reads, framing: str = "sse") -> int:
    """Our framing."""
    framer = FRAMINGS[framing]()
    return sum(len(framer.feed(piece)) for piece in body)


def httpx_sse(body: Reads) -> int:
    """httpx-sse over the same bytes."""
    from httpx_sse import EventSource

    class Response:
        headers = {"content-type": "text/event-stream"}  # noqa: RUF012

        def iter_text(self) -> Iterator[str]:
            decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
            return (decode(piece) for piece in body)

    source: Any = EventSource  # typed for httpx.Response, needs no more than this
    return sum(1 for _ in source(Response()).iter_sse())


def openai_decoder(body: Reads) -> int:
    """The decoder inside the openai package over the same bytes."""
    from openai._streaming import SSEDecoder

    return sum(1 for _ in SSEDecoder().iter_bytes(iter(body)))


PEERS: dict[str, tuple[Callable[[Reads], int], float]] = {
    "httpx-sse": (httpx_sse, 2),
    "openai's decoder": (openai_decoder, 3),
}
"""Name → how it reads, and how many times less ours must take."""
SIZES = {"one event a read": 0, "64 KiB reads": 1 << 16, "16 B reads": 16}


def checked(run: Callable[[Reads], int], body: Reads, events: int) -> Callable[[], int]:
    """The run over this body; an error if it reads another number of events than there are."""

    def once() -> int:
        if (count := run(body)) != events:
            raise ValueError(f"{getattr(run, '__name__', run)} read {count} events, there are {events}")
        return events

    return once


def figures(scale: Scale) -> list[Figure]:
    """Every peer for every size of reads, then the other framings."""
    events = scale.events // 2
    out = []
    for name, size in SIZES.items():
        body = reads(size, events)
        runs = {"ours": checked(frame, body, events)}
        runs |= {peer: checked(run, body, events) for peer, (run, _) in PEERS.items()}
        spent = cpu(runs, scale.rounds)
        out += [
            Figure(
                f"frame an event, {name}", spent["ours"], "µs CPU", peer=peer, peer_figure=spent[peer], target=target
            )
            for peer, (_, target) in PEERS.items()
        ]
    return out + others(events, scale.rounds)


def others(events: int, rounds: int) -> list[Figure]:
    """The other framings over the same events, in reads of 64 KiB and of 16 bytes."""
    runs = {
        f"frame an event, {framing}, {name}": checked(
            partial(frame, framing=framing), reads(size, events, framing), events
        )
        for framing in FRAMINGS
        for name, size in SIZES.items()
        if framing != "sse" and size
    }
    return [Figure(name, spent, "µs CPU") for name, spent in cpu(runs, rounds).items()]
