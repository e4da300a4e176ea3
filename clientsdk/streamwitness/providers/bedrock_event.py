"""The fields of Bedrock's events that a reading needs: what kind an event is, its name says, not its payload."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .shapes import Shape


class ToolUse(msgspec.Struct, gc=False, rename="camel"):
    """`start.toolUse` (name) and `delta.toolUse` (input, in pieces of JSON)."""

    name: str | None = None
    input: str | None = None


class Reasoning(msgspec.Struct, gc=False):
    """`delta.reasoningContent`: text, else a signature or something redacted."""

    text: str | None = None


class Delta(msgspec.Struct, gc=False, rename="camel"):
    """`delta` of contentBlockDelta: one of them."""

    text: str | None = None
    tool_use: ToolUse | None = None
    reasoning_content: Reasoning | None = None


class Start(msgspec.Struct, gc=False, rename="camel"):
    """`start` of contentBlockStart."""

    tool_use: ToolUse | None = None


class Usage(msgspec.Struct, gc=False, rename="camel"):
    """`usage` of metadata; tokens read from and written to the cache are not among the input."""

    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    output_tokens: int | None = None


class Payload(msgspec.Struct, gc=False, rename="camel"):
    """The fields of all events of ConverseStream in one, and those of the chunks of InvokeModel."""

    role: str | None = None
    content_block_index: int | None = None
    start: Start | None = None
    delta: Delta | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    bytes: Any = None


PAYLOAD: Final = Shape(Payload)
