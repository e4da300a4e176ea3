"""Ways to make a stream, each a function of a scene: a sort of all of them, and one of each, called as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol, TypeVar

from .labels import Trial


class Stage(Protocol):
    """What a way is played on: it comes to a stream in the end."""

    def trial(self, name: str, sort: str, /) -> Trial:
        """The stream."""


S = TypeVar("S", bound=Stage)
Stream = Callable[[Random, str], Trial]


def sorts(
    name: str, weight: int, ways: Sequence[Callable[[S], None]], stage: Callable[[Random], S]
) -> dict[str, tuple[Stream, int]]:
    """Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
    return {name: (_one_of(ways, stage), weight), **{_called(way): (_one_of((way,), stage), 0) for way in ways}}


def _one_of(ways: Sequence[Callable[[S], None]], stage: Callable[[Random], S]) -> Stream:
    def stream(rng: Random, name: str) -> Trial:
        way, one = rng.choice(ways), stage(rng)
        way(one)
        return one.trial(name, _called(way).replace("_", " "))

    return stream


def _called(way: Callable[[S], None]) -> str:
    return way.__name__.strip("_")
