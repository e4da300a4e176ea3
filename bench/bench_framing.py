"""What it costs to cut an ordinary Chat Completions event out of a body and read it, beside clients that do the same.

The peers read the same bytes in the same run: httpx-sse's EventSource over text decoded as httpx does, and the `openai`
package's own decoder. Their count of events is checked, so that no wrong parse is measured.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from streamwitness.framing import SSEFramer
from streamwitness.providers import profile

EVENT = (
    b'data: {"id":"chatcmpl-9xYzAbCdEfGhIjKlMnOpQrStUvWx","object":"chat.completion.chunk","created":1730000000,'
    b'"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_0ba0d124f1","choices":[{"index":'
    b'0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}\n\n'
)
EVENTS = 2000
ROUNDS = 9

Reads = Sequence[bytes]


class Ratio(NamedTuple):
    """One comparison: CPU µs an event for us and for the peer, and how many times cheaper ours is."""

    name: str
    peer: str
    ours_us: float
    peer_us: float
    target: float

    @property
    def ratio(self) -> float:
        return self.peer_us / self.ours_us


def reads(size: int) -> Reads:
    """The body in reads of `size` bytes; 0: one event a read."""
    if not size:
        return [EVENT] * EVENTS
    body = EVENT * EVENTS
    return [body[at : at + size] for at in range(0, len(body), size)]


def frame(body: Reads) -> int:
    """Our framing."""
    framer = SSEFramer()
    return sum(len(framer.feed(piece)) for piece in body)


def frame_and_read(body: Reads) -> int:
    """Our framing and the Chat Completions profile."""
    framer, reader = SSEFramer(), profile("openai_chat")
    return sum(len(reader.read(event.name, event.data).pieces) for piece in body for event in framer.feed(piece))


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
    "httpx-sse": (httpx_sse, 2.0),
    "openai": (openai_decoder, 3.0),
}
SIZES = {"one event a read": 0, "64 KiB reads": 1 << 16, "16 B reads": 16}


def microseconds(run: Callable[[Reads], int], body: Reads) -> float:
    """CPU time an event, in µs, over one round."""
    start = time.process_time()
    count = run(body)
    spent = time.process_time() - start
    if count != EVENTS:
        raise ValueError(f"{run.__name__} read {count} events, there are {EVENTS}")
    return spent / EVENTS * 1e6


def compare() -> list[Ratio]:
    """Every peer for every size of reads, the rounds of all taken in turn."""
    out = []
    for name, size in SIZES.items():
        body = reads(size)
        runs = {"ours": frame} | {peer: run for peer, (run, _) in PEERS.items()}
        rounds = [{key: microseconds(run, body) for key, run in runs.items()} for _ in range(ROUNDS)]
        times = {key: min(times[key] for times in rounds) for key in runs}
        out += [
            Ratio(f"frame an event, {name}", peer, times["ours"], times[peer], target if size != 16 else 1.0)
            for peer, (_, target) in PEERS.items()
        ]
    return out


if __name__ == "__main__":
    for line in compare():
        print(f"{line.name:34} {line.ours_us:6.2f} µs  {line.peer:9} {line.peer_us:6.2f} µs  {line.ratio:4.1f}×")
    print(f"{'frame and read an event':34} {microseconds(frame_and_read, reads(0)):6.2f} µs")
