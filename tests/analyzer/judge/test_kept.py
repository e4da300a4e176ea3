"""What the application kept beside what it was given (docs/design.md §7.3, misapplied)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import Event, How, answer, handed_on, path, summary, used
from streamwitness.semconv import MISSING, REASONING, SHARED_RECORD, TEXT, TOOL_ARGS, TOOL_START
from streamwitness_analyzer.judge import judge

ANSWER = answer(range(1, 21))
PARSED = handed_on(ANSWER)
APPLIED = used(PARSED)
GIVEN = ("0/text/0 0000aaaa 60",)
OTHER = ("0/text/0 0000bbbb 58",)


def kept(
    shown: Sequence[str],
    applied: Sequence[Event] = APPLIED,
    *,
    given: Sequence[str] = GIVEN,
    parsed: Sequence[Event] = PARSED,
    end: str = "eof",
    lost: Sequence[int] = (),
    shared: bool = False,
) -> dict[str, Any]:
    """The verdict where the parser handed on `given`, and the application says that it has `shown`."""
    sent = [*parsed, ANSWER[-1]]
    before = path(
        sent, sent, sent, parsed,
        parsed=How("parsed", delivers=ANSWER[-1].parts ^ 0x7FFF, slots=tuple(given)),
    )  # fmt: skip
    extra = ((SHARED_RECORD, True),) if shared else ()
    how = How("applied", end=end, of="parsed", slots=tuple(shown), extra=extra)
    made = how.blocks(applied, (5, 10) if lost else ())
    return judge([*before, *(block for block in made if block.index not in lost)], settled=True)


def told(verdict: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Kind, suspects, confidence and count of each finding."""
    return [(f["kind"], f["suspects"], f["confidence"], f["count"]) for f in verdict["findings"]]


def test_another_text_of_events_that_were_all_applied() -> None:
    """It took up everything, once and in order, and has something else: the reducer, said with both sizes."""
    verdict = kept(OTHER)
    assert told(verdict) == [("misapplied", ["reducer"], "certain", 1)]
    assert verdict["headline"] == "THE CLIENT'S REDUCER KEPT ANOTHER TEXT THAN IT WAS GIVEN"
    assert verdict["findings"][0]["sentence"].endswith(
        "the text that the application kept is not the text that it was given."
    )
    assert "text: 60 bytes given, 58 kept" in verdict["findings"][0]["evidence"]["seen"]
    assert (verdict["integrity"], verdict["ending"]["class"]) == ("damaged", "completed")


@pytest.mark.parametrize(
    ("shown", "integrity"), [(GIVEN, "unproven"), (OTHER, "unproven"), ((), "damaged")], ids=["equal", "other", "none"]
)
@pytest.mark.parametrize("known", ["wire", "egress"])
def test_what_reached_the_client_tells_what_it_was_given_where_that_is_lost(
    known: Any, shown: tuple[str, ...], integrity: str
) -> None:
    """It joins three events into one and reports that: equal to what came, it lost nothing; else nothing is known."""
    joined = [event for event in APPLIED if not event.content or event.of % 3 == 0]
    made = How("applied", of="parsed", slots=shown)
    hows: dict[str, Any] = {known: How(known, slots=GIVEN)}
    blocks = [
        *path(None, ANSWER, ANSWER, PARSED, cuts=lambda n: [n - 1], **hows),
        *made.blocks(joined),
    ]
    verdict = judge([b for b in blocks if not (b.point == "parsed" and b.final)], settled=True)
    assert (verdict["integrity"], bool(verdict["findings"])) == (integrity, integrity == "damaged")
    assert ("reducer" in verdict["why"]["cleared"]) == (shown == GIVEN)


@pytest.mark.parametrize("kind", ["0/reasoning/0", "0/refusal/0"])
@pytest.mark.parametrize(
    ("shown", "integrity"),
    [("0000bbbb 90", "unproven"), ("0000cccc 30", "unproven"), ("0000bbbb 58", "damaged")],
    ids=["longer", "the other", "shorter"],
)
def test_one_text_may_be_several_of_the_answer_put_together(shown: str, integrity: str, kind: str) -> None:
    """It shows nothing of its thoughts but in that text, or their text alone; a shorter one is neither."""
    verdict = kept((f"0/text/0 {shown}",), given=(*GIVEN, f"{kind} 0000cccc 30"))
    assert verdict["integrity"] == integrity
    both = kept((f"0/text/0 {shown}", f"{kind} 0000cccc 30"), given=(*GIVEN, f"{kind} 0000cccc 30"))
    assert both["integrity"] == "damaged"


