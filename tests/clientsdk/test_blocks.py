"""blocks.py: a block survives the wire, and a span that lies is refused with its reason."""

from __future__ import annotations

import pytest

from streamwitness import rows
from streamwitness import semconv as sc
from streamwitness.blocks import Block, BlockError

BLOCK = Block(
    stream="a" * 32, exchange="b" * 16, witness="c" * 16, recorder="d" * 16, point="applied", index=1, position=3,
    row_count=2, rows=rows.encode({"of": [3, 4], "result": [6, 6]}, 2), final=True, attempt=1, hop=2, of="parsed",
    delivers=7, expected=56, max_before=2, max_after=4, totals=dict.fromkeys(sc.TOTALS, 5), complete=True, end="eof",
    total_parts=(1,) * len(sc.PARTS), semantic_s=1, semantic_o=2, content_marks=b"\0" * 8, legs=("e" * 16,),
    slot_digests=("0/text/0 00000000 5",), end_detail="x", extra={"gen_ai.request.model": "m"},
)  # fmt: skip


def test_round_trip():
    """Every field comes back from the attributes as it was."""
    assert Block.parse(BLOCK.attributes()) == BLOCK


def test_a_summary_has_no_rows():
    """A summary says all but the rows."""
    summary = Block.parse(
        {key: value for key, value in BLOCK.attributes().items() if key != sc.ROWS} | {sc.BLOCK_SUMMARY: True}
    )
    assert (summary.summary, summary.rows, summary.row_count) == (True, None, 2)


def test_what_a_point_delivers_is_not_declared_where_it_was_cut_off():
    """Not all of it: then whoever withholds something by design would be held to it."""
    cut = {key: value for key, value in BLOCK.attributes().items() if key not in (sc.DELIVERS, sc.BLOCK_HAS)}
    assert Block.parse(cut).delivers == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({sc.ID: "a" * 31}, "stream.id is not of the form"),
        ({sc.ID: None}, "stream.id is missing"),
        ({sc.EXCHANGE: 5}, "stream.exchange is int"),
        ({sc.POINT: "nowhere"}, "stream.point is 'nowhere', known: source"),
        ({sc.BLOCK_INDEX: -1}, "stream.block.index is negative"),
        ({sc.BLOCK_INDEX: True}, "stream.block.index is bool"),
        ({sc.BLOCK_ROWS: 513}, "at most 512"),
        ({"stream.total.events": 1 << 31}, "at most 1048576"),
        ({"stream.total.judged": 1 << 31}, "is more than stream.total.events"),
        ({sc.BLOCK_POSITION: 1 << 40}, "go beyond stream.total.events"),
        ({sc.BLOCK_MAX_BEFORE: 1 << 40}, "is not below 1048576"),
        ({sc.BLOCK_MAX_AFTER: 1 << 20}, "is not below 1048576"),
        ({sc.BLOCK_INDEX: 1 << 63}, "does not fit 64 bits"),
        ({sc.BLOCK_INDEX: 0}, "the first block is at"),
        ({sc.ROWS: b"\x02"}, "stream.rows: rows have version 2"),
        ({sc.ROWS: rows.encode({"of": [1]}, 1)}, "stream.rows: column 'of' has"),
        ({sc.ROWS: rows.encode({"of": [3, 1 << 30]}, 2)}, "name events beyond stream.block.max_after 4"),
        ({sc.BLOCK_SUMMARY: True}, "with stream.rows"),
        ({sc.END: "bored"}, "stream.end is 'bored', known: eof"),
        ({sc.TOTAL_PARTS: ["a"]}, "not a list of counts"),
        ({sc.TOTAL_PARTS: None}, "stream.total.parts is missing"),
        ({sc.LEGS: "x"}, "not a list of strings"),
    ],
)
def test_lies_are_refused(change, says):
    """Each impossible attribute is named, with what is wrong with it."""
    attributes = {key: value for key, value in (BLOCK.attributes() | change).items() if value is not None}
    with pytest.raises(BlockError, match=says):
        Block.parse(attributes)


NO_MARK = frozenset((
    sc.ID, sc.EXCHANGE, sc.WITNESS, sc.RECORDER, sc.POINT, sc.BLOCK_INDEX, sc.BLOCK_POSITION, sc.BLOCK_ROWS,
    sc.BLOCK_HAS, sc.ROWS, sc.CONTENT_MARKS, sc.DIGEST_PAYLOAD_S, sc.DIGEST_PAYLOAD_O, sc.DIGEST_SEMANTIC_S,
    sc.DIGEST_SEMANTIC_O, sc.END_DETAIL, sc.READ_OUT,
))  # fmt: skip
"""What a block cannot be without, and what only tells more where it is there."""


def test_every_attribute_whose_absence_says_something_is_marked():
    """Each attribute of ours, once: a new one is appended, so that the bits of the old ones stay."""
    assert sc.OWN_ATTRIBUTES - set(sc.MARKED) == NO_MARK
    assert len(set(sc.MARKED)) == len(sc.MARKED)
    assert sc.MARKED[:3] == (sc.ATTEMPT, sc.HOP, sc.LEG)


@pytest.mark.parametrize("key", [key for key in BLOCK.attributes() if key in sc.MARKED])
def test_what_was_cut_off_is_not_denied(key):
    """A block that comes without an attribute that it was sent with is refused, and says which."""
    attributes = {name: value for name, value in BLOCK.attributes().items() if name != key}
    with pytest.raises(BlockError, match=key):
        Block.parse(attributes)


def test_a_mark_that_says_less_or_more_is_no_fault():
    """An older recorder marks nothing, a newer one what is not known here; what is no mask is refused."""
    attributes = BLOCK.attributes()
    old = {name: value for name, value in attributes.items() if name not in (sc.BLOCK_HAS, sc.SLOT_DIGESTS)}
    assert Block.parse(old).slot_digests == ()
    newer = f"{int(attributes[sc.BLOCK_HAS], 16) | 1 << len(sc.MARKED):x}"
    assert Block.parse(attributes | {sc.BLOCK_HAS: newer}) == BLOCK
    for told in ("", "x", "-1", "0" * 65, 5):
        with pytest.raises(BlockError, match=r"stream\.block\.has"):
            Block.parse(attributes | {sc.BLOCK_HAS: told})


@pytest.mark.parametrize("first", [True, False], ids=["the first", "the last"])
@pytest.mark.parametrize("missing", [3, 5, 9, 17, 25])
def test_a_limit_on_the_number_of_attributes_leaves_no_block_that_denies(missing: int, first: bool) -> None:
    """Whether it keeps the first of them or the last: what is left is refused, and so lost instead of wrong."""
    attributes = list(BLOCK.attributes().items())
    left = attributes[:-missing] if first else attributes[missing:]
    with pytest.raises(BlockError):
        Block.parse(dict(left))
