"""What it costs to cut an ordinary Chat Completions event out of a body, beside clients that do the same.

The peers read the same bytes in the same run: httpx-sse's EventSource over text decoded as httpx does, and the `openai`
package's own decoder. Their count of events is checked, so that no wrong parse is measured.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from streamwitness.framing import SSEFramer

from . import ordinary
from .measure import Figure, Scale, cpu

Reads = Sequence[bytes]


def reads(size: int, events: int) -> Reads:
    """A body of ordinary events in reads of `size` bytes; 0: one event a read."""
    wire = [event.wire for event in ordinary.stream(events)]
    if not size:
        return wire
    body = b"".join(wire)
    return [body[at : at + size] for at in range(0, len(body), size)]


def frame(body: Reads) -> int:
    """Our framing."""
    framer = SSEFramer()
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


PEERS: dict[str, Callable[[Reads], int]] = {"httpx-sse": httpx_sse, "openai's decoder": openai_decoder}
SIZES = {"one event a read": 0, "64 KiB reads": 1 << 16, "16 B reads": 16}


def checked(run: Callable[[Reads], int], body: Reads, events: int) -> Callable[[], int]:
    """The run over this body; an error if it reads another number of events than there are."""

    def once() -> int:
        if (count := run(body)) != events:
            raise ValueError(f"{run.__name__} read {count} events, there are {events}")
        return events

    return once


def figures(scale: Scale) -> list[Figure]:
    """Every peer for every size of reads."""
    events = scale.events // 2
    out = []
    for name, size in SIZES.items():
        body = reads(size, events)
        runs = {"ours": checked(frame, body, events)}
        runs |= {peer: checked(run, body, events) for peer, run in PEERS.items()}
        spent = cpu(runs, scale.rounds)
        out += [
            Figure(f"frame an event, {name}", spent["ours"], "µs CPU", peer=peer, peer_figure=spent[peer])
            for peer in PEERS
        ]
    return out
