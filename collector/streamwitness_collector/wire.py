"""Protobuf's outer layers, read field by field: where in a request the resources, scopes and spans lie.

A trace request is cut into its spans before any of them is decoded. So a span that is no span is refused alone, and a
body of two-byte spans, which a whole-message decoder would blow up a hundredfold, costs what its length says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

_REQUEST_RESOURCE_SPANS: Final = 1
_RESOURCE_SPANS_RESOURCE: Final = 1
_RESOURCE_SPANS_SCOPE_SPANS: Final = 2
_SCOPE_SPANS_SCOPE: Final = 1
_SCOPE_SPANS_SPANS: Final = 2
"""Field numbers of opentelemetry/proto/collector/trace/v1 and trace/v1."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}
_MAX_VARINT: Final = 10


class WireError(ValueError):
    """The bytes are no protobuf message of this shape, or have more fields than anyone sends."""


class Scoped(NamedTuple):
    """One ScopeSpans of a request: the encoded Resource and InstrumentationScope, and its encoded spans."""

    resource: bytes
    scope: bytes
    spans: list[bytes]


class Walker:
    """Walks one request; at most `max_fields` fields are looked at, so the time is bounded however small they are."""

    def __init__(self, data: bytes, max_fields: int) -> None:
        self._data = data
        self._left = max_fields

    def scopes(self) -> Iterator[Scoped]:
        """Every ScopeSpans in order; raises WireError."""
        for number, start, end in self._fields(0, len(self._data)):
            if number == _REQUEST_RESOURCE_SPANS:
                yield from self._resource_spans(start, end)

    def _resource_spans(self, start: int, end: int) -> Iterator[Scoped]:
        fields = list(self._fields(start, end))
        resource = self._merged(fields, _RESOURCE_SPANS_RESOURCE)
        for number, at, until in fields:
            if number == _RESOURCE_SPANS_SCOPE_SPANS:
                inner = list(self._fields(at, until))
                spans = [self._data[a:b] for n, a, b in inner if n == _SCOPE_SPANS_SPANS]
                yield Scoped(resource, self._merged(inner, _SCOPE_SPANS_SCOPE), spans)

    def _merged(self, fields: list[tuple[int, int, int]], number: int) -> bytes:
        """A field that stands once; protobuf merges repetitions, which is what concatenated encodings mean."""
        return b"".join(self._data[start:end] for n, start, end in fields if n == number)

    def _fields(self, at: int, end: int) -> Iterator[tuple[int, int, int]]:
        """(field number, start, end) of every length-delimited field in data[at:end]; other kinds are stepped over."""
        while at < end:
            self._left -= 1
            if self._left < 0:
                raise WireError("the request has more fields than are taken; send smaller batches")
            tag, at = self._varint(at, end)
            kind = tag & 7
            if kind == _BYTES:
                length, at = self._varint(at, end)
                if length > end - at:
                    raise WireError("a field is longer than its message")
                yield tag >> 3, at, at + length
                at += length
            elif kind == _VARINT:
                _, at = self._varint(at, end)
            elif kind in _FIXED_SIZES and _FIXED_SIZES[kind] <= end - at:
                at += _FIXED_SIZES[kind]
            else:
                raise WireError("a field has no known wire type or is cut off")

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        """The number at `at`, and where it ends."""
        value = 0
        for i in range(min(_MAX_VARINT, end - at)):
            byte = self._data[at + i]
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                return value, at + i + 1
        raise WireError("a number is cut off")