@pytest.mark.parametrize("shown", [GIVEN, OTHER])
def test_another_text_is_no_intact_one_where_the_rows_before_are_lost(shown: tuple[str, ...]) -> None:
    """The closing blocks tell the texts; what stands behind the terminator of what was given, lost rows hide."""
    parsed = How("parsed", slots=GIVEN)
    blocks = path(
        None, None, ANSWER, ANSWER, used(ANSWER), parsed=parsed, applied=How("applied", of="parsed", slots=shown)
    )
    held = [summary(block) if block.point == "parsed" else block for block in blocks]
    verdict = judge(held, settled=True)
    assert (verdict["findings"], verdict["integrity"]) == ([], "intact" if shown == GIVEN else "unproven")


def test_what_is_shown_is_not_intact_where_nothing_tells_what_was_given() -> None:
    """All was applied, and the digest of what came was cut off: what it shows may be something else."""
    verdict = kept(OTHER, given=())
    assert (verdict["findings"], verdict["integrity"]) == ([], "unproven")


@pytest.mark.parametrize(
    ("applied", "integrity"),
    [
        (APPLIED, "intact"),
        ([event for event in APPLIED if event.of % 3], "unproven"),
        ([replace(event, result="raised") if event.of == 5 else event for event in APPLIED], "damaged"),
    ],
    ids=["all", "some", "raised"],
)
def test_another_text_of_one_of_several_proves_nothing(applied: list[Event], integrity: str) -> None:
    """It may be a title, or one's part, and who shows a text need not report; what is reported as lost still is."""
    verdict = kept(OTHER, applied, shared=True)
    assert (verdict["integrity"], [f["kind"] for f in verdict["findings"]]) == (
        integrity,
        ["gap"] if integrity == "damaged" else [],
    )


def test_the_same_text_of_one_of_several() -> None:
    """It is all that was given, however it was reported."""
    verdict = kept(GIVEN, [event for event in APPLIED if event.of % 3], shared=True)
    assert (verdict["findings"], verdict["integrity"]) == ([], "intact")


def test_the_same_text() -> None:
    """Nothing is said of an application that kept what it was given."""
    verdict = kept(GIVEN)
    assert (verdict["findings"], verdict["integrity"]) == ([], "intact")


@pytest.mark.parametrize(
    "applied",
    [
        [replace(event, of=MISSING) for event in APPLIED],
        [],
        [*APPLIED[:4], *APPLIED[5:]],
        [*APPLIED[:4], APPLIED[5], APPLIED[4], *APPLIED[6:]],
        [replace(event, result="raised") if event.of == 4 else event for event in APPLIED],
    ],
    ids=["copies", "no reports", "one left out", "swapped", "raised and made good"],
)
def test_whoever_kept_the_whole_text_lost_nothing(applied: list[Event]) -> None:
    """Equal in every slot: whatever the reports say, the application has it all."""
    verdict = kept(GIVEN, applied)
    assert (verdict["findings"], verdict["integrity"]) == ([], "intact")


@pytest.mark.parametrize(
    "applied",
    [
        [replace(event, result="ignored") if event.of == 4 else event for event in APPLIED],
        [replace(event, of=MISSING) for event in APPLIED],
        [],
    ],
    ids=["ignored on purpose", "copies", "no reports"],
)
def test_another_text_of_events_that_were_not_all_applied(applied: list[Event]) -> None:
    """What was left out on purpose, or is not known to be applied, may be the difference: unproven, with the reason."""
    verdict = kept(OTHER, applied)
    assert (verdict["findings"], verdict["integrity"]) == ([], "unproven")
    assert any("is not the one that it was given" in reason for reason in verdict["why"]["unknown"])


