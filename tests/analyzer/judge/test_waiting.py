"""Events held back: named only where one process's own clock proves it, and nobody who merely had to wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.truth.build import answer
from streamwitness.blocks import Block
from streamwitness.semconv import CLOCK_STEP_MS, GATHERED, HOLD_TOTAL_MS
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge.timed import Timed, delays, stream

ANSWER = answer(range(1, 9))
"""A role, eight words, a finish, a terminator."""
N = len(ANSWER)
STEADY = [1.0 * n for n in range(1, N + 1)]
END = STEADY[-1] + 0.1
HELD = [END] * N


def healthy(**wire: object) -> list[Block]:
    """One event a second, at once everywhere."""
    points = [Timed(ANSWER, STEADY, END), Timed(ANSWER, STEADY, END)]
    return stream(*points, Timed(ANSWER, STEADY, END, **wire))


def test_a_steady_stream_waits_for_nobody() -> None:
    """Clocks that are hours apart are no delay."""
    assert delays(healthy()) == []


@pytest.mark.parametrize("cut", [512, 3])
def test_a_gateway_that_sends_all_at_the_end_held_all_but_the_newest(cut: int) -> None:
    """From the second at which an event was read to the one at which it was sent; only events with content or a
    finish are compared, in however many blocks."""
    blocks = stream(Timed(ANSWER, STEADY, END), Timed(ANSWER, HELD, END), Timed(ANSWER, HELD, END), cut=cut)
    assert delays(blocks) == [(("gateway",), (1, 8), 8)]
    finding = judge(blocks, settled=True)["findings"][0]
    assert (finding["confidence"], finding["proof"]["case"]) == ("certain", "by_time")
    assert "held for 9.1 s" in finding["sentence"]
    assert "left the gateway late" in finding["sentence"]


def test_it_damages_nothing() -> None:
    """Every word arrived."""
    verdict = judge(
        stream(Timed(ANSWER, STEADY, END), Timed(ANSWER, HELD, END), Timed(ANSWER, HELD, END)), settled=True
    )
    assert (verdict["integrity"], verdict["ending"]["class"]) == ("intact", "completed")


def test_what_arrives_in_one_read_was_held_on_the_way() -> None:
    """The newest event came at once, so the others could have; by what, the gateway's and the client's records do not
    know, and so it is never certain."""
    blocks = stream(Timed(ANSWER, STEADY, END), Timed(ANSWER, STEADY, END), Timed(ANSWER, HELD, END))
    assert delays(blocks) == [(("transport",), (0, 7), 8)]
    assert judge(blocks, settled=True)["findings"][0]["confidence"] == "narrowed"


def test_a_pause_in_the_middle_names_the_events_that_waited() -> None:
    """The events of the pause were sent in time, and came together at its end."""
    came = [*STEADY[:3], *[STEADY[7]] * 5, *STEADY[8:]]
    blocks = stream(Timed(ANSWER, STEADY, END), Timed(ANSWER, STEADY, END), Timed(ANSWER, came, END))
    assert delays(blocks) == [(("transport",), (3, 4), 2)]


def test_a_hold_within_the_budget_is_pacing() -> None:
    """A gateway may gather for a while."""
    sent = [t + 1.9 for t in STEADY]
    assert delays(stream(Timed(ANSWER, STEADY, END), Timed(ANSWER, sent, 13), Timed(ANSWER, sent, 13))) == []


def test_a_gateway_that_its_server_makes_wait_holds_nothing() -> None:
    """Back-pressure: the client did not read, and so the server took no more."""
    pushed = Timed(ANSWER, HELD, END, **{HOLD_TOTAL_MS: 9_000})
    assert delays(stream(Timed(ANSWER, STEADY, END), pushed, Timed(ANSWER, HELD, END))) == []


def test_a_client_that_does_not_ask_is_held_up_by_nobody() -> None:
    """It read all at the end, because it was busy till then."""
    busy = Timed(ANSWER, HELD, END, **{HOLD_TOTAL_MS: 8_000})
    assert delays(stream(Timed(ANSWER, STEADY, END), Timed(ANSWER, STEADY, END), busy)) == []


def test_a_library_that_gathers_hides_when_bytes_came() -> None:
    """It asked for more than there was, and handed nothing on before it had it."""
    whole = Timed(ANSWER, HELD, END, **{GATHERED: True})
    assert delays(stream(Timed(ANSWER, STEADY, END), Timed(ANSWER, STEADY, END), whole)) == []


@pytest.mark.parametrize("asleep", ["egress", "wire"])
def test_a_machine_that_slept_tells_no_times(asleep: str) -> None:
    """Its clock stopped, or was set: what was before and after cannot be compared."""
    step = {CLOCK_STEP_MS: 60_000}
    egress = Timed(ANSWER, STEADY, END, **(step if asleep == "egress" else {}))
    wire = Timed(ANSWER, HELD, END, **(step if asleep == "wire" else {}))
    assert delays(stream(Timed(ANSWER, STEADY, END), egress, wire)) == []


def test_a_gateway_whose_clock_stopped_makes_nobody_late() -> None:
    """All that came after its sleep looks late beside what came before, and for that nobody is accused."""
    slept = [*STEADY[:4], *(t + 3600 for t in STEADY[4:])]
    assert delays(stream(Timed(ANSWER, STEADY, END), Timed(ANSWER, STEADY, END), Timed(ANSWER, slept, 3700))) == []


def test_clocks_that_run_apart_delay_nothing() -> None:
    """The client's runs slower by half a thousandth, over eight hours."""
    sent = [3600.0 * n for n in range(1, N + 1)]
    came = [t * (1 - 0.0005) for t in sent]
    end = sent[-1] + 1
    assert delays(stream(Timed(ANSWER, sent, end), Timed(ANSWER, sent, end), Timed(ANSWER, came, end), cut=1)) == []


def test_what_cannot_be_compared_is_not_timed() -> None:
    """Behind the first difference nobody knows which event is which."""
    lost = [*ANSWER[:6], *ANSWER[7:]]
    blocks = stream(Timed(ANSWER, STEADY, END), Timed(ANSWER, STEADY, END), Timed(lost, [END] * (N - 1), END))
    found = judge(blocks, settled=True)["findings"]
    assert [(f["kind"], f["sequence"]) for f in found] == [("delayed", [0, 2]), ("gap", [6, 6])]


def test_of_two_attempts_with_the_same_words_nobody_knows_which_was_sent() -> None:
    """The gateway asked two providers, and sent what the slower one said as it came."""
    slow = [t + 9 for t in STEADY]
    first, *_ = stream(Timed(ANSWER, STEADY, END), None, None)
    second, egress = stream(Timed(ANSWER, slow, END + 9), Timed(ANSWER, slow, END + 9), None)
    legs = (replace(first, recorder="1" * 16, leg=1), second)
    blocks = [*legs, replace(egress, legs=tuple(leg.recorder for leg in legs))]
    assert delays(blocks) == []
    alone = [replace(first, recorder=second.recorder), egress]
    assert delays(alone) == [(("gateway",), (1, 9), 9)]
