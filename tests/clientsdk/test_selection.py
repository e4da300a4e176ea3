"""selection.py: both hooks choose paths, streams and gateways alike."""

from __future__ import annotations

import httpx
import pytest

from streamwitness.selection import chosen, is_gateway, is_stream, origin_of


@pytest.mark.parametrize(
    ("status", "path", "content_type", "expected"),
    [
        (200, "/", "text/event-stream", True),
        (201, "/", "Text/Event-Stream; charset=utf-8", True),
        (200, "/api/chat", "application/x-ndjson", True),
        (200, "/v1beta/models/m:streamGenerateContent?key=k", "application/json", True),
        (200, "/v1beta/models/m:generateContent", "application/json", False),
        (200, "/", "application/json", False),
        (200, "/", "", False),
        (502, "/", "text/event-stream", False),
    ],
)
def test_what_counts_as_a_stream(status: int, path: str, content_type: str, expected: bool) -> None:
    """Successes of a content type that a framing exists for."""
    assert is_stream(status, path, content_type) is expected


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        ((), (), True),
        (("/v1/*",), (), True),
        (("/v2/*", "/v1/chat"), (), False),
        (("/v?/chat/*",), (), True),
        ((), ("/v1/chat/*",), False),
        (("/v1/*",), ("*completions",), False),
        (("/v1/chat/[a-z]*",), (), False),
    ],
)
def test_paths_are_chosen_by_pattern(include: tuple[str, ...], exclude: tuple[str, ...], expected: bool) -> None:
    """`*` and `?` are wild, nothing else is; exclude wins."""
    assert chosen("/v1/chat/completions", include, exclude) is expected


@pytest.mark.parametrize(
    ("url", "origin", "expected"),
    [
        ("https://llm.example/v1", "https://llm.example", True),
        ("https://llm.example/v1", "https://LLM.example:443/", True),
        ("https://llm.example:8443/v1", "https://llm.example", False),
        ("http://llm.example/v1", "https://llm.example", False),
        ("http://[::1]:80/v1", "http://[::1]", True),
    ],
)
def test_a_gateway_is_known_by_its_origin(url: str, origin: str, expected: bool) -> None:
    """Scheme, host and port decide, however they are written; a path does not."""
    assert is_gateway(httpx.URL(url), (origin,)) is expected


@pytest.mark.parametrize("origin", ["https://llm.example", "http://llm.example:8080", "http://[::1]:9"])
def test_an_origin_is_told_as_it_would_be_configured(origin: str) -> None:
    """What a log message names can be pasted into the settings."""
    assert origin_of(httpx.URL(f"{origin}/v1/x?y")) == origin
    assert is_gateway(httpx.URL(f"{origin}/v1"), (origin_of(httpx.URL(origin)),))
