"""One conversation in the formats of several providers: what is compared between them is equal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamwitness.providers import profile
from streamwitness.semconv import PART, TERMINAL

THOUGHT, TEXT = ("First ", "look."), ("The ", "séa is ", "calm.")
CALLS = (("find", ('{"q":', '"sea"}')), ("weigh", ('{"kg":3}',)))

Event = tuple[bytes, dict[str, Any]]


def _chat(finish: str) -> list[Event]:
    def delta(**fields: Any) -> Event:
        return b"", {
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": fields, "finish_reason": None}],
        }

    calls = [
        delta(tool_calls=[{"index": n, "id": f"call_{n}", "function": {"name": name, "arguments": ""}}])
        for n, (name, _) in enumerate(CALLS)
    ]
    arguments = [
        delta(tool_calls=[{"index": n, "function": {"arguments": bit}}])
        for n, (_, bits) in enumerate(CALLS)
        for bit in bits
    ]
    said = [*(delta(reasoning_content=word) for word in THOUGHT), *(delta(content=word) for word in TEXT)]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    return [
        delta(role="assistant", content=""),
        *said,
        *(calls + arguments if finish == "tool_calls" else ()),
        (b"", end),
    ]


def _anthropic(finish: str) -> list[Event]:
    def event(kind: str, **fields: Any) -> Event:
        return kind.encode(), {"type": kind, **fields}

    def block(index: int, start: dict[str, Any], kind: str, field: str, words: tuple[str, ...]) -> list[Event]:
        deltas = [event("content_block_delta", index=index, delta={"type": kind, field: word}) for word in words]
        started = event("content_block_start", index=index, content_block=start)
        return [started, *deltas, event("content_block_stop", index=index)]

    events = [event("message_start", message={"role": "assistant", "usage": {}})]
    events += block(0, {"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", THOUGHT)
    for n, word in enumerate(TEXT):  # a block for every passage, as with citations
        events += block(1 + n, {"type": "text", "text": ""}, "text_delta", "text", (word,))
    for n, (name, bits) in enumerate(CALLS if finish == "tool_use" else ()):
        tool = {"type": "tool_use", "name": name, "input": {}}
        events += block(4 + n, tool, "input_json_delta", "partial_json", bits)
    return [*events, event("message_delta", delta={"stop_reason": finish}), event("message_stop")]


def _responses(finish: str) -> list[Event]:
    def event(kind: str, **fields: Any) -> Event:
        return b"", {"type": f"response.{kind}", **fields}

    events = [event("created", response={})]
    events += [
        event("reasoning_summary_text.delta", output_index=0, summary_index=n, delta=w) for n, w in enumerate(THOUGHT)
    ]
    events += [event("output_text.delta", output_index=1, content_index=n, delta=word) for n, word in enumerate(TEXT)]
    events += [event("output_text.done", output_index=1, content_index=n, text=word) for n, word in enumerate(TEXT)]
    if finish == "tools":
        for n, (name, _) in enumerate(CALLS):
            item = {"type": "function_call", "name": name, "arguments": ""}
            events.append(event("output_item.added", output_index=2 + n, item=item))
        for n, (_, bits) in enumerate(CALLS):
            events += [event("function_call_arguments.delta", output_index=2 + n, delta=bit) for bit in bits]
    incomplete = {"incomplete_details": {"reason": finish}}
    end = event("incomplete", response=incomplete) if finish == "max_output_tokens" else event("completed", response={})
    return [*events, end]


def _gemini(finish: str) -> list[Event]:
    def chunk(*parts: dict[str, Any], **fields: Any) -> Event:
        return b"", {"candidates": [{"content": {"parts": list(parts), "role": "model"}, **fields}]}

    events = [chunk(*({"text": word, "thought": True} for word in THOUGHT)), *(chunk({"text": word}) for word in TEXT)]
    if finish == "tools":
        calls = [{"functionCall": {"name": name, "args": json.loads("".join(bits))}} for name, bits in CALLS]
        return [*events, chunk(*calls), chunk(finishReason="STOP")]
    return [*events, chunk(finishReason=finish)]


def _bedrock(finish: str) -> list[Event]:
    def delta(index: int, **fields: Any) -> Event:
        return b"contentBlockDelta", {"contentBlockIndex": index, "delta": fields}

    events: list[Event] = [(b"messageStart", {"role": "assistant"})]
    events += [delta(0, reasoningContent={"text": word}) for word in THOUGHT]
    events += [delta(1, text=word) for word in TEXT]
    for n, (name, bits) in enumerate(CALLS if finish == "tool_use" else ()):
        events.append((b"contentBlockStart", {"contentBlockIndex": 2 + n, "start": {"toolUse": {"name": name}}}))
        events += [delta(2 + n, toolUse={"input": bit}) for bit in bits]
    return [*events, (b"messageStop", {"stopReason": finish})]


FORMATS = {
    "openai_chat": (_chat, {"stop": "stop", "length": "length", "tool_calls": "tool_calls"}),
    "anthropic": (_anthropic, {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}),
    "openai_responses": (_responses, {"stop": "stop", "length": "max_output_tokens", "tool_calls": "tools"}),
    "gemini": (_gemini, {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "tools"}),
    "bedrock": (_bedrock, {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}),
}
"""Profile → how it says the conversation, and its word for each finish."""


def _said(name: str, events: list[Event]) -> tuple[dict[tuple[str, str], bytes], list[tuple[str, str]], bool | None]:
    """Content by slot and part, finishes by slot, and completion."""
    made = profile(name)
    contents: dict[tuple[str, str], bytes] = {}
    finishes: list[tuple[str, str]] = []
    for event, payload in events:
        read = made.read(event, json.dumps(payload).encode())
        assert all(read.parts & PART[piece.part] for piece in read.pieces)
        for piece in read.pieces:
            if piece.finish:
                finishes.append((piece.slot, piece.finish))
            else:
                contents[piece.slot, piece.part] = contents.get((piece.slot, piece.part), b"") + piece.content
    return contents, finishes, made.complete


@pytest.mark.parametrize("finish", ["stop", "length", "tool_calls"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_translated_answer_has_equal_content_in_every_slot(name: str, finish: str) -> None:
    """However many blocks, items or chunks it is cut into: the same slots, contents and finish, and complete."""
    say, words = FORMATS[name]
    expected = {
        ("0/reasoning/0", "reasoning"): "".join(THOUGHT).encode(),
        ("0/text/0", "text"): "".join(TEXT).encode(),
    }
    for n, (tool, bits) in enumerate(CALLS if finish == "tool_calls" else ()):
        expected |= {(f"0/tool/{n}", "tool_start"): tool.encode(), (f"0/tool/{n}", "tool_args"): "".join(bits).encode()}

    assert _said(name, say(words[finish])) == (expected, [("0/finish/0", finish)], True)


@pytest.mark.parametrize("name", FORMATS)
def test_the_last_event_alone_decides_about_completion(name: str) -> None:
    """Without the events that end it, no format takes the answer for whole."""
    say, words = FORMATS[name]

    assert _said(name, say(words["stop"])[:-1])[2] is False


def test_only_two_of_them_end_with_a_terminal() -> None:
    """Gemini and Bedrock have none; that of Chat Completions is `[DONE]`."""
    ends = {}
    for name, (say, words) in FORMATS.items():
        made = profile(name)
        ends[name] = [
            bool(made.read(event, json.dumps(data).encode()).parts & TERMINAL) for event, data in say(words["stop"])
        ]

    assert {name for name, seen in ends.items() if seen[-1]} == {"anthropic", "openai_responses"}
    assert not any(terminal for seen in ends.values() for terminal in seen[:-1])
