"""Gemini `streamGenerateContent`, of the Gemini API and of Vertex: SSE events, or elements of an array, are chunks.

    field                                         part                      slot
      candidates[i].content.role                  role                      -
      candidates[i].content.parts[]: text         text                      i/text/0
        … text with `thought: true`               reasoning                 i/reasoning/0
        … functionCall                            tool_start, tool_args     i/tool/n, n = order of appearance
      candidates[i].finishReason                  finish (also error)       i/finish/0
      promptFeedback.blockReason                  finish: content_filter    0/finish/0
      usageMetadata                               usage                     -
      error                                       error                     -
      nothing of these                            other                     -

There is no sentinel: complete when every candidate seen has a finish other than an error, and no error came. A finish
is provisional (STOP was seen on early chunks; the last one stands). A candidate without index is the one at its place.
A call comes whole, its arguments count in canonical JSON. A candidate that stops after calling functions finishes with
`tool_calls`: Gemini says STOP there, every other API and the translations to them say that a tool is wanted.
Usage is cumulative; thoughts count as output, what tools put into the prompt as input.

Vertex can stream a call's arguments (`partialArgs`, JSON paths with pieces of values): they belong to the call before
while that says `willContinue`, and count as canonical `[path, value]`, which no translation compares with.

Not understood (`other`): executableCode, codeExecutionResult, inlineData, fileData, server-side toolCall, citations,
grounding, thought signatures, safety ratings. Errors that come as bare JSON between events are the framing's.
Source: ai.google.dev/api/generate-content; the types of the `google-genai` package, 3.6 (google/genai/types.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from streamwitness.events import Piece, Reading
from streamwitness.semconv import ERROR, REASONING, ROLE, TEXT, TOOL_ARGS, TOOL_START, USAGE

from .base import MAX_TRACKED, JsonProfile, count, label, line_of, piece, reading
from .gemini_chunk import CHUNK, Candidate, Chunk, FunctionCall, Part, Usage, as_sent
from .objects import canonical, utf8
from .shapes import Shape

FINISHES: Final = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",  # a further request goes on with it
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "ESCALATION": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",  # the model's call could not be read: nothing of it is in the answer
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
}
"""`finishReason` → canonical; LANGUAGE, OTHER, TOO_MANY_TOOL_CALLS and any other are `other`."""

NO_FINISH: Final = frozenset(("", "FINISH_REASON_UNSPECIFIED"))
NO_BLOCK: Final = frozenset(("", "BLOCKED_REASON_UNSPECIFIED"))
_new: Final = tuple.__new__
"""Makes a Piece in half the time of its constructor."""
_VALUES: Final = ("stringValue", "numberValue", "boolValue")


class Gemini(JsonProfile[Chunk]):
    """Reads one streamGenerateContent response at one point."""

    name: ClassVar[str] = "gemini"
    provider: ClassVar[str] = "gcp.gemini"
    shape: ClassVar[Shape[Any]] = CHUNK

    def __init__(self) -> None:
        super().__init__()
        self._candidates: dict[int, _Candidate] = {}
        self._overflow = False

    @property
    def complete(self) -> bool:
        """Every candidate seen has a finish other than an error, and there was no error."""
        finishes = self._finishes
        done = bool(finishes) and self._candidates.keys() <= finishes.keys() and "error" not in finishes.values()
        return done and not self.failed and not self._overflow

    def read_object(self, obj: object) -> Reading:
        """Read a chunk as dict, as object of the SDK, or as raw data field; else raises Unreadable."""
        if "candidates" in getattr(obj, "__dict__", ()):
            return self._event(CHUNK.lenient(as_sent(obj)))
        return super().read_object(obj)

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """By path; else by a first chunk with candidates or a prompt's feedback."""
        if path.endswith(":streamGenerateContent"):
            return True
        known = line_of(first) or {}
        return isinstance(known.get("candidates"), list) or isinstance(known.get("promptFeedback"), dict)

    def _event(self, event: Chunk) -> Reading:
        parts, pieces = 0, list[Piece]()
        for place, candidate in enumerate(event.candidates or ()):
            parts |= self._candidate(place, candidate, pieces)
        self.beside += bool(pieces) and any(map(_shows_more, event.candidates or ()))
        if event.prompt_feedback is not None:
            blocked = event.prompt_feedback.block_reason
            if blocked is not None and blocked.upper() not in NO_BLOCK:
                parts |= self._finish(0, "content_filter", pieces)
        if event.usage_metadata is not None:
            parts |= self._count(event.usage_metadata)
        if event.error:
            self.failed, parts = True, parts | ERROR
        if self.model is None:
            self.model = label(event.model_version)
        if self.response_id is None:
            self.response_id = label(event.response_id)
        return reading(parts, pieces)

    def _candidate(self, place: int, candidate: Candidate, pieces: list[Piece]) -> int:
        state = self._state(place if candidate.index is None else candidate.index)
        parts = 0
        if (content := candidate.content) is not None:
            parts |= ROLE if content.role else 0
            for part in content.parts or ():
                parts |= _part(state, part, pieces)
        if candidate.finish_reason is None or (reason := candidate.finish_reason.upper()) in NO_FINISH:
            return parts  # in any case of letters, as the SDK reads it
        finish = FINISHES.get(reason, "other")
        if finish == "stop" and state.calls:
            finish = "tool_calls"
        return parts | self._finish(state.index, finish, pieces) | (ERROR if finish == "error" else 0)

    def _state(self, index: int) -> _Candidate:
        state = self._candidates.get(index)
        if state is None:
            state = _Candidate(index)
            if len(self._candidates) < MAX_TRACKED:
                self._candidates[index] = state
            else:
                self._overflow = True
        return state

    def _count(self, usage: Usage) -> int:
        self.usage = (
            _sum(usage.prompt_token_count, usage.tool_use_prompt_token_count),
            _sum(usage.candidates_token_count, usage.thoughts_token_count),
        )
        return USAGE


