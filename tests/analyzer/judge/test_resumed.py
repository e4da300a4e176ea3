"""What a client that asked to go on left out at the beginning, because it may have had it (docs/design.md §7.9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from bench.truth.build import Event, How, answer, handed_on, path, used, usual
from streamwitness.semconv import RESUMES, Point
from streamwitness_analyzer.judge import judge

ANSWER: Final = answer(range(1, 12))[1:]
PARSED: Final = handed_on(ANSWER)
MARK: Final = ((RESUMES, True),)


def verdict(
    parsed: Sequence[Event], applied: Sequence[Event], *, asked: bool = True, wire: bool = True, shown: str = ""
) -> dict[str, Any]:
    """The verdict of an exchange in which the client asked to go on, or did not."""
    extra = MARK if asked else ()
    hows: dict[Point, How] = {
        "parsed": replace(usual("parsed"), extra=extra, slots=("0/text/0 0000aaaa 60",) if shown else ()),
        "applied": How("applied", of="parsed", extra=extra, slots=(shown,) if shown else ()),
    }
    blocks = path(None, ANSWER, ANSWER, parsed, applied, **hows)
    return judge([block for block in blocks if wire or block.point != "wire"], settled=True)


def told(document: dict[str, Any]) -> list[tuple[str, int, tuple[str, ...]]]:
    """Kind, count and suspects of each finding."""
    return [(f["kind"], f["count"], tuple(f["suspects"])) for f in document["findings"]]


@pytest.mark.parametrize("skipped", [1, 3])
@pytest.mark.parametrize("wire", [True, False])
def test_a_parser_may_have_had_what_comes_first(skipped: int, wire: bool) -> None:
    """It is no loss where it had asked to go on, and one where it had not."""
    rest = PARSED[skipped:]
    document = verdict(rest, used(rest), wire=wire)
    assert (document["integrity"], document["findings"]) == ("unproven", [])
    assert [kind for kind, _, _ in told(verdict(rest, used(rest), asked=False, wire=wire))] == ["gap"]


def test_so_may_an_application() -> None:
    """It passes over what it had, or calls it a copy."""
    rows = used(PARSED)
    for first, integrity in (([], "unproven"), ([replace(rows[0], result="duplicate")], "intact")):
        document = verdict(PARSED, [*first, *rows[1:]])
        assert (document["integrity"], document["findings"]) == (integrity, [])
    assert told(verdict(PARSED, rows[1:], asked=False)) == [("gap", 1, ("reducer",))]


_LOST_BEHIND: Final[dict[str, tuple[Callable[[], Sequence[Event]], Callable[[], Sequence[Event]]]]] = {
    "parser": (lambda: [*PARSED[1:4], *PARSED[5:]], lambda: used([*PARSED[1:4], *PARSED[5:]])),
    "reducer": (lambda: PARSED, lambda: [row for row in used(PARSED)[1:] if row.of != 4]),
}


@pytest.mark.parametrize("who", _LOST_BEHIND)
def test_what_is_missing_behind_the_head_is_lost(who: str) -> None:
    """An event before it came out."""
    parsed, applied = _LOST_BEHIND[who]
    assert told(verdict(parsed(), applied())) == [("gap", 1, (who,))]


def test_what_was_raised_at_the_head_is_lost() -> None:
    """That is no event that was had."""
    rows = used(PARSED)
    assert told(verdict(PARSED, [replace(rows[0], result="raised"), *rows[1:]])) == [("gap", 1, ("reducer",))]


def test_the_text_shown_may_have_begun_before() -> None:
    """Then it is another one than was given here, and nobody's fault."""
    document = verdict(PARSED, used(PARSED), shown="0/text/0 0000bbbb 90")
    assert (document["integrity"], document["findings"]) == ("intact", [])
    assert told(verdict(PARSED, used(PARSED), asked=False, shown="0/text/0 0000bbbb 90")) == [
        ("misapplied", 1, ("reducer",))
    ]
