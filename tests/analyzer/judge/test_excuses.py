"""What excuses a gateway, as an ordered table: the first rule that answers decides (docs/design.md §7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench.truth.build import FINISHED, LEG, Event, How, answer
from streamwitness.semconv import (
    EDITED,
    FINISH,
    FINISH_REASONS_ATTRIBUTE,
    MALFORMED,
    OTHER,
    PENDING_BYTES,
    PROVIDER_NAME,
    REASONING,
    RESPONSE_ID,
    ROLE,
    SNAPSHOT,
    TEXT,
    UNKNOWN_PROVIDER,
)
from streamwitness_analyzer.judge.client.handed import judge_handed_on
from streamwitness_analyzer.judge.gateway import excuses
from streamwitness_analyzer.judge.gateway.crossing import Crossing, Made
from streamwitness_analyzer.judge.gateway.excuses import RULES, judge_leg
from streamwitness_analyzer.judge.testimony.records import Record, collect

ANSWER = answer(range(1, 13))
LOST = [*ANSWER[:5], *ANSWER[6:]]
ADDED = [*ANSWER[:5], Event(900), *ANSWER[5:]]
OTHER_CUT = [*ANSWER[:5], Event(900), Event(901), *ANSWER[7:]]
"""As many events, of which two are others: their content may be the same."""


def record(how: How, events: Sequence[Event]) -> Record:
    """What a point told."""
    return collect(how.blocks(events)).records[0]


def crossing(
    sent: Sequence[Event],
    *,
    read: Sequence[Event] = ANSWER,
    told: tuple[tuple[str, object], ...] = (),
    ends: tuple[str, str] = ("eof", "eof"),
    level: str = "digests",
    slots: tuple[str, ...] | None = None,
) -> Crossing:
    """A gateway that read an answer and sent these events; `told` at both points."""
    leg = record(How("ingress", leg=0, end=ends[0], extra=told, level=level, slots=slots), read)
    out = How("egress", legs=(LEG,), end=ends[1], extra=told, level=level, slots=slots)
    return Crossing(leg, record(out, sent), only=True)


def first(one: Crossing) -> str:
    """The rule that answers first; "" where none does."""
    return next((rule.__name__ for rule in RULES if rule(one) is not None), "")


def test_what_nothing_excuses_is_a_fault_as_it_stands() -> None:
    """A lost event of an answer that else came through as it was."""
    assert first(crossing(LOST)) == ""
    assert [(c.kind, c.count) for c in judge_leg(crossing(LOST)).hop.changes] == [("gap", 1)]


@pytest.mark.parametrize(
    ("one", "rule", "status"),
    [
        (crossing(ANSWER, level="rows"), "without_digests", "unproven"),
        (crossing(ANSWER), "same_content", "intact"),
        (crossing(ANSWER, slots=()), "no_difference", "intact"),
        (crossing(OTHER_CUT, slots=()), "without_slots", "unproven"),
        (crossing(LOST, slots=()), "", "faulty"),
        (crossing(ADDED, slots=()), "", "faulty"),
        (crossing(ANSWER[:6], ends=("cancelled", "shutdown")), "ended_in_passing", "unproven"),
        (crossing(answer(range(500, 512))), "of_something_else", "unproven"),
        (crossing([*ANSWER[:5], Event(0, TEXT | MALFORMED, result="malformed"), *ANSWER[6:]]), "", "faulty"),
        (crossing(ADDED, told=((PENDING_BYTES, 40),)), "read_by_lines", "unproven"),
        (crossing(LOST, told=((EDITED, ["filter"]),)), "filtered", "intact"),
        (crossing(ADDED, told=((EDITED, ["rewrite"]),)), "rewritten", "unproven"),
        (crossing(ADDED, told=((PROVIDER_NAME, UNKNOWN_PROVIDER),)), "unknown_format", "unproven"),
        (crossing([*LOST[:8], Event(900), Event(901), *LOST[8:]]), "cut_otherwise", "faulty"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_rule_answers_for_what_it_excuses(one: Crossing, rule: str, status: str) -> None:
    """And for what it does not, a later one does."""
    assert (first(one), judge_leg(one).hop.status) == (rule, status)


def test_a_rule_that_was_asked_first_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order is the rule: what digests cannot tell is said before what they seem to."""
    assert RULES[0] is excuses.without_digests
    nothing = Made(excuses.unproven("asked first"))
    monkeypatch.setattr(excuses, "RULES", (lambda _: nothing, *RULES))
    assert judge_leg(crossing(LOST)).hop.reason == "asked first"


def between(read: Sequence[Event], sent: Sequence[Event], ids: tuple[str, str] = ("a", "b")) -> Crossing:
    """A gateway whose answer has another response id than what it read."""
    leg, egress = (((RESPONSE_ID, told),) for told in ids)
    return Crossing(
        record(How("ingress", leg=0, extra=leg), read),
        record(How("egress", legs=(LEG,), extra=egress), sent),
        only=True,
    )


def anew(events: Sequence[Event]) -> list[Event]:
    """The same events, each in other bytes."""
    return [replace(event, payload=7_000 + i) for i, event in enumerate(events)]


OTHER_WORD = [*ANSWER[:5], Event(900), *ANSWER[6:]]


