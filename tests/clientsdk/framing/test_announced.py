"""Which bodies are streams, and of which framing: told by content type, and where that is too little by path."""

from __future__ import annotations

import pytest

from streamwitness.framing import FRAMINGS, framing_of, media_type
from streamwitness.framing.announced import STREAM_PATHS, STREAM_TYPES

GEMINI = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"


@pytest.mark.parametrize(
    ("path", "content_type", "framing"),
    [
        ("/v1/chat/completions", "text/event-stream", "sse"),
        ("/v1/chat/completions", "Text/Event-Stream ; charset=utf-8", "sse"),
        ("/api/chat", "application/x-ndjson", "ndjson"),
        ("/model/m/converse-stream", "application/vnd.amazon.eventstream", "eventstream"),
        (GEMINI, "application/json; charset=UTF-8", "json_array"),
        (f"{GEMINI}?key=k", "application/json", "json_array"),
        (f"{GEMINI}?alt=sse", "text/event-stream", "sse"),
        ("/v1beta/models/gemini-2.5-flash:generateContent", "application/json", None),
        ("/v1/chat/completions", "application/json", None),
        (GEMINI, "text/html", None),
        ("/", "text/plain", None),
        ("/", "", None),
    ],
)
def test_a_stream_is_known_by_its_type_and_by_its_path_where_others_have_that_type(
    path: str, content_type: str, framing: str | None
) -> None:
    """A type of streams alone decides; `application/json` is one only behind Gemini's streaming paths."""
    assert framing_of(path, content_type) == framing


def test_every_framing_that_is_announced_has_a_framer() -> None:
    """Both tables name framings that exist, and between them every one."""
    assert {*STREAM_TYPES.values(), *(framing for _, _, framing in STREAM_PATHS)} == set(FRAMINGS)


def test_a_media_type_has_no_parameters_and_one_case() -> None:
    """What follows the semicolon, and the case, make no other type."""
    assert media_type(" Text/HTML ;charset=x") == "text/html"
