"""The stream's id, for the application's own logs: what a person pastes into `streamwitness show`."""

from __future__ import annotations

from typing import Any

from . import links


def stream_id(stream: Any) -> str | None:
    """Id (32 hex digits) of a response, an SDK's stream or a watched iterator; None where nothing observes it."""
    link = links.of(stream)
    return link.witness.identity.stream if link is not None else None
