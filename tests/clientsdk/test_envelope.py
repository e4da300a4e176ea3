"""The envelope: what is wrapped is read back, and whatever happens on the way is told."""

from __future__ import annotations

import asyncio
import itertools
import json
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamwitness import envelope
from streamwitness.envelope import Delta, Finish, Problem, Reader, Usage, Writer, wrap
from streamwitness.providers import detect
from streamwitness.semconv import ALL_PARTS, MALFORMED

CALLS: list[envelope.Item] = [
    ("reasoning", "hm"),
    "Hel",
    Delta("text", "lo", upstream="c2"),
    ("tool_start", "f"),
    ("tool_args", "{}"),
    Delta("tool_start", "g", "0/tool/1"),
    Delta("tool_args", "[]", "0/tool/1"),
    Usage(3, 2),
    Finish("tool_calls"),
]


def _read(pieces: list[bytes], framing: envelope.Framing = "sse") -> tuple[list[Delta], Reader]:
    reader = Reader(framing)
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    return deltas + reader.finish(), reader


def _events(items: list[envelope.Item]) -> list[bytes]:
    return list(wrap(items, "s1"))


@pytest.mark.parametrize("framing", ["sse", "ndjson"])
def test_what_is_wrapped_is_read_back(framing: envelope.Framing) -> None:
    """Every kind of item arrives, in both framings, and the answer is whole."""
    deltas, reader = _read(list(wrap(CALLS, "s1", framing=framing, model="m1")), framing)

    assert deltas == [
        Delta("reasoning", "hm", "0/reasoning/0"),
        Delta("text", "Hel", "0/text/0"),
        Delta("text", "lo", "0/text/0", "c2"),
        Delta("tool_start", "f", "0/tool/0"),
        Delta("tool_args", "{}", "0/tool/0"),
        Delta("tool_start", "g", "0/tool/1"),
        Delta("tool_args", "[]", "0/tool/1"),
    ]
    assert (reader.complete, reader.problems) == (True, [])
    assert (reader.stream, reader.model, reader.usage, reader.finish_reason) == ("s1", "m1", (3, 2), "tool_calls")


def test_events_are_what_the_documentation_says() -> None:
    """Fields, numbers, and a checksum that anyone can compute."""
    lines = [json.loads(event.removeprefix(b"data: ")) for event in _events(["a", ("text", "ü")])]

    assert lines == [
        {"stream": "s1", "seq": 0, "kind": "start"},
        {"stream": "s1", "seq": 1, "kind": "text", "delta": "a"},
        {"stream": "s1", "seq": 2, "kind": "text", "delta": "ü"},
        {
            "stream": "s1",
            "seq": 3,
            "kind": "completion",
            "last": 3,
            "finish": "stop",
            "checksum": f"{zlib.crc32('aü'.encode()):08x}",
        },
    ]


def test_a_stream_has_an_id_of_its_own_without_one() -> None:
    """Two streams are told apart."""
    first, second = (json.loads(next(wrap(["a"]))[6:])["stream"] for _ in range(2))

    assert len(first) == 32
    assert first != second


def test_an_async_iterator_is_wrapped_alike() -> None:
    """Sync and async give the same bytes."""

    async def items() -> AsyncIterator[envelope.Item]:
        for item in CALLS:
            yield item

    async def wrapped() -> list[bytes]:
        return [event async for event in wrap(items(), "s1")]

    assert asyncio.run(wrapped()) == _events(CALLS)


def test_what_the_iterator_raises_comes_out_after_an_error_event() -> None:
    """The reader learns that the answer is not whole, the host its own exception."""

    def broken() -> Iterator[str]:
        yield "a"
        raise ConnectionResetError("secret")

    stream = wrap(broken(), "s1")
    got = [next(stream) for _ in range(3)]
    with pytest.raises(ConnectionResetError, match="secret"):
        next(stream)
    _, reader = _read(got)

    assert (reader.error, reader.complete, reader.problems) == ("ConnectionResetError", False, [])


def test_an_async_iterator_that_raises_is_told_alike() -> None:
    """The same for async."""

    async def broken() -> AsyncIterator[str]:
        yield "a"
        raise ConnectionResetError

    async def run() -> list[bytes]:
        stream = wrap(broken(), "s1")
        got = [await anext(stream) for _ in range(3)]
        with pytest.raises(ConnectionResetError):
            await anext(stream)
        return got

    _, reader = _read(asyncio.run(run()))
    assert (reader.error, reader.complete) == ("ConnectionResetError", False)


