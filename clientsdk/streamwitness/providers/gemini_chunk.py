"""The fields of a Gemini chunk that a reading needs, from JSON (camelCase) or from the SDK's objects (snake_case)."""

from __future__ import annotations

import enum
from typing import Any, Final

import msgspec

from .objects import fields
from .shapes import Shape


class FunctionCall(msgspec.Struct, gc=False, rename="camel"):
    """`functionCall`: whole, or (Vertex, if asked for) in pieces: `partialArgs` while `willContinue`."""

    name: str | None = None
    args: Any = None
    partial_args: list[Any] | None = None
    will_continue: bool | None = None


class Part(msgspec.Struct, gc=False, rename="camel"):
    """`candidates[].content.parts[]`."""

    text: str | None = None
    thought: bool | None = None
    function_call: FunctionCall | None = None
    inline_data: Any = None
    file_data: Any = None
    executable_code: Any = None
    code_execution_result: Any = None


class Content(msgspec.Struct, gc=False):
    """`candidates[].content`."""

    role: str | None = None
    parts: list[Part] | None = None


class Candidate(msgspec.Struct, gc=False, rename="camel"):
    """`candidates[]`."""

    index: int | None = None
    content: Content | None = None
    finish_reason: str | None = None


class Feedback(msgspec.Struct, gc=False, rename="camel"):
    """`promptFeedback`."""

    block_reason: str | None = None


class Usage(msgspec.Struct, gc=False, rename="camel"):
    """`usageMetadata`: candidates' tokens do not count the thoughts."""

    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None


class Chunk(msgspec.Struct, gc=False, rename="camel"):
    """One event of the stream."""

    candidates: list[Candidate] | None = None
    prompt_feedback: Feedback | None = None
    usage_metadata: Usage | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: Any = None


CHUNK: Final = Shape(Chunk)

_STRUCTS: Final = (Chunk, Candidate, Content, Part, FunctionCall, Feedback, Usage)
_SENT: Final = {
    own: sent
    for struct in _STRUCTS
    for own, sent in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
} | {
    "json_path": "jsonPath",
    "string_value": "stringValue",
    "number_value": "numberValue",
    "bool_value": "boolValue",
    "null_value": "nullValue",
}
"""Attribute of the SDK's objects → name of the field as it is sent."""


def as_sent(value: object) -> Any:
    """The SDK's object as the JSON that it was made of, as far as a reading needs it; JSON stays what it is."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list):
        return [as_sent(each) for each in value]
    if value is None or isinstance(value, (str, int, float, dict)):
        return value
    known = fields(value) or {}
    return {_SENT[own]: as_sent(each) for own, each in known.items() if each is not None and own in _SENT}
