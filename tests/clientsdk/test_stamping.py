"""Stamps: what the rewriter puts into a body the reader takes out again, whatever the body and however it is cut."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamwitness import faults
from streamwitness.events import Frame
from streamwitness.framing import FRAMINGS, SSEFramer
from streamwitness.gateway import stamp
from streamwitness.gateway.stamp import SSERewriter, rewriter
from streamwitness.semconv import MISSING
from streamwitness.stamping import ANOTHERS, stamp_reader

EXCHANGE = "3f9a1c0711223344"
TAG = "3f9a1c07"
ID_LINE = re.compile(rb"id: 3f9a1c07\.\d+\n")
UPSTREAMS = re.compile(rb"(?:^|[\r\n])(?:\xef\xbb\xbf)?id(?:[:\r\n]|$)")
"""An id of upstream's own."""
FIELD = re.compile(rb'"_stream":"3f9a1c07","_seq":\d+,?')

LINES = st.sampled_from(
    (
        b"data: {}", b'data: {"a":1}', b'data:{"a":1}', b"data: [DONE]", b"data", b"data:", b"da", b"datax: 1",
        b'data: { "a": 1}', b"data: {", b"event: ping", b"event:", b"event", b": comment", b":", b"retry: 5", b"idle",
        b"unknown: x", b"", b"", b"", b"data: \xc3\xa4\xe2\x80\xa8 x", b"data: id: 3", b"\xef\xbb\xbfdata: x",
        b"error: y",
    )
)  # fmt: skip
ENDS = st.sampled_from((b"\n", b"\n", b"\n", b"\r\n", b"\r"))
BLOCK = st.tuples(
    st.sampled_from((b"data: {}\n", b": c\n", b"", b'event: e\ndata:{"a":1}\ndata: }\n', b"retry: 1\n", b"event: e\n")),
    ENDS,
).map(lambda block: block[0].replace(b"\n", block[1]) + block[1])
"""A whole block with its blank line."""
SSE_BODY = st.one_of(
    st.lists(st.tuples(LINES, ENDS).map(b"".join), min_size=4),
    st.lists(BLOCK, min_size=3),
    st.lists(st.one_of(BLOCK, LINES)),
).map(b"".join)
ANY = st.one_of(SSE_BODY, st.binary(max_size=80), st.tuples(SSE_BODY, st.binary(max_size=9)).map(b"".join))
OBJECTS = st.lists(
    st.sampled_from((b'{"a":1}\n', b"{}\r\n", b" \n", b"\n", b' {"a":2}\n', b"[1]\n", b"{ }\n", b'{"_seq":1}\n', b"{"))
).map(b"".join)


def pieces(body: bytes, cuts: list[int]) -> list[bytes]:
    """The body cut at these places."""
    at = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    return [body[a:b] for a, b in itertools.pairwise(at)] or [b""]


def stamped(body: bytes, cuts: list[int], kind: Any, framing: str = "sse") -> tuple[bytes, Any]:
    """What comes out of the rewriter, and the rewriter."""
    made = rewriter(EXCHANGE, kind, framing)
    assert made is not None
    parts = pieces(body, cuts)
    out = [made.feed(piece) for piece in parts[:-1]]
    return b"".join([*out, made.feed(parts[-1], last=True)]), made


def frames(body: bytes, framing: str = "sse") -> list[Frame]:
    """The events of a whole body."""
    framer = FRAMINGS[framing]()
    return framer.feed(body) + framer.finish()[0]


def without_idle_blanks(body: bytes) -> bytes:
    """The body without the blank lines that the stamp `id` leaves out: behind the first data line, those of blocks
    without an event, data or id line."""
    out, opened, numbered = [], False, False
    bom = b"\xef\xbb\xbf" if body.startswith(b"\xef\xbb\xbf") else b""
    for line in body.removeprefix(bom).splitlines(keepends=True):
        text = line.rstrip(b"\r\n")
        if not text:
            if opened or not numbered:
                out.append(line)
            opened = False
            continue
        if text.partition(b":")[0] in (b"event", b"data", b"id") and (b":" in text or text != line):
            opened = True
            numbered |= text.startswith(b"data")
        out.append(line)
    return bom + b"".join(out)


