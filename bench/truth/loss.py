"""Telemetry that gets lost, comes twice or out of order: what happens to blocks after a stream is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from streamwitness.blocks import Block

from .cutting import CUT, cut_off

_BURST: Final = 4
"""Blocks lost in a row, at most."""


def with_summaries(blocks: Sequence[Block]) -> list[Block]:
    """The blocks as an exporter sends them: every closing one again, later and without its rows."""
    have = {(block.recorder, block.index) for block in blocks if block.summary}
    more = [replace(b, rows=None, summary=True) for b in blocks if b.final and (b.recorder, b.index) not in have]
    return [*blocks, *more]


def none(_rng: Random, blocks: Sequence[Block]) -> list[Block]:
    """Everything comes, in order."""
    return list(blocks)


def disordered(rng: Random, blocks: Sequence[Block]) -> list[Block]:
    """Everything comes, some of it twice, in any order."""
    out = [*blocks, *(block for block in blocks if rng.random() < 0.3)]
    rng.shuffle(out)
    return out


def at_random(share: float) -> Callable[[Random, Sequence[Block]], list[Block]]:
    """Each block is lost with this probability."""

    def thin(rng: Random, blocks: Sequence[Block]) -> list[Block]:
        return disordered(rng, [block for block in blocks if rng.random() >= share])

    return thin


def in_bursts(share: float) -> Callable[[Random, Sequence[Block]], list[Block]]:
    """As many, several in a row: an exporter that could not send for a while."""

    def thin(rng: Random, blocks: Sequence[Block]) -> list[Block]:
        out: list[Block] = []
        left = 0
        for block in blocks:
            if not left and rng.random() < share * 2 / (_BURST + 1):
                left = rng.randint(1, _BURST)
            if left:
                left -= 1
            else:
                out.append(block)
        return disordered(rng, out)

    return thin


def closing(rng: Random, blocks: Sequence[Block]) -> list[Block]:
    """Half of the recorders never say how they ended; of the others some say it in a summary only."""
    fate = {block.recorder: rng.choice(("lost", "lost", "summary", "held")) for block in blocks}
    return disordered(rng, [block for block in blocks if not _goes(fate[block.recorder], block)])


def _goes(fate: str, block: Block) -> bool:
    return block.summary if fate == "held" else block.final and (fate == "lost" or not block.summary)


def early(rng: Random, blocks: Sequence[Block]) -> list[Block]:
    """What has come when half of the blocks are still on their way; those come later (`run.py` judges twice)."""
    every = disordered(rng, blocks)
    return every[: len(every) // 2]


def silent(rng: Random, blocks: Sequence[Block]) -> list[Block]:
    """One recorder's blocks never come at all."""
    recorders = sorted({block.recorder for block in blocks})
    gone = rng.choice(recorders) if recorders else ""
    return disordered(rng, [block for block in blocks if block.recorder != gone])


def cut_by_limits(rng: Random, blocks: Sequence[Block]) -> list[Block]:
    """What is too long for somebody on the way comes without its rows, or not at all; a summary is short."""
    longest = max((len(block.rows) for block in blocks if block.rows is not None), default=0)
    limit, refused = rng.randint(0, longest), rng.random() < 0.5
    out = []
    for block in blocks:
        if block.rows is None or len(block.rows) <= limit:
            out.append(block)
        elif not refused:
            out.append(replace(block, rows=None))
    return disordered(rng, out)


def sampled_out(rng: Random, blocks: Sequence[Block]) -> list[Block]:
    """Of one process nothing of the stream is kept, or its summaries alone."""
    witnesses = sorted({block.witness for block in blocks})
    gone = rng.choice(witnesses) if witnesses else ""
    summaries = rng.random() < 0.5
    return disordered(rng, [b for b in blocks if b.witness != gone or (summaries and b.summary)])


LOSSES: Final[dict[str, Callable[[Random, Sequence[Block]], list[Block]]]] = {
    "none": none,
    "disordered": disordered,
    "5 %": at_random(0.05),
    "10 %": at_random(0.10),
    "30 %": at_random(0.30),
    "5 % in bursts": in_bursts(0.05),
    "10 % in bursts": in_bursts(0.10),
    "30 % in bursts": in_bursts(0.30),
    "closing blocks": closing,
    "a whole point": silent,
    "cut by limits": cut_by_limits,
    "sampled out": sampled_out,
    CUT: cut_off,
    "late": early,
}
"""Name → what is done to a stream's blocks. `none` and `disordered` lose nothing, and in the end `late` does not."""

SINGLED: Final = "without "
"""How a loss of certain blocks is called: `without 3 7r` is without block 3, and without the rows of block 7."""


def called(name: str) -> Callable[[Random, Sequence[Block]], list[Block]]:
    """The loss of this name: one of `LOSSES`, or of the blocks that it names. Raises KeyError for any other."""
    if not name.startswith(SINGLED) or not all(one.removesuffix("r").isdecimal() for one in name.split()[1:]):
        return LOSSES[name]
    gone = frozenset(name.split()[1:])

    def thin(_rng: Random, blocks: Sequence[Block]) -> list[Block]:
        left = [(at, block) for at, block in enumerate(blocks) if str(at) not in gone]
        return [replace(block, rows=None) if f"{at}r" in gone else block for at, block in left]

    return thin


LATE: Final = "late"

WHOLE: Final = ("none", "disordered")
"""With these, everything that was recorded is held."""
