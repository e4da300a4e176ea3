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

from typing import Any, ClassVar, Final

from streamwitness.events import Piece, Reading
from streamwitness.semconv import ERROR, PART, ROLE, TEXT, TOOL_ARGS, TOOL_START, USAGE

from .base import MAX_TRACKED, JsonProfile, count, label, line_of, reading
from .objects import canonical, fields, utf8
from .openai_chunk import CHUNK, Call, Choice, Chunk, Delta, Function, Groq, Usage, decode_plain, plain_text
from .shapes import Shape

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
_new: Final = tuple.__new__
"""Makes a Piece or a Reading in half the time of its Python-level constructor; there are some for every event."""


class OpenAIChat(JsonProfile[Chunk]):
    """Reads one Chat Completions response at one point."""

    name: ClassVar[str] = "openai_chat"
    provider: ClassVar[str] = "openai"
    shape: ClassVar[Shape[Any]] = CHUNK

    def __init__(self) -> None:
        super().__init__()
        self._choices: dict[int, _Choice] = {}
        self._overflow = False
        self._plain = False
        """Whether the chunk before said nothing but a text, as the next one is then likely to do."""

    @property
    def complete(self) -> bool:
        """Every choice seen has a finish other than an error."""
        finishes = self._finishes
        done = bool(finishes) and self._choices.keys() <= finishes.keys() and "error" not in finishes.values()
        return done and not self._overflow

    @property
    def shared_numbers(self) -> int:
        """Calls that began under a number that another had before them."""
        return sum(choice.shared for choice in self._choices.values())

    def read(self, name: bytes, data: bytes) -> Reading:
        """Read a framed event; never raises."""
        if self._plain:
            try:
                (choice,) = decode_plain(data).choices
                delta = choice.delta
                return self._text(choice.index, delta.content, TEXT | ROLE if delta.role else TEXT)
            except (ValueError, RecursionError, KeyError):  # it says something else, or is of another choice
                pass
        result = super().read(name, data)
        known = self.model is not None and self.response_id is not None
        self._plain = known and result.parts | ROLE == TEXT | ROLE
        return result

    def read_object(self, obj: object) -> Reading:
        """Read a chunk as dict, as object with the same attributes, or as raw data field; else raises Unreadable."""
        known = fields(obj)
        if known is not None and "choices" in known:  # asked first, for it is dear to ask a model whether it has `data`
            return self._event(CHUNK.lenient(known))
        return super().read_object(obj)

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
        return self._text(*said, TEXT)

    def _text(self, index: int, content: str, parts: int) -> Reading:
        """A chunk that says nothing but this text of a choice that is known (else KeyError)."""
        return _new(Reading, (parts, (_new(Piece, (self._choices[index].text, "text", utf8(content), "")),)))

    @staticmethod
    def matches(path: str, content_type: str, first: bytes) -> bool:
        """By path; else by a first chunk that says what it is, or has choices with a delta (none at all: Azure's)."""
        if path.endswith(("/chat/completions", "/v1/completions")):
            return True
        known = line_of(first)
        if known is None:
            return False
        chunk = CHUNK.lenient(known)
        if chunk.object in ("chat.completion.chunk", "text_completion"):
            return True
        return chunk.choices is not None and all(choice.delta is not None for choice in chunk.choices)

    def _event(self, event: Chunk) -> Reading:
        parts = 0
        pieces: list[Piece] = []
        for place, choice in enumerate(event.choices or ()):
            parts |= self._read_choice(choice, place, pieces)
        self.beside += bool(pieces) and any(map(_shows_more, event.choices or ()))
        if event.usage is not None:
            parts |= self._read_usage(event.usage)
        if event.error or event.object == "error":
            parts |= ERROR
        if event.x_groq is not None:
            parts |= self._read_groq(event.x_groq)
        if self.model is None and event.model:
            self.model = label(event.model)
        if self.response_id is None and event.id:
            self.response_id = label(event.id)
        return reading(parts, pieces)

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
        return parts | self._finish(state.index, finish, pieces) | (ERROR if finish == "error" else 0)

    def _state(self, index: int) -> _Choice:
        state = self._choices.get(index)
        if state is None:
            state = _Choice(index)
            if len(self._choices) < MAX_TRACKED:
                self._choices[index] = state
            else:
                self._overflow = True
        return state

    def _read_usage(self, usage: Usage) -> int:
        self.usage = (count(usage.prompt_tokens), count(usage.completion_tokens))
        return USAGE

    def _read_groq(self, groq: Groq) -> int:
        parts = 0 if groq.usage is None else self._read_usage(groq.usage)
        return parts | ERROR if groq.error else parts


class _Choice:
    """What is known of one choice: its tool calls."""

    __slots__ = ("_calls", "_last", "_seen", "index", "shared", "text")

    def __init__(self, index: int) -> None:
        self.index = index
        self.text = f"{index}/text/0"
        self._calls: dict[object, _Tool] = {}
        self._last: _Tool | None = None
        self._seen = self.shared = 0

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
            self.shared += tool is not None and isinstance(key, int)
            tool = _Tool(f"{self.index}/tool/{self._seen}", call_id)
            if self._seen < MAX_TRACKED:
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


def _shows_more(choice: Choice) -> bool:
    """Whether there is output that is not read."""
    delta = choice.delta
    return delta is not None and bool(delta.images or delta.audio or delta.annotations)


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
        key = call.index if call.index is not None else label(call.id) or None
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
    slot, new = state.tool(key, label(call.id), function.name)
    parts = TOOL_START if new else 0
    if function.name:
        parts |= TOOL_START
        pieces.append(Piece(slot, "tool_start", utf8(function.name)))
    arguments = function.arguments
    if arguments is None or arguments == "":
        return parts
    pieces.append(Piece(slot, "tool_args", utf8(arguments) if isinstance(arguments, str) else canonical(arguments)))
    return parts | TOOL_ARGS
