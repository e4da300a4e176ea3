"""Events that only lenient readers can decode: what became of them accuses nobody, and all others count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from streamwitness.semconv import MALFORMED, TERMINAL, TEXT
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge.build import ALL_PARTS, Event, How, answer, handed_on, path

ANSWER = answer(range(1, 13))
ODD = [Event(5, TEXT | MALFORMED) if event.text == 5 else event for event in ANSWER]
TWICE = [Event(5, TEXT | MALFORMED) if event.text in (5, 9) else event for event in ANSWER]


def told(came: list[Event], taken: list[Event], lost: int | None = None) -> tuple[str, list[tuple[Any, ...]]]:
    """Integrity; kind, suspects, confidence, count of each finding where a parser handed these events on."""
    blocks = path(None, came, came, handed_on(taken), parsed=How("parsed", delivers=ALL_PARTS & ~TERMINAL))
    if lost is not None:
        made = How("wire", expected=("egress", "parsed")).blocks(came, (4, 8))
        blocks = [*(block for block in blocks if block.point == "parsed"), *(b for b in made if b.index != lost)]
    verdict = judge(blocks, settled=True)
    found = [(f["kind"], f["suspects"], f["confidence"], f["count"]) for f in verdict["findings"]]
    return verdict["integrity"], found


def without(*texts: int) -> Callable[[list[Event]], list[Event]]:
    """Parsers that leave out these events."""
    return lambda came: [event for event in came if event.text not in texts]


def test_a_reader_that_takes_it() -> None:
    """With a replacement for the odd bytes it is the same event: nothing is missing."""
    assert told(ODD, ODD) == ("intact", [])


@pytest.mark.parametrize(
    "parser",
    [without(5), lambda came: [Event(500) if event.text == 5 else event for event in came]],
    ids=["leaves it out", "decodes it otherwise"],
)
def test_a_reader_that_does_not(parser: Callable[[list[Event]], list[Event]]) -> None:
    """It is as right; so nothing is proven, and where the bytes are in order the same is its fault."""
    assert told(ODD, parser(ODD)) == ("unproven", [])
    integrity, found = told(ANSWER, parser(ANSWER))
    assert integrity == "damaged"
    assert found[0][1] == ["parser"]


@pytest.mark.parametrize(
    ("parser", "found"),
    [
        (without(8), ("gap", ["parser"], "certain", 1)),
        (without(4, 5, 6), ("gap", ["parser"], "certain", 2)),
        (without(5, 8), ("gap", ["parser"], "certain", 1)),
        (lambda came: [*came[:9], came[8], *came[9:]], ("duplicate", ["parser"], "certain", 1)),
    ],
    ids=["another", "others around it", "it and another", "another twice"],
)
def test_what_happened_to_other_events(parser: Callable[[list[Event]], list[Event]], found: tuple[Any, ...]) -> None:
    """Is told as ever, and counted without the odd one."""
    assert told(ODD, parser(ODD)) == ("damaged", [found])


def test_the_row_that_would_tell_is_lost() -> None:
    """An event that is missing may be the odd one, as its totals say that there was one."""
    assert told(ODD, without(5)(ODD), lost=1) == ("unproven", [])
    assert told(ANSWER, without(5)(ANSWER), lost=1)[0] == "damaged"


def test_as_many_as_there_were() -> None:
    """Two odd events that say the same may both be left out, and a third one not."""
    assert told(TWICE, without(5)(TWICE)) == ("unproven", [])
    thrice = [*TWICE[:3], Event(5), *TWICE[3:]]
    assert told(thrice, without(5)(thrice))[1] == [("gap", ["parser"], "certain", 1)]
