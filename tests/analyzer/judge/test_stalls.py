"""A client that gave up waiting: where progress had stopped, if that can be told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bench.truth.build import Event, answer
from streamwitness.semconv import (
    CLOCK_STEP_MS,
    GATHERED,
    HOLD_AFTER,
    HOLD_MS,
    HOLD_TOTAL_MS,
    LAST_WAIT_MS,
    READ_WAIT_MS,
    UNANSWERED,
)
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge.timed import Timed, stream

ANSWER = answer(range(1, 9))
WHEN = [0.5 * n for n in range(1, len(ANSWER) + 1)]
HAD = 4
"""Events that the client had; the newest came after 2 s."""
GAVE_UP = 32.0
READ_TO_THE_END = "eof"


def seen(n: int, end: float, how: str, events: Sequence[Event] = ANSWER, **extra: Any) -> Timed:
    """A point that had n events at the usual times."""
    return Timed(events[:n], WHEN[:n], end, how, **extra)


def left(n: int = HAD, **extra: Any) -> Timed:
    """The client, whose timer ran out."""
    return seen(n, GAVE_UP, "timeout", **extra)


def gone(n: int = HAD, end: float = GAVE_UP + 0.1, **extra: Any) -> Timed:
    """The gateway's answer, which saw its client go."""
    return seen(n, end, "disconnected", **extra)


def ended(ingress: Timed | None, egress: Timed | None, wire: Timed | None) -> tuple[str, str | None]:
    """The ending and who made it."""
    verdict = judge(stream(ingress, egress, wire), settled=True)
    assert verdict["findings"] == []
    assert verdict["ending"]["reason"]
    return verdict["ending"]["class"], verdict["ending"]["by"]


def test_nothing_came_into_the_gateway() -> None:
    """All that it had read had gone on; then it waited itself."""
    assert ended(seen(HAD, GAVE_UP + 0.1, "cancelled"), gone(), left()) == ("stalled", "source")


def test_nothing_ever_came_into_the_gateway() -> None:
    """The head of the answer came, and no event."""
    assert ended(seen(0, GAVE_UP, "cancelled"), gone(0), left(0)) == ("stalled_before_first", "source")


def test_the_gateway_had_more() -> None:
    """It went on reading, and sent nothing."""
    assert ended(seen(len(ANSWER), 6.0, READ_TO_THE_END), gone(), left()) == ("stalled", "gateway")


def test_the_gateway_had_read_the_end() -> None:
    """Headers, then nothing, of an answer whose body was over."""
    assert ended(seen(1, 1.0, READ_TO_THE_END), gone(0), left(0)) == ("stalled_before_first", "gateway")


KEPT = {HOLD_MS: 31_600, HOLD_TOTAL_MS: 31_600, HOLD_AFTER: 0, LAST_WAIT_MS: 0}
"""What a response tells of a reader that has not asked for more since its first event."""


def test_the_gateway_kept_the_first_event() -> None:
    """One without output, which it did not send, and behind which it did not ask for more."""
    assert ended(seen(1, GAVE_UP + 0.1, "cancelled", **KEPT), gone(0), left(0)) == ("stalled_before_first", "gateway")


@pytest.mark.parametrize(
    ("leg", "egress"),
    [
        (seen(1, GAVE_UP + 0.1, "cancelled", **KEPT | {LAST_WAIT_MS: 5}), gone(0)),
        (seen(1, GAVE_UP + 0.1, "cancelled", **KEPT | {HOLD_MS: 1_000}), gone(0)),
        (seen(1, GAVE_UP + 0.1, "cancelled", **KEPT), gone(0, **{HOLD_TOTAL_MS: 31_000})),
        (seen(1, GAVE_UP - 1.0, "cancelled", **KEPT), gone(0)),
        (seen(1, GAVE_UP + 0.1, "cancelled", **KEPT), gone(0, **{UNANSWERED: 1})),
    ],
    ids=["it asked", "it had asked", "its server took no more", "it had let go before", "it waited for another"],
)
def test_who_kept_the_first_event_for_a_reason_or_may_have(leg: Timed, egress: Timed) -> None:
    """It waited itself, or had given that response up, as one of several steps."""
    assert ended(leg, egress, left(0)) == ("client_timeout", "client")


@pytest.mark.parametrize("read", [seen(len(ANSWER), 6.0, READ_TO_THE_END), seen(6, GAVE_UP + 0.1, "cancelled")])
def test_a_gateway_that_waits_for_another_upstream_may_have_nothing_to_send(read: Timed) -> None:
    """What it has read may be a guardrail's, or the first step's: the answer's own upstream gave no response yet."""
    assert ended(read, gone(0, **{UNANSWERED: 1}), left(0)) == ("client_timeout", "client")


