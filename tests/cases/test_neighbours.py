"""Around each case: the same fault at every cut, with every byte that does it, at every length."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamwitness.demo.scripts import chunk

from . import gateways, parsers
from .pipeline import DONE, Parser, Play, Stream, spoken, told
from .reducers import unguarded

WORDS = ("The", " harbour", " was", " quiet", " when")
ANSWER = spoken(*WORDS)
SPLITS = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]
"""Characters at which `str.splitlines` ends a line, and server-sent events do not."""


def with_text(text: str, at: int = 2) -> list[bytes]:
    """The answer with another text in one event."""
    body = json.loads(chunk({"content": "?"}).removeprefix(b"data: "))
    body["choices"][0]["delta"]["content"] = text
    raw = json.dumps(body, ensure_ascii=False).encode()
    for char in "\x0b\x0c\x1c\x1d\x1e":  # JSON escapes these; a server that does not is read leniently by nobody
        raw = raw.replace(json.dumps(char).strip('"').encode(), char.encode())
    return [*ANSWER[:at], b"data: " + raw + b"\n\n", *ANSWER[at + 1 :]]


def verdict(reads: list[bytes], *, parser: Parser | None = None, **more: Any) -> dict[str, Any]:
    """The verdict where all points saw the same bytes, in these reads."""
    return Stream().play(Play(reads, parser or parsers.proper(), reads, reads, **more)).verdict()


def said(found: dict[str, Any]) -> tuple[str, str, list[Any]]:
    """Ending, integrity, findings."""
    return found["ending"]["class"], found["integrity"], told(found)


HEALTHY = ("completed", "intact", [])


# --------------------------------------------------------------------------- parser


@pytest.mark.parametrize("char", SPLITS[:3], ids=ascii)
@pytest.mark.parametrize("at", range(1, 5))
def test_every_separator_that_ends_no_line(char: str, at: int) -> None:
    """A proper parser keeps it; one that splits there raises, or loses exactly this event."""
    reads = with_text(f"left{char}right", at)
    assert said(verdict(reads)) == HEALTHY
    assert said(verdict(reads, parser=parsers.splitlines)) == ("client_parser_abort", "intact", [])
    lost = verdict(reads, parser=parsers.splitlines_and_skips)
    assert said(lost) == ("completed", "damaged", [("gap", ("parser",))])
    assert lost["findings"][0]["sequence"] == [at, at]


@pytest.mark.parametrize("char", SPLITS[3:], ids=ascii)
def test_separators_that_json_has_to_escape(char: str) -> None:
    """Raw, the event is no JSON for any reader: the source's bytes, and nobody else is accused."""
    assert told(verdict(with_text(f"left{char}right"))) == []


@pytest.mark.parametrize("cut", range(4))
def test_a_bom_in_pieces(cut: int) -> None:
    """A proper parser drops it, however it was cut; one that keeps it loses the first event, and only that."""
    bom = b"\xef\xbb\xbf"
    reads = [piece for piece in (bom[:cut], bom[cut:] + ANSWER[0]) if piece] + ANSWER[1:]
    assert said(verdict(reads)) == HEALTHY
    found = verdict(reads, parser=parsers.keeps_the_bom)
    assert said(found) == ("completed", "damaged", [("gap", ("parser",))])
    assert found["findings"][0]["sequence"] == [0, 0]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_every_line_end_at_every_cut(end: bytes, size: int) -> None:
    """The same events: nobody is accused, however a line ends and a read is cut."""
    body = b"".join(ANSWER).replace(b"\n", end)
    assert said(verdict([body[i : i + size] for i in range(0, len(body), size)])) == HEALTHY


