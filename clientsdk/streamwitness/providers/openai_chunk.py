"""The fields of a chat completion chunk that a reading needs, from JSON or from what a parser made of it.

`decode_chunk` is the ordinary way: msgspec skips everything else unseen. `lenient_chunk` takes fields of any type and
leaves out those it cannot use. Where both succeed they agree, which a test checks.

Nearly every chunk of a stream says but one thing, a text of one choice: `plain_text` finds that out of an SDK's object
in a tenth of the time that reading everything takes, and leaves all others to `lenient_chunk`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from .objects import fields

_T = TypeVar("_T")


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


_NO_MODELS: Final = frozenset((dict, str, bytes))
"""What JSON, and who does not decode it, hands on instead of models; to ask them for attributes would be slow."""

decode_chunk: Final[Callable[[bytes], Chunk]] = msgspec.json.Decoder(Chunk).decode
"""JSON → Chunk; raises ValueError or RecursionError where a field has an unexpected type or the bytes are no JSON."""


def lenient_chunk(known: Mapping[str, Any]) -> Chunk:
    """Fields of a chunk, of whatever type → Chunk."""
    get = known.get
    return Chunk(
        id=_text(get("id")),
        object=_text(get("object")),
        model=_text(get("model")),
        choices=_list(get("choices"), _choice),
        usage=_made(get("usage"), _usage),
        error=get("error"),
        x_groq=_made(get("x_groq"), _groq),
    )


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


def _choice(known: Mapping[str, Any]) -> Choice:
    get = known.get
    return Choice(_integer(get("index")), _made(get("delta"), _delta), _text(get("finish_reason")), _text(get("text")))


def _delta(known: Mapping[str, Any]) -> Delta:
    get = known.get
    content = get("content")
    return Delta(
        _text(get("role")),
        content if isinstance(content, (str, list)) else None,
        _text(get("reasoning_content")),
        _text(get("reasoning")),
        _text(get("refusal")),
        _list(get("tool_calls"), _call),
        _made(get("function_call"), _function),
    )


def _call(known: Mapping[str, Any]) -> Call:
    get = known.get
    return Call(_integer(get("index")), _text(get("id")), _made(get("function"), _function))


def _function(known: Mapping[str, Any]) -> Function:
    arguments = known.get("arguments")
    return Function(_text(known.get("name")), arguments if isinstance(arguments, (str, dict, list)) else None)


def _usage(known: Mapping[str, Any]) -> Usage:
    return Usage(_integer(known.get("prompt_tokens")), _integer(known.get("completion_tokens")))


def _groq(known: Mapping[str, Any]) -> Groq:
    return Groq(_made(known.get("usage"), _usage), known.get("error"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _made(value: object, make: Callable[[Mapping[str, Any]], _T]) -> _T | None:
    known = None if value is None else fields(value)
    return None if known is None else make(known)


def _list(value: object, make: Callable[[Mapping[str, Any]], _T]) -> list[_T] | None:
    if not isinstance(value, list):
        return None
    return [make(known) for item in value if (known := fields(item)) is not None]