def test_what_was_sent_never_came() -> None:
    """Seen at gateway out soon after the last event that the client had."""
    sent = gone(HAD + 2)
    assert ended(seen(HAD + 2, GAVE_UP, "cancelled"), sent, left()) == ("stalled", "transport")


def test_nothing_that_was_sent_ever_came() -> None:
    """Counted from the beginning of the answer."""
    assert ended(seen(3, GAVE_UP, "cancelled"), gone(3), left(0)) == ("stalled_before_first", "transport")


def test_a_connection_that_was_dead_for_the_gateway_only() -> None:
    """Half open: the gateway learned of it within seconds, the client's timer ran much longer."""
    assert ended(seen(HAD, 7.0, "cancelled"), gone(end=7.0), left()) == ("stalled", "transport")


def test_a_client_without_a_timer_has_vanished() -> None:
    """Nothing tells where it stopped, and nothing is made up."""
    blocks = stream(seen(HAD, 7.0, "cancelled"), gone(end=7.0), left())
    heard = [block for block in blocks if block.point != "wire"]
    assert judge(heard, settled=True)["ending"]["class"] == "client_vanished"


UNTOLD = {
    "only the client told": (None, None, left()),
    "the gateway's upstream was not seen": (None, gone(), left()),
    "a deadline for the whole answer": (seen(HAD, 3.1, "cancelled"), gone(end=3.1), seen(HAD, 3.0, "timeout")),
    "a pause no longer than an earlier one": (
        seen(HAD, GAVE_UP, "cancelled"), gone(), left(**{READ_WAIT_MS: 31_000, LAST_WAIT_MS: 30_000}),
    ),
    "the client did not ask": (
        seen(HAD, GAVE_UP, "cancelled"), gone(), left(**{LAST_WAIT_MS: 100, HOLD_TOTAL_MS: 29_500}),
    ),
    "the gateway did not ask": (
        seen(HAD, GAVE_UP, "cancelled", **{LAST_WAIT_MS: 0, HOLD_TOTAL_MS: 29_500}), gone(), left(),
    ),
    "the server took no more": (seen(6, GAVE_UP, "cancelled"), gone(**{HOLD_TOTAL_MS: 29_900}), left()),
    "it was sent just before": (
        seen(HAD, GAVE_UP, "cancelled"),
        Timed(ANSWER[: HAD + 1], [*WHEN[:HAD], 31.5], GAVE_UP + 0.1, "disconnected"),
        left(),
    ),
    "it was read just before": (
        Timed(ANSWER[: HAD + 1], [*WHEN[:HAD], 31.5], GAVE_UP + 0.1, "cancelled"), gone(), left(),
    ),
    "the gateway's machine slept": (seen(HAD, GAVE_UP, "cancelled"), gone(end=7.0, **{CLOCK_STEP_MS: 25_000}), left()),
    "the client's library gathers": (seen(6, GAVE_UP, "cancelled"), gone(6), left(**{GATHERED: True})),
    "the gateway was kept from running": (seen(HAD, 50.0, "cancelled"), gone(end=50.0), left()),
}  # fmt: skip


@pytest.mark.parametrize("points", UNTOLD.values(), ids=UNTOLD)
def test_where_it_cannot_be_told_the_client_waited_no_longer(points: tuple[Timed | None, ...]) -> None:
    """A limit of the client's ran out; who kept it waiting is not proven."""
    ingress, egress, wire = points
    assert ended(ingress, egress, wire) == ("client_timeout", "client")


def test_a_person_who_cancels_in_a_silence_cancelled() -> None:
    """Whose silence it was is a note."""
    verdict = judge(
        stream(seen(HAD, GAVE_UP + 0.1, "cancelled"), gone(), seen(HAD, GAVE_UP, "cancelled")), settled=True
    )
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == ("client_cancelled", "client")
    told = [note["sentence"] for note in verdict["notes"]]
    assert told == [
        "Before the client left, nothing came for 30.0 s after event 3; nothing more came into the gateway."
    ]


def test_a_cancellation_tells_its_moment_and_its_cost() -> None:
    """After which event, how many ms in, and what was read upstream all the same."""
    read_on = seen(len(ANSWER), 9.0, READ_TO_THE_END)
    verdict = judge(stream(read_on, gone(6, end=3.2), seen(HAD, 3.0, "cancelled")), settled=True)
    ending = verdict["ending"]
    assert (ending["class"], ending["after"], ending["at_ms"]) == ("client_cancelled", 3, 3_000)
    assert ending["cost"] == {"events": 5, "bytes": 0, "output_tokens": None}