def test_a_loss_that_is_known_says_why_the_text_is_another() -> None:
    """One fault is told once."""
    assert told(kept(OTHER, [*APPLIED[:4], *APPLIED[5:]])) == [("gap", ["reducer"], "certain", 1)]


def test_a_refusal_says_why_the_text_is_another() -> None:
    """It answers to what the reducer was given, as ever."""
    applied = [replace(event, result="duplicate") if event.of == 4 else event for event in APPLIED]
    assert told(kept(OTHER, applied)) == [("gap", ["source", "reducer"], "narrowed", 1)]


def test_an_application_that_stopped_shows_a_beginning() -> None:
    """Its own stop: what it shows is not the whole, and nobody's fault."""
    assert kept(OTHER, APPLIED[:7], end="cancelled")["findings"] == []


def test_a_lost_block_of_reports() -> None:
    """What its events became is not known, and neither is why the text differs."""
    verdict = kept(OTHER, lost=(1,))
    assert (verdict["findings"], verdict["integrity"]) == ([], "unproven")


def test_one_text_of_several_may_be_all_of_them() -> None:
    """Two blocks of text that are shown as one are not compared with the first."""
    verdict = kept(OTHER, given=(*GIVEN, "0/text/1 0000cccc 12"))
    assert verdict["findings"] == []


def test_what_is_not_shown_is_not_compared() -> None:
    """Of reasoning that the application passes over nothing is said; its text is compared all the same."""
    parsed = [PARSED[0], Event(70, REASONING), *PARSED[1:]]
    given = (*GIVEN, "0/reasoning/0 0000dddd 3")
    applied = [event for event in used(parsed) if event.of != 1]
    assert told(kept(OTHER, applied, given=given, parsed=parsed)) == [("misapplied", ["reducer"], "certain", 1)]
    assert kept(GIVEN, applied, given=given, parsed=parsed)["findings"] == []


def test_a_text_event_that_was_passed_over_beside_reasoning() -> None:
    """The reports do not say that all text was applied, so another text proves nothing more than they do."""
    parsed = [PARSED[0], Event(70, TEXT | REASONING), *PARSED[1:]]
    given = (*GIVEN, "0/reasoning/0 0000dddd 3")
    applied = [replace(event, parts=REASONING) for event in used(parsed) if event.of == 1]
    assert kept(OTHER, applied, given=given, parsed=parsed)["findings"] == []


def test_arguments_of_a_call_whose_name_came_twice() -> None:
    """Whoever shows its name once has written it otherwise: that is no fault."""
    call = [Event(80, TOOL_START | TOOL_ARGS), Event(81, TOOL_ARGS), Event(82, TOOL_START | TOOL_ARGS)]
    given, shown = ("0/tool/0 0000eeee 30",), ("0/tool/0 0000ffff 20",)
    twice, once = [PARSED[0], *call, PARSED[-1]], [PARSED[0], *call[:2], PARSED[-1]]
    assert kept(shown, used(twice), given=given, parsed=twice)["findings"] == []
    assert told(kept(shown, used(once), given=given, parsed=once)) == [("misapplied", ["reducer"], "certain", 1)]


def test_slots_that_only_one_side_has_and_entries_that_are_none() -> None:
    """They are passed over."""
    assert kept(("0/text/7 0000bbbb 58", "nonsense", "0/text/0 x -1"))["findings"] == []


def test_a_place_by_the_marks() -> None:
    """Where both marked the same text, the first stretch that differs tells which events."""
    texts = answer(range(1, 201))
    parsed = handed_on(texts)
    before = path(texts, texts, texts, parsed, parsed=How("parsed", delivers=0x7BFF, slots=("0/text/0 0000aaaa 600",)))
    after = How("applied", of="parsed", slots=("0/text/0 0000bbbb 600",)).blocks(used(parsed))
    for block, marks in ((next(b for b in before if b.point == "parsed"), (1, 2)), (after[-1], (1, 3))):
        block.content_marks = b"".join(n.to_bytes(4, "little") for n in (0, *marks))
    (finding,) = judge([*before, *after], settled=True)["findings"]
    assert (finding["kind"], finding["sequence"], finding["about"]) == ("misapplied", [86, 171], True)