def test_an_answer_under_another_id_with_another_word_may_be_a_stored_one() -> None:
    """Whose upstream is read to renew it; what goes out in the bytes that were read is no stored one, nor is less."""
    stored = between(ANSWER, anew(OTHER_WORD))
    assert (first(stored), judge_leg(stored).hop.status) == ("under_another_name", "unproven")
    for changed in (between(ANSWER, OTHER_WORD), between(ANSWER, anew(OTHER_WORD), ("a", "a"))):
        assert [change.kind for change in judge_leg(changed).hop.changes] == ["altered"]
    assert [change.kind for change in judge_leg(between(ANSWER, anew(LOST))).hop.changes] == ["gap"]


THOUGHT = [ANSWER[0], *(Event(word, REASONING) for word in (801, 802, 803)), *ANSWER[1:]]
TOLD_ELSEWHERE = [ANSWER[0], *(Event(parts=OTHER) for _ in range(3)), *ANSWER[1:]]


def test_reasoning_that_may_have_moved_to_a_field_that_is_not_understood_is_no_loss() -> None:
    """One for one, either way; where the events are gone it is one."""
    assert first(crossing(TOLD_ELSEWHERE, read=THOUGHT)) == "in_other_fields"
    assert first(crossing(THOUGHT, read=TOLD_ELSEWHERE)) == "in_other_fields"
    assert [(c.kind, c.count) for c in judge_leg(crossing(ANSWER, read=THOUGHT)).hop.changes] == [("gap", 3)]
    beside = [*TOLD_ELSEWHERE[:6], *TOLD_ELSEWHERE[7:]]
    assert [(c.kind, c.count) for c in judge_leg(crossing(beside, read=TOLD_ELSEWHERE)).hop.changes] == [("gap", 1)]


def test_what_may_be_told_in_other_fields_is_no_invention() -> None:
    """Speech with its words beside it that go out as text, and a text that the upstream told as a whole only."""
    spoken = [ANSWER[0], *(Event(parts=OTHER) for _ in range(12)), *ANSWER[-2:]]
    one = ((RESPONSE_ID, "a"),)
    assert first(crossing(ANSWER, read=spoken, told=one)) == "in_other_fields"
    whole = [ANSWER[0], Event(parts=SNAPSHOT), *ANSWER[-2:]]
    assert first(crossing([*ANSWER[:-2], *whole[1:]], read=whole, told=one)) == "in_other_fields"


def test_reasoning_that_is_told_in_another_format_may_stand_in_a_field_that_is_not_understood() -> None:
    """Formats have events of their own that tell nothing: that they have others proves nothing of texts."""
    translated = record(How("egress", legs=(LEG,), extra=((PROVIDER_NAME, "openai"),)), TOLD_ELSEWHERE)
    leg = record(How("ingress", leg=0, extra=((PROVIDER_NAME, "anthropic"),)), [*THOUGHT, *TOLD_ELSEWHERE[1:4]])
    assert first(Crossing(leg, translated, only=True)) == "in_other_fields"
    less = record(How("egress", legs=(LEG,), extra=((PROVIDER_NAME, "openai"),)), [Event(parts=OTHER), *LOST])
    read_ = record(How("ingress", leg=0, extra=((PROVIDER_NAME, "anthropic"),)), ANSWER)
    assert first(Crossing(read_, less, only=True)) == ""


def test_another_order_of_more_choices_than_have_a_digest_may_be_other_turns() -> None:
    """Each may be in its own order; where all have a digest, these tell."""

    def moved(count: int) -> Crossing:
        leg, egress = (tuple(f"{i}/text/0 {i + more:08x} 3" for i in range(count)) for more in (0, 1))
        turned = [*ANSWER[:4], ANSWER[5], ANSWER[4], *ANSWER[6:]]
        return Crossing(
            record(How("ingress", leg=0, slots=leg), ANSWER), record(How("egress", legs=(LEG,), slots=egress), turned)
        )

    assert first(moved(16)) == "in_other_turns"
    assert [change.kind for change in judge_leg(moved(3)).hop.changes] == ["reorder"]


@pytest.mark.parametrize("silent", [True, False])
def test_choices_that_say_nothing_may_end_in_turns_of_their_own(silent: bool) -> None:
    """Each ends once, and no text stands before it that would show it to have come too early."""
    ends = [Event(FINISHED + i, FINISH) for i in range(6)]
    read = [Event(parts=ROLE), *ends] if silent else ANSWER
    sent = [*read[:3], read[4], read[3], *read[5:]]
    told = ((FINISH_REASONS_ATTRIBUTE, ["stop"] * (6 if silent else 1)),)
    slots = () if silent else None
    leg, egress = How("ingress", leg=0, extra=told, slots=slots), How("egress", legs=(LEG,), extra=told, slots=slots)
    hop = judge_leg(Crossing(record(leg, read), record(egress, sent), only=True)).hop
    assert (hop.status, len(hop.changes)) == (("unproven", 0) if silent else ("faulty", 1))
    wire, parsed = How("wire", extra=told, slots=slots), How("parsed", extra=told, slots=slots)
    hop = judge_handed_on(record(wire, read), record(parsed, sent), peer=True)
    assert (hop.status, len(hop.changes)) == (("unproven", 0) if silent else ("faulty", 1))
