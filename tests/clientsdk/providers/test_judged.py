"""A gateway that turns another format into Chat Completions: judged by what it kept, innocent where nothing shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from streamwitness import envelope
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness
from streamwitness_analyzer.decode import decode_otlp
from streamwitness_analyzer.judge import judge
from tests.analyzer.kit import otlp

SSE, NDJSON = "text/event-stream", "application/x-ndjson"
WORDS = ("The", " sky", " is", " blue", " and", " wide", ".")
LESS = WORDS[:2] + WORDS[3:]
Body = list[bytes]


def _sse(events: Sequence[Any]) -> Body:
    return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]


def _lines(events: Sequence[Any]) -> Body:
    return [json.dumps(event).encode() + b"\n" for event in events]


def _so_far(words: Sequence[str]) -> list[str]:
    return ["".join(words[: i + 1]) for i in range(len(words))]


def _chat(words: Sequence[str]) -> Body:
    deltas = [{"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]} for word in words]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return [*_sse([*deltas, end]), b"data: [DONE]\n\n"]


def _ollama(words: Sequence[str]) -> Body:
    lines = [{"model": "m", "response": word, "done": False} for word in words]
    return _lines([*lines, {"model": "m", "response": "", "done": True, "done_reason": "stop"}])


def _tgi(words: Sequence[str]) -> Body:
    events = [{"token": {"text": word, "special": False}, "generated_text": None} for word in words]
    last = {"token": {"text": "</s>", "special": True}, "generated_text": "".join(words)}
    return _sse([*events, last | {"details": {"finish_reason": "eos_token"}}])


def _dashscope_delta(words: Sequence[str]) -> Body:
    events = [{"output": {"text": word, "finish_reason": "null"}, "request_id": "r"} for word in words]
    return _sse([*events, {"output": {"text": "", "finish_reason": "stop"}, "request_id": "r"}])


def _dashscope(words: Sequence[str]) -> Body:
    events = [{"output": {"text": text, "finish_reason": "null"}, "request_id": "r"} for text in _so_far(words)]
    return _sse([*events, {"output": {"text": "".join(words), "finish_reason": "stop"}, "request_id": "r"}])


def _vllm(words: Sequence[str]) -> Body:
    return _lines([{"text": [text]} for text in _so_far(words)])


def _envelope(words: Sequence[str]) -> Body:
    return list(envelope.wrap(words, "s1"))


DELTAS = {
    "ollama": (_ollama, NDJSON),
    "tgi_raw": (_tgi, SSE),
    "dashscope_delta": (_dashscope_delta, SSE),
    "envelope": (_envelope, SSE),
}
WHOLE = {"dashscope": (_dashscope, SSE), "vllm_raw": (_vllm, NDJSON)}


def _verdict(name: str, content_type: str, upstream: Body, sent: Body) -> dict[str, Any]:
    """What the analyzer says of a gateway that read one and sent the other."""
    sink, identity = MemorySink(), Identity.new()
    gateway = Witness(identity, sink, expected=("ingress", "egress"))
    leg = gateway.body("ingress", path="/upstream", content_type=content_type, leg=0, named=name)
    egress = gateway.body("egress", path="/v1/chat/completions", content_type=SSE)
    for observer, body in ((leg, upstream), (egress, sent)):
        for piece in body:
            observer.feed(piece)
    leg.close("eof")
    egress.close("eof", legs=(leg.recorder.id,))
    blocks, refused = decode_otlp(otlp(sink.blocks), "any")
    assert not refused
    return judge(blocks, settled=True)


@pytest.mark.parametrize("name", DELTAS)
def test_a_translation_that_keeps_everything_is_intact(name: str) -> None:
    """Slots, texts and finishes are the same ones in both formats."""
    body, content_type = DELTAS[name]
    verdict = _verdict(name, content_type, body(WORDS), _chat(WORDS))

    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])


@pytest.mark.parametrize("name", DELTAS)
def test_a_translation_that_loses_a_word_is_the_gateways_fault(name: str) -> None:
    """What was there before the gateway and is missing behind it was lost by it."""
    body, content_type = DELTAS[name]
    verdict = _verdict(name, content_type, body(WORDS), _chat(LESS))

    assert verdict["integrity"] == "damaged"
    assert [(finding["suspects"], finding["confidence"]) for finding in verdict["findings"]] == [
        (["gateway"], "certain")
    ]


@pytest.mark.parametrize("sent", [WORDS, LESS, WORDS[:1]])
@pytest.mark.parametrize("name", WHOLE)
def test_deltas_made_of_whole_texts_prove_nothing(name: str, sent: Sequence[str]) -> None:
    """A snapshot is never compared with a delta: neither fault nor innocence is claimed."""
    body, content_type = WHOLE[name]
    verdict = _verdict(name, content_type, body(WORDS), _chat(sent))

    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


@pytest.mark.parametrize(("lost", "found"), [(3, ("unproven", [])), (-1, ("damaged", [("tail", ["gateway"])]))])
@pytest.mark.parametrize("name", WHOLE)
def test_whole_texts_passed_on_as_they_are(name: str, lost: int, found: tuple[str, list[object]]) -> None:
    """One that is left out on the way is told again by the next; the last one is not."""
    made, content_type = WHOLE[name]
    sink, identity = MemorySink(), Identity.new()
    gateway = Witness(identity, sink, expected=("ingress", "egress"))
    leg = gateway.body("ingress", path="/x", content_type=content_type, leg=0, named=name)
    egress = gateway.body("egress", path="/x", content_type=content_type, named=name)
    pieces = list(made(WORDS))
    left_out = pieces[lost]
    for piece in pieces:
        leg.feed(piece)
        if piece is not left_out:
            egress.feed(piece)
    leg.close("eof")
    egress.close("eof", legs=(leg.recorder.id,))
    verdict = judge(decode_otlp(otlp(sink.blocks), "any")[0], settled=True)

    assert (verdict["integrity"], [(each["kind"], each["suspects"]) for each in verdict["findings"]]) == found
