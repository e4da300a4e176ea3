"""What inputs are made from: the conformance vectors of the framings and the sample streams of the providers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from struct import pack
from typing import Any, Final, NamedTuple
from zlib import crc32

from streamwitness.framing import FRAMINGS
from streamwitness.providers import PROFILES

VECTORS: Final = Path(__file__).parents[1] / "tests" / "vectors"
WINDOW: Final = 5
"""Events of a stream taken together: inputs have to be small, for there must be millions of them."""

Event = tuple[bytes, bytes]
"""Name and data field."""


class Seed(NamedTuple):
    """A stream to start from: events of one profile, or (`framing` is told) a body as it stands."""

    profile: str
    events: tuple[Event, ...]
    framing: str = ""
    body: bytes = b""


def _sse(events: Sequence[Event]) -> bytes:
    out = []
    for name, data in events:
        head = b"event: " + name + b"\n" if name else b""
        out.append(head + b"data: " + data.replace(b"\n", b"\ndata: ") + b"\n\n")
    return b"".join(out)


def _ndjson(events: Sequence[Event]) -> bytes:
    return b"".join(data + b"\n" for _, data in events)


def _json_array(events: Sequence[Event]) -> bytes:
    return b"[" + b",\n".join(data for _, data in events) + b"]"


def _message(name: bytes, data: bytes) -> bytes:
    headers = b"".join(
        bytes([len(key)]) + key + b"\7" + pack(">H", len(value)) + value
        for key, value in ((b":event-type", name[:99]), (b":message-type", b"event"))
    )
    prelude = pack(">II", 16 + len(headers) + len(data), len(headers))
    message = prelude + pack(">I", crc32(prelude)) + headers + data
    return message + pack(">I", crc32(message))


def _eventstream(events: Sequence[Event]) -> bytes:
    return b"".join(_message(name, data) for name, data in events)


ENCODERS: Final[dict[str, Callable[[Sequence[Event]], bytes]]] = {
    "sse": _sse,
    "ndjson": _ndjson,
    "json_array": _json_array,
    "eventstream": _eventstream,
}
"""Framing → how events become a body of it."""


def seeds() -> list[Seed]:
    """All seeds, in an order that does not change; every framing and every profile has some."""
    return [*_bodies(), *_streams()]


def _documents(folder: Path) -> Iterator[Any]:
    for path in sorted(folder.glob("*.json")):
        yield from json.loads(path.read_text())


def _bodies() -> Iterator[Seed]:
    for framing in FRAMINGS:
        for vector in _documents(VECTORS / framing):
            body = b"".join(map(base64.b64decode, vector["chunks"]))
            yield Seed("generic", (), framing, body)


def _streams() -> Iterator[Seed]:
    for folder in sorted(path for path in VECTORS.iterdir() if path.name in PROFILES):
        for stream in _documents(folder):
            events = [
                (e.get("name", "").encode(), e["data"].encode("utf-8", "surrogatepass")) for e in stream["events"]
            ]
            for at in {0, max(0, len(events) - WINDOW)}:
                yield Seed(stream.get("profile", folder.name), tuple(events[at : at + WINDOW]))
