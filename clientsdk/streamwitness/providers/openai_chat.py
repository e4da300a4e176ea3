"""OpenAI Chat Completions as OpenAI, Azure, vLLM, TGI, llama.cpp, OpenRouter, Mistral, Groq and others stream it.

One `data:` event is one JSON chunk, then `[DONE]`. What a chunk says:

    choices[i].delta                   part                        slot
      role                             role                        -
      content                          text                        i/text/0
      reasoning_content, reasoning     reasoning                   i/reasoning/0
      refusal                          refusal                     i/refusal/0
      tool_calls[].function.name       tool_start                  i/tool/n, n = order of appearance in the choice
      tool_calls[].function.arguments  tool_args                   i/tool/n
      function_call                    as one tool call            i/tool/n
    choices[i].text                    text                        i/text/0 (the older completions)
    choices[i].finish_reason           finish (also error)         i/finish/0
                                       stop after a tool call is tool_calls, as translations of Gemini's write it
    usage, x_groq.usage                usage                       -
    error, x_groq.error                error                       -
    [DONE]                             terminal                    -
    nothing of these                   other                       -

Only what is not empty counts. `[DONE]` is neither necessary nor sufficient: a response is complete when every choice
seen has a finish other than an error. A finish is provisional (content may follow, and the last one stands), but a
later null never takes it back. How many choices were asked for is not known here.

Not understood (`other`): audio, log probabilities, citations and annotations, filters' results, `reasoning_details`,
timings; Workers AI's own events (`response`).
"""

from __future__ import annotations

from typing import Final

from streamwitness.events import Piece, Reading
from streamwitness.semconv import (
    ALL_PARTS,
    ERROR,
    FINISH,
    MALFORMED,
    OTHER,
    PART,
    ROLE,
    TERMINAL,
    TEXT,
    TOOL_ARGS,
    TOOL_START,
    USAGE,
)

from .objects import SENTINEL, Unreadable, canonical, decode, fields, raw_event, utf8
from .openai_chunk import (
    Call,
    Choice,
    Chunk,
    Delta,
    Function,
    Groq,
    Usage,
    decode_chunk,
    lenient_chunk,
    plain_text,
)

FINISHES: Final = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",  # TGI
    "stop_sequence": "stop",  # TGI
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",  # Mistral
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",  # Gemini's compatible API
    "recitation": "content_filter",
    "sensitive": "content_filter",  # Zhipu
    "refusal": "refusal",
    "error": "error",  # OpenRouter, Mistral
    "abort": "error",  # vLLM: the engine gave the request up, so the answer is not whole
    "network_error": "error",  # Zhipu
    "insufficient_system_resource": "error",  # DeepSeek
}
"""Finish reason as sent, in lower case → canonical; any other text is `other`."""

NO_FINISH: Final = frozenset(("", "null"))
"""Texts that some servers send in place of null."""

_FUNCTION_CALL: Final = ("function_call",)
_MAX_TRACKED: Final = 1024
"""Choices of a response, and tool calls of a choice, that are told apart; a real one has a handful."""
_MAX_LABEL: Final = 256
"""Characters of a model's name, of a response's or a call's id that are kept; no two are told apart by more."""
_INT64: Final = 1 << 63
_TERMINAL: Final = Reading(TERMINAL)
_MALFORMED: Final = Reading(MALFORMED)
_OTHER: Final = Reading(OTHER)
_new: Final = tuple.__new__
"""Makes a Piece or a Reading in half the time of its Python-level constructor; there are some for every event."""


