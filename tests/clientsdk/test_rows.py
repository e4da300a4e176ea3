"""rows.py: columns survive the wire exactly, and bytes that lie are refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness import rows

VECTORS = Path(__file__).parents[1] / "vectors" / "rows" / "rows.json"
U32 = st.integers(0, 0xFFFFFFFF)


@pytest.mark.parametrize("vector", json.loads(VECTORS.read_text()), ids=lambda vector: vector["name"])
def test_vectors_decode(vector):
    """Each shared vector decodes to its columns, and what we encode decodes to them as well."""
    count = vector["count"]
    decoded = rows.decode(bytes.fromhex(vector["hex"]), count)
    assert {name: list(values) for name, values in decoded.items()} == vector["columns"]
    again = rows.decode(rows.encode(vector["columns"], count), count)
    assert {name: list(values) for name, values in again.items()} == vector["columns"]


@given(
    st.integers(1, 80).flatmap(
        lambda n: st.fixed_dictionaries(
            {name: st.lists(U32, min_size=n, max_size=n) for name in ("of", "t", "payload")}
        )
    )
)
def test_round_trip(columns):
    """Any columns come back as they were."""
    count = len(columns["of"])
    decoded = rows.decode(rows.encode(columns, count), count)
    assert {name: list(values) for name, values in decoded.items()} == columns


@given(st.integers(2, 512), st.integers(0, 5), st.integers(0, 3))
def test_regular_columns_are_runs(count, start, step):
    """A column that counts up or stays the same costs one run, whatever its length."""
    column = [start + step * i for i in range(count)]
    assert len(rows.encode({"of": column}, count)) <= 1 + 6 + max(12, 0)


@given(st.binary(max_size=200), st.integers(0, 600))
def test_garbage_is_refused_or_decoded_bounded(data, count):
    """Arbitrary bytes give columns of exactly `count` rows or a RowsError, nothing else."""
    try:
        decoded = rows.decode(data, count)
    except rows.RowsError:
        return
    assert all(len(values) == count for values in decoded.values())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "version none"),
        (b"\x02", "version 2"),
        (b"\x01\x01\x01", "cut off"),
        (b"\x01" + struct.pack("<BBI", 1, 1, 9) + b"ab", "claims 9 bytes"),
        (b"\x01" + struct.pack("<BBI", 1, 5, 2) + b"ab", "width 5"),
        (b"\x01" + struct.pack("<BBI", 1, 1, 3) + b"abc", "3 bytes for 2 rows"),
        (b"\x01" + 2 * (struct.pack("<BBI", 1, 1, 2) + b"ab"), "stands twice"),
        (b"\x01" + struct.pack("<BBI", 1, 0, 12) + struct.pack("<III", 0, 1, 0xFFFFFFFF), "more than 2 rows"),
        (b"\x01" + struct.pack("<BBI", 1, 0, 12) + struct.pack("<III", 0, 1, 1), "has 1 rows"),
        (b"\x01" + struct.pack("<BBI", 1, 0, 5) + b"abcde", "cut off"),
    ],
)
def test_lies_are_named(data, says):
    """Each way in which the bytes can contradict themselves has its own message."""
    with pytest.raises(rows.RowsError, match=says):
        rows.decode(data, 2)


def test_unknown_columns_are_skipped():
    """A column of a later version is passed over."""
    data = b"\x01" + struct.pack("<BBI", 99, 1, 3) + b"abc" + struct.pack("<BBI", 1, 1, 2) + b"\x05\x06"
    assert {name: list(values) for name, values in rows.decode(data, 2).items()} == {"of": [5, 6]}


def test_a_column_of_another_length_is_our_mistake():
    """Encoding refuses columns that disagree with the row count."""
    with pytest.raises(rows.RowsError, match="has 1 rows"):
        rows.encode({"of": [1]}, 2)
