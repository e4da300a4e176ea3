"""A gateway that reads on after its client has gone: said only of reads that were asked for afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench.truth.build import LEG, Event, How, answer, path
from streamwitness import rows
from streamwitness.blocks import Block
from streamwitness.semconv import CLOCK_STEP_MS, HOLD_TOTAL_MS, STAMPED
from streamwitness_analyzer.judge import judge

ANSWER = answer(range(1, 21))
SENT = 9
GONE_US = 1_000
"""When gateway out ended, on its process's clock."""


def timed(moments: Sequence[int], *, end: str = "disconnected", **changes: object) -> list[Block]:
    """An answer of which the gateway sent nine events; event n was read at `moments[n]` µs."""
    events = ANSWER[: len(moments)]
    legs = {"ingress": How("ingress", leg=0, end="eof"), "egress": How("egress", legs=(LEG,), end=end)}
    ingress, egress = path(events, events[:SENT], None, **legs)
    columns = {name: list(values) for name, values in ingress.columns().items()} | {"t": list(moments)}
    ingress = replace(ingress, rows=rows.encode(columns, len(events)), start_ns=0)
    return [replace(ingress, **changes), replace(egress, end_ns=GONE_US * 1_000)]


def before(n: int = SENT) -> list[int]:
    """The first n events came before the client went."""
    return list(range(100, 100 + n))


def kinds(blocks: Sequence[Block], *, settled: bool = True) -> list[tuple[str, list[str], tuple[int, int]]]:
    """The findings in short."""
    found = judge(blocks, settled=settled)["findings"]
    return [(f["kind"], f["suspects"], tuple(f["sequence"])) for f in found]


LATE = [GONE_US + 50_000 * i for i in range(1, 8)]
"""A piece every 50 ms."""


def test_reads_asked_for_after_the_client_went_are_waste() -> None:
    """The first late one was in hand, and the next may have come with it; five more were asked for."""
    blocks = timed([*before(), *LATE])
    assert kinds(blocks) == [("upstream_kept_running", ["gateway"], (11, 15))]
    verdict = judge(blocks, settled=True)
    finding = verdict["findings"][0]
    assert (finding["count"], finding["exact"], finding["confidence"]) == (5, False, "certain")
    assert finding["evidence"]["missing"] == "gateway out saw its client go after 9 events"
    assert finding["evidence"]["seen"].endswith("0 bytes in 5 further reads")


def test_it_damages_nothing() -> None:
    """Money was lost, and no word."""
    assert judge(timed([*before(), *LATE]), settled=True)["integrity"] == "intact"


@pytest.mark.parametrize(
    "moments",
    [
        [GONE_US - 1] * 7,
        [GONE_US + 900] * 7,
        [GONE_US + 900] * 3 + [GONE_US + 901] * 4,
        [GONE_US + 900, GONE_US + 901, GONE_US + 902],
        [GONE_US + 900, GONE_US + 200_000, GONE_US + 400_000],
        [GONE_US + 2_000 + 500 * i for i in range(7)],
        [GONE_US + 10_000_000 + i for i in range(7)],
    ],
    ids=[
        "read before",
        "one piece in hand",
        "one more asked for",
        "two more",
        "two more that were waited for",
        "pieces that one read brought",
        "pieces that one long read brought",
    ],
)
def test_what_was_in_hand_or_on_its_way_is_no_waste(moments: list[int]) -> None:
    """A piece may be looked at after the client went, and the news takes its way."""
    assert kinds(timed([*before(), *moments])) == []


@pytest.mark.parametrize(("held", "found"), [(149, 1), (400, 0)])
def test_a_gateway_that_is_slow_at_what_it_has(held: int, found: int) -> None:
    """Of the time that passed what it was busy with itself is taken off; who waited for no more, read on nothing."""
    ingress, egress = timed([*before(), *LATE])
    busy = replace(ingress, extra={**ingress.extra, HOLD_TOTAL_MS: held})
    assert len(kinds([busy, egress])) == found


@pytest.mark.parametrize("which", [0, 1])
def test_a_clock_that_was_set(which: int) -> None:
    """What came before and what after is then not known."""
    blocks = timed([*before(), *LATE])
    blocks[which] = replace(blocks[which], extra={**blocks[which].extra, CLOCK_STEP_MS: 700})
    assert kinds(blocks) == []


def test_an_answer_that_was_sent_whole_wastes_nothing() -> None:
    """The client did not go; what is read behind the end of the answer is another matter."""
    assert kinds(timed([*before(), *LATE], end="raised")) == []


def test_nothing_is_said_before_the_settlement() -> None:
    """The client may come back for the rest."""
    assert kinds(timed([*before(), *LATE]), settled=False) == []


def test_what_a_later_exchange_was_given_is_no_waste() -> None:
    """A gateway that keeps what it reads for a client that resumes."""
    blocks = timed([*before(), *LATE])
    resumed = path(None, ANSWER[SENT:16], None, egress=How("egress", exchange="f" * 16, attempt=1, recorder="9" * 16))
    assert kinds([*blocks, *resumed]) == []


def test_clocks_of_two_processes_are_not_compared() -> None:
    """Gateway in, told by another witness than gateway out."""
    assert kinds(timed([*before(), *LATE], witness="b" * 16)) == []


def test_lost_rows_make_it_a_bound() -> None:
    """Only what is held is counted."""
    ingress, egress = timed([*before(), *LATE])
    assert kinds([replace(ingress, rows=None, summary=True), egress]) == []


def test_where_events_are_numbered_a_client_may_have_come_back() -> None:
    """The record of its second exchange may be lost, and a gateway that keeps answers reads on for that one."""
    blocks = timed([*before(), *LATE])
    egress = replace(blocks[1], extra={**blocks[1].extra, STAMPED: "id"})
    assert kinds([blocks[0], egress]) == []


@pytest.mark.parametrize(
    ("asides", "found"), [(answer(range(1, 21)), 0), (answer(range(50, 62)), 0)], ids=["so", "other"]
)
def test_a_call_beside_the_answer_is_not_the_answers_waste(asides: Sequence[Event], found: int) -> None:
    """A title, a log, somebody else's answer that a worker reads: the answer's own upstream was let go of at once."""
    ingress, egress = timed(before())
    other = path(asides, None, None, ingress=How("ingress", leg=1, recorder="9" * 16, end="eof"))[0]
    moments = [*before(2), *(GONE_US + 50_000 * i for i in range(1, len(asides) - 1))]
    columns = {name: list(values) for name, values in other.columns().items()} | {"t": moments}
    other = replace(other, rows=rows.encode(columns, len(asides)), start_ns=0)
    verdict = judge([ingress, other, replace(egress, legs=(LEG, "9" * 16))], settled=True)
    assert len(verdict["findings"]) == found
    assert (verdict["ending"]["cost"] or {}).get("events", 0) == 0