class OpenAIChat:
    """Reads one Chat Completions response at one point."""

    __slots__ = ("_choices", "_overflow", "model", "response_id", "usage")

    name: Final = "openai_chat"
    provider: Final = "openai"
    delivers: Final = ALL_PARTS
    numbered: Final = False
    sequence: Final = None

    def __init__(self) -> None:
        self.model: str | None = None
        self.response_id: str | None = None
        self.usage: tuple[int | None, int | None] = (None, None)
        self._choices: dict[int, _Choice] = {}
        self._overflow = False

    @property
    def complete(self) -> bool:
        """Every choice seen has a finish other than an error."""
        choices = self._choices.values()
        return bool(choices) and not self._overflow and all(c.finish not in ("", "error") for c in choices)

    @property
    def finish_reasons(self) -> tuple[str, ...]:
        """Canonical finish of each choice that has one, in order of the choices' appearance."""
        return tuple(choice.finish for choice in self._choices.values() if choice.finish)

    def read(self, name: bytes, data: bytes) -> Reading:
        """Read a framed event; its name says nothing in this format."""
        try:
            return self._read_chunk(decode_chunk(data))
        except (ValueError, RecursionError, Unreadable):
            return self._read_odd(data)

    def read_object(self, obj: object) -> Reading:
        """Read a chunk as dict or as object with the same attributes, or the raw data field; else raises Unreadable."""
        known = fields(obj)
        if known is not None and (isinstance(obj, dict) or "choices" in known):
            return self._read_chunk(lenient_chunk(known))
        if obj is None or isinstance(obj, (list, bool, int, float)):
            return _MALFORMED
        raw = raw_event(obj)
        if raw is None:
            raise Unreadable(obj)
        return self.read(*raw)

    def snapshot(self, obj: object) -> tuple[int, str] | None:
        """What an SDK's chunk says, where it says nothing but a text; `read_snapshot` reads it later, as it is now.

        None for all others, and for the first ones, by which response and choice become known: those must be read at
        once. Between a snapshot and its reading nothing else may be read.
        """
        said = plain_text(obj)
        if said is None or said[0] not in self._choices or self.model is None or self.response_id is None:
            return None
        return said

    def read_snapshot(self, said: tuple[int, str]) -> Reading:
        """The Reading of the chunk that `snapshot` gave this of."""
        index, content = said
        return _new(Reading, (TEXT, (_new(Piece, (self._choices[index].text, "text", utf8(content), "")),)))

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """By path; else by a first chunk that says what it is, or has choices with a delta (none at all: Azure's)."""
        if path.endswith(("/chat/completions", "/v1/completions")):
            return True
        try:
            value = decode(first)
        except ValueError:
            return False
        if not isinstance(value, dict):
            return False
        chunk = lenient_chunk(value)
        if chunk.object in ("chat.completion.chunk", "text_completion"):
            return True
        return chunk.choices is not None and all(choice.delta is not None for choice in chunk.choices)

    def _read_odd(self, data: bytes) -> Reading:
        """An event that is no chunk whose fields all have the expected types."""
        if data.lstrip().startswith(SENTINEL):
            return _TERMINAL
        try:
            value = decode(data)
            return self._read_chunk(lenient_chunk(value)) if isinstance(value, dict) else _MALFORMED
        except (ValueError, Unreadable):
            return _MALFORMED

    def _read_chunk(self, chunk: Chunk) -> Reading:
        parts = 0
        pieces: list[Piece] = []
        for place, choice in enumerate(chunk.choices or ()):
            parts |= self._read_choice(choice, place, pieces)
        if chunk.usage is not None:
            parts |= self._read_usage(chunk.usage)
        if chunk.error or chunk.object == "error":
            parts |= ERROR
        if chunk.x_groq is not None:
            parts |= self._read_groq(chunk.x_groq)
        if self.model is None and chunk.model:
            self.model = _label(chunk.model)
        if self.response_id is None and chunk.id:
            self.response_id = _label(chunk.id)
        if len(pieces) > 1:
            pieces = _merged(pieces)
        return _new(Reading, (parts, tuple(pieces))) if parts else _OTHER

    def _read_choice(self, choice: Choice, place: int, pieces: list[Piece]) -> int:
        state = self._state(place if choice.index is None else choice.index)
        parts = 0 if choice.delta is None else _read_delta(choice.delta, state, pieces)
        if choice.text:
            parts |= _add(pieces, state, "text", choice.text)
        reason = choice.finish_reason
        if reason is None or reason in NO_FINISH:
            return parts
        finish = FINISHES.get(reason.lower(), "other")
        if finish == "stop" and state.has_tools:
            finish = "tool_calls"
        state.finish = finish
        pieces.append(Piece(f"{state.index}/finish/0", "finish", b"", finish))
        return parts | FINISH | (ERROR if finish == "error" else 0)

    def _state(self, index: int) -> _Choice:
        state = self._choices.get(index)
        if state is None:
            state = _Choice(index)
            if len(self._choices) < _MAX_TRACKED:
                self._choices[index] = state
            else:
                self._overflow = True
        return state

    def _read_usage(self, usage: Usage) -> int:
        self.usage = (_count(usage.prompt_tokens), _count(usage.completion_tokens))
        return USAGE

    def _read_groq(self, groq: Groq) -> int:
        parts = 0 if groq.usage is None else self._read_usage(groq.usage)
        return parts | ERROR if groq.error else parts


