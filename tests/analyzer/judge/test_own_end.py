"""Answers that a gateway ended by itself: as a limit of its own, as if they had been whole, or by breaking off."""

from __future__ import annotations

import pytest

from bench.truth.build import FINISHED, LEG, Event, How, path
from streamwitness.semconv import FINISH, TERMINAL
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge.test_upstream import ANSWER, gateway


@pytest.mark.parametrize(
    ("sent", "word", "integrity"),
    [(9, "length", "intact"), (9, "content_filter", "intact"), (9, "stop", "unproven"), (8, "length", "unproven")],
)
def test_whose_end_an_answer_has_of_which_the_gateway_let_go(sent: int, word: str, integrity: str) -> None:
    """A limit says that it is one, and all that was read was sent; the provider did not end it, whatever it says."""
    ingress = How("ingress", leg=0, end="cancelled", complete=False)
    egress = How("egress", legs=(LEG,), extra=(("gen_ai.response.finish_reasons", (word,)),))
    answered = [*ANSWER[:sent], Event(FINISHED, FINISH), Event(parts=TERMINAL)]
    verdict = judge(path(ANSWER[:9], answered, answered, ingress=ingress, egress=egress), settled=True)
    ending = verdict["ending"]
    assert (verdict["findings"], verdict["integrity"]) == ([], integrity)
    assert (ending["class"], ending["by"]) == ("completed", "gateway")
    assert verdict["summary"].startswith("The gateway stopped reading and finished the answer itself.")


@pytest.mark.parametrize(("end", "integrity"), [("eof", "unproven"), ("raised", "unproven"), ("shutdown", "unproven"),
                                                ("disconnected", "intact")])  # fmt: skip
def test_what_was_read_and_not_sent_when_the_answer_broke_off(end: str, integrity: str) -> None:
    """However the gateway broke it off; what was read for a client that had gone was due to nobody."""
    ingress = How("ingress", leg=0, end="cancelled", complete=False)
    egress = How("egress", legs=(LEG,), end=end, complete=False)
    assert gateway(ANSWER[:9], ANSWER[:8], ingress=ingress, egress=egress)["integrity"] == integrity
