"""The providers' vectors, as tests read them (tests/vectors/README.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from streamwitness import semconv as sc
from streamwitness.events import Piece, Reading
from streamwitness.providers import PROFILES, Profile

VECTORS: Final = Path(__file__).parents[2] / "vectors"


def streams() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Profile's name, place and stream of every vector."""
    for folder in sorted(VECTORS.iterdir()):
        if folder.name in PROFILES:
            for path in sorted(folder.glob("*.json")):
                for stream in json.loads(path.read_text()):
                    yield stream.get("profile", folder.name), f"{folder.name}/{path.stem}/{stream['name']}", stream


def reading(event: dict[str, Any]) -> Reading:
    """What a vector says of an event."""
    pieces = tuple(Piece(slot, part, text.encode(), finish) for slot, part, text, finish in event["pieces"])
    return Reading(sum(sc.PART[name] for name in event["parts"]), pieces)


def state(profile: Profile) -> dict[str, Any]:
    """What a profile knows of the response."""
    names = ("complete", "finish_reasons", "model", "response_id", "usage")
    return {name: getattr(profile, name) for name in names}


def end(stream: dict[str, Any]) -> dict[str, Any]:
    """What a vector says is known after its last event."""
    return {
        "complete": stream["complete"],
        "finish_reasons": tuple(stream["finish_reasons"]),
        "model": stream["model"],
        "response_id": stream["response_id"],
        "usage": tuple(stream["usage"]),
    }
