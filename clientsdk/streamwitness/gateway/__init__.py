"""The gateway's side: an ASGI middleware for what goes out (`egress`), a client hook for what comes in (`ingress`)."""

from __future__ import annotations

from .middleware import StreamWitness
from .replay import Replay
from .upstream import upstream

__all__ = ["Replay", "StreamWitness", "upstream"]
