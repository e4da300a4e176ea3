"""Output that no profile reads is counted, and what says nothing is not taken for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamwitness.providers import profile
from streamwitness.providers.unread import object_says_more, says_more


def _chat(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _gemini(**part: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [part]}}]}


SHOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "sound": ("openai_chat", _chat(audio={"data": "AAAA"})),
    "a picture": ("openai_chat", _chat(role="assistant", images=[{"image_url": {"url": "data:,"}}])),
    "a partial picture": ("openai_responses", {"type": "response.image…", "partial_image_b64": "AAAA"}),
    "a note": ("openai_responses", {"type": "response.output_text.annotation.added", "annotation": {"url": "x"}}),
    "a citation": (
        "anthropic", {"type": "content_block_delta", "delta": {"type": "citations_delta", "citation": {"a": 1}}}
    ),
    "a search": ("anthropic", {"type": "content_block_start", "content_block": {"type": "web_search_tool_result"}}),
    "code": ("gemini", _gemini(executableCode={"code": "1"})),
    "pictures": ("ollama", {"message": {"role": "assistant", "content": "", "images": ["AAAA"]}}),
    "what a tool said": ("bedrock", {"contentBlockIndex": 0, "delta": {"citation": {"title": "x"}}}),
}  # fmt: skip

SILENT: dict[str, tuple[str, bytes]] = {
    "a role": ("openai_chat", json.dumps(_chat(role="assistant", content="", refusal=None, tool_calls=[])).encode()),
    "no choices": ("openai_chat", b'{"choices": null}'),
    "a signature": (
        "anthropic", b'{"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "x"}}'
    ),
    "an empty text": ("anthropic", b'{"type": "content_block_delta", "delta": {"type": "text_delta", "text": ""}}'),
    "a block of text": ("anthropic", b'{"type": "content_block_start", "content_block": {"type": "text", "text": ""}}'),
    "the end of one": ("anthropic", b'{"type": "content_block_stop", "index": 0}'),
    "a beginning": ("openai_responses", b'{"type": "response.created", "response": {}}'),
    "an empty part": ("gemini", json.dumps(_gemini(text="", thoughtSignature="x")).encode()),
    "fields of other types": ("gemini", b'{"candidates": [7, {"content": [1]}, {"content": {"parts": 3}}]}'),
    "no object": ("openai_chat", b"[1]"),
    "no JSON": ("openai_chat", b"\xff{"),
    "nested without end": ("openai_chat", b"[" * 100_000),
    "a format of which nothing is known": ("generic", b'{"delta": "x"}'),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_person_is_shown(name: str) -> None:
    """A field that the profile does not read, and that says something."""
    profile, fields = SHOWN[name]
    assert says_more(profile, json.dumps(fields).encode())


@pytest.mark.parametrize("name", SILENT)
def test_what_says_nothing(name: str) -> None:
    """Fields that are read, or empty; what is no event says nothing, and raises nothing."""
    assert not says_more(*SILENT[name])


@pytest.mark.parametrize("made", [lambda event: event, json.dumps, lambda event: json.dumps(event).encode()])
def test_what_a_parser_hands_on_as_it_came(made: Any) -> None:
    """A decoded event or its data field holds what it held; of other objects that is not known."""
    assert object_says_more("openai_chat", made(_chat(audio={"data": "AAAA"})))
    assert not object_says_more("openai_chat", made(_chat(role="assistant")))
    assert not object_says_more("openai_chat", object())


BESIDE: dict[str, tuple[str, dict[str, Any]]] = {
    "a picture beside a text": ("openai_chat", _chat(content="look: ", images=[{"image_url": {"url": "data:,"}}])),
    "a note beside a text": ("openai_chat", _chat(content="as said ", annotations=[{"type": "url_citation"}])),
    "a picture in the last chunk": (
        "gemini",
        {"candidates": [{"content": {"parts": [{"inlineData": {"data": "AAAA"}}]}, "finishReason": "STOP"}]},
    ),
    "pictures beside a text": ("ollama", {"message": {"role": "assistant", "content": "x", "images": ["AAAA"]}}),
}


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("decoded", [True, False])
def test_what_stands_beside_what_is_read(name: str, decoded: bool) -> None:
    """One event, and only once counted; also where the events before it said nothing but a text."""
    which, fields = BESIDE[name]
    reader = profile(which)
    for event in (_PLAIN[which], _PLAIN[which], fields, _PLAIN[which]):
        reader.read_object(event) if decoded else reader.read(b"", json.dumps(event).encode())
    assert reader.beside == 1


_PLAIN: dict[str, dict[str, Any]] = {
    "openai_chat": {"id": "c", "model": "m", **_chat(content="plain ")},
    "gemini": _gemini(text="plain "),
    "ollama": {"message": {"role": "assistant", "content": "plain "}},
}
