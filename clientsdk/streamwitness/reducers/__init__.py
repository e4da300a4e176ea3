"""Reducers build the answer from events, sans-IO, and say of every event what became of it."""

from __future__ import annotations

from .ordered import Ordered, Outcome
from .results import Result
from .text import TextReducer

__all__ = ["Ordered", "Outcome", "Result", "TextReducer"]
