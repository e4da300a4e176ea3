"""The fields of a Responses event that a reading needs; every kind of event is one flat object with a `type`."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .shapes import Shape


class Part(msgspec.Struct, gc=False):
    """A content part or a part of a reasoning summary."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None


class Item(msgspec.Struct, gc=False):
    """An output item: a message, reasoning, a tool call; `arguments` of a function, `input` of a custom tool."""

    type: str | None = None
    role: str | None = None
    name: str | None = None
    arguments: str | None = None
    input: str | None = None


class Usage(msgspec.Struct, gc=False):
    """`response.usage`."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class Incomplete(msgspec.Struct, gc=False):
    """`response.incomplete_details`."""

    reason: str | None = None


class Kind(msgspec.Struct, gc=False):
    """What an item of the final output is; its content has been told before."""

    type: str | None = None


class Response(msgspec.Struct, gc=False):
    """The response as a whole, in the events that begin and end it."""

    id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    incomplete_details: Incomplete | None = None
    output: list[Kind] | None = None


class Event(msgspec.Struct, gc=False):
    """One event of the stream."""

    type: str | None = None
    sequence_number: int | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    delta: str | None = None
    text: str | None = None
    refusal: str | None = None
    arguments: str | None = None
    input: str | None = None
    item: Item | None = None
    part: Part | None = None
    response: Response | None = None
    error: Any = None


EVENT: Final = Shape(Event)
