"""The judge: blocks of one stream go in, a verdict document comes out. No I/O, no clock, no logger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamwitness.blocks import Block

from .ending.endings import table
from .testimony.records import all_closed, collect
from .testimony.view import ContradictionError
from .verdict import JUDGE_VERSION, document

__all__ = ["JUDGE_VERSION", "all_closed", "judge", "table"]


def judge(blocks: Sequence[Block], *, settled: bool, expired: bool = False, excess: int = 0) -> dict[str, Any]:
    """The verdict on one stream, whose blocks may come in any order and more than once.

    `settled`: nothing more is waited for, so what rests on silence may be said. `expired`: that is so because time
    ran out. `excess`: how many more blocks came than are held. The result holds JSON types only, and is the same for
    the same set of blocks.
    """
    distrusted: frozenset[str] = frozenset()
    while True:
        try:
            return document(collect(blocks, distrusted), blocks, settled=settled or expired, excess=excess)
        except ContradictionError as error:
            distrusted |= {error.witness}
