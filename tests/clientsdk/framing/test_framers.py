"""What holds for every framing: its vectors however they are cut, any bytes, sizes, bounded memory, linear work."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamwitness.framing import FRAMINGS
from streamwitness.semconv import FRAMINGS as NAMES
from streamwitness.semconv import MAX_FRAME_BYTES, MISFRAMINGS
from tests.clientsdk.framing.vectors import chunks, cut, expected, framer, read, vectors

EVERY = [(framing, name, vector) for framing in FRAMINGS for name, vector in vectors(framing)]
BODIES = {framing: [b"".join(chunks(vector)) for _, vector in vectors(framing)] for framing in FRAMINGS}
LIMITS = st.sampled_from([1, 7, 9, 18, 60, MAX_FRAME_BYTES])
SEAMS = st.sampled_from([b"", b"\n", b"\n\n", b"\r\n", b"\r", b" ", b",", b"]", b"\0", b"\xef\xbb\xbf", b'{"', b"<"])


def _bodies(framing: str) -> st.SearchStrategy[bytes]:
    """Vectors of this framing and of others glued, pieces of them, and bytes of no meaning."""
    own, any_body = st.sampled_from(BODIES[framing]), st.sampled_from([b for bodies in BODIES.values() for b in bodies])
    piece = st.tuples(any_body, st.integers(0, 80), st.integers(0, 80)).map(lambda p: p[0][p[1] : p[1] + p[2]])
    return st.lists(st.one_of(own, piece, SEAMS, st.binary(max_size=8)), max_size=6).map(b"".join)


def test_every_framing_has_a_framer_and_vectors() -> None:
    """The names of semconv, the framers and the folders of vectors are the same."""
    assert tuple(FRAMINGS) == NAMES
    assert {framing for framing, _, _ in EVERY} == set(NAMES)


@pytest.mark.parametrize("vector", [pytest.param((f, v), id=name) for f, name, v in EVERY])
def test_a_vector_reads_as_its_rule_says_however_it_is_cut(vector: tuple[str, dict[str, Any]]) -> None:
    """As given, whole, byte by byte and cut in two (long ones in 200 places), a body gives what its vector says."""
    framing, wanted = vector
    pieces = chunks(wanted)
    body = b"".join(pieces)
    limit = wanted.get("limit", MAX_FRAME_BYTES)
    in_two = [cut(body, [place]) for place in range(1, len(body), 1 + len(body) // 200)]
    cuts = [pieces, [body], cut(body, range(1, len(body))), *in_two]

    assert [read(framing, each, limit) for each in cuts] == [expected(wanted)] * len(cuts)


def test_every_vector_has_a_name_of_its_own_a_rule_and_a_source() -> None:
    """Vectors say where their rule is written, no two share a name, and nothing in them goes unread."""
    known = {"name", "rule", "source", "chunks", "frames", "pending", "comments", "wrong", "last_id", "limit"}

    assert len({name for _, name, _ in EVERY}) == len(EVERY)
    assert [name for _, name, vector in EVERY if not (vector["rule"] and vector["source"])] == []
    assert set().union(*(vector.keys() for _, _, vector in EVERY)) == known


@pytest.mark.parametrize("framing", FRAMINGS)
def test_every_misframing_that_a_framing_can_tell_has_a_vector(framing: str) -> None:
    """Each word of MISFRAMINGS is shown, but for those that the framing would have read."""
    shown = {vector["wrong"] for _, vector in vectors(framing) if "wrong" in vector}
    silent = {"sse": {"sse"}, "ndjson": {"ndjson", "broken"}, "json_array": set(), "eventstream": {"ndjson"}}

    assert set(MISFRAMINGS) - silent[framing] == shown


@pytest.mark.parametrize("framing", FRAMINGS)
def test_how_a_body_is_cut_never_shows(framing: str) -> None:
    """Any bytes give the same frames and counts whole, byte by byte and in any split, and never an exception."""

    @settings(deadline=None, max_examples=150)
    @given(body=_bodies(framing), cuts=st.lists(st.integers(0, 400)), limit=LIMITS)
    @example(body=b"data: a\n\nevent: ", cuts=[], limit=MAX_FRAME_BYTES)
    @example(body=b"data: x\r\n\r\n", cuts=[10], limit=10)
    def check(body: bytes, cuts: list[int], limit: int) -> None:
        whole = read(framing, [body], limit)
        assert read(framing, cut(body, range(1, len(body))), limit) == whole
        assert read(framing, cut(body, cuts), limit) == whole
        assert whole["wrong"] in ("", *MISFRAMINGS)

    check()


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_byte_belongs_to_one_event_or_to_none(framing: str) -> None:
    """Sizes and pending bytes never exceed the body, and a frame's data never exceeds its size or the limit."""

    @settings(deadline=None, max_examples=100)
    @given(body=_bodies(framing), limit=LIMITS)
    def check(body: bytes, limit: int) -> None:
        said = read(framing, [body], limit)
        assert sum(frame.size for frame in said["frames"]) + said["pending"] <= len(body)
        for frame in said["frames"]:
            assert len(frame.name) + len(frame.data) <= frame.size
            assert (frame.fault == "oversize") == (frame.size > limit) or frame.fault == "malformed"
            assert not (frame.fault and (frame.name or frame.data))

    check()


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_is_read_and_none_is_kept(framing: str, kind: type) -> None:
    """A caller may reuse its buffer at once: what was read from it does not change, and it is not held locked."""
    body = b"".join(chunks(next(vector for _, vector in vectors(framing) if len(vector["frames"]) > 1)))
    wanted = read(framing, [body])["frames"]
    for place in range(1, len(body)):
        made, frames = framer(framing), []
        for piece in cut(body, [place]):
            buffer = bytearray(piece)
            with memoryview(buffer) as view:
                frames += made.feed(kind(view))
            buffer[:] = b"?" * (len(buffer) + 1)  # raises BufferError while anyone holds a view of it
        assert frames + made.finish()[0] == wanted
        assert all(type(frame.data) is bytes for frame in frames)


