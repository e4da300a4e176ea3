"""Which profile a response gets, and what all profiles have in common."""

from __future__ import annotations

import pytest

from streamwitness import semconv as sc
from streamwitness.providers import PROFILES, detect, profile

SSE = "text/event-stream"


@pytest.mark.parametrize(
    ("path", "first", "name"),
    [
        ("/v1/chat/completions", b"", "openai_chat"),
        ("/openai/deployments/d/chat/completions?api-version=2024-06-01", b"", "openai_chat"),
        ("/v1/chat/completions/", b"<html>", "openai_chat"),
        ("/ask", b'{"object":"chat.completion.chunk"}', "openai_chat"),
        ("/ask", b'{"choices":[{"delta":{}}]}', "openai_chat"),
        ("/ask", b'{"id":"","choices":[],"prompt_filter_results":[]}', "openai_chat"),
        ("/v1/completions", b'{"object":"text_completion","choices":[{"text":"a"}]}', "generic"),
        ("/ask", b'{"type":"text-delta","delta":"a"}', "generic"),
        ("/ask", b"[DONE]", "generic"),
        ("/ask", b"[1]", "generic"),
        ("/ask", b"", "generic"),
        ("", b"\xff", "generic"),
    ],
)
def test_a_response_is_known_by_its_path_or_its_first_event(path: str, first: bytes, name: str) -> None:
    """The path decides where it is telling, else the first data field; what nothing matches is generic."""
    assert detect(path, SSE, first).name == name


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_made_by_its_own_name(name: str) -> None:
    """The table's key is the profile's name, and each call makes a fresh one."""
    made = profile(name)

    assert made.name == name
    assert made is not profile(name)
    assert made.delivers == sc.ALL_PARTS
    assert (made.finish_reasons, made.model, made.response_id, made.usage) == ((), None, None, (None, None))
    assert not made.complete


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """The error says what could have been meant."""
    with pytest.raises(ValueError, match="unknown provider profile 'openai', known: openai_chat, .*, generic"):
        profile("openai")
