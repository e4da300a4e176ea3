"""Bytes made worse: a few small changes, chosen by a seeded generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

LONGEST: Final = 4096
"""Bytes of an input at most."""

TOKENS: Final[Sequence[bytes]] = (
    b"\n", b"\r", b"\r\n", b"\n\n", b" ", b"\t", b"\0", b"\xef\xbb\xbf", b"\xff", b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80",
    b'"', b"\\", b'\\"', b"\\ud800", b"\\udc00\\ud800", b"\\u0000", b"{", b"}", b"[", b"]", b",", b":", b"{}", b"[]",
    b"null", b"true", b"NaN", b"-Infinity", b"0", b"-1", b"1e999", b"1.5", b"-0", b"9" * 30, b'"1"', b"[" * 150,
    b'{"a":' * 120, b"data: ", b"data:", b"data", b"event: error\n", b"id: 7\n", b"id: \0\n", b"retry: 1\n", b": c\n",
    b"data: [DONE]\n\n", b"[DONE]", b'"error":', b'"error":{"code":1},', b'"choices":[', b'"index":-1,',
    b'"index":99999,', b'"delta":null,', b'"type":', b'"text":', b'"usage":{},', b'"done":true,',
    b'"finish_reason":"stop",', b"<html>",
)  # fmt: skip


def _place(random: Random, data: bytearray) -> tuple[int, int]:
    """A slice of at most a few dozen bytes."""
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.choice((0, 1, 1, 2, 4, 8, 40)))


def _flip(random: Random, data: bytearray) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _set(random: Random, data: bytearray) -> None:
    if data:
        data[random.randrange(len(data))] = random.randrange(256)


def _delete(random: Random, data: bytearray) -> None:
    start, end = _place(random, data)
    del data[start:end]


def _double(random: Random, data: bytearray) -> None:
    start, end = _place(random, data)
    data[start:start] = data[start:end]


def _insert(random: Random, data: bytearray) -> None:
    start = random.randrange(len(data) + 1)
    data[start:start] = random.choice(TOKENS)


def _replace(random: Random, data: bytearray) -> None:
    start, end = _place(random, data)
    data[start:end] = random.choice(TOKENS)


def _move(random: Random, data: bytearray) -> None:
    start, end = _place(random, data)
    taken = data[start:end]
    del data[start:end]
    to = random.randrange(len(data) + 1)
    data[to:to] = taken


def _truncate(random: Random, data: bytearray) -> None:
    del data[random.randrange(len(data) + 1) :]


CHANGES: Final[Sequence[Callable[[Random, bytearray], None]]] = (
    _flip, _set, _delete, _double, _insert, _insert, _replace, _replace, _move, _truncate,
)  # fmt: skip


def mutate(random: Random, data: bytes) -> bytes:
    """The bytes after one to four changes."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        random.choice(CHANGES)(random, out)
    return bytes(out[:LONGEST])
