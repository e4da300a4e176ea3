"""What only server-sent events have: two ways to read them that must agree, and sizes across CR LF."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streamwitness.events import Frame
from streamwitness.framing import SSEFramer
from tests.clientsdk.framing.vectors import cut, read

LINE = st.one_of(
    st.sampled_from(
        [b"data: x", b"data:y", b"data", b"data: ", b"data:  z", b"event: e", b"event:", b": c", b":", b""]
    ),
    st.sampled_from([b"", b"id: 1", b"id", b"id: \x00", b"foo: 1", b"error: {}", b"\xef\xbb\xbfdata: b"]),
    st.sampled_from(
        [b"data\xe2\x80\xa8", b"\xef\xbb\xbf", b'{"error":{"a":1}}', b"{", b'  "error": "x"', b"data: [DONE]"]
    ),
    st.sampled_from([b"<html>", b"text", b'{"a":1}', b'error: {"a":1}', b"retry: 5"]),
    st.binary(max_size=8),
)
BODY = st.lists(st.tuples(LINE, st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"\n\n", b""]))).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@settings(deadline=None)
@given(
    body=st.one_of(BODY, BODY.map(lambda body: b"\xef\xbb\xbf" + body)),
    cuts=st.lists(st.integers(min_value=0, max_value=400)),
    limit=st.sampled_from([1, 7, 9, 10, 18, 1 << 20]),
)
def test_how_lines_of_every_kind_are_cut_never_shows(body: bytes, cuts: list[int], limit: int) -> None:
    """Lines, ends and misplaced errors in any order read alike whole, byte by byte and in any split."""
    whole = read("sse", [body], limit)

    assert read("sse", cut(body, range(1, len(body))), limit) == whole
    assert read("sse", cut(body, cuts), limit) == whole


@settings(deadline=None)
@given(body=BODY)
def test_lines_that_end_with_cr_read_like_those_that_end_with_lf(body: bytes) -> None:
    """The line-by-line parser, which a CR calls for, and the fast way make the same of the same lines."""
    body = body.replace(b"\r", b"")

    assert read("sse", [body.replace(b"\n", b"\r")]) == read("sse", [body])


@settings(deadline=None)
@given(data=st.binary().filter(lambda data: not set(data) & set(b"\r\n")), name=st.sampled_from([b"", b"e"]))
def test_the_usual_shape_and_the_unusual_read_alike(data: bytes, name: bytes) -> None:
    """An event cut out whole is the frame that the line-by-line parser makes of it."""
    head = b"event: " + name + b"\n" if name else b""
    event = head + b"data: " + data + b"\n\n"

    assert read("sse", [event])["frames"] == [Frame(name, data, len(event))]
    assert read("sse", [event.replace(b"\n", b"\r")])["frames"] == [Frame(name, data, len(event))]


def test_the_last_id_is_the_one_that_a_client_would_resume_from() -> None:
    """An id takes effect with the blank line, also where there is no data; not before."""
    framer = SSEFramer()
    framer.feed(b"id: 1\ndata: x\n\nid: 2\n")
    before = framer.last_id
    framer.feed(b"\n")

    assert (before, framer.last_id) == (b"1", b"2")
