"""What the tests of all framings share: conformance vectors, and a reading of everything that a framer says."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from streamwitness.events import Frame
from streamwitness.framing import FRAMINGS, Framer
from streamwitness.semconv import MAX_FRAME_BYTES

VECTORS = Path(__file__).parents[2] / "vectors"


def vectors(framing: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The vectors of a framing, each with its file and name."""
    for path in sorted((VECTORS / framing).glob("*.json")):
        for vector in json.loads(path.read_text()):
            yield f"{framing}/{path.stem}/{vector['name']}", vector


def chunks(vector: dict[str, Any]) -> list[bytes]:
    """The body of a vector as it was read."""
    return [base64.b64decode(chunk) for chunk in vector["chunks"]]


def framer(framing: str, limit: int = MAX_FRAME_BYTES) -> Framer:
    """A fresh framer with this limit."""
    made: Callable[..., Framer] = FRAMINGS[framing]
    return made(limit)


def read(framing: str, pieces: Iterable[bytes], limit: int = MAX_FRAME_BYTES) -> dict[str, Any]:
    """Everything that a framer says about a body cut in this way."""
    made = framer(framing, limit)
    frames = [frame for piece in pieces for frame in made.feed(piece)]
    last, pending = made.finish()
    said = {"frames": frames + last, "pending": pending, "comments": made.comments, "wrong": made.wrong}
    return said | {"last_id": getattr(made, "last_id", b"")}


def expected(vector: dict[str, Any]) -> dict[str, Any]:
    """What `read` must give for a vector."""
    frames = [
        Frame(*(base64.b64decode(f[key]) for key in ("name", "data")), f["size"], f.get("fault", ""), _bytes(f, "id"))
        for f in vector["frames"]
    ]
    said = {"frames": frames, "pending": vector.get("pending", 0), "comments": vector.get("comments", 0)}
    return said | {"wrong": vector.get("wrong", ""), "last_id": _bytes(vector, "last_id")}


def cut(body: bytes, places: Iterable[int]) -> list[bytes]:
    """A body cut at these places."""
    return [body[a:b] for a, b in pairwise([0, *sorted(place for place in places if place <= len(body)), len(body)])]


def _bytes(document: dict[str, Any], key: str) -> bytes:
    return base64.b64decode(document.get(key, ""))
