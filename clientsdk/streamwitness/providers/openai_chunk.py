"""The fields of a chat completion chunk that a reading needs.

Nearly every chunk of a stream says but one thing, a text of one choice: `decode_plain` knows that as soon as the bytes
are decoded, `plain_text` finds it out of an SDK's object in a tenth of the time that reading everything takes, and both
leave all others to the shape.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from .shapes import Shape


class Function(msgspec.Struct, gc=False):
    """`tool_calls[].function` or `function_call`; some servers send arguments as an object."""

    name: str | None = None
    arguments: str | dict[str, Any] | list[Any] | None = None


class Call(msgspec.Struct, gc=False):
    """`delta.tool_calls[]`; Gemini's compatible API leaves `index` out."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct, gc=False):
    """`choices[].delta`; Mistral's reasoning models send content as a list of typed parts."""

    role: str | None = None
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None
    function_call: Function | None = None
    images: Any = None
    audio: Any = None
    annotations: Any = None


class Choice(msgspec.Struct, gc=False):
    """`choices[]`; Azure's annotations have no delta, the older completions a text instead of one."""

    index: int | None = None
    delta: Delta | None = None
    finish_reason: str | None = None
    text: str | None = None


class Usage(msgspec.Struct, gc=False):
    """`usage`."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Groq(msgspec.Struct, gc=False):
    """`x_groq`: Groq's own place for usage and errors."""

    usage: Usage | None = None
    error: Any = None


class Chunk(msgspec.Struct, gc=False):
    """One event of the stream."""

    id: str | None = None
    object: str | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: Usage | None = None
    error: Any = None
    x_groq: Groq | None = None


CHUNK: Final = Shape(Chunk)

_Silent = Literal["", None]
_NoneOf = Annotated[list[Any], msgspec.Meta(max_length=0)] | None


class _PlainDelta(msgspec.Struct, gc=False):
    content: Annotated[str, msgspec.Meta(min_length=1)]
    role: str | None = None
    reasoning_content: _Silent = None
    reasoning: _Silent = None
    refusal: _Silent = None
    tool_calls: _NoneOf = None
    function_call: None = None
    images: _NoneOf = None
    audio: None = None
    annotations: _NoneOf = None


class _PlainChoice(msgspec.Struct, gc=False):
    delta: _PlainDelta
    index: int = 0
    finish_reason: Literal["", "null", None] = None
    text: _Silent = None


class PlainChunk(msgspec.Struct, gc=False):
    """A chunk that says nothing but a text of one choice: the types leave nothing else."""

    choices: tuple[_PlainChoice]
    object: Literal["chat.completion.chunk", "text_completion", "", None] = None
    usage: None = None
    error: None = None
    x_groq: None = None


decode_plain: Final = msgspec.json.Decoder(PlainChunk).decode
"""JSON → PlainChunk; raises ValueError or RecursionError where the chunk says anything else as well."""

_NO_MODELS: Final = frozenset((dict, str, bytes))
"""What JSON, and who does not decode it, hands on instead of models; to ask them for attributes would be slow."""


def plain_text(obj: Any) -> tuple[int, str] | None:
    """Index and text where a pydantic model, as SDKs make them, says nothing but a text of one choice; else None."""
    if type(obj) in _NO_MODELS:
        return None
    try:
        if obj.__pydantic_extra__:
            return None
        own = obj.__dict__
        (choice,) = own["choices"]
        chosen = choice.__dict__
        delta = chosen["delta"]
        said = delta.__dict__
        if choice.__pydantic_extra__ or delta.__pydantic_extra__:
            return None
        index, content = chosen["index"], said["content"]
        if chosen["finish_reason"] is not None or own["usage"] is not None or own["object"] == "error":
            return None
        if "error" in own or "x_groq" in own:  # a model that knows these by name
            return None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    if type(index) is not int or type(content) is not str or not content:
        return None
    return (index, content) if tuple(said.values()).count(None) == len(said) - 1 else None
