"""Writers: acts → events, for each provider's format, act by act as a model server or a translating gateway does it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, Protocol

from .acts import DONE, Act, Event

_FINISHES: Final[dict[str, dict[str, str]]] = {
    "openai_chat": {},
    "anthropic": {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"},
    "gemini": {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY"},
    "ollama": {"tool_calls": "stop", "content_filter": "stop"},
}
"""Format → finish → its word there; what is not listed is the same word."""


class Writer(Protocol):
    """Writes one stream."""

    def write(self, act: Act) -> Iterator[Event]:
        """The events that say this act; none where the format says it later or not at all."""


def dumps(value: Any) -> str:
    """JSON as most servers print it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def finish_word(provider: str, finish: str) -> str:
    """How a format calls a finish."""
    return _FINISHES[provider].get(finish, finish)


class OpenAIChat:
    """Chat Completions chunks."""

    _DELTAS: Final = {"text": "content", "reason": "reasoning_content", "refusal": "refusal"}

    def __init__(self) -> None:
        self._calls = -1

    def write(self, act: Act) -> Iterator[Event]:
        """See `Writer`."""
        if act.kind == "terminal":
            yield Event("", DONE)
        elif act.kind == "ping":
            yield Event("", "", comment=True)
        elif act.kind == "error":
            yield Event("", dumps({"error": {"message": act.text, "type": "server_error", "code": 502}, "choices": []}))
        elif act.kind == "usage":
            yield self._chunk([], usage={"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7})
        else:
            yield self._chunk([{"index": act.choice, "delta": self._delta(act), "finish_reason": self._finish(act)}])

    def _delta(self, act: Act) -> dict[str, Any]:
        if act.kind in self._DELTAS:
            return {self._DELTAS[act.kind]: act.text}
        if act.kind == "tool":
            self._calls += 1
            function = {"name": act.text, "arguments": ""}
            call = {"index": self._calls, "id": f"call_{self._calls}", "type": "function", "function": function}
            return {"tool_calls": [call]}
        if act.kind == "args":
            return {"tool_calls": [{"index": self._calls, "function": {"arguments": act.text}}]}
        return {"role": "assistant", "content": ""} if act.kind == "role" else {}

    def _finish(self, act: Act) -> str | None:
        return act.text if act.kind == "finish" else None

    def _chunk(self, choices: list[Any], **more: Any) -> Event:
        whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
        return Event("", dumps({**whole, **more}))


class Anthropic:
    """Messages events, with the blocks that they stand in."""

    _BLOCKS: Final[dict[str, dict[str, Any]]] = {
        "text": {"type": "text", "text": ""},
        "reason": {"type": "thinking", "thinking": "", "signature": ""},
    }
    _DELTAS: Final = {
        "text": ("text_delta", "text"),
        "reason": ("thinking_delta", "thinking"),
        "args": ("input_json_delta", "partial_json"),
    }

    def __init__(self) -> None:
        self._open, self._index = "", -1

    def write(self, act: Act) -> Iterator[Event]:
        """See `Writer`."""
        if act.kind in ("text", "reason", "args", "tool"):
            yield from self._content(act)
        elif act.kind == "role":
            usage = {"input_tokens": 3, "output_tokens": 1}
            message: dict[str, Any] = {
                "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m",
                "stop_reason": None, "stop_sequence": None, "usage": usage,
            }  # fmt: skip
            yield _typed("message_start", message=message)
        elif act.kind == "finish":
            yield from self._close()
            delta = {"stop_reason": finish_word("anthropic", act.text), "stop_sequence": None}
            yield _typed("message_delta", delta=delta, usage={"output_tokens": 5})
        elif act.kind == "terminal":
            yield _typed("message_stop")
        elif act.kind == "ping":
            yield _typed("ping")
        elif act.kind == "error":
            yield _typed("error", error={"type": "overloaded_error", "message": act.text})

    def _content(self, act: Act) -> Iterator[Event]:
        if act.kind == "tool":
            block = {"type": "tool_use", "id": f"toolu_{self._index}", "name": act.text, "input": {}}
            yield from self._start("args", block)
            return
        if self._open != act.kind:
            yield from self._start(act.kind, self._BLOCKS[act.kind])
        kind, key = self._DELTAS[act.kind]
        yield _typed("content_block_delta", index=self._index, delta={"type": kind, key: act.text})

    def _start(self, kind: str, block: dict[str, Any]) -> Iterator[Event]:
        yield from self._close()
        self._open, self._index = kind, self._index + 1
        yield _typed("content_block_start", index=self._index, content_block=block)

    def _close(self) -> Iterator[Event]:
        if self._open:
            yield _typed("content_block_stop", index=self._index)
        self._open = ""


class Responses:
    """OpenAI Responses events: numbered, each output repeated whole when it is done."""

    _ITEMS: Final = {"text": "message", "refusal": "message", "reason": "reasoning"}
    _KINDS: Final = {"text": "response.output_text", "refusal": "response.refusal",
              "args": "response.function_call_arguments",
                     "reason": "response.reasoning_text"}  # fmt: skip
    _PARTS: Final[dict[str, dict[str, Any]]] = {
        "text": {"type": "output_text", "text": "", "annotations": []},
        "refusal": {"type": "refusal", "refusal": ""},
    }
    _WHOLE: Final = {"text": "text", "refusal": "refusal", "args": "arguments", "reason": "text"}

    def __init__(self, *, parts: bool = False) -> None:
        self._parts = parts
        """Whether the parts of a message are announced, and each output is told to be done."""
        self._number, self._output, self._open, self._said, self._tool = 0, -1, "", "", ""

    def write(self, act: Act) -> Iterator[Event]:
        """See `Writer`."""
        if act.kind in ("text", "refusal", "reason", "args", "tool"):
            yield from self._content(act)
        elif act.kind == "role":
            for kind in ("response.created", "response.in_progress"):
                yield self._event(kind, response=_response("in_progress"))
        elif act.kind == "finish":
            yield from self._close()
            short = act.text not in ("stop", "tool_calls")
            status = "incomplete" if short else "completed"
            reason = {"length": "max_output_tokens"}.get(act.text, act.text)
            details = {"reason": reason} if short else None
            yield self._event(f"response.{status}", response=_response(status, incomplete_details=details))
        elif act.kind == "error":
            yield self._event("error", code="server_error", message=act.text, param=None)
        elif act.kind == "ping":
            yield self._event("keepalive")

    def _content(self, act: Act) -> Iterator[Event]:
        if act.kind == "tool":
            yield from self._start("args", {"type": "function_call", "name": act.text, "arguments": ""}, act.text)
            return
        if self._open != act.kind:
            kind = self._ITEMS[act.kind]
            item = (
                {"type": kind, "role": "assistant", "content": []}
                if kind == "message"
                else {"type": kind, "summary": []}
            )
            yield from self._start(act.kind, item, "")
        self._said += act.text
        yield self._event(f"{self._KINDS[act.kind]}.delta", **self._place(), delta=act.text)

    def _start(self, kind: str, item: dict[str, Any], tool: str) -> Iterator[Event]:
        yield from self._close()
        self._open, self._said, self._tool, self._output = kind, "", tool, self._output + 1
        whole = {"id": f"item_{self._output}", "status": "in_progress", **item}
        if tool:
            whole["call_id"] = f"call_{self._output}"
        yield self._event("response.output_item.added", output_index=self._output, item=whole)
        if self._parts and kind in self._PARTS:
            yield self._event("response.content_part.added", **self._place(), part=self._PARTS[kind])

    def _close(self) -> Iterator[Event]:
        if not self._open:
            return
        kind = self._open
        yield self._event(f"{self._KINDS[kind]}.done", **self._place(), **{self._WHOLE[kind]: self._said})
        if self._parts:
            yield self._event("response.output_item.done", output_index=self._output, item=self._done(kind))
        self._open = ""

    def _done(self, kind: str) -> dict[str, Any]:
        """The whole item, as it is repeated at its end."""
        whole: dict[str, Any] = {"id": f"item_{self._output}", "status": "completed"}
        if kind == "args":
            call = {"type": "function_call", "name": self._tool, "call_id": f"call_{self._output}"}
            return {**whole, **call, "arguments": self._said}
        if kind == "reason":
            return {**whole, "type": "reasoning", "summary": []}
        content = {**self._PARTS[kind], self._WHOLE[kind]: self._said}
        return {**whole, "type": "message", "role": "assistant", "content": [content]}

    def _place(self) -> dict[str, Any]:
        place = {"item_id": f"item_{self._output}", "output_index": self._output, "content_index": 0}
        if self._open == "args":
            del place["content_index"]
        return place

    def _event(self, kind: str, **more: Any) -> Event:
        event = Event(kind, dumps({"type": kind, "sequence_number": self._number, **more}))
        self._number += 1
        return event


class Gemini:
    """Chunks of candidates; a call comes whole."""

    def __init__(self, provider: str = "gemini") -> None:
        self._provider = provider
        self._tool: tuple[str, list[str]] | None = None

    def write(self, act: Act) -> Iterator[Event]:
        """See `Writer`."""
        if act.kind == "args":
            if self._tool is not None:
                self._tool[1].append(act.text)
            return
        yield from self._call()
        if act.kind == "tool":
            self._tool = (act.text, [])
        elif act.kind in ("text", "reason"):
            part = {"text": act.text, **({"thought": True} if act.kind == "reason" else {})}
            yield self._chunk(act.choice, content={"role": "model", "parts": [part]})
        elif act.kind == "finish":
            yield self._chunk(act.choice, finishReason=finish_word("gemini", act.text))
        elif act.kind == "usage":
            yield Event(
                "", dumps({"usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 7}, "modelVersion": "m"})
            )
        elif act.kind == "error":
            yield Event("", dumps({"error": {"code": 503, "message": act.text, "status": "UNAVAILABLE"}}))

    def _call(self) -> Iterator[Event]:
        if self._tool is not None:
            (name, pieces), self._tool = self._tool, None
            part = {"functionCall": {"name": name, "args": json.loads("".join(pieces))}}
            yield self._chunk(0, content={"role": "model", "parts": [part]})

    def _chunk(self, choice: int, **more: Any) -> Event:
        return Event("", dumps({"candidates": [{"index": choice, **more}], "modelVersion": "m", "responseId": "r1"}))


class Ollama:
    """Lines of `/api/chat`; a call comes whole, the last line says that it is done."""

    def __init__(self) -> None:
        self._tool: tuple[str, list[str]] | None = None

    def write(self, act: Act) -> Iterator[Event]:
        """See `Writer`."""
        if act.kind == "args":
            if self._tool is not None:
                self._tool[1].append(act.text)
            return
        if self._tool is not None:
            (name, pieces), self._tool = self._tool, None
            yield self._line({"tool_calls": [{"function": {"name": name, "arguments": json.loads("".join(pieces))}}]})
        if act.kind == "tool":
            self._tool = (act.text, [])
        elif act.kind in ("text", "reason"):
            yield self._line({"content" if act.kind == "text" else "thinking": act.text})
        elif act.kind == "finish":
            yield self._line({}, done=True, done_reason=finish_word("ollama", act.text), eval_count=4)
        elif act.kind == "error":
            yield Event("", dumps({"error": act.text}))

    def _line(self, message: dict[str, Any], **more: Any) -> Event:
        whole = {"role": "assistant", "content": "", **message}
        return Event(
            "", dumps({"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": whole, "done": False, **more})
        )


def _typed(kind: str, **more: Any) -> Event:
    return Event(kind, dumps({"type": kind, **more}))


def _response(status: str, **more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "m", "output": [],
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None,
            "incomplete_details": None, "instructions": None, "metadata": {}, **more}  # fmt: skip
