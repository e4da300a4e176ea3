"""observer.py: a body cut anywhere gives the same record, and a failing observer harms nobody."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness import faults
from streamwitness import semconv as sc
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness

BODY = (
    b": hello\n\n"
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
    b'data: {"model":"m-1","choices":[{"index":0,"delta":{"content":"h\xc3\xa9 \xe2\x80\xa8"}}]}\r\n\r\n'
    b": keep-alive\n\n"
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


def observe(pieces, point="wire", end="eof"):
    sink = MemorySink()
    witness = Witness(Identity("a" * 32, "b" * 16, b"k" * 16), sink, clock=lambda: 0)
    observer = witness.body(point, path="/v1/chat/completions", content_type="text/event-stream")
    for piece in pieces:
        observer.feed(piece)
    observer.close(end)
    return sink.blocks


def said(block):
    """All that a block says, but ids and times and how often was read."""
    own = (sc.WITNESS, sc.RECORDER, sc.TOTAL_PREFIX + "read_calls")
    return {key: value for key, value in block.attributes().items() if key not in own}


@given(st.lists(st.integers(0, len(BODY)), max_size=30))
def test_any_cut_gives_the_same_record(cuts):
    """Whole ≡ any split: rows, sums, counters and what the profile knows."""
    edges = [0, *sorted(cuts), len(BODY)]
    pieces = [BODY[a:b] for a, b in pairwise(edges)]
    (split,), (whole,) = observe(pieces), observe([BODY])
    assert said(split) == said(whole)


@given(st.lists(st.tuples(st.integers(0, len(BODY)), st.booleans()), max_size=30))
def test_when_what_was_looked_at_is_recorded_never_shows(cuts):
    """Pieces that are looked at together leave the record of pieces that are fed one by one, reads included."""
    edges = [(0, True), *sorted(cuts), (len(BODY), True)]
    blocks = []
    for together in (False, True):
        sink = MemorySink()
        witness = Witness(Identity("a" * 32, "b" * 16, b"k" * 16), sink, clock=lambda: 10**12)
        observer = witness.body("wire", path="/v1/chat/completions", content_type="text/event-stream")
        for now, ((start, _), (stop, flushed)) in enumerate(pairwise(edges), 10**12):
            if together:
                observer.look(BODY[start:stop], now)
                if flushed:
                    observer.flush()
                    assert observer.recorder.events == observer.events
            else:
                observer.feed(BODY[start:stop], now)
        observer.close("eof")
        (block,) = sink.blocks
        blocks.append(said(block) | block.totals)
    assert blocks[0] == blocks[1]


def test_what_a_healthy_body_leaves():
    """Four events, two comments, complete, with the provider's own words."""
    (block,) = observe([memoryview(BODY)])
    assert (block.totals["events"], block.totals["comments"], block.totals["judged"]) == (4, 2, 2)
    assert (block.complete, block.end) == (True, "eof")
    assert block.extra[sc.RESPONSE_MODEL] == "m-1"
    assert block.extra[sc.FINISH_REASONS_ATTRIBUTE] == ("stop",)


@pytest.mark.parametrize(
    ("point", "end", "told"),
    [
        ("wire", "reset", "stopped_at_terminal"),
        ("wire", "cancelled", "stopped_at_terminal"),
        ("ingress", "timeout", "stopped_at_terminal"),
        ("egress", "disconnected", "eof"),
        ("egress", "raised", "raised"),
    ],
)
def test_a_terminal_beats_a_later_disconnect(point, end, told):
    """After the terminator a reader's or writer's loss of the connection is no news."""
    assert [block.end for block in observe([BODY], point, end)] == [told]


def test_before_the_terminal_the_end_is_the_end():
    """Without a terminator the end is reported as it was, with the bytes left undispatched."""
    (block,) = observe([BODY[:-8]], end="reset")
    assert (block.end, block.extra[sc.PENDING_BYTES] > 0) == ("reset", True)


def test_events_after_the_terminal_are_marked():
    """What follows `[DONE]` is recorded as after the terminal, and not judged."""
    (block,) = observe([BODY + BODY])
    results = list(block.columns()["result"])
    assert results == [0, 0, 0, 0] + [sc.RESULT["after_terminal"]] * 4
    assert block.totals["judged"] == 2


def test_a_failing_observer_harms_nobody(monkeypatch):
    """A profile that raises ends the observation of this point, is counted, and says so in the block."""
    monkeypatch.setattr("streamwitness.observer.detect", lambda *_: 1 / 0)
    before = faults.counts().get("observer.wire", 0)
    with faults.quiet():
        (block,) = observe([BODY, BODY])
    assert block.extra[sc.OBSERVER_FAULT] == "ZeroDivisionError"
    assert faults.counts()["observer.wire"] == before + 1


def left(body: bytes) -> dict[str, object]:
    """What the record says of the bytes that were left at the end."""
    block = observe([body])[-1]
    return {key: block.extra.get(key) for key in (sc.PENDING_BYTES, sc.PENDING_PARTS, sc.UPSTREAM_NOISE)}


BEGUN = BODY[: BODY.index(b": keep-alive")]
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'


