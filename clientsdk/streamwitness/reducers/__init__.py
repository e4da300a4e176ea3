"""Reducers build the answer from events, sans-IO, and say of every event what became of it."""

from __future__ import annotations

from .answer import Answer
from .lifecycle import Lifecycle, Stall
from .ordered import Ordered
from .paced import Paced, Rendered
from .reorder import Released, Reorder
from .results import Outcome, Result
from .styles import Arguments, Patch, Refused, Snapshot, Text, Usage

__all__ = [
    "Answer",
    "Arguments",
    "Lifecycle",
    "Ordered",
    "Outcome",
    "Paced",
    "Patch",
    "Refused",
    "Released",
    "Rendered",
    "Reorder",
    "Result",
    "Snapshot",
    "Stall",
    "Text",
    "Usage",
]
