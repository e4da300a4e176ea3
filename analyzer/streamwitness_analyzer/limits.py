"""Limits that are known to end streams, as data: identical cuts close to one of them have a name to ask for.

Each is a default that its maker documents, or one that public bug reports show again and again. A product that stands
on the way may be set otherwise: a known limit is where to look first, never a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Measure = Literal["time", "silence", "bytes"]
MEASURES: Final[tuple[Measure, ...]] = ("time", "silence", "bytes")
"""From the beginning to the end (ms), from the last event to the end (ms), size of all events."""

_S: Final = 1_000
_KIB: Final = 1_024


@dataclass(frozen=True, slots=True)
class Limit:
    """A known limit: between `low` and `high` of a measure (ms or bytes); `name` completes "known as …"."""

    measure: Measure
    low: int
    high: int
    name: str


def _at(measure: Measure, value: int, name: str) -> Limit:
    return Limit(measure, value, value, name)


KNOWN: Final = (
    _at("silence", 5 * _S, "the time that httpx waits for a read by default"),
    _at("time", 15 * _S, "the time that Envoy gives a whole response by default"),
    _at("time", 29 * _S, "the longest response of AWS API Gateway by default"),
    _at("time", 30 * _S, "the time that Google Cloud's load balancer gives a whole response by default"),
    _at("silence", 55 * _S, "the time between two bytes that Heroku's router allows"),
    _at("time", 60 * _S, "the time that many reverse proxies and serverless platforms give a response"),
    _at("silence", 60 * _S, "the time between two reads that many reverse proxies (nginx, AWS load balancers) allow"),
    Limit("time", 100 * _S, 125 * _S, "the time that some CDNs give an origin"),
    Limit("silence", 100 * _S, 125 * _S, "the time that some CDNs wait for an origin"),
    _at("silence", 240 * _S, "the idle time of Azure's load balancer by default"),
    _at("time", 300 * _S, "the time that aiohttp's client gives a whole response by default"),
    _at(
        "silence",
        300 * _S,
        "the time between two chunks that undici (Node's fetch) and service meshes allow by default",
    ),
    _at("time", 600 * _S, "the time limit of the openai and anthropic packages by default"),
    _at("silence", 600 * _S, "the time limit of the openai and anthropic packages by default"),
    _at("bytes", 64 * _KIB - 1, "the window of HTTP/2 before the reader must ask for more"),
    _at("bytes", 128 * _KIB, "the longest line that older versions of aiohttp read"),
    _at("bytes", 512 * _KIB, "the longest line that aiohttp reads"),
)

_EARLY, _LATE, _LATE_MS = 0.005, 0.02, 500
"""A timer is never early, and what it ends is seen a little later; a witness's clock begins later, too."""


def named(measure: Measure, value: float) -> str | None:
    """What a cut at this value is known as; None where no known limit is near."""
    late = _LATE_MS if measure != "bytes" else 0
    near = (
        limit
        for limit in KNOWN
        if limit.measure == measure and limit.low * (1 - _EARLY) - late <= value <= limit.high * (1 + _LATE) + late
    )
    return next((limit.name for limit in sorted(near, key=lambda limit: abs(limit.low - value))), None)
