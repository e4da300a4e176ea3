"""Which response an answer is made of, where no run of it came through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from bench.truth.build import Event, How, answer
from bench.truth.loss import with_summaries
from streamwitness.semconv import ROLE
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge.test_upstream import ANSWER, FIRST, LEGS, SECOND, attempts, gateway, told

THIN: Final = "too little of this upstream response is known to have come in one run for a proof"
OTHER: Final = "the answer is not made of this upstream response, as far as digests show"


def thinned(sent: Sequence[Event], *, read: Sequence[Event] = ANSWER, more: Sequence[Event] = ()) -> dict[str, Any]:
    """The verdict on a gateway that writes its events anew, and sent these of what it read (and `more` of another)."""
    anew = [replace(event, payload=event.digest ^ 1) for event in sent]
    if not more:
        return gateway(read, anew)
    return judge(attempts((FIRST, SECOND), (more, read), anew), settled=True)


def test_every_second_event_of_the_only_response_is_lost() -> None:
    """No run of it came through; but all that came is of it, in order, and there is nothing else to be of."""
    verdict = thinned([*ANSWER[:1], *ANSWER[1:-2:2], *ANSWER[-2:]])
    assert sum(finding["count"] for finding in verdict["findings"]) == 10
    assert {tuple(finding["suspects"]) for finding in verdict["findings"]} == {("gateway",)}


@pytest.mark.parametrize(
    ("sent", "read", "reason"),
    [
        (ANSWER[1:9:2], ANSWER, THIN),
        (ANSWER[1:-2:4], ANSWER, THIN),
        (ANSWER[-3:0:-2], ANSWER, THIN),
        ([Event(1), *answer(range(3, 6))[1:-2]] * 2, answer([1, 2, 3, 4, 5] * 4), THIN),
        ([Event(n) for n in range(701, 711)], ANSWER, OTHER),
    ],
    ids=["few", "a small part", "in another order", "none there once only", "other words"],
)
def test_what_may_be_of_something_else_accuses_nobody(
    sent: Sequence[Event], read: Sequence[Event], reason: str
) -> None:
    """And the reason says no more than is known."""
    verdict = thinned([*sent, *ANSWER[-2:]], read=read)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])
    assert f"gateway in → gateway out: {reason}" in verdict["why"]["unknown"]


def test_every_second_event_of_one_of_two_responses_accuses_nobody() -> None:
    """The answer may be of neither."""
    verdict = thinned([*ANSWER[1:-2:2], *ANSWER[-2:]], more=answer(range(501, 521)))
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


@pytest.mark.parametrize("lost", [(), ("egress",), ("ingress",), ("egress", "ingress")])
@pytest.mark.parametrize("cut", [5, 8])
def test_what_an_attempt_that_broke_shows_is_not_known_where_rows_are_lost(lost: tuple[str, ...], cut: int) -> None:
    """A gateway had sent `1 2` of it, and of the next one, which says `2 1 …`, what it had not sent: all is there."""
    rest = range(10, 24)
    blocks = How("ingress", leg=0, end="reset", complete=False).blocks([Event(parts=ROLE), Event(1), Event(2)])
    blocks += How("ingress", leg=1).blocks(answer([2, 1, *rest]), [cut])
    blocks += How("egress", legs=LEGS, expected=("ingress",)).blocks(answer([1, 2, *rest]), [cut])
    sent = with_summaries(blocks)
    gone = [b for b in sent if b.point in lost and b.leg != 0 and not b.index]
    left = [b for b in sent if b not in gone]
    assert bool(gone) == bool(lost)
    verdict = judge(left, settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


BROKE: Final = How("ingress", leg=0, end="reset", complete=False)


def of_both(
    first: Sequence[Event], second: Sequence[Event] = ANSWER, *, how: How = BROKE, lost: Any = None
) -> dict[str, Any]:
    """The verdict on a gateway that sent all of a response, and then all of another."""
    blocks = attempts((how, SECOND), (first, second), [*first, *second])
    left = [replace(block, rows=None) if (block.point, block.leg) == lost else block for block in blocks]
    return judge(left, settled=True)


@pytest.mark.parametrize("count", [3, 4, 8])
def test_an_answer_that_was_begun_anew_was_doubled_by_the_gateway(count: int) -> None:
    """All that came of the attempt that broke came again of the next one, from its first event on; both were sent."""
    verdict = of_both(ANSWER[: count + 1])
    assert told(verdict) == [("duplicate", ["gateway"], count, (1, count))]
    assert verdict["headline"] == "THE GATEWAY SENT THE BEGINNING OF THE ANSWER TWICE"
    assert (verdict["integrity"], verdict["notes"]) == ("damaged", [])


ANEW: Final = (
    "gateway in → gateway out: "
    "the answer is put together of several upstream responses, and a later one begins as the first one did"
)


@pytest.mark.parametrize(
    "first",
    [ANSWER[:2], ANSWER[:3], [*ANSWER[:5], Event(77)], [ANSWER[0], *[ANSWER[1]] * 4]],
    ids=["one", "two", "and then something else", "one that is often there"],
)
def test_a_beginning_that_may_be_an_accident_accuses_nobody(first: Sequence[Event]) -> None:
    """But intact it is not called."""
    second = [*first, *ANSWER[5:]] if len(set(first)) == 2 else ANSWER
    verdict = of_both(first, second)
    assert (verdict["integrity"], verdict["findings"], verdict["notes"]) == ("unproven", [], [])
    assert ANEW in verdict["why"]["unknown"]


def test_a_response_that_was_whole_may_begin_as_the_next_one() -> None:
    """Who asks a provider twice for two answers doubles nothing."""
    verdict = of_both(ANSWER[:6], how=How("ingress", leg=0, complete=True))
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


def test_an_answer_that_goes_on_with_another_response_is_intact() -> None:
    """And no note says that it stands in the other one's place."""
    verdict = of_both(ANSWER[:6], [ANSWER[0], *ANSWER[6:]])
    assert (verdict["integrity"], verdict["findings"]) == ("intact", [])
    assert [note["kind"] for note in verdict["notes"]] == ["went_on"]
    assert "the answer went on with another one" in verdict["notes"][0]["sentence"]


@pytest.mark.parametrize("lost", [("ingress", 0), ("ingress", 1), ("egress", None)])
def test_where_rows_are_lost_nobody_knows_that_it_was_begun_anew(lost: Any) -> None:
    """Nor is it called intact."""
    verdict = of_both(ANSWER[:6], lost=lost)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])