@pytest.mark.parametrize(
    ("rest", "parts"),
    [
        (FINISH, sc.FINISH),
        (FINISH + b"\n", sc.FINISH),
        (FINISH + b"\r\n: more\n: mo", sc.FINISH),
        (b"data: [DONE]", sc.TERMINAL),
        (b'data: {"choices":[{"index":0,\ndata: "delta":{"content":"a"}}]}', sc.TEXT),
        (FINISH[:-1], None),
        (b"data: ping", None),
        (b"event: x", None),
        (b"dat", None),
    ],
)
def test_what_was_left_is_told_where_it_can_be_read(rest: bytes, parts: int | None) -> None:
    """An event that only lacks its blank line; half of one, or no field, is none, and nothing counts as an event."""
    found = left(BEGUN + rest)
    assert found[sc.PENDING_PARTS] == parts
    assert found[sc.PENDING_BYTES]


def test_what_was_closed_or_too_large_leaves_nothing() -> None:
    """No bytes, or more than any reader holds."""
    assert left(BODY) == {sc.PENDING_BYTES: None, sc.PENDING_PARTS: None, sc.UPSTREAM_NOISE: None}
    assert left(BEGUN + b"data: " + b"1" * sc.MAX_FRAME_BYTES)[sc.PENDING_PARTS] is None


def test_what_is_left_of_a_format_that_nobody_knew_yet_is_detected() -> None:
    """The first event may be the one that was left."""
    assert left(FINISH)[sc.PENDING_PARTS] == sc.FINISH


@pytest.mark.parametrize("data", [b"ping", b"", b'"text"', b"[1]", b'{"a":NaN\ndata: ', b'{"a":1}\ndata: {"b":2}'])
def test_words_in_the_place_of_events_are_noise(data: bytes) -> None:
    """Nothing that began as an event of the format and is none; a broken object is no noise."""
    counted = left(BEGUN + b"data: " + data + b"\n\n")[sc.UPSTREAM_NOISE]
    assert counted == (None if data.startswith(b'{"a":NaN') else 1)
    assert left(BEGUN + b'data: {"choices":[\n\n')[sc.UPSTREAM_NOISE] is None


@pytest.mark.parametrize(
    ("text", "odd"), [(b"Gr\xc3", True), (b"Gr\xfcn", True), (b"Gr\xc3\xbcn", False), (b"G", False)]
)
def test_an_event_that_only_lenient_readers_decode_says_so(text: bytes, odd: bool) -> None:
    """It is an event of the answer like any, in its place and in all sums, and malformed besides."""
    event = b'data: {"choices":[{"index":0,"delta":{"content":"' + text + b'"}}]}\n\n'
    (block,) = observe([BEGUN, event, FINISH, b"\n\n"])
    columns = block.columns()
    assert columns["parts"][-2] == sc.TEXT | (sc.MALFORMED if odd else 0)
    assert columns["semantic"][-2] != sc.MISSING
    assert "result" not in columns
    assert block.extra.get(sc.UPSTREAM_NOISE) is None


@pytest.mark.parametrize(
    ("body", "complete"),
    [
        (b"data: one\n\ndata: {x\n\n", None),
        (b"data: one\n\ndata: [DONE]\n\n", None),
        (b"data: {x\n\n", False),
        (BEGUN + b"data: one\n\n", False),
        (BODY[:80] + b"data: one\n\n", False),
    ],
    ids=["words", "words and a terminator", "a broken object", "words behind output", "words behind a role"],
)
def test_a_body_of_words_has_no_known_end(body: bytes, complete: bool | None) -> None:
    """No event of it was one of the format: whether it is whole, its rule does not tell."""
    (block,) = observe([body])
    assert block.complete is complete


def test_output_that_nobody_reads_is_counted():
    """A picture beside the text: its event is one of many that say nothing, and the closing block says that it did."""
    picture = b'data: {"choices":[{"index":0,"delta":{"images":[{"type":"image_url"}]}}]}\n\n'
    (block,), (plain,) = observe([BODY[:100], BODY[100:-14], picture, BODY[-14:]]), observe([BODY])
    assert (block.extra[sc.UNREAD], plain.extra.get(sc.UNREAD)) == (1, None)


@pytest.mark.parametrize(("order", "told"), [((0, 1, 2), None), ((0, 1, 1, 2), 1), ((0, 2, 1), 1)])
@pytest.mark.parametrize("by", ["id", "number"])
def test_what_came_again_or_late_by_its_own_number(by, order, told):
    """SSE ids and the provider's own numbers say so alike, at whichever point reads the body."""
    sink = MemorySink()
    witness = Witness(Identity("a" * 32, "b" * 16, b"k" * 16), sink, clock=lambda: 0)
    path = "/v1/chat/completions" if by == "id" else "/v1/responses"
    observer = witness.body("ingress", path=path, content_type="text/event-stream")
    for n in order:
        chat = b'id: %d\ndata: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n' % n
        kind = b"response.output_text.delta"
        own = b'event: %s\ndata: {"type":"%s","sequence_number":%d,"item_id":"m","delta":"a"}\n\n' % (kind, kind, n)
        observer.feed(chat if by == "id" else own)
    observer.close("eof")
    assert sink.blocks[-1].extra.get(sc.OUT_OF_TURN) == told
