"""The provider vectors as bodies: each conversation in the framing of its provider, event by event."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

VECTORS: Final = Path(__file__).parents[1] / "vectors"
FRAMINGS: Final[dict[str, tuple[str, ...]]] = {
    "openai_chat": ("sse",),
    "openai_responses": ("sse",),
    "anthropic": ("sse",),
    "gemini": ("sse", "json_array"),
    "ollama": ("ndjson",),
    "vllm_raw": ("ndjson",),
    "tgi_raw": ("sse",),
    "bedrock": ("eventstream",),
    "dashscope": ("sse",),
    "envelope": ("sse", "ndjson"),
    "generic": ("sse",),
}
"""Folder of vectors → the framings that its format comes in."""
PATHS: Final = {"json_array": "/v1beta/models/m1:streamGenerateContent"}
"""Framings that are told by the path; elsewhere the content type tells."""


@dataclass(frozen=True)
class Event:
    """One event of a conversation; `content` says that it carries model output.

    Empty arguments do not count: a call without any reads as if it had had them, so that to lose them loses nothing.
    """

    name: str
    data: bytes
    parts: frozenset[str]
    content: bool


@dataclass(frozen=True)
class Conversation:
    """One response of one provider in one framing."""

    id: str
    profile: str
    framing: str
    events: tuple[Event, ...]
    complete: bool | None
    identified: bool
    """Whether the response has an id of its provider's."""

    def body(self, events: tuple[Event, ...] | None = None) -> list[bytes]:
        """The bytes of these events (default: all), one read an event."""
        chosen = self.events if events is None else events
        return list(_FRAMED[self.framing](chosen))


@cache
def conversations() -> tuple[Conversation, ...]:
    """Every response of every provider, in every framing that it comes in."""
    return tuple(_all())


def _all() -> Iterator[Conversation]:
    for folder, framings in FRAMINGS.items():
        for file in sorted((VECTORS / folder).glob("*.json")):
            for vector in json.loads(file.read_text()):
                for framing in framings:
                    name = f"{folder}-{file.stem}-{vector['name']}-{framing}"
                    events = tuple(map(_event, vector["events"]))
                    profile, known = vector.get("profile", folder), vector["response_id"] is not None
                    yield Conversation(name, profile, framing, events, vector["complete"], known)


def _event(vector: dict[str, Any]) -> Event:
    content = any(piece[2] not in ("", "{}") for piece in vector.get("pieces", ()))
    return Event(vector.get("name", ""), vector["data"].encode(), frozenset(vector["parts"]), content)


# --------------------------------------------------------------------------- framing


def _sse(events: tuple[Event, ...]) -> Iterator[bytes]:
    for event in events:
        name = f"event: {event.name}\n".encode() if event.name else b""
        lines = b"".join(b"data: " + line + b"\n" for line in event.data.split(b"\n"))
        yield name + lines + b"\n"


def _ndjson(events: tuple[Event, ...]) -> Iterator[bytes]:
    for event in events:
        yield event.data + b"\n"


def _json_array(events: tuple[Event, ...]) -> Iterator[bytes]:
    for i, event in enumerate(events):
        yield (b",\n" if i else b"[") + event.data
    yield b"]\n" if events else b"[]"


def _eventstream(events: tuple[Event, ...]) -> Iterator[bytes]:
    for event in events:
        yield message(event.name, event.data)


def message(name: str, payload: bytes) -> bytes:
    """One AWS event stream message; an exception where the name says so."""
    kind = "exception" if name.endswith("Exception") else "event"
    headers = b"".join(
        bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(value)) + value
        for key, value in ((f":{kind}-type".encode(), name.encode()), (b":message-type", kind.encode()))
    )
    prelude = struct.pack(">II", 12 + len(headers) + len(payload) + 4, len(headers))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


_FRAMED: Final = {"sse": _sse, "ndjson": _ndjson, "json_array": _json_array, "eventstream": _eventstream}
