"""Values that an application's own parser made of an event: back to fields, raw events, UTF-8 and canonical JSON.

An event must read the same before and after that parser, whichever JSON library it uses: so everything here accepts
what any of them accepts (lone surrogates, NaN, repeated keys, numbers of any size).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

SENTINEL: Final = b"[DONE]"
"""The end marker that OpenAI's formats, and many that imitate them, send as an event of its own."""


_fast: Final = msgspec.json.Decoder().decode


class Unreadable(TypeError):
    """An object that no profile rule covers: nothing can be said about the event that it was made from."""

    def __init__(self, obj: object) -> None:
        kind = type(obj)
        super().__init__(f"cannot read an event from {kind.__module__}.{kind.__qualname__}")


def decode(data: bytes) -> Any:
    """JSON as the most lenient of the usual readers takes it, invalid UTF-8 replaced. Raises ValueError."""
    try:
        return _fast(data)
    except (ValueError, RecursionError):  # strict about UTF-8, surrogates, NaN and large numbers
        pass
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def utf8(text: str) -> bytes:
    """UTF-8 of any string: half a surrogate pair, which JSON can carry, is encoded as if it were a character."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def canonical(value: Any) -> bytes:
    """One form for all spellings of a JSON value: keys sorted, no spaces. Raises Unreadable if it is none."""
    try:
        try:
            return msgspec.json.encode(value, order="sorted")
        except UnicodeEncodeError:
            return utf8(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise Unreadable(value) from error


def fields(obj: object) -> Mapping[str, Any] | None:
    """The fields of a dict or an object, those included that a pydantic model was given beyond its own; else None."""
    if isinstance(obj, dict):
        return obj
    own: dict[str, Any] | None = getattr(obj, "__dict__", None)
    extra = getattr(obj, "__pydantic_extra__", None)
    return {**own, **extra} if own and extra else own


def raw_event(obj: object) -> tuple[bytes, bytes] | None:
    """Event name and data field, where the object is the raw field or a server-sent event that holds it; else None."""
    if isinstance(obj, (bytes, bytearray, memoryview)):
        return b"", bytes(obj)
    if isinstance(obj, str):
        return b"", utf8(obj)
    data, name = getattr(obj, "data", None), getattr(obj, "event", None)
    if isinstance(data, str) and (name is None or isinstance(name, str)):
        return utf8(name or ""), utf8(data)
    return None
