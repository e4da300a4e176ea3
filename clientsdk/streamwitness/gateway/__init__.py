"""The gateway's side: an ASGI middleware for what goes out (`egress`), a client hook for what comes in (`ingress`)."""

from __future__ import annotations

from .editing import edited
from .linking import link, linked
from .middleware import StreamWitness
from .replay import Replay
from .upstream import upstream

__all__ = ["Replay", "StreamWitness", "edited", "link", "linked", "upstream"]