@given(ANY, st.lists(st.integers(0, 999)))
def test_ids_are_all_that_is_added_and_idle_blank_lines_all_that_is_left_out(body: bytes, cuts: list[int]) -> None:
    """Whatever the bytes and the cuts: with the id lines taken out again, it is the body."""
    out, _ = stamped(body, cuts, "id")
    if UPSTREAMS.search(body):
        return  # another test
    assert ID_LINE.sub(b"", out) == without_idle_blanks(body)


@given(ANY, st.lists(st.integers(0, 999)))
def test_a_parser_gets_the_same_events_and_their_numbers(body: bytes, cuts: list[int]) -> None:
    """The events are those of the body; the number of each is its place."""
    if UPSTREAMS.search(body):
        return
    out, made = stamped(body, cuts, "id")
    before, after = frames(body), frames(out)
    read = stamp_reader(EXCHANGE, "id")
    assert read is not None
    assert [(frame.name, frame.data) for frame in after] == [(frame.name, frame.data) for frame in before]
    assert [read(frame) for frame in after] == [(number, frame.data) for number, frame in enumerate(before)]
    assert made.number - len(before) in (0, 1)  # one that the end of the body cut off has its number, too


@given(ANY, st.lists(st.integers(0, 999)), st.sampled_from(("id", "field")))
def test_cuts_never_show(body: bytes, cuts: list[int], kind: Any) -> None:
    """However the app cuts its body, the same bytes come out."""
    assert stamped(body, cuts, kind)[0] == stamped(body, [], kind)[0]
    assert stamped(body, list(range(len(body))), kind)[0] == stamped(body, [], kind)[0]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CR LF", "CR"])
def test_a_blank_line_is_left_out_whole_wherever_it_is_cut(end: bytes) -> None:
    """Its CR in one piece and its LF in the next go together."""
    body = end.join((b"data: x", b"", b"", b": c", b"", b"data: y", b"", b""))
    left = b"id: 3f9a1c07.0\n" + end.join((b"data: x", b"", b": c", b"id: 3f9a1c07.1\ndata: y", b"", b""))
    assert stamped(body, [], "id")[0] == stamped(body, list(range(len(body))), "id")[0] == left


@given(ANY, OBJECTS, st.lists(st.integers(0, 999)))
def test_fields_are_all_that_is_added(sse: bytes, lines: bytes, cuts: list[int]) -> None:
    """With the two members taken out again, it is the body; events and their numbers as before."""
    for framing, body in (("sse", sse), ("ndjson", lines)):
        out, _ = stamped(body, cuts, "field", framing)
        assert FIELD.sub(b"", out) == body
        before, after = frames(body, framing), frames(out, framing)
        read = stamp_reader(EXCHANGE, "field")
        assert read is not None
        got = [read(frame) for frame in after]
        assert [data for _, data in got] == [frame.data for frame in before]
        assert all(number in (MISSING, place) for place, (number, _) in enumerate(got))


@given(SSE_BODY, st.lists(st.integers(0, 999)))
def test_no_more_than_the_beginning_of_a_line_is_held_back(body: bytes, cuts: list[int]) -> None:
    """Bytes pass at once: what has come out never lacks more than 7 bytes, and an event never its end."""
    for kind in ("id", "field"):
        made = rewriter(EXCHANGE, kind, "sse")  # type: ignore[arg-type]
        assert made is not None
        given = b""
        out = b""
        for piece in pieces(body, cuts):
            given += piece
            out += made.feed(piece)
            assert len(made._held) <= 7
            assert len(frames(out)) == len(frames(given))


@given(SSE_BODY, st.lists(st.integers(0, 999)))
def test_the_end_of_each_event_is_known(body: bytes, cuts: list[int]) -> None:
    """What has come out up to there holds exactly the events up to this number."""
    made = rewriter(EXCHANGE, "id", "sse")
    assert made is not None
    out = b""
    for piece in pieces(body, cuts):
        before = len(out)
        out += made.feed(piece)
        for number, offset in made.ends:
            assert len(frames(out[: before + offset])) == number + 1


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b'{"a":1}', b'{"_stream":"3f9a1c07","_seq":0,"a":1}'),
        (b"{}", b'{"_stream":"3f9a1c07","_seq":0}'),
        (b"[DONE]", b"[DONE]"),
        (b'{ "a":1}', b'{ "a":1}'),
    ],
)
def test_a_field_stands_first_in_the_object(data: bytes, field: bytes) -> None:
    """The object stays valid JSON; what is no plain object stays as it is, and uses up its number."""
    body = b"data: %b\n\n" % data
    out, made = stamped(body, [], "field")
    assert out == b"data: %b\n\n" % field
    assert made.number == 1
    if data.startswith(b'{"'):
        assert json.loads(field) == {"_stream": TAG, "_seq": 0, **json.loads(data)}
    assert stamped(data + b"\n", [], "field", "ndjson")[0] == field + b"\n"


