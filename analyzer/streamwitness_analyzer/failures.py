"""What the log hears of a judge that fails: each defect once with its traceback, then only how often.

A defect hits every stream like the one it was found on, and each of them again with every block that comes: a log
line for each would bury the traceback that matters. So a kind (what was raised, and where) is told at its first
failure, and then at the 10th, the 100th, the 1000th …; the metric `stream_judge_failures_total` has the exact number.
"""

from __future__ import annotations

import logging
from pathlib import PurePath
from types import TracebackType
from typing import Final

MOST_KINDS: Final = 50
"""Kinds told apart; all beyond share one, so neither memory nor the log grows with what streams can provoke."""
_BASE: Final = 10
_FIRST: Final = (
    "the judge failed on stream %s (%s): a defect of streamwitness, not of the stream. Its blocks are kept; a verdict "
    "that was final stands, else the stream is marked `failed`. Other streams are not touched. Please report this "
    "traceback; with a mended version, `streamwitness rejudge` judges the stream anew"
)
_AGAIN: Final = (
    "the judge has failed %d times (%s), now on stream %s; the traceback stands in the log where it failed first"
)
_REST: Final = "of yet another kind"


class Failures:
    """Counts the failures of one judge by kind; not for several threads at once."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._seen: dict[str, int] = {}

    @property
    def total(self) -> int:
        """How often it has failed."""
        return sum(self._seen.values())

    def happened(self, error: BaseException, stream: str) -> None:
        """The judge raised `error` on `stream`."""
        kind = _kind(error)
        if kind not in self._seen and len(self._seen) >= MOST_KINDS:
            kind = _REST
        count = self._seen[kind] = self._seen.get(kind, 0) + 1
        if count == 1:
            self._log.error(_FIRST, stream, kind, exc_info=error)
        elif _round(count):
            self._log.error(_AGAIN, count, kind, stream)


def _kind(error: BaseException) -> str:
    """`KeyError at align.py:120`: what was raised, and where."""
    where, name = _innermost(error.__traceback__), type(error).__name__
    if where is None:
        return name
    return f"{name} at {PurePath(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}"


def _innermost(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _round(count: int) -> bool:
    """Whether it is 10, 100, 1000 …"""
    while count % _BASE == 0:
        count //= _BASE
    return count == 1
