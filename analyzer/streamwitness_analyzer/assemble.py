"""How the pieces are put together for both ways to run: store, judge, steps, and the clock of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from . import judge
from .config import NANOSECONDS, AnalyzerSettings, UpSettings
from .settle import Life, Patience
from .steps import Steps
from .store import Store

wall: Final[Callable[[], int]] = time.time_ns


def steps_of(store: Store, settings: AnalyzerSettings | UpSettings) -> Steps:
    """The numbered steps on this store, with the real judge."""
    patience = Patience(int(settings.settle_after * NANOSECONDS), int(settings.idle_after * NANOSECONDS))
    return Steps(store, Life(judge, patience), wall, settings.max_blocks)
