"""Gateways that say the same in other words of the format: bytes through the real recorders, then judged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness
from streamwitness_analyzer.judge import judge

IDENTITY = Identity("5" * 32, "e" * 16, b"k" * 16)
CHAT = ("/v1/chat/completions", "text/event-stream")
GEMINI = ("/v1beta/models/g:streamGenerateContent", "text/event-stream")
OLLAMA = ("/api/chat", "application/x-ndjson")
DASHSCOPE = ("/api/v1/services/aigc/text-generation/generation", "text/event-stream")
Body = tuple[tuple[str, str], bytes]
"""A format (path, content type) and the bytes of a body."""


def gateway(read: Body, sent: Body, end: str = "eof", *more: Body) -> Any:
    """The verdict on a gateway that read one body of a format, which ended so, and more of them, and sent another."""
    sink = MemorySink()
    witness = Witness(IDENTITY, sink, expected=("ingress", "egress"))
    legs = []
    for number, ((path, kind), body) in enumerate((read, *more)):
        leg = witness.body("ingress", path=path, content_type=kind, leg=number)
        leg.feed(body)
        leg.close("eof" if number else end)
        legs.append(leg.recorder.id)
    (path, kind), body = sent
    egress = witness.body("egress", path=path, content_type=kind)
    egress.feed(body)
    egress.close("eof", legs=tuple(legs))
    return judge(sink.blocks, settled=True)


def found(verdict: Any) -> list[tuple[str, list[str]]]:
    """Kind and suspects of each finding."""
    return [(finding["kind"], finding["suspects"]) for finding in verdict["findings"]]


def events(*chunks: object) -> bytes:
    """Server-sent events."""
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def chat(*deltas: dict[str, Any], finish: str = "tool_calls") -> Body:
    """Chat Completions: these deltas, and a finish."""
    choices = [*({"index": 0, "delta": delta} for delta in deltas), {"index": 0, "delta": {}, "finish_reason": finish}]
    return CHAT, events(*({"id": "r", "choices": [choice]} for choice in choices)) + b"data: [DONE]\n\n"


def called(*arguments: str | None, name: str | None = "f") -> list[dict[str, Any]]:
    """Deltas of one call, its name in the first."""
    functions = [{"name": name} if i == 0 and name else {} for i in range(len(arguments))]
    told = [f if a is None else {**f, "arguments": a} for f, a in zip(functions, arguments, strict=True)]
    return [{"tool_calls": [{"index": 0, "function": function}]} for function in told]


def gemini(arguments: dict[str, Any] | None) -> Body:
    """Gemini: a text, and a call."""
    call = {"name": "f"} if arguments is None else {"name": "f", "args": arguments}
    parts: list[dict[str, Any]] = [{"text": "Let me see."}, {"functionCall": call}]
    chunks = [{"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]} for part in parts]
    return GEMINI, events(*chunks, {"candidates": [{"index": 0, "finishReason": "STOP"}]})


def ollama(arguments: dict[str, Any]) -> Body:
    """Ollama: a text, and a call."""
    messages = [{"content": "Let me see."}, {"tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}]
    lines: list[Any] = [{"model": "m", "message": message, "done": False} for message in messages]
    lines.append({"model": "m", "message": {"content": ""}, "done": True, "done_reason": "stop"})
    return OLLAMA, b"".join(json.dumps(line).encode() + b"\n" for line in lines)


TEXT = {"content": "Let me see."}
ARGUMENTS = {"where": "Zürich", "n": 1.0, "far": 1e300}
SPACED, DENSE = json.dumps(ARGUMENTS), json.dumps(ARGUMENTS, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("end", ["eof", "cancelled"])
@pytest.mark.parametrize(
    ("read", "sent"),
    [
        (gemini(ARGUMENTS), chat(TEXT, *called(SPACED))),
        (gemini(ARGUMENTS), chat(TEXT, *called("", DENSE[:7], DENSE[7:]))),
        (ollama(ARGUMENTS), chat(TEXT, *called(SPACED))),
        (chat(TEXT, *called("", SPACED[:9], SPACED[9:])), gemini(ARGUMENTS)),
        (chat(TEXT, *called("", SPACED[:9], SPACED[9:])), chat(TEXT, *called(DENSE))),
        (gemini(None), chat(TEXT, *called("{}"))),
        (gemini({}), chat(TEXT, *called(""))),
        (chat(TEXT, *called("{}")), chat(TEXT, *called(None))),
        (chat(TEXT, *called("", "{}")), chat(TEXT, *called(""))),
        (chat(TEXT, *called("")), chat(TEXT, *called("", "{}"))),
    ],
    ids=[
        "gemini to chat", "gemini to chat in pieces", "ollama to chat", "chat to gemini", "written again",
        "no arguments to {}", "{} to no arguments", "{} to none", "{} left out", "{} put in",
    ],
)  # fmt: skip
def test_arguments_written_otherwise_accuse_nobody(read: Body, sent: Body, end: str) -> None:
    """Spaces, escapes, numbers and `{}` are spellings of the same JSON."""
    assert found(gateway(read, sent, end)) == []


def test_a_piece_of_arguments_that_is_gone_is_a_loss() -> None:
    """All that came is as it was: nothing was written otherwise."""
    pieces = ("", '{"where": ', '"Zürich", ', '"n": 1}')
    verdict = gateway(chat(TEXT, *called(*pieces)), chat(TEXT, *called(*pieces[:2], pieces[3])))
    assert found(verdict) == [("gap", ["gateway"])]


def test_a_text_that_is_gone_beside_a_call_written_otherwise_is_a_loss() -> None:
    """What was said in text is compared as ever."""
    verdict = gateway(chat(TEXT, {"content": " Now."}, *called(SPACED)), chat(TEXT, *called(DENSE)))
    assert [suspects for _, suspects in found(verdict)] == [["gateway"]]


def test_a_text_that_is_repeated_whole_may_be_sent_less_often() -> None:
    """DashScope's events hold the text so far; a gateway that skips one has lost nothing for who reads on."""
    texts = ["The", "The cat", "The cat sat", "The cat sat."]
    whole = [{"output": {"text": text, "finish_reason": "null"}, "request_id": "r"} for text in texts]
    last = {"output": {"text": texts[-1], "finish_reason": "stop"}, "request_id": "r"}
    verdict = gateway((DASHSCOPE, events(*whole, last)), (DASHSCOPE, events(whole[0], whole[2], last)))
    assert found(verdict) == []