def test_a_stream_that_is_closed_early_closes_its_iterator() -> None:
    """Whoever stops reading releases what is upstream, sync and async."""
    closed = []

    def items() -> Iterator[str]:
        try:
            yield from itertools.repeat("a")
        finally:
            closed.append("sync")

    async def async_items() -> AsyncIterator[str]:
        try:
            while True:
                yield "a"
        finally:
            closed.append("async")

    async def run() -> None:
        stream: Any = wrap(async_source)
        await anext(stream)
        await anext(stream)
        await stream.aclose()

    source, async_source = items(), async_items()  # held here, so that nothing but a close ends them
    stream: Any = wrap(source)
    next(stream), next(stream)
    stream.close()
    asyncio.run(run())
    assert closed == ["sync", "async"]


# --------------------------------------------------------------------------- what happens on the way


@pytest.mark.parametrize(
    ("order", "problems"),
    [
        ([0, 1, 2, 3], []),
        ([0, 2, 3], ["gap", "checksum"]),
        ([0, 1, 1, 2, 3], ["duplicate"]),
        ([0, 2, 1, 3], ["gap", "duplicate", "checksum"]),
        ([0, 1, 2], ["no_completion"]),
        ([0, 1, 2, 3, 3], ["after_completion"]),
        ([1, 2, 3], ["gap", "transition", "transition", "transition"]),
        ([], ["no_completion"]),
    ],
)
def test_what_is_lost_doubled_or_moved_is_told(order: list[int], problems: list[str]) -> None:
    """Each in a word, and the answer is not called whole."""
    events = _events(["a", "b"])
    _, reader = _read([events[i] for i in order])

    assert [problem.what for problem in reader.problems] == problems
    assert {what for what, n in reader.counts.items() if n} == set(problems)
    assert reader.complete is (not problems)


def test_a_duplicate_is_not_handed_on_again() -> None:
    """A text stays what it was."""
    events = _events(["a", "b"])
    deltas, _ = _read([events[0], events[1], events[1], events[2], events[3]])

    assert "".join(delta.text for delta in deltas) == "ab"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"oops", Problem("malformed", None)),
        (b'{"kind":"text"}', Problem("malformed", None)),
        (b'{"seq":-1,"kind":"text"}', Problem("malformed", -1)),
        (b'{"stream":"other","seq":1,"kind":"text","delta":"x"}', Problem("wrong_stream", 1, "other")),
        (b'{"stream":"s1","seq":1,"kind":"tool_args","delta":"x"}', Problem("transition", 1, "tool_args after start")),
        (b'{"stream":"s1","seq":1,"kind":"start"}', Problem("transition", 1, "start after start")),
        (b'{"stream":"s1","seq":"1","kind":"text"}', Problem("malformed", None)),
    ],
)
def test_an_event_that_does_not_belong_is_told(data: bytes, problem: Problem) -> None:
    """What is no event, another stream's, or out of place, is data and no exception."""
    reader = Reader()
    reader.feed(_events([])[0])
    reader.read(data)

    assert reader.problems == [problem]


def test_another_text_under_right_numbers_shows_in_the_checksum() -> None:
    """What numbers cannot show: an event whose delta was changed."""
    events = [event.replace(b'"delta":"b"', b'"delta":"B"') for event in _events(["a", "b"])]
    _, reader = _read(events)

    assert [problem.what for problem in reader.problems] == ["checksum"]


def test_a_completion_that_counts_otherwise_is_told() -> None:
    """`last` is the completion's own number."""
    events = [event.replace(b'"last":2', b'"last":7') for event in _events(["a"])]
    _, reader = _read(events)

    assert reader.problems == [Problem("last", 2, "it says 7")]


def test_kinds_that_are_not_known_yet_may_stand_anywhere() -> None:
    """A reader of today reads the envelope of tomorrow."""
    reader = Reader()
    for data in (b'{"stream":"s","seq":0,"kind":"start"}', b'{"stream":"s","seq":1,"kind":"audio","delta":"x"}'):
        assert reader.read(data) is None

    assert reader.problems == []


def test_problems_are_counted_without_end_and_kept_to_a_hundred() -> None:
    """A stream that is all garbage costs no memory."""
    reader = Reader()
    for _ in range(1000):
        reader.read(b"oops")

    assert (len(reader.problems), reader.counts["malformed"]) == (100, 1000)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([("usage", "3")], "no kind of delta: 'usage', known: text, "),
        ([("tool_args", "{}")], "tool_args must not follow start"),
        (["a", ("tool_args", "{}")], "tool_args must not follow text"),
        ([Delta("text", "a", "0/tool/0")], "no slot of kind 'text': '0/tool/0'"),
        ([Finish("because")], "unknown finish 'because', known: stop, "),
    ],
)
def test_a_writer_writes_nothing_that_its_reader_would_refuse(items: list[envelope.Item], message: str) -> None:
    """The caller's mistake is the caller's exception."""
    with pytest.raises(ValueError, match=message):
        _events(items)