@pytest.mark.parametrize("kind", ["id", "field"])
@pytest.mark.parametrize(
    "stamp",
    ["", f"{TAG}.", f"{TAG}.01", f"{TAG}.-1", f"{TAG}.1 ", f"{TAG.upper()}.1", "00000000.1", f"{TAG}.12345678901", "7"],
)
def test_a_stamp_that_is_not_ours_gives_no_number(kind: Any, stamp: str) -> None:
    """Another stream's, an upstream's own id, a malformed one: the event is unnumbered, its data untouched."""
    tag, _, number = stamp.partition(".")
    data = b'{"_stream":"%b","_seq":%b,"a":1}' % (tag.encode(), number.encode())
    read = stamp_reader(EXCHANGE, kind)
    assert read is not None
    none = ANOTHERS if stamp == "00000000.1" else MISSING
    assert read(Frame(b"", data, 1, "", stamp.encode())) == (none, data)


def test_an_unreadable_frame_has_no_number() -> None:
    """An oversize event keeps the id of the one before it."""
    framer = SSEFramer(limit=40)
    found = framer.feed(b"id: 3f9a1c07.4\ndata: x\n\nid: 3f9a1c07.5\ndata: " + b"x" * 50 + b"\n\n")
    read = stamp_reader(EXCHANGE, "id")
    assert read is not None
    assert [read(frame)[0] for frame in found] == [4, MISSING]


def test_without_stamps_there_is_nothing_to_read_or_write() -> None:
    """Neither for `none`, nor for a framing that cannot carry them."""
    assert stamp_reader(EXCHANGE, "none") is None
    assert [rewriter(EXCHANGE, "none", "sse"), rewriter(EXCHANGE, "id", "ndjson")] == [None, None]
    assert [rewriter(EXCHANGE, kind, "json_array") for kind in ("id", "field")] == [None, None]  # type: ignore[arg-type]


def test_an_upstream_that_numbers_its_events_is_left_alone() -> None:
    """Its ids are what its clients resume by."""
    body = b": hi\n\nid: 1\ndata: a\n\n\n: c\n\ndata: b\n\n"
    out, made = stamped(body, [], "id")
    assert (out, made.stamped, made.intact) == (body, 0, False)


def test_an_id_of_upstreams_own_among_ours_stays() -> None:
    """That event is unnumbered, but counted; the next one has its number."""
    out, made = stamped(b"data: a\n\nid: x\ndata: b\n\ndata: c\n\n", [], "id")
    assert out == b"id: 3f9a1c07.0\ndata: a\n\nid: x\ndata: b\n\nid: 3f9a1c07.2\ndata: c\n\n"
    read = stamp_reader(EXCHANGE, "id")
    assert read is not None
    assert [read(frame)[0] for frame in frames(out)] == [0, MISSING, 2]
    assert (made.stamped, made.number) == (2, 3)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_an_error_of_ours_loses_and_doubles_no_byte(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From there on everything passes as it is, what was held back first."""
    body = b"data: a\n\ndata: b\n\ndata: c\n\n"
    made = SSERewriter(EXCHANGE, "id")
    whole = stamp.SSERewriter._data

    def fail(self: SSERewriter, line: bytes) -> bytes:
        if self.number == 1:
            raise RuntimeError("canary")
        return whole(self, line)

    monkeypatch.setattr(SSERewriter, "_data", fail)
    with faults.quiet():
        out = b"".join(made.feed(body[at : at + size]) for at in range(0, len(body), size))
    assert ID_LINE.sub(b"", out + made.feed(b"", last=True)) == body
    assert made.intact is False


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(("id", "field")))
def test_numbers_go_on_where_they_are_told_to(first: int, kind: Any) -> None:
    """A further exchange of a stream continues its numbers."""
    made = rewriter(EXCHANGE, kind, "sse", first)
    read = stamp_reader(EXCHANGE, kind)
    assert made is not None
    assert read is not None
    assert [read(frame)[0] for frame in frames(made.feed(b"data: {}\n\n" * 3))] == [first, first + 1, first + 2]
