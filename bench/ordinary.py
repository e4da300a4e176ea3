"""The ordinary Chat Completions stream that figures are measured with: chunks of some 300 bytes, a word or so each."""

from __future__ import annotations

import random
from functools import cache
from typing import NamedTuple

from streamwitness.events import Reading
from streamwitness.framing import SSEFramer
from streamwitness.providers import profile

STREAM_EVENTS = 60
"""An answer of ordinary length: role, 57 texts, finish, terminator."""

_CHUNK = (
    '{"id":"chatcmpl-9xYzAbCdEfGhIjKlMnOpQrStUvWx","object":"chat.completion.chunk","created":1730000000,'
    '"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_0ba0d124f1","choices":'
    '[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}'
)
_GAP_NS = 20_000_000
_LETTERS = "etaoinshrdlucmfwypvbgkqjxz"


class Event(NamedTuple):
    """One event: its bytes on the wire, its data field, and what the profile reads in it."""

    wire: bytes
    data: bytes
    reading: Reading


@cache
def stream(count: int = STREAM_EVENTS) -> tuple[Event, ...]:
    """An answer of `count` events, at least four; the same one every time."""
    words = random.Random(1)
    texts = [f" {''.join(words.choices(_LETTERS, k=words.randint(1, 9)))}" for _ in range(count - 3)]
    bodies = [_CHUNK % ('{"role":"assistant","content":""}', "null")]
    bodies += [_CHUNK % (f'{{"content":"{text}"}}', "null") for text in texts]
    bodies += [_CHUNK % ("{}", '"stop"'), "[DONE]"]
    framer, reader = SSEFramer(), profile("openai_chat")
    events = []
    for body in bodies:
        wire = f"data: {body}\n\n".encode()
        (frame,) = framer.feed(wire)
        events.append(Event(wire, frame.data, reader.read(frame.name, frame.data)))
    return tuple(events)


def arrivals(count: int, seed: int, mean_ns: int = _GAP_NS) -> list[int]:
    """When each event comes, monotonic ns: gaps scattered around the mean, as a model's tokens come."""
    gaps = random.Random(seed)
    now, times = 10**12, []
    for _ in range(count):
        times.append(now)
        now += int(mean_ns * gaps.uniform(0.3, 1.7))
    return times
