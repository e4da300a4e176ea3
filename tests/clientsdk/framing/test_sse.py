"""SSE framing against the conformance vectors, for every cut, under garbage, and in bounded memory."""

from __future__ import annotations

import base64
import json
import tracemalloc
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamwitness.events import Frame
from streamwitness.framing import SSEFramer
from streamwitness.semconv import MAX_FRAME_BYTES

VECTORS = Path(__file__).parents[2] / "vectors" / "sse"
COUNTERS = ("comments", "ignored_lines", "error_lines")


def _vectors() -> list[Any]:
    return [
        pytest.param(vector, id=f"{path.stem}/{vector['name']}")
        for path in sorted(VECTORS.glob("*.json"))
        for vector in json.loads(path.read_text())
    ]


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def _read(chunks: Iterable[bytes], limit: int = MAX_FRAME_BYTES) -> dict[str, Any]:
    """Everything that a framer says about a body cut in this way."""
    framer = SSEFramer(limit)
    frames = [frame for chunk in chunks for frame in framer.feed(chunk)]
    _, pending = framer.finish()
    counters = {name: getattr(framer, name) for name in COUNTERS}
    return {"frames": frames, "pending": pending, "last_id": framer.last_id} | counters


def _cut(body: bytes, cuts: Iterable[int]) -> list[bytes]:
    places = [0, *sorted(cuts), len(body)]
    return [body[a:b] for a, b in pairwise(places)]


@pytest.mark.parametrize("vector", _vectors())
def test_a_vector_reads_as_its_rule_says_however_it_is_cut(vector: dict[str, Any]) -> None:
    """As given, whole, byte by byte and in every cut in two, a body gives the frames and counts of its vector."""
    chunks = [_bytes(chunk) for chunk in vector["chunks"]]
    body = b"".join(chunks)
    limit = vector.get("limit", MAX_FRAME_BYTES)
    expected: dict[str, Any] = {
        "frames": [
            Frame(_bytes(f["name"]), _bytes(f["data"]), f["size"], f.get("fault", ""), _bytes(f.get("id", "")))
            for f in vector["frames"]
        ],
        "pending": vector.get("pending", 0),
    }
    expected |= {name: vector.get(name, 0) for name in COUNTERS}
    expected["last_id"] = _bytes(vector["last_id"]) if "last_id" in vector else b""
    cuts = [chunks, [body], _cut(body, range(1, len(body))), *(_cut(body, [i]) for i in range(1, len(body)))]

    assert [_read(cut, limit) for cut in cuts] == [expected] * len(cuts)


def test_every_vector_has_a_name_a_rule_and_a_source() -> None:
    """Vectors say where their rule is written, and no two of a file share a name."""
    for path in VECTORS.glob("*.json"):
        vectors = json.loads(path.read_text())
        assert len({vector["name"] for vector in vectors}) == len(vectors)
        assert all(vector["rule"] and vector["source"] for vector in vectors)


LINE = st.one_of(
    st.sampled_from(
        [b"data: x", b"data:y", b"data", b"data: ", b"data:  z", b"event: e", b"event:", b": c", b":", b""]
    ),
    st.sampled_from([b"", b"id: 1", b"id", b"id: \x00", b"foo: 1", b"error: {}", b"\xef\xbb\xbfdata: b"]),
    st.sampled_from([b"data\xe2\x80\xa8", b"\xef\xbb\xbf"]),
    st.binary(max_size=8),
)
BODY = st.lists(st.tuples(LINE, st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"\n\n", b""]))).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@settings(deadline=None)
@given(
    body=st.one_of(BODY, BODY.map(lambda body: b"\xef\xbb\xbf" + body), st.binary()),
    cuts=st.lists(st.integers(min_value=0, max_value=400)),
    limit=st.sampled_from([1, 7, 9, 10, 18, MAX_FRAME_BYTES]),
)
@example(body=b"data: a\n\nevent: ", cuts=[], limit=MAX_FRAME_BYTES)
@example(body=b"data: x\r\n\r\n", cuts=[10], limit=10)
def test_how_a_body_is_cut_never_shows(body: bytes, cuts: list[int], limit: int) -> None:
    """Any bytes give the same frames and counts whole, byte by byte and in any split, and never an exception."""
    whole = _read([body], limit)

    assert _read(_cut(body, range(1, len(body))), limit) == whole
    assert _read(_cut(body, [cut for cut in cuts if cut <= len(body)]), limit) == whole


@settings(deadline=None)
@given(body=BODY)
def test_the_sizes_add_up_to_what_is_no_comment_and_no_stray_line(body: bytes) -> None:
    """No byte is counted for two events: the sizes and the pending bytes never exceed the body."""
    read = _read([body])

    assert sum(frame.size for frame in read["frames"]) + read["pending"] <= len(body)


@settings(deadline=None)
@given(data=st.binary().filter(lambda data: not set(data) & set(b"\r\n")), name=st.sampled_from([b"", b"e"]))
def test_the_usual_shape_and_the_unusual_read_alike(data: bytes, name: bytes) -> None:
    """An event cut out whole is the frame that the line-by-line parser makes of it."""
    head = b"event: " + name + b"\n" if name else b""
    event = head + b"data: " + data + b"\n\n"

    assert _read([event])["frames"] == [Frame(name, data, len(event))]
    assert _read([event.replace(b"\n", b"\r")])["frames"] == [Frame(name, data, len(event))]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_is_read_and_none_is_kept(kind: type) -> None:
    """A caller may reuse its buffer at once: what was read from it does not change, and it is not held locked."""
    buffer = bytearray(b"data: one\n\ndata: tw")
    framer = SSEFramer()
    frames = framer.feed(b"data: zero\n\n")
    with memoryview(buffer) as view:
        frames += framer.feed(kind(view))
    frames += framer.feed(b"o\n\n")
    buffer[:] = b"?" * 40  # raises BufferError while anyone holds a view of it

    assert frames == [Frame(b"", b"zero", 12), Frame(b"", b"one", 11), Frame(b"", b"two", 11)]
    assert all(type(frame.data) is bytes for frame in frames)


def test_a_line_dripped_in_four_byte_pieces_costs_work_in_proportion_to_its_length() -> None:
    """Twice the line, twice the bytes that pass through the buffer: nothing already held is looked at again."""

    class Counting(bytearray):
        copied = 0

        def __bytes__(self) -> bytes:
            Counting.copied += len(self)
            return bytes(memoryview(self))

    def work(length: int) -> int:
        Counting.copied = 0
        framer = SSEFramer()
        framer._line = Counting()
        for _ in range(length // 4):
            assert framer.feed(b"data") == []
        assert framer._held == length
        assert framer.feed(b"\n\n") == []
        return Counting.copied

    assert work(200_000) == 200_000
    assert work(400_000) == 400_000


def test_an_endless_event_is_held_in_bounded_memory() -> None:
    """64 MiB of one line, of one event of many lines, or of one comment take a small multiple of the limit."""
    limit = 1 << 16
    for piece in (b"data: " + b"x" * 4090, b"data: xxxxxxxx\n" * 256, b": " + b"c" * 4094):
        framer = SSEFramer(limit)
        tracemalloc.start()
        for _ in range(2048):
            framer.feed(piece)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 8 * limit


def test_finish_tells_pending_bytes_once() -> None:
    """After the end nothing is pending any more."""
    framer = SSEFramer()
    framer.feed(b"data: last")

    assert (framer.finish(), framer.finish()) == (([], 10), ([], 0))
