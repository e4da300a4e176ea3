"""Bytes of a body → frames, sans-IO: how the pieces were cut never shows in what comes out."""

from __future__ import annotations

from .sse import SSEFramer

__all__ = ["SSEFramer"]
