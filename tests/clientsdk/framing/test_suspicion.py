"""What a body is called that is none of what it announced, and what is left unsaid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness.events import Frame
from streamwitness.framing.suspicion import SAMPLE, Suspicion, is_whole, judge
from streamwitness.semconv import MISFRAMINGS

ERROR = b'{"error":{"code":500}}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"", ""),
        (b" \r\n\t", ""),
        (b"\xef\xbb\xbf{}", "json"),
        (ERROR, "json_error"),
        (b'{"error": "model not found"}', "json_error"),
        (b'{"error": "x', "json_error"),
        (b'{"error": {"message": "' + b"x" * 2000, "json_error"),
        (b'{"object":"error","message":"x"}', "json_error"),
        (b'{"id":"r1","error":{"code":1}}', "json_error"),
        (b'{"error":', "json"),
        (b'{"error":nu', "json"),
        (b'{"error":{}}', "json"),
        (b'{"error":""}', "json"),
        (b'{"error":false}', "json"),
        (b'{"id":"r1","error":null}', "json"),
        (b'{"message":"error"}', "json"),
        (b"[1,2]", "json"),
        (b"null", "json"),
        (b"{", "json"),
        (b"[DONE]", "text"),
        (b"[error] no upstream", "text"),
        (b"{{ template }}", "text"),
        (b"error code: 502", "text"),
        (b"<svg/>", "text"),
        (b"<p>data:\n<HTML lang=en>", "html"),
        (b"data: x", "sse"),
        (b": keep-alive", "sse"),
        (b"x-field: 1", ""),
        (b'{"a":1}\n{"a":2}', "ndjson"),
        (b'{"a":1}\n{', "ndjson"),
        (b'{\n{"a":2}', "text"),
        (b"\x1f\x8b\x08", "broken"),
        (b"\x1b[31mred", "text"),
    ],
)
def test_bytes_are_called_what_they_cannot_but_be(text: bytes, found: str) -> None:
    """One reading, or none: an error member must hold an error, a lone field may be an event stream's."""
    assert judge(text) == found


@given(st.binary(max_size=2 * SAMPLE))
def test_any_bytes_have_an_answer(text: bytes) -> None:
    """Never an exception, never a word outside of the table, nothing beyond the sample looked at."""
    assert judge(text) in ("", *MISFRAMINGS)
    assert judge(text[:SAMPLE]) == judge(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        *((text, True) for text in (b"{}", b'{"a":"\\ud800"}', b"[NaN]", b"null", b"[" * 9 + b"]" * 9)),
        *((text, False) for text in (b"{", b"", b"{}{}", b"[" * 100_000)),
    ],
)
def test_a_value_is_whole_as_the_most_lenient_reader_takes_it(text: bytes, whole: bool) -> None:
    """Surrogates and NaN pass; what is cut, doubled or nested beyond any reader does not."""
    assert is_whole(text) is whole


def test_an_event_takes_back_what_odd_lines_seemed_to_be() -> None:
    """Unless it is the `[DONE]` that a gateway adds behind an error."""
    for data, left in ((b"x", ""), (b"[DONE]", "json_error")):
        suspicion = Suspicion("sse")
        suspicion.odd(ERROR)
        assert suspicion.wrong == "json_error"
        suspicion.event(Frame(b"", data, 9))
        assert suspicion.wrong == left


def test_behind_events_only_a_json_error_counts() -> None:
    """Text behind events may be anything; an object is looked at from where it begins."""
    suspicion = Suspicion("sse")
    suspicion.event(Frame(b"", b"x", 9))
    for line in (b"<html>", b"text", b"{", b'  "error": {', b'    "code": 1'):
        assert suspicion.wrong == ""
        suspicion.odd(line)
    assert suspicion.wrong == "json_error"


def test_only_the_first_kibibyte_is_kept() -> None:
    """However many odd lines come."""
    suspicion = Suspicion("sse")
    for _ in range(1000):
        suspicion.odd(b"line of text " * 10)
    assert sum(map(len, suspicion._lines)) <= SAMPLE
