"""Keyed digests of what an event said: comparable between witnesses of one stream, useless without its key."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterable, Sequence
from hashlib import blake2s
from typing import Final

from .events import Piece
from .semconv import MARK_BYTES, MAX_SLOTS, MISSING

_SIZE: Final = 4
_PRIMARY: Final = "0/text/0"
_CALLS: Final = ("tool", "snapshot_tool")
"""Kinds of slots whose ordinal is not digested: it hangs on the calls before, of which some may be lost."""
_SURROGATE: Final = b"\xed"
"""What half a surrogate pair begins with, encoded as if it were a character; and many whole characters."""
_PAIR: Final = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
_FIRST_HALF: Final = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\Z")


_u32: Final = struct.Struct("<I").pack


def _sized(text: bytes) -> bytes:
    return _u32(len(text)) + text


_EMPTY: Final = _sized(b"")
_FINISHES: Final = {"": _EMPTY, "tool_calls": _sized(b"stop")}
"""Finish → what of it is digested, where not its own word: that a tool is wanted several providers do not say in the
event that ends an answer, so that it hangs on the calls before it, and these have digests of their own."""


def _row_values(digests: Sequence[bytes]) -> list[int]:
    """As rows hold them: 0xFFFFFFFF stands there for a value that is missing, and gives way to its neighbour."""
    values = list(struct.unpack(f"<{len(digests)}I", b"".join(digests)))
    return [min(value, MISSING - 1) for value in values] if MISSING in values else values


class Digester:
    """The two 32-bit row digests of docs/wire.md under one stream's key (BLAKE2s, keyed, 4 bytes, little-endian)."""

    __slots__ = ("_heads", "_new_state")

    def __init__(self, key: bytes) -> None:
        self._new_state = blake2s(key=key, digest_size=_SIZE).copy  # cheaper than keying anew
        self._heads: dict[tuple[str, str], bytes] = {}

    def payload(self, name: bytes, data: bytes) -> int:
        """Digest of event name and raw data field: equal where nobody re-serialised."""
        return self.payloads((name,), (data,))[0]

    def semantic(self, pieces: Sequence[Piece]) -> int:
        """Digest of slots, parts, decoded content and finish: survives re-serialising and translation."""
        return self.semantics((pieces,))[0]

    def payloads(self, names: Iterable[bytes], datas: Iterable[bytes]) -> list[int]:
        """`payload` of several events."""
        new_state, digests = self._new_state, []
        for name, data in zip(names, datas, strict=True):
            state = new_state()
            state.update((_sized(name) if name else _EMPTY) + _u32(len(data)) + data)  # a call costs more than a copy
            digests.append(state.digest())
        return _row_values(digests)

    def semantics(self, events: Iterable[Sequence[Piece]]) -> list[int]:
        """`semantic` of several events."""
        new_state, heads, digests = self._new_state, self._heads, []
        for pieces in events:
            state = new_state()
            for slot, part, content, finish in pieces:
                head = heads.get((slot, part)) or self._head(slot, part)
                state.update(head + _u32(len(content)) + content + (_FINISHES.get(finish) or _sized(finish.encode())))
            digests.append(state.digest())
        return _row_values(digests)

    def _head(self, slot: str, part: str) -> bytes:
        choice, _, rest = slot.partition("/")
        kind = rest.partition("/")[0]
        told = f"{choice}/{kind}" if kind in _CALLS else slot
        head = _sized(told.encode("utf-8", "surrogatepass")) + _sized(part.encode())
        if len(self._heads) < 4 * MAX_SLOTS:
            self._heads[slot, part] = head
        return head


class Contents:
    """Running digests of each slot's whole content, and of the primary text's prefix at every 256 bytes.

    Two points that cut the same text differently still agree on these, and where they do not, the first mark that
    differs gives the byte range. The first 16 slots are followed. A character that was cut into the halves of its
    surrogate pair is the same as one that was not: whoever joins the texts makes it whole.
    """

    __slots__ = ("_key", "_slots", "marks", "number")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._slots: dict[str, _Slot] = {}
        self.number = 0
        """Number of the first mark in `marks`."""
        self.marks: list[int] = []

    def extend(self, events: Iterable[Sequence[Piece]]) -> None:
        """Append the content of further events, each slot's at once."""
        gathered: dict[str, list[bytes]] = {}
        for pieces in events:
            for slot, _, content, _ in pieces:
                if not content:
                    continue
                if (contents := gathered.get(slot)) is None:
                    gathered[slot] = [content]
                else:
                    contents.append(content)
        for slot, contents in gathered.items():
            self.add(slot, b"".join(contents))

    def add(self, slot: str, content: bytes) -> None:
        """Append content to a slot."""
        state = self._slots.get(slot) or self._new(slot)
        if state is None:
            return
        if state.half or _SURROGATE in content:
            content = state.joined(content)
        if state.size + len(content) >= state.mark:
            content = self._mark(state, content)
        state.add(content)

    def take_marks(self) -> bytes:
        """The marks since the last call as `stream.content.marks`: u32 number of the first, then u32 digests."""
        if not self.marks:
            return b""
        out = b"".join(_u32(value) for value in (self.number, *self.marks))
        self.number += len(self.marks)
        self.marks = []
        return out

    def slots(self) -> tuple[str, ...]:
        """`slot digest size` for each slot, in order of appearance."""
        return tuple(
            f"{slot} {state.digest():08x} {state.size + len(state.half)}" for slot, state in self._slots.items()
        )

    def _mark(self, state: _Slot, content: bytes) -> bytes:
        """Add content up to the last mark within it; returns the rest."""
        while state.size + len(content) >= state.mark:
            room = state.mark - state.size
            state.add(content[:room])
            self.marks.append(state.digest())
            state.mark += MARK_BYTES
            content = content[room:]
        return content

    def _new(self, slot: str) -> _Slot | None:
        if len(self._slots) >= MAX_SLOTS:
            return None
        state = self._slots[slot] = _Slot(self._key, MARK_BYTES if slot == _PRIMARY else sys.maxsize)
        return state


class _Slot:
    __slots__ = ("_hash", "half", "mark", "size")

    def __init__(self, key: bytes, mark: int) -> None:
        self._hash = blake2s(key=key, digest_size=_SIZE)
        self.half = b""
        """The first half of a surrogate pair, of which the second may come."""
        self.size = 0
        self.mark = mark
        """At which size the next mark is due."""

    def add(self, content: bytes) -> None:
        self._hash.update(content)
        self.size += len(content)

    def joined(self, content: bytes) -> bytes:
        """The content, behind what was held back of the last one, with whole characters in place of their halves."""
        content = _PAIR.sub(_character, self.half + content)
        self.half = content[-3:] if _FIRST_HALF.match(content, max(0, len(content) - 3)) else b""
        return content[: len(content) - len(self.half)]

    def digest(self) -> int:
        whole = self._hash
        if self.half:
            whole = whole.copy()
            whole.update(self.half)
        return int.from_bytes(whole.digest(), "little")


def _character(halves: re.Match[bytes]) -> bytes:
    units = halves[0].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass")
    return units.decode("utf-16").encode()