@pytest.mark.parametrize("lines", [2, 3])
def test_data_in_several_lines(lines: int) -> None:
    """Joined by a proper parser; one that takes each for a document loses this event."""
    pieces = ANSWER[2].removeprefix(b"data: ").strip().split(b",", lines - 1)
    event = b",\ndata: ".join(pieces)
    reads = [*ANSWER[:2], b"data: " + event + b"\n\n", *ANSWER[3:]]
    assert said(verdict(reads)) == HEALTHY
    found = verdict(reads, parser=parsers.json_per_line)
    assert (said(found), found["findings"][0]["sequence"]) == (("completed", "damaged", [("gap", ("parser",))]), [2, 2])


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_character_cut_at_each_byte_in_the_client(cut: int) -> None:
    """A client that decodes each read by itself changes this event, and only that."""
    whole = with_text("a\N{MUSICAL SYMBOL G CLEF}b")
    at = whole[2].index("\N{MUSICAL SYMBOL G CLEF}".encode()) + cut
    reads = [*whole[:2], whole[2][:at], whole[2][at:], *whole[3:]]
    assert said(verdict(reads)) == HEALTHY
    found = verdict(reads, parser=parsers.text_per_read)
    assert (said(found), found["findings"][0]["sequence"]) == (
        ("completed", "damaged", [("altered", ("parser",))]), [2, 2],
    )  # fmt: skip


@pytest.mark.parametrize("read_to", [1, 20, 60])
def test_lines_of_json_cut_within_an_event(read_to: int) -> None:
    """Ollama: a client that parses each read raises, or loses exactly the event across the cut."""

    def line(text: str, *, done: bool = False) -> bytes:
        body = {"model": "m", "message": {"role": "assistant", "content": text}, "done": done}
        return json.dumps(body | ({"done_reason": "stop"} if done else {})).encode() + b"\n"

    lines = [*(line(word) for word in WORDS), line("", done=True)]
    reads = [*lines[:2], lines[2][:read_to], lines[2][read_to:], *lines[3:]]
    more = {"path": "/api/chat", "content_type": "application/x-ndjson"}
    assert said(verdict(reads, parser=parsers.proper("ndjson"), **more)) == HEALTHY
    assert said(verdict(reads, parser=parsers.json_per_read, **more))[0] == "client_parser_abort"
    found = verdict(reads, parser=parsers.json_per_read_and_skips, **more)
    assert (said(found), found["findings"][0]["sequence"]) == (("completed", "damaged", [("gap", ("parser",))]), [2, 2])


@pytest.mark.parametrize("rest", [b"", b"\n", b"\r\n", b"\r"], ids=ascii)
@pytest.mark.parametrize("parser", [parsers.proper(), parsers.flushing], ids=["discards", "flushes"])
def test_an_end_without_a_blank_line_accuses_no_parser(parser: Parser, rest: bytes) -> None:
    """Whether a client flushes or discards is its right."""
    reads = [*ANSWER[:-2], ANSWER[-2].strip() + rest]
    assert told(verdict(reads, parser=parser)) == []


# --------------------------------------------------------------------------- gateway


def through(broken: gateways.Gateway, upstream: list[bytes], **more: Any) -> dict[str, Any]:
    """The verdict where a gateway made something else of what it read."""
    sent = broken(upstream)
    return Stream().play(Play(sent, parsers.proper(), sent, upstream, **more)).verdict()


@pytest.mark.parametrize("copies", [2, 3, 5, 9, 40])
def test_equal_pieces_dropped_as_replays(copies: int) -> None:
    """Each of them is a loss of its own; sent on, equal pieces are no copies of each other."""
    upstream = [chunk({"content": "ha"})] * copies + ANSWER[-2:]
    assert said(through(gateways.pass_on, upstream)) == HEALTHY
    found = through(gateways.drop_what_repeats, upstream)
    assert said(found) == ("completed", "damaged", [("gap", ("gateway",))])
    assert (found["findings"][0]["count"], found["findings"][0]["exact"]) == (copies - 1, True)


