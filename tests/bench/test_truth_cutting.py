"""An attribute that does not come with its block: refused where the block says it was sent, else a weaker block."""

from __future__ import annotations

from random import Random

import pytest

from bench.truth.build import answer, path, used
from bench.truth.cutting import CUT, OLDER, cut_off, without
from bench.truth.loss import LOSSES
from bench.truth.run import verdict_on
from bench.truth.streams import named
from streamwitness import semconv as sc

ANSWER = answer(range(1, 9))
BLOCKS = path(ANSWER, ANSWER, ANSWER, ANSWER[:-1], used(ANSWER[:-1]))


def test_a_block_without_an_attribute_that_it_was_sent_with_is_lost() -> None:
    """And where an older recorder sent it, which marked nothing, it is the block without that."""
    closing = BLOCKS[0]
    assert without(closing, sc.SLOT_DIGESTS) is None
    old = without(closing, sc.SLOT_DIGESTS, sc.BLOCK_HAS)
    assert old is not None
    assert (old.slot_digests, old.totals) == ((), closing.totals)


def test_some_blocks_come_without_an_attribute_and_the_others_as_they_were() -> None:
    """Of one block, of a point, of a process or of all; the loss is one of those that the gates see."""
    assert LOSSES[CUT] is cut_off
    came = [cut_off(Random(seed), BLOCKS) for seed in range(60)]
    assert {len(blocks) for blocks in came} > {0, len(BLOCKS) - 1, len(BLOCKS)}
    assert all(block in BLOCKS or block.point in sc.POINTS for blocks in came for block in blocks)
    assert cut_off(Random(1), []) == []


@pytest.mark.parametrize("names", [*((name,) for name in sorted(set(OLDER))), OLDER])
def test_a_gateway_that_cuts_anew_is_accused_of_nothing_without_them(names: tuple[str, ...]) -> None:
    """It holds the end of each text back: the content is the same, whatever of it the records cannot tell any more."""
    trial = named("model/cuts_later/0")
    assert trial.deeds == ()
    left = [without(block, *names, sc.BLOCK_HAS) for block in trial.blocks]
    trial.blocks[:] = [block for block in left if block is not None]
    verdict, score = verdict_on(trial, "disordered")
    assert (verdict["findings"], score.false) == ([], [])
