"""What a list says was sent and used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import Event, How, answer, handed_on, path, recorder_id, used
from streamwitness.blocks import Block
from streamwitness_analyzer.judge import judge

WORDS = answer(range(1, 13))
OTHERS = answer(range(101, 113))


def counted(blocks: list[Block]) -> tuple[Any, ...]:
    """Sent, used, integrity."""
    verdict = judge(blocks, settled=True)
    return verdict["counts"]["sent"], verdict["counts"]["used"], verdict["integrity"]


def whole(read: list[Event], sent: list[Event], **how: How) -> list[Block]:
    """A path that is healthy behind the gateway."""
    return path(read, sent, sent, handed_on(sent), used(handed_on(sent)), **how)


def test_what_a_gateway_read_was_sent_though_its_hop_is_unproven() -> None:
    """It let go of its upstream, and what it had read last was not sent yet."""
    ingress = How("ingress", leg=0, end="cancelled", complete=False)
    assert counted(whole(WORDS[:9], WORDS[:6], ingress=ingress)) == (9, 6, "unproven")


def test_of_an_answer_from_elsewhere_nobody_knows_what_was_sent() -> None:
    """A cache answered; the response that was read is another one."""
    assert counted(whole(WORDS, OTHERS)) == (None, len(OTHERS), "unproven")


@pytest.mark.parametrize("share", [True, False])
def test_of_several_responses_that_count_which_feed_the_answer(share: bool) -> None:
    """All of them where one goes on with the other, none where nobody knows which it was."""
    legs = (recorder_id("ingress", 0, "a"), recorder_id("ingress", 1, "a"))
    texts = [Event(n) for n in range(101, 106)]
    sent = [*WORDS[:5], *texts, *WORDS[-2:]] if share else OTHERS
    egress = How("egress", legs=legs, expected=("ingress", "wire", "parsed", "applied"))
    blocks = [
        *How("ingress", leg=0, end="reset").blocks(WORDS[:5]),
        *How("ingress", leg=1).blocks([*texts, *WORDS[-2:]]),
        *path(None, sent, sent, egress=egress),
    ]
    assert counted(blocks)[:2] == ((12, 12) if share else (None, len(OTHERS)))


def test_events_at_which_an_application_raised_are_counted_apart() -> None:
    """Its record counts all that it was told of; those were not used."""
    given = used(handed_on(answer(range(1, 9))))
    rows = [replace(event, result="raised") if event.of == 4 else event for event in given]
    events = answer(range(1, 9))
    points = {
        p["point"]: p for p in judge(path(events, events, events, handed_on(events), rows), settled=True)["points"]
    }
    assert [(p, points[p]["events"], points[p]["failed"]) for p in ("parsed", "applied")] == [
        ("parsed", 10, 0), ("applied", 10, 1)
    ]  # fmt: skip