@pytest.mark.parametrize("cut", [7, 30, 60, 100])
def test_an_event_closed_at_a_read(cut: int) -> None:
    """One event that came out so that nobody can read it."""
    upstream = [*ANSWER[:2], ANSWER[2][:cut], ANSWER[2][cut:], *ANSWER[3:]]
    found = through(gateways.close_at_read, upstream)
    assert {suspects for _, suspects in told(found)} == {("gateway",)}


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_character_cut_at_each_byte_in_the_gateway(cut: int) -> None:
    """The client that shows the broken text has read what it was sent."""
    whole = with_text("a\N{MUSICAL SYMBOL G CLEF}b")
    at = whole[2].index("\N{MUSICAL SYMBOL G CLEF}".encode()) + cut
    upstream = [*whole[:2], whole[2][:at], whole[2][at:], *whole[3:]]
    assert said(through(gateways.decode_each_read, upstream)) == (
        "completed", "damaged", [("altered", ("gateway",))],
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("comments", [1, 3])
def test_comments_made_into_events(n: int, comments: int) -> None:
    """Wherever they come, and however many."""
    upstream = [*ANSWER[:n], *[b": PROCESSING\n\n"] * comments, *ANSWER[n:]]
    assert said(through(gateways.pass_on, upstream)) == HEALTHY
    found = through(gateways.rewrap_comments, upstream)
    assert (told(found), found["findings"][0]["count"]) == ([("malformed", ("gateway",))], comments)


@pytest.mark.parametrize("made_up", [gateways.write_done, gateways.write_finish_and_done])
@pytest.mark.parametrize("n", [1, 3, 5])
def test_an_end_made_up_after_the_gateways_own_timeout(made_up: gateways.Gateway, n: int) -> None:
    """Its time was up, its upstream was not done: the end is invented, and the answer not completed."""
    found = through(made_up, ANSWER[:n], upstream_end="timeout")
    assert found["ending"]["class"] == "upstream_timeout"
    assert set(told(found)) == {("fabricated", ("gateway",))}


@pytest.mark.parametrize("n", [1, 3, 5])
def test_an_upstream_that_the_gateway_let_go_of(n: int) -> None:
    """A limit of its own (an answer long enough, a stop word): it may finish by itself."""
    assert told(through(gateways.write_finish_and_done, ANSWER[:n], upstream_end="cancelled")) == []


@pytest.mark.parametrize("left", [b"data: {", b'data: {"id":"chatcmpl-demo","object":"chat.com', ANSWER[3].strip()])
def test_an_error_written_into_an_open_event(left: bytes) -> None:
    """Whatever was left open; one that closes what was open, as it was, has added nothing."""
    upstream = [*ANSWER[:3], left]
    found = through(gateways.error_into_the_open_event, upstream, upstream_end="reset")
    assert told(found) == [("malformed", ("gateway",))]
    assert told(through(lambda reads: [*reads, b"\n\n"], upstream, upstream_end="reset")) == []


# --------------------------------------------------------------------------- reducer, source


@pytest.mark.parametrize("choices", [b"[]", b"null", None], ids=["empty", "null", "absent"])
@pytest.mark.parametrize("at", [0, 3, 6])
def test_a_chunk_without_choices(choices: bytes | None, at: int) -> None:
    """A filter's note, or usage, wherever it comes: a reducer that raises is told so, and a proper one is in order."""
    field = b"" if choices is None else b'"choices":' + choices + b","
    note = b'data: {"id":"c","object":"chat.completion.chunk",' + field + b'"usage":{"prompt_tokens":1}}\n\n'
    reads = [*ANSWER[:at], note, *ANSWER[at:]]
    assert told(verdict(reads)) == []
    found = verdict(reads, reducer=unguarded)
    assert {suspects for _, suspects in told(found)} == {("reducer",)}
    assert found["ending"]["class"] == ("completed" if at == 6 else "client_reducer_abort")


@pytest.mark.parametrize("n", range(6))
def test_an_error_event_after_any_number_of_events(n: int) -> None:
    """The first event, too: safe to try again, and the source's either way."""
    error = b'data: {"error":{"message":"overloaded","code":529}}\n\n'
    found = verdict([*ANSWER[:n], error])
    assert (found["ending"]["class"], found["ending"]["by"], told(found)) == ("upstream_error", "source", [])


@pytest.mark.parametrize("n", [1, 3, 5])
def test_a_terminator_without_a_finish(n: int) -> None:
    """With the record of gateway in it is the source's; without it, nobody's that is known."""
    reads = [*ANSWER[:n], DONE]
    assert said(verdict(reads)) == ("protocol_violation", "intact", [])
    alone = Stream().play(Play(reads, parsers.proper())).verdict()
    assert (alone["ending"]["class"], alone["ending"]["by"]) == ("protocol_violation", None)
