"""The host's own span around an exchange: it becomes our blocks' parent, and is told the stream's id and its end.

Nothing more of ours goes through the host's TracerProvider: its sampler would drop blocks, its queue would lose the
host's spans. A host that has not loaded OpenTelemetry has no span, and nothing is loaded for it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .semconv import END, ID

if TYPE_CHECKING:
    from opentelemetry.trace import Span


class HostSpan:
    """A span of the host that was active where an exchange began. `context` is (trace id, span id)."""

    __slots__ = ("_span", "context")

    def __init__(self, span: Span) -> None:
        found = span.get_span_context()
        self.context = (found.trace_id, found.span_id)
        self._span = span

    def begins(self, stream: str) -> None:
        """Note the stream's id on the span, so that a trace leads to its verdict."""
        self._note(ID, stream)

    def ends(self, end: str) -> None:
        """Note how the stream ended here, unless the host has closed its span by then."""
        self._note(END, end)

    def _note(self, key: str, value: str) -> None:
        if self._span.is_recording():
            self._span.set_attribute(key, value)


def host_span() -> HostSpan | None:
    """The host's span that is active here; None where there is none."""
    trace = sys.modules.get("opentelemetry.trace")
    current = getattr(trace, "get_current_span", None)  # another thread may be in the midst of importing it
    if current is None:
        return None
    span = current()
    return HostSpan(span) if span.get_span_context().is_valid else None