def test_choices_have_their_own_grammar() -> None:
    """One choice may call a tool while another tells a text."""
    items = [Delta("tool_start", "f"), Delta("text", "a", "1/text/0"), Delta("tool_args", "{}")]
    _, reader = _read(_events([*items]))

    assert reader.problems == []


def test_nothing_is_written_after_the_end() -> None:
    """Completion and error are the last; a ping may come at any time before."""
    for end in (lambda writer: writer.completion(), lambda writer: writer.error("x")):
        writer = Writer()
        writer.start()
        writer.ping()
        writer.write("a")
        end(writer)
        for more in (writer.ping, writer.completion, lambda writer=writer: writer.write("a")):
            with pytest.raises(ValueError, match="must not follow"):
                more()


@pytest.mark.parametrize("make", [Reader, Writer])
def test_an_unknown_framing_is_refused_with_the_known_ones(make: Any) -> None:
    """Both sides say which there are."""
    with pytest.raises(ValueError, match="unknown framing 'xml', known: sse, ndjson"):
        make(framing="xml")


TEXTS = st.lists(st.text(max_size=5) | st.sampled_from(["\u2028", "\r\n", "\ud800", "data: x\n\n"]), max_size=6)


@settings(deadline=None)
@given(texts=TEXTS, cut=st.integers(1, 50))
def test_any_text_survives_any_cut(texts: list[str], cut: int) -> None:
    """Line ends in a text are no line ends of the framing; half a surrogate pair becomes a question mark."""
    body = b"".join(wrap(texts, "s1"))
    deltas, reader = _read([body[i : i + cut] for i in range(0, len(body), cut)])

    assert [delta.text for delta in deltas] == [text.replace("\ud800", "?") for text in texts]
    assert reader.complete


@settings(deadline=None)
@given(order=st.permutations(range(5)), drop=st.sets(st.integers(0, 4)))
def test_only_the_stream_as_it_was_sent_is_whole(order: list[int], drop: set[int]) -> None:
    """Reader and profile agree on which of all orders and subsets of events is a whole answer."""
    events = _events(["a", "b", "a"])
    kept = [i for i in order if i not in drop]
    _, reader = _read([events[i] for i in kept])
    profile = detect("/x", "text/event-stream", events[0][6:-2])
    for i in kept:
        profile.read(b"", events[i][6:-2])

    assert reader.complete is (kept == [0, 1, 2, 3, 4])
    assert profile.complete is reader.complete


def test_deltas_that_a_reader_hands_on_say_what_their_events_say() -> None:
    """The profile reads them as it reads the bytes; the end, which the reader keeps, makes no answer complete."""
    body = b"".join(wrap(["a", Delta("refusal", "no", "1/refusal/2"), ("tool_start", "look")], "s1"))
    first, *events = [event.removeprefix(b"data: ") for event in body.split(b"\n\n")[:4]]
    reader, of_deltas, of_bytes = Reader(), detect("/x", "", first), detect("/x", "", first)

    said = [of_deltas.read_object(delta) for delta in reader.feed(body)]

    assert reader.complete
    assert said == [of_bytes.read(b"", event) for event in events]
    assert not of_deltas.complete


@settings(deadline=None)
@given(data=st.binary())
def test_any_bytes_are_data(data: bytes) -> None:
    """Garbage is told, never raised."""
    reader = Reader()
    assert reader.feed(data) == []
    reader.read(data)
    reader.finish()

    assert not reader.complete


@settings(deadline=None)
@given(events=st.lists(st.dictionaries(st.sampled_from(["stream", "seq", "kind", "slot", "delta", "last"]),
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.text(max_size=2) | st.sampled_from(envelope.KINDS)
    | st.just(10**4299))))  # fmt: skip
def test_events_of_any_shape_are_data(events: list[dict[str, Any]]) -> None:
    """Fields of any type are told or passed over, by reader and profile."""
    reader, profile = Reader(), detect("/x", "", b'{"stream":"s","seq":0,"kind":"start"}')
    for event in events:
        data = json.dumps(event).encode()
        reader.read(data)
        assert profile.read(b"", data).parts & (ALL_PARTS ^ MALFORMED)
        assert profile.sequence is None or 0 <= profile.sequence < 1 << 63
