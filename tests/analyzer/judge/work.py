"""How much the judge does, counted instead of timed: a machine that is busy counts the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

from streamwitness_analyzer import judge

JUDGE: Final = str(Path(judge.__file__).parent)


def lines(run: Callable[[], object], within: str = JUDGE) -> int:
    """Lines of the judge, or of a part of it, that a run executes, each turn of a loop counted."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(within):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count
