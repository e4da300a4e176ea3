"""Readers: what an event says, for each provider's format, read by the bench itself and nobody else's parser.

Where a call's arguments come as an object they are one act, printed in one way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from .acts import DONE, Act, Event, token

_KEYS: Final = {"content": "text", "reasoning_content": "reason", "refusal": "refusal"}
_FINISHES: Final = {
    "end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "STOP": "stop", "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
}  # fmt: skip
_ANTHROPIC: Final = {"text_delta": ("text", "text"), "thinking_delta": ("reason", "thinking"),
                     "input_json_delta": ("args", "partial_json")}  # fmt: skip
_PLAIN: Final = {"message_start": "role", "message_stop": "terminal", "ping": "ping"}
_RESPONSES: Final = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reason",
    "response.function_call_arguments.delta": "args",
}


def acts_of(provider: str, data: str) -> list[Act]:
    """What one event says. Empty for one that says nothing, or that nobody can read."""
    if data == DONE:
        return [Act("terminal")]
    try:
        value = json.loads(data)
    except ValueError:
        return []
    return acts_of_object(provider, value)


def acts_of_object(provider: str, value: Any) -> list[Act]:
    """The same of an event that a parser has decoded."""
    if value == DONE:
        return [Act("terminal")]
    return list(_READERS[provider](value)) if isinstance(value, dict) else []


def tokens(provider: str, events: Iterable[Event]) -> list[str]:
    """What can be told apart of these events by what they say, one for each event that says something."""
    said = (_joined(acts_of(provider, event.data)) for event in events if not event.comment)
    return [text for text in said if text]


def object_tokens(provider: str, value: Any) -> list[str]:
    """The same of one decoded event."""
    text = _joined(acts_of_object(provider, value))
    return [text] if text else []


def _joined(acts: Iterable[Act]) -> str:
    return "+".join(text for act in acts if (text := token(act)))


def is_complete(provider: str, events: Sequence[Event], *, choices: int) -> bool:
    """Whether these events are a whole answer by the rule of the format (*Complete* in docs/providers.md)."""
    acts = [act for event in events if not event.comment for act in acts_of(provider, event.data)]
    if any(act.kind == "error" for act in acts):
        return False
    finished = {act.choice for act in acts if act.kind == "finish"}
    if provider == "anthropic" and _open_blocks(events):
        return False
    if provider in ("anthropic", "ollama"):
        return bool(finished) and any(act.kind == "terminal" for act in acts)
    return finished >= set(range(choices))


def _open_blocks(events: Sequence[Event]) -> set[int]:
    """Blocks that were started and not stopped."""
    started: set[int] = set()
    for event in events:
        if event.name == "content_block_start":
            started.add(json.loads(event.data)["index"])
        elif event.name == "content_block_stop":
            started.discard(json.loads(event.data)["index"])
    return started


def has_error(provider: str, events: Iterable[Event]) -> bool:
    """Whether one of these is an error event."""
    return any(act.kind == "error" for event in events if not event.comment for act in acts_of(provider, event.data))


def _openai_chat(value: dict[str, Any]) -> Iterator[Act]:
    if value.get("error"):
        yield Act("error", str(value["error"].get("message")))
        return
    for choice in value.get("choices") or ():
        yield from _choice(choice)
    if value.get("usage"):
        yield Act("usage")


def _choice(choice: dict[str, Any]) -> Iterator[Act]:
    index, delta = choice.get("index", 0), choice.get("delta") or {}
    if delta.get("role"):
        yield Act("role")
    for key, kind in _KEYS.items():
        if delta.get(key) is not None:
            yield Act(kind, delta[key], index)
    for call in delta.get("tool_calls") or ():
        function = call.get("function") or {}
        if function.get("name"):
            yield Act("tool", function["name"], index)
        if function.get("arguments"):
            yield Act("args", function["arguments"], index)
    if choice.get("finish_reason"):
        yield Act("finish", choice["finish_reason"], index)


def _anthropic(value: dict[str, Any]) -> Iterator[Act]:
    kind = value.get("type", "")
    if kind in _PLAIN:
        yield Act(_PLAIN[kind])
    elif kind == "error":
        yield Act("error", str(value["error"].get("message")))
    elif kind == "content_block_start" and value["content_block"]["type"] == "tool_use":
        yield Act("tool", value["content_block"]["name"])
    elif kind == "content_block_delta" and value["delta"]["type"] in _ANTHROPIC:
        act, key = _ANTHROPIC[value["delta"]["type"]]
        yield Act(act, value["delta"][key])
    elif kind == "message_delta" and value["delta"].get("stop_reason"):
        reason = value["delta"]["stop_reason"]
        yield Act("finish", "content_filter" if reason == "refusal" else _FINISHES.get(reason, reason))


def _responses(value: dict[str, Any]) -> Iterator[Act]:
    kind = value.get("type", "")
    if kind in _RESPONSES:
        yield Act(_RESPONSES[kind], value["delta"])
    elif kind == "response.output_item.added" and value["item"].get("name"):
        yield Act("tool", value["item"]["name"])
    elif kind in ("response.completed", "response.incomplete"):
        reason = ((value["response"].get("incomplete_details") or {}).get("reason")) or "stop"
        yield Act("finish", {"max_output_tokens": "length"}.get(reason, reason))
    elif kind in ("error", "response.failed"):
        yield Act("error", str(value.get("message")))
    elif kind == "response.created":
        yield Act("role")


def _gemini(value: dict[str, Any]) -> Iterator[Act]:
    if value.get("error"):
        yield Act("error", str(value["error"].get("message")))
    for candidate in value.get("candidates") or ():
        index = candidate.get("index") or 0
        for part in (candidate.get("content") or {}).get("parts") or ():
            if part.get("text") is not None:
                yield Act("reason" if part.get("thought") else "text", part["text"], index)
            call = part.get("functionCall") or part.get("function_call")
            if call:
                yield Act("tool", call["name"], index)
                yield Act("args", json.dumps(call.get("args"), sort_keys=True), index)
        reason = candidate.get("finishReason")
        if reason:
            yield Act("finish", _FINISHES.get(reason, reason), index)


def _ollama(value: dict[str, Any]) -> Iterator[Act]:
    if value.get("error"):
        yield Act("error", str(value["error"]))
    message = value.get("message") or {}
    if message.get("thinking"):
        yield Act("reason", message["thinking"])
    if message.get("content"):
        yield Act("text", message["content"])
    for call in message.get("tool_calls") or ():
        yield Act("tool", call["function"]["name"])
        yield Act("args", json.dumps(call["function"]["arguments"], sort_keys=True))
    if value.get("done"):
        if value.get("done_reason"):
            yield Act("finish", value["done_reason"])
        yield Act("terminal")


_READERS: Final[dict[str, Callable[[dict[str, Any]], Iterator[Act]]]] = {
    "openai_chat": _openai_chat,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "gemini_array": _gemini,
    "ollama": _ollama,
}
