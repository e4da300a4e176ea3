"""Rows ⇄ the bytes of the `stream.rows` attribute.

Byte 0 is the version. Then one column after the other: u8 tag, u8 width (1, 2, 3, 4; 0 = run-length), u32 length of
the payload in bytes, payload. Little-endian, unsigned; a row that lacks a value holds 0xFFFFFFFF; a run is
u32 start, u32 step, u32 count, computed modulo 2³². A column whose rows all lack a value is left out, and so is a
`result` column that says `ok` throughout. Width 3 is there for `t`: two seconds in µs take 21 bits.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

COLUMNS: Final[dict[str, int]] = {
    "of": 1,
    "parts": 2,
    "bytes": 3,
    "content": 4,
    "t": 5,
    "leg": 6,
    "leg_read": 7,
    "payload": 8,
    "semantic": 9,
    "result": 10,
    "sequence": 11,
}
"""Column name → tag on the wire."""

_NAMES: Final = {tag: name for name, tag in COLUMNS.items()}
_VERSION: Final = 1
_MISSING: Final = 0xFFFFFFFF
_HEAD: Final = struct.Struct("<BBI")
_HEAD_SIZE: Final = _HEAD.size
_unpack_head: Final = _HEAD.unpack_from
_RUN: Final = struct.Struct("<III")
_TYPECODE: Final = {1: "B", 2: "H", 3: "I", 4: "I"}
_LITTLE: Final = sys.byteorder == "little"

Rows = dict[str, "array[int] | list[int]"]
"""Column name → one value a row; every column has the same number of rows."""


class RowsError(ValueError):
    """The bytes are no valid `stream.rows`; the message says what is wrong with them."""


def encode(columns: Mapping[str, Sequence[int]], count: int) -> bytes:
    """Encode `count` rows; each column is written as runs or in the narrowest width, whichever is shorter."""
    out = [bytes((_VERSION,))]
    for name, values in columns.items():
        if len(values) != count:
            raise RowsError(f"column {name!r} has {len(values)} rows, the block has {count}")
        width, payload = _encode_column(values)
        out.append(_HEAD.pack(COLUMNS[name], width, len(payload)))
        out.append(payload)
    return b"".join(out)


def decode(data: bytes, count: int, only: Collection[str] = COLUMNS) -> Rows:
    """Decode `stream.rows`, or `only` these columns; raises RowsError unless each holds exactly `count` rows.

    All of it is checked only where all is asked for.
    Unknown tags are skipped. A run-length column never expands beyond `count`, so the result is bounded by it.
    """
    if not data or data[0] != _VERSION:
        raise RowsError(f"rows have version {data[0] if data else 'none'}, known is {_VERSION}")
    rows: Rows = {}
    wanted = _NAMES if only is COLUMNS else _tagged(tuple(only))
    at, end = 1, len(data)
    while at < end:
        start = at + _HEAD_SIZE
        if start > end:
            raise RowsError("a column header is cut off")
        tag, width, length = _unpack_head(data, at)
        at = start + length
        if at > end:
            raise RowsError(f"column {tag} claims {length} bytes, {end - start} are left")
        if tag not in wanted:
            continue
        name = wanted[tag]
        if name in rows:
            raise RowsError(f"column {name!r} stands twice")
        rows[name] = _decode_column(name, width, data[start:at], count)
        if len(rows) == len(wanted) and only is not COLUMNS:
            break
    return rows


@cache
def _tagged(names: tuple[str, ...]) -> Mapping[int, str]:
    """Tag on the wire → name, of these columns."""
    return {COLUMNS[name]: name for name in names}


def _encode_column(values: Sequence[int]) -> tuple[int, bytes]:
    runs = _runs(values, limit=max(1, len(values) // _RUN.size + 1))
    highest = max(values, default=0)
    width = max(1, (highest.bit_length() + 7) // 8)
    if runs is not None and len(runs) * _RUN.size <= len(values) * width:
        return 0, b"".join(_RUN.pack(*run) for run in runs)
    payload = _little(array(_TYPECODE[width], values))
    return width, _without_fourth(payload) if width == 3 else payload


def _runs(values: Sequence[int], limit: int) -> list[tuple[int, int, int]] | None:
    """The column as (start, step, count) runs, or None when more than `limit` are needed."""
    runs: list[tuple[int, int, int]] = []
    i, n = 0, len(values)
    while i < n:
        if len(runs) >= limit:
            return None
        start, step, k = values[i], 0, 1
        if i + 1 < n:
            step = (values[i + 1] - start) & _MISSING
            k = 2
            while i + k < n and values[i + k] == (start + step * k) & _MISSING:
                k += 1
            if k == 2 and i + 2 < n:
                step, k = 0, 1
        runs.append((start, step, k))
        i += k
    return runs


def _decode_column(name: str, width: int, payload: bytes, count: int) -> array[int] | list[int]:
    if width == 0:
        return _expand(name, payload, count)
    if width not in _TYPECODE:
        raise RowsError(f"column {name!r} has width {width}; known are 0 to 4")
    if len(payload) != width * count:
        raise RowsError(f"column {name!r} has {len(payload)} bytes for {count} rows of width {width}")
    values: array[int] = array(_TYPECODE[width])
    values.frombytes(_with_fourth(payload) if width == 3 else payload)
    if not _LITTLE:
        values.byteswap()
    return values


def _expand(name: str, payload: bytes, count: int) -> list[int]:
    if len(payload) % _RUN.size:
        raise RowsError(f"column {name!r} has a run that is cut off")
    values: list[int] = []
    for start, step, k in _RUN.iter_unpack(payload):
        if k > count - len(values):
            raise RowsError(f"column {name!r} has runs for more than {count} rows")
        values += [start] * k if step == 0 else _progression(start, step, k)
    if len(values) != count:
        raise RowsError(f"column {name!r} has {len(values)} rows, the block has {count}")
    return values


def _progression(start: int, step: int, k: int) -> Iterable[int]:
    if start + step * (k - 1) <= _MISSING:
        return range(start, start + step * k, step)
    return ((start + step * i) & _MISSING for i in range(k))


def _without_fourth(payload: bytes) -> bytes:
    out = bytearray(payload)
    del out[3::4]
    return bytes(out)


def _with_fourth(payload: bytes) -> bytes:
    out = bytearray(len(payload) // 3 * 4)
    for i in range(3):
        out[i::4] = payload[i::3]
    return bytes(out)


def _little(values: array[int]) -> bytes:
    if not _LITTLE:
        values.byteswap()
    return values.tobytes()
