"""Attributes that do not come with their block: an older recorder never wrote them, or a limit on the way cut them off.

What a block then says of itself is weaker, and never something else: the judge may know less, and nothing wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from streamwitness import semconv as sc
from streamwitness.blocks import Block, BlockError

CUT: Final = "an attribute cut off"
OLDER: Final = (
    sc.SLOT_DIGESTS, sc.SLOT_DIGESTS, sc.CONTENT_MARKS, sc.ROWS, sc.DIGEST_PAYLOAD_S, sc.DIGEST_PAYLOAD_O,
    sc.DIGEST_SEMANTIC_S, sc.DIGEST_SEMANTIC_O, sc.CLIENT, sc.DELIVERS,
)  # fmt: skip
"""What may be missing without a mark that says so, and then only makes the block a weaker one."""
_SCOPES: Final[tuple[Callable[[Block], object], ...]] = (
    lambda block: (block.recorder, block.index),
    lambda block: block.point,
    lambda block: block.witness,
    lambda block: None,
)
"""What a limit concerns: one block, a point, a process, or all."""


def cut_off(rng: Random, blocks: Sequence[Block]) -> list[Block]:
    """The blocks as they are read when one attribute did not come, of some of them or of all."""
    of = rng.choice(_SCOPES)
    chosen = rng.choice(blocks) if blocks else None
    if chosen is None:
        return []
    cut = rng.choice((_one_cut_off, _of_an_older_recorder, _as_many_as_are_let))(rng, chosen)
    came = [cut(block) if of(block) == of(chosen) else block for block in blocks]
    rng.shuffle(came)
    return [block for block in came if block is not None]


_Cut = Callable[[Block], Block | None]


def _one_cut_off(rng: Random, chosen: Block) -> _Cut:
    """One of its attributes does not come."""
    name = rng.choice(sorted(chosen.attributes()))
    return lambda block: without(block, name)


def _of_an_older_recorder(rng: Random, _chosen: Block) -> _Cut:
    """One that it never wrote, as it wrote no mark."""
    name = rng.choice(OLDER)
    return lambda block: block if shows(block) else without(block, name, sc.BLOCK_HAS)


def _as_many_as_are_let(rng: Random, chosen: Block) -> _Cut:
    """A limit on their number lets the first of them pass, or drops the first of them."""
    some, last = rng.randint(1, len(chosen.attributes())), rng.random() < 0.3

    def cut(block: Block) -> Block | None:
        names = list(block.attributes())
        return without(block, *(names[:-some] if last else names[some:]))

    return cut


def shows(block: Block) -> bool:
    """Whether an application shows its result here: without it, and without the mark, it would have shown none."""
    return block.point == "applied" and bool(block.slot_digests)


def without(block: Block, *names: str) -> Block | None:
    """The block as it is read where these attributes did not come; None where it is refused."""
    left = {key: value for key, value in block.attributes().items() if key not in names}
    try:
        return Block.parse(left, start_ns=block.start_ns, end_ns=block.end_ns, resource=block.resource, role=block.role)
    except BlockError:
        return None
