"""The fields of an Anthropic event that a reading needs; every kind of event is one object with a `type`."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .shapes import Shape


class Usage(msgspec.Struct, gc=False):
    """`message.usage` at the start, `usage` of message_delta; what is absent has not changed."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class Message(msgspec.Struct, gc=False):
    """`message` of message_start."""

    id: str | None = None
    role: str | None = None
    model: str | None = None
    usage: Usage | None = None


class Block(msgspec.Struct, gc=False):
    """`content_block`: text and thinking are empty as a rule, `input` is `{}`."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    input: Any = None


class Delta(msgspec.Struct, gc=False):
    """`delta` of a block, or of the message (`stop_reason`)."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class Event(msgspec.Struct, gc=False):
    """One event of the stream."""

    type: str | None = None
    index: int | None = None
    message: Message | None = None
    content_block: Block | None = None
    delta: Delta | None = None
    usage: Usage | None = None
    error: Any = None


EVENT: Final = Shape(Event)
