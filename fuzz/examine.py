"""One input through a framing, a profile and a reducer, and everything that must hold of what they say."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any, Final, NamedTuple

from streamwitness import semconv as sc
from streamwitness.events import Frame, Piece, Reading
from streamwitness.framing import FRAMINGS, Framer
from streamwitness.providers import PROFILES, Profile

from .reducing import REDUCERS

SLOT: Final = re.compile(r"-?\d+/[a-z_]+/-?\d+", re.ASCII)
LIMIT: Final = 1 << 10
"""Bytes of an event at most: small, so that larger ones are met."""


class Input(NamedTuple):
    """A body, the framing it is read by, the profile, and the reducer (fuzz.reducing.REDUCERS)."""

    framing: str
    profile: str
    reducer: str
    body: bytes

    def __str__(self) -> str:
        return f"{self.framing} {self.profile} {self.reducer} {base64.b64encode(self.body).decode()}"


class Finding(Exception):
    """Something that must not be: a promise of a framer, a profile or a reducer is broken."""


def examine(given: Input, *, cuts: Sequence[int] | None = None) -> int:
    """Raises whatever the code under test raises, or Finding; returns how many events there were.

    `cuts` are places to cut the body at; where they are given, it is also read in these pieces and byte by byte.
    """
    said = read(given.framing, [given.body])
    frames: list[Frame] = said["frames"]
    _expect(sum(frame.size for frame in frames) + said["pending"] <= len(given.body), "a byte was counted twice")
    _expect(said["wrong"] in ("", *sc.MISFRAMINGS), "an unknown misframing")
    if cuts is not None:
        places = [0, *sorted(cut for cut in cuts if cut < len(given.body)), len(given.body)]
        pieces = [given.body[a:b] for a, b in pairwise(places)]
        _expect(read(given.framing, pieces) == said, "how the body was cut shows")
        single = [given.body[at : at + 1] for at in range(len(given.body))]
        _expect(read(given.framing, single) == said, "that the body came byte by byte shows")
    readings = profiled(given.profile, frames)
    if cuts is not None:
        _expect(profiled(given.profile, frames) == readings, "the same events were read in two ways")
    REDUCERS[given.reducer](given.profile, frames, readings, Random(len(given.body)))
    return len(frames)


def read(framing: str, pieces: Sequence[bytes]) -> dict[str, Any]:
    """All that a framer says about a body in these pieces."""
    made: Callable[..., Framer] = FRAMINGS[framing]
    framer = made(LIMIT)
    frames = [frame for piece in pieces for frame in framer.feed(piece)]
    last, pending = framer.finish()
    return {"frames": frames + last, "pending": pending, "comments": framer.comments, "wrong": framer.wrong}


def profiled(name: str, frames: Sequence[Frame]) -> list[Reading]:
    """What the profile makes of the frames, checked."""
    profile = PROFILES[name]()
    readings = []
    for frame in frames:
        if frame.fault:
            continue
        reading = profile.read(frame.name, frame.data)
        _check_reading(reading)
        readings.append(reading)
        _expect(profile.sequence is None or isinstance(profile.sequence, int), "a sequence that is no number")
    _check_profile(profile)
    return readings


def _check_reading(reading: Reading) -> None:
    _expect(0 <= reading.parts <= sc.ALL_PARTS, "unknown parts")
    for piece in reading.pieces:
        _check_piece(piece)


def _check_piece(piece: Piece) -> None:
    _expect(SLOT.fullmatch(piece.slot) is not None, f"slot {piece.slot!r}")
    _expect(piece.part in sc.PART, f"part {piece.part!r}")
    _expect(not piece.finish or piece.finish in sc.FINISH_REASONS, f"finish {piece.finish!r}")
    piece.content.decode("utf-8", "surrogatepass")


def _check_profile(profile: Profile) -> None:
    _expect(profile.complete in (True, False, None), "completion is neither known nor unknown")
    _expect(set(profile.finish_reasons) <= set(sc.FINISH_REASONS), "a finish reason that is not canonical")
    for text in (profile.model, profile.response_id):
        _expect(text is None or isinstance(text, str), "a name that is no text")
    for count in profile.usage:
        _expect(count is None or isinstance(count, int), "a token count that is no number")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Finding(otherwise)