RESPONSES = ("/v1/responses", "text/event-stream")
SAID = {"type": "response.output_text.delta", "delta": "Let me see.", "output_index": 0}
FAILED = {"type": "response.failed", "response": {"error": {"message": "m"}}}
ERROR: dict[str, Any] = {"type": "error", "message": "m"}


@pytest.mark.parametrize("said", [[SAID], []], ids=["behind a text", "at once"])
@pytest.mark.parametrize(
    "sent",
    [(RESPONSES, [ERROR]), (CHAT, [{"error": {"message": "m"}}])],
    ids=["an error event", "another format's error"],
)
def test_a_failure_that_is_told_in_another_way(sent: tuple[tuple[str, str], list[Any]], said: list[Any]) -> None:
    """`response.failed` says that it finished, with an error; other ways to fail are no finish."""
    kind, errors = sent
    texts = [SAID if kind is RESPONSES else {"choices": [{"index": 0, "delta": TEXT}]} for _ in said]
    verdict = gateway((RESPONSES, events(*said, FAILED)), (kind, events(*texts, *errors)))
    assert (found(verdict), verdict["ending"]["class"]) == ([], "upstream_error")


def test_a_finish_that_an_error_takes_the_place_of() -> None:
    """The upstream broke between its stop reason and its last event, and the gateway says so."""
    read = [
        {"type": "message_start", "message": {"id": "r", "role": "assistant"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me see."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ]
    sent = [{"choices": [{"index": 0, "delta": TEXT}]}, {"error": {"message": "upstream"}}]
    verdict = gateway((("/v1/messages", CHAT[1]), events(*read)), (CHAT, events(*sent)), "reset")
    assert found(verdict) == []


@pytest.mark.parametrize("word", ["stop", "length"])
def test_an_end_that_comes_from_another_attempt(word: str) -> None:
    """All the text came from the one that broke, the finish, in whatever word, from the one that took over."""
    text = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "Let me see."}]}}]}
    verdict = gateway((GEMINI, events(text)), chat(TEXT, finish=word), "timeout", chat(finish="stop"))
    assert (found(verdict), verdict["ending"]["class"]) == ([], "completed")