@pytest.mark.parametrize("framing", FRAMINGS)
def test_the_end_is_told_once(framing: str) -> None:
    """After the end nothing is pending any more, and no frame comes twice."""
    for _, vector in vectors(framing):
        made = framer(framing)
        for piece in chunks(vector):
            made.feed(piece)
        made.finish()
        assert made.finish() == ([], 0)


@pytest.mark.parametrize("framing", FRAMINGS)
@given(data=st.data())
def test_what_others_take_for_a_last_event_is_the_same_in_any_cut(framing: str, data: st.DataObject) -> None:
    """With a blank line behind it, it is that event; where bytes are not pending there is none."""
    body = data.draw(_bodies(framing))
    limit = data.draw(LIMITS)
    whole, split = framer(framing, limit), framer(framing, limit)
    known = whole.feed(body)
    for piece in cut(body, data.draw(st.lists(st.integers(0, len(body)), max_size=9))):
        split.feed(piece)
    pending = whole.finish()[1]
    assert (split.finish()[1], split.rest) == (pending, whole.rest)
    if whole.rest is not None:
        assert 0 < len(whole.rest.data) <= pending or not whole.rest.data
        closed = framer("sse").feed(body + b"\n\n")
        assert [(frame.name, frame.data) for frame in closed[len(known) :]] == [whole.rest[:2]]


def _endless(framing: str) -> Iterator[tuple[bytes, bytes]]:
    """How a body starts that never completes an event, and what it goes on with."""
    x = b"x" * 4096
    yield from {
        "sse": [(b"data: ", x), (b"", b"data: xxxxxxxx\n" * 256), (b": ", x), (b"", x), (b"", b"odd: x\n" * 512)],
        "ndjson": [(b'{"', x), (b"", x), (b"", b" " * 4096), (b"odd\n{", x)],
        "json_array": [(b'["', x), (b"[1", b"1" * 4096), (b"[", b"[" * 4096), (b'[{"', b"\\\\" * 2048), (b"x", x)],
        "eventstream": [(b"\0\xff\xff\xff", x), (b"x", x), (_prelude(1 << 24), x)],
    }[framing]


def _prelude(total: int) -> bytes:
    head = total.to_bytes(4, "big") + bytes(4)
    return head + zlib.crc32(head).to_bytes(4, "big")


@pytest.mark.parametrize("framing", FRAMINGS)
def test_an_endless_event_is_held_in_bounded_memory(framing: str) -> None:
    """20 times the limit of one event, or of none, take a small multiple of it."""
    limit = 1 << 14
    for start, piece in _endless(framing):
        made = framer(framing, limit)
        tracemalloc.start()
        made.feed(start)
        for _ in range(80):
            made.feed(piece)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 8 * limit


class Counting(bytearray):
    """A buffer that counts the bytes that are read out of it or moved within it."""

    touched = 0

    def __bytes__(self) -> bytes:
        Counting.touched += len(self)
        return bytes(memoryview(self))


@pytest.mark.parametrize(
    ("framing", "start", "end", "buffer"),
    [
        ("sse", b"data: ", b"\n\n", "_line"),
        ("ndjson", b'"', b'"\n', "_line"),
        ("json_array", b'["', b'"]', "_held"),
        ("json_array", b"[{", b"}]", "_held"),
        ("eventstream", _prelude(400_016), b"", "_held"),
    ],
)
def test_an_event_dripped_in_four_byte_pieces_costs_work_in_proportion_to_its_length(
    framing: str, start: bytes, end: bytes, buffer: str
) -> None:
    """The bytes that pass through the buffer are those of the event, once: nothing held is looked at again."""
    made: Any = framer(framing)
    made.feed(start)
    setattr(made, buffer, Counting(getattr(made, buffer)))
    Counting.touched = 0
    for _ in range(100_000):
        assert made.feed(b"xxxx") == []
    assert Counting.touched == 0
    frames = made.feed(end or b"xxxx")

    assert len(frames) == 1
    assert 400_000 <= Counting.touched <= 400_040