class _Choice:
    """What is known of one choice: its tool calls, and its finish ("" until there is one)."""

    __slots__ = ("_calls", "_last", "_seen", "finish", "index", "text")

    def __init__(self, index: int) -> None:
        self.index = index
        self.text = f"{index}/text/0"
        self.finish = ""
        self._calls: dict[object, _Tool] = {}
        self._last: _Tool | None = None
        self._seen = 0

    @property
    def has_tools(self) -> bool:
        """Whether a tool was called."""
        return self._seen > 0

    def tool(self, key: object, call_id: str | None, name: str | None) -> tuple[str, bool]:
        """Slot of a tool call, and whether it is a new one.

        A call is known by its index, without one by its id; without either it goes on with the last one unless it
        names a function. A used index with another id and a name is a new call: some servers number all of them 0.
        """
        tool = self._calls.get(key) if key is not None else None if name else self._last
        new = tool is None or bool(name and call_id and tool.id and call_id != tool.id)
        if tool is None or new:
            tool = _Tool(f"{self.index}/tool/{self._seen}", call_id)
            if self._seen < _MAX_TRACKED:
                self._seen += 1
                if key is not None:
                    self._calls[key] = tool
        self._last = tool
        return tool.slot, new


class _Tool:
    __slots__ = ("id", "slot")

    def __init__(self, slot: str, call_id: str | None) -> None:
        self.slot = slot
        self.id = call_id


def _read_delta(delta: Delta, state: _Choice, pieces: list[Piece]) -> int:
    parts = ROLE if delta.role else 0
    if delta.content:
        if isinstance(delta.content, str):
            pieces.append(_new(Piece, (state.text, "text", utf8(delta.content), "")))
            parts |= TEXT
        else:
            parts |= _read_list(delta.content, state, pieces)
    if thought := delta.reasoning_content or delta.reasoning:
        parts |= _add(pieces, state, "reasoning", thought)
    if delta.refusal:
        parts |= _add(pieces, state, "refusal", delta.refusal)
    for call in delta.tool_calls or ():
        key = call.index if call.index is not None else _label(call.id) or None
        parts |= _read_call(state, key, call, pieces)
    if delta.function_call is not None:
        parts |= _read_call(state, _FUNCTION_CALL, Call(function=delta.function_call), pieces)
    return parts


def _add(pieces: list[Piece], state: _Choice, kind: str, text: str) -> int:
    """Content of a kind that a choice has but one of; its part has the same name."""
    pieces.append(Piece(f"{state.index}/{kind}/0", kind, utf8(text)))
    return PART[kind]


def _read_list(content: list[object], state: _Choice, pieces: list[Piece]) -> int:
    """Mistral's content parts: text, and thinking that holds text parts itself."""
    parts = 0
    for item in content:
        known = fields(item) or {}
        if isinstance(text := known.get("text"), str) and text:
            parts |= _add(pieces, state, "text", text)
        thinking = known.get("thinking")
        for thought in thinking if isinstance(thinking, list) else ():
            if isinstance(text := (fields(thought) or {}).get("text"), str) and text:
                parts |= _add(pieces, state, "reasoning", text)
    return parts


def _read_call(state: _Choice, key: object, call: Call, pieces: list[Piece]) -> int:
    function = call.function or Function()
    slot, new = state.tool(key, _label(call.id), function.name)
    parts = TOOL_START if new else 0
    if function.name:
        parts |= TOOL_START
        pieces.append(Piece(slot, "tool_start", utf8(function.name)))
    arguments = function.arguments
    if arguments is None or arguments == "":
        return parts
    pieces.append(Piece(slot, "tool_args", utf8(arguments) if isinstance(arguments, str) else canonical(arguments)))
    return parts | TOOL_ARGS


def _merged(pieces: list[Piece]) -> list[Piece]:
    """One piece for each slot and part, in order of appearance; the last finish stands."""
    merged: dict[tuple[str, str], Piece] = {}
    for piece in pieces:
        key = (piece.slot, piece.part)
        known = merged.get(key)
        merged[key] = piece if known is None else piece._replace(content=known.content + piece.content)
    return list(merged.values())


def _label(text: str | None) -> str | None:
    return text if text is None else text[:_MAX_LABEL]


def _count(tokens: int | None) -> int | None:
    return tokens if tokens is not None and 0 <= tokens < _INT64 else None
