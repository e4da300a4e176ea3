"""Which profile a response gets: its own or none, never another's."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamwitness.providers import KNOWN, PROFILES, detect, profile
from tests.clientsdk.providers.vectors import streams

SSE = "text/event-stream"
NDJSON = "application/x-ndjson"

WHERE = {
    "openai_chat": ("/v1/chat/completions", SSE),
    "ollama": ("/api/chat", NDJSON),
    "openai_responses": ("/v1/responses", SSE),
    "anthropic": ("/v1/messages", SSE),
    "gemini": ("/v1beta/models/m:streamGenerateContent", SSE),
    "bedrock": ("/model/m/converse-stream", "application/vnd.amazon.eventstream"),
    "vllm_raw": ("/generate", ""),
    "tgi_raw": ("/generate_stream", SSE),
    "dashscope": ("/api/v1/services/aigc/text-generation/generation", SSE),
    "dashscope_delta": ("/api/v1/services/aigc/text-generation/generation", SSE),
    "envelope": ("/ask", SSE),
    "generic": ("/ask", SSE),
}
"""Profile → path and content type of its responses."""


def test_every_profile_has_a_place() -> None:
    """So that each is tested below."""
    assert set(WHERE) == set(PROFILES)


BY_NAME = {"dashscope_delta": "dashscope"}
"""Profiles that only the request can decide → what is found instead."""

UNTOLD = {"vllm_raw", "generic"}
"""Profiles that a first event alone never tells."""

FRAMED = {"bedrock"}
"""Profiles whose events say what they are in the framing, so that path and content type must tell."""

FIRST = [(name, place, stream["events"][0]["data"].encode()) for name, place, stream in streams() if name in WHERE]
"""Profile, place and first event of every vector."""


@pytest.mark.parametrize(
    ("path", "first", "name"),
    [
        ("/v1/chat/completions", b"", "openai_chat"),
        ("/openai/deployments/d/chat/completions?api-version=2024-06-01", b"", "openai_chat"),
        ("/v1/chat/completions/", b"<html>", "openai_chat"),
        ("/ask", b'{"object":"chat.completion.chunk"}', "openai_chat"),
        ("/ask", b'{"choices":[{"delta":{}}]}', "openai_chat"),
        ("/ask", b'{"id":"","choices":[],"prompt_filter_results":[]}', "openai_chat"),
        ("/v1/completions", b'{"object":"text_completion","choices":[{"text":"a"}]}', "openai_chat"),
        ("/ask", b'{"type":"text-delta","delta":"a"}', "generic"),
        ("/ask", b"[DONE]", "generic"),
        ("/ask", b"[1]", "generic"),
        ("/ask", b"", "generic"),
        ("", b"\xff", "generic"),
        ("/api/chat", b'0:"text"', "generic"),
        ("/api/chat", b'{"type":"start"}', "generic"),
        ("/api/chat", b"", "generic"),
        ("/api/chat", b'{"error":"no"}', "generic"),
        ("/ask", b'{"done":false,"message":"working","model":5}', "generic"),
        ("/v2/models/m/generate_stream", b'{"model_name":"m","text_output":"a"}', "generic"),
        ("/v2/models/m/generate_stream", b"", "generic"),
        ("/generate_stream", b"", "tgi_raw"),
        ("/generate_stream", b'{"token":"a"}', "generic"),
        ("/invocations", b'{"token":{"text":"a"},"generated_text":null}', "tgi_raw"),
        ("/generate", b'{"text":"a","meta_info":{}}', "generic"),
        ("/generate", b'{"text":["a"],"more":1}', "generic"),
        ("/generate", b"", "generic"),
        ("/ask", b'{"text":["a"]}', "generic"),
        ("/ask", b'{"output":{"image":"x"},"request_id":"r"}', "generic"),
        ("/ask", b'{"output":{"text":"x"}}', "generic"),
        ("/ask", b'{"stream":"s","seq":0,"kind":"start"}', "envelope"),
        ("/ask", b'{"stream":"s","seq":1,"kind":"text","delta":"a"}', "generic"),
    ],
)
def test_a_response_is_known_by_its_path_or_its_first_event(path: str, first: bytes, name: str) -> None:
    """The path decides where it is telling, else the first data field; what could be something else is generic."""
    assert detect(path, SSE, first).name == name


@pytest.mark.parametrize(
    ("first", "name"),
    [
        (b"", "ollama"),
        (b'{"error":"no"}', "ollama"),
        (b'{"type":"start"}', "generic"),
        (b"oops", "generic"),
    ],
)
def test_a_path_that_many_have_tells_with_its_content_type(first: bytes, name: str) -> None:
    """`/api/chat` is Ollama's where lines are streamed, unless the first one says something else."""
    assert detect("/api/chat", NDJSON, first).name == name


def test_a_vector_is_detected_where_it_comes_from() -> None:
    """By the provider's path and content type and the first event."""
    for name, place, first in FIRST:
        found = detect(*WHERE[name], first).name
        assert found == BY_NAME.get(name, name) or (name in UNTOLD and found == "generic"), place


def test_a_first_event_alone_never_tells_another_profile() -> None:
    """Behind a path and a content type that say nothing, a response is its own format's or unknown."""
    for name, place, first in FIRST:
        assert detect("/ask", "", first).name in {BY_NAME.get(name, name), "generic"}, place


def test_another_providers_event_at_a_path_that_many_have_is_not_claimed() -> None:
    """Where a path is not telling, a first event of another format is not read as that of the path's."""
    for name, place, first in FIRST:
        for path in ("/api/chat", "/generate", "/v2/models/m/generate_stream") if first else ():
            assert detect(path, NDJSON, first).name in {BY_NAME.get(name, name), "generic"} | _errors(first), place


def _errors(first: bytes) -> set[str]:
    """What a line with an error may be at a path for lines."""
    return {"ollama"} if b'"error"' in first else set()


@pytest.mark.parametrize("name", sorted(set(WHERE) - UNTOLD - FRAMED - set(BY_NAME)))
def test_the_first_event_of_an_ordinary_answer_tells(name: str) -> None:
    """Where a provider's path has been rewritten, its plainest answer is still known."""
    plain = next(stream for found, _, stream in streams() if found == name)

    assert detect("/ask", "", plain["events"][0]["data"].encode()).name == name


@settings(deadline=None)
@given(path=st.text(max_size=20), content_type=st.text(max_size=20), first=st.binary(max_size=40))
def test_detection_takes_anything(path: str, content_type: str, first: bytes) -> None:
    """Whatever a response is, there is a profile for it."""
    assert detect(path, content_type, first).name in PROFILES


def test_what_a_profile_claims_is_seen_before_it_is_loaded() -> None:
    """The table's paths and marks leave out nothing that a profile would claim."""
    for _, place, first in FIRST:
        for path, content_type in {*WHERE.values(), ("/ask", "")}:
            for made in (name for name in PROFILES if PROFILES[name].matches(path, content_type, first)):
                assert KNOWN[made].may_match(path, first), (made, place)


def test_only_what_is_used_is_loaded() -> None:
    """A process that reads Chat Completions pays for no other format's decoders."""
    code = (
        "import sys; from streamwitness.providers import detect; detect('/v1/chat/completions', '');"
        "print([name for name in sys.modules if name.startswith('streamwitness.providers.')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = {name.rpartition(".")[2] for name in eval(run.stdout)}
    assert loaded == {"base", "objects", "openai_chat", "openai_chunk", "shapes"}


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """The error says what could have been meant."""
    with pytest.raises(ValueError, match=r"unknown provider profile 'openai', known: .*openai_chat.*, generic"):
        profile("openai")