class _Candidate:
    """What is known of one candidate: how many calls it made, and whether the last one goes on."""

    __slots__ = ("calls", "continues", "index", "text")

    def __init__(self, index: int) -> None:
        self.index = index
        self.text = f"{index}/text/0"
        self.calls = 0
        self.continues = False


def _shows_more(candidate: Candidate) -> bool:
    """Whether there is output that is not read."""
    parts = candidate.content.parts if candidate.content is not None else None
    return any(
        part.inline_data or part.file_data or part.executable_code or part.code_execution_result for part in parts or ()
    )


def _part(state: _Candidate, part: Part, pieces: list[Piece]) -> int:
    parts = 0
    if part.text:
        if part.thought:
            pieces.append(piece(f"{state.index}/reasoning/0", "reasoning", part.text))
            parts = REASONING
        else:
            pieces.append(_new(Piece, (state.text, "text", utf8(part.text), "")))
            parts = TEXT
    if part.function_call is not None:
        parts |= _call(state, part.function_call, pieces)
    return parts


def _call(state: _Candidate, call: FunctionCall, pieces: list[Piece]) -> int:
    parts = 0
    if call.name or not state.continues:
        state.calls = min(state.calls + 1, MAX_TRACKED)
        parts = TOOL_START
    state.continues = bool(call.will_continue)
    slot = f"{state.index}/tool/{state.calls - 1}"
    if call.name:
        pieces.append(piece(slot, "tool_start", call.name))
    if call.args is not None:
        pieces.append(Piece(slot, "tool_args", utf8(call.args) if isinstance(call.args, str) else canonical(call.args)))
        parts |= TOOL_ARGS
    for partial in call.partial_args or ():
        if isinstance(partial, dict):
            pieces.append(Piece(slot, "tool_args", canonical([partial.get("jsonPath"), _value(partial)])))
            parts |= TOOL_ARGS
    return parts


def _value(partial: Mapping[str, Any]) -> Any:
    """The piece of a value; all numbers are doubles there."""
    value = next((partial[name] for name in _VALUES if partial.get(name) is not None), None)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53 else value


def _sum(one: int | None, more: int | None) -> int | None:
    """The sum of those numbers that are there; None where none is."""
    return count(one) if more is None else count((count(one) or 0) + (count(more) or 0))
