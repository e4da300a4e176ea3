"""Events that do not belong: refused by the application's reducer, or told as another stream's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.truth.build import Event, How, answer, handed_on, path, used
from streamwitness.semconv import FOREIGN, STAMPED, Point
from streamwitness_analyzer.judge import judge

ANSWER = answer(range(1, 21))
PARSED = handed_on(ANSWER)
APPLIED = used(PARSED)


def told(verdict: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Kind, suspects, confidence and count of each finding."""
    return [(f["kind"], f["suspects"], f["confidence"], f["count"]) for f in verdict["findings"]]


def refused(result: str, *points: Point, places: Sequence[int] = (7,)) -> dict[str, Any]:
    """The verdict on a healthy stream of which the reducer refuses events, seen by these points and at `applied`."""
    rows = [replace(event, result=result) if event.of in places else event for event in APPLIED]
    seen: dict[Point, list[Event]] = {"ingress": ANSWER, "egress": ANSWER, "wire": ANSWER, "parsed": PARSED}
    given = [seen[point] if point in points else None for point in seen]
    return judge(path(*given, rows), settled=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("result", "kind"),
    [("wrong_stream", "cross_stream"), ("after_terminal", "after_terminal"), ("duplicate", "gap"), ("gap", "gap")],
)
def test_a_refusal_is_told_by_its_reason(result: str, kind: str) -> None:
    """Everything before is intact: the reducer is wrong, or the stream was when the gateway read it."""
    verdict = refused(result, "ingress", "egress", "wire", "parsed")
    assert told(verdict) == [(kind, ["source", "reducer"], "narrowed", 1)]
    assert verdict["findings"][0]["sentence"].startswith("The application's reducer refused 1 event")


@pytest.mark.parametrize(
    ("points", "suspects"),
    [
        (("egress", "wire", "parsed"), ["source", "gateway", "reducer"]),
        (("wire", "parsed"), ["source", "gateway", "transport", "reducer"]),
        (("parsed",), ["source", "gateway", "transport", "parser", "reducer"]),
    ],
)
def test_whoever_lies_before_the_first_point_is_suspected_too(points: tuple[Point, ...], suspects: list[str]) -> None:
    """What nobody saw leave the gateway may be the gateway's doing."""
    assert told(refused("wrong_stream", *points)) == [("cross_stream", suspects, "narrowed", 1)]


def test_refusals_of_several_reasons() -> None:
    """Each is a finding of its own."""
    rows = [replace(e, result={4: "wrong_stream", 9: "after_terminal"}.get(e.of, "applied")) for e in APPLIED]
    verdict = judge(path(ANSWER, ANSWER, ANSWER, PARSED, rows), settled=True)
    assert [(f["kind"], f["sequence"]) for f in verdict["findings"]] == [
        ("cross_stream", [4, 4]),
        ("after_terminal", [9, 9]),
    ]


def test_an_event_that_waited_in_vain_for_another_is_in_the_answer() -> None:
    """A reducer that puts in order gave up waiting for what comes before it, of which nobody knows."""
    verdict = refused("stall_flushed", "ingress", "egress", "wire", "parsed")
    assert (told(verdict), verdict["integrity"]) == ([], "unproven")


@pytest.mark.parametrize("result", ["wrong_stream", "after_terminal"])
def test_after_somebody_elses_fault_a_refusal_points_back(result: str) -> None:
    """A reducer that fails closed does not frame itself."""
    wire = [*ANSWER[:5], *ANSWER[6:]]
    parsed = handed_on(wire)
    rows = [replace(event, result=result) if event.of > 4 else event for event in used(parsed)]
    verdict = judge(path(ANSWER, ANSWER, wire, parsed, rows), settled=True)
    assert told(verdict) == [("gap", ["transport"], "certain", 1)]
    assert "rejected" in {note["kind"] for note in verdict["notes"]}


# --------------------------------------------------------------------------- another stream's


def test_an_event_that_another_stream_had_handed_on() -> None:
    """The application built it in: its own routing, whatever came before."""
    blocks = path(ANSWER, ANSWER, ANSWER, PARSED, APPLIED, applied=How("applied", of="parsed", extra=((FOREIGN, 2),)))
    verdict = judge(blocks, settled=True)
    assert told(verdict) == [("cross_stream", ["reducer"], "certain", 2)]
    assert verdict["integrity"] == "damaged"
    assert verdict["findings"][0]["sentence"] == (
        "2 events of another stream took effect in the application; "
        "the client's parser delivered nothing of that stream."
    )


def test_another_text_that_comes_of_another_stream_is_told_once() -> None:
    """What it kept is not what it was given, and the finding says why."""
    given, kept = ("0/text/0 000000aa 57",), ("0/text/0 000000bb 61",)
    parsed = How("parsed", end="stopped_at_terminal", slots=given)
    applied = How("applied", of="parsed", slots=kept)
    blocks = path(ANSWER, ANSWER, ANSWER, PARSED, APPLIED, parsed=parsed, applied=applied)
    assert told(judge(blocks, settled=True)) == [("misapplied", ["reducer"], "certain", 1)]
    applied = replace(applied, extra=((FOREIGN, 2),))
    blocks = path(ANSWER, ANSWER, ANSWER, PARSED, APPLIED, parsed=parsed, applied=applied)
    assert told(judge(blocks, settled=True)) == [("cross_stream", ["reducer"], "certain", 2)]


@pytest.mark.parametrize("said", [0, -1, "2", None])
def test_what_is_no_count_says_nothing(said: object) -> None:
    """Nobody is accused by an attribute of another kind."""
    extra = ((FOREIGN, said),) if said is not None else ()
    blocks = path(ANSWER, ANSWER, ANSWER, PARSED, APPLIED, applied=How("applied", of="parsed", extra=extra))
    assert judge(blocks, settled=True)["findings"] == []


def from_elsewhere(result: str, *, stamped: bool = True) -> list[dict[str, Any]]:
    """The findings where an event that the gateway never sent came to the client."""
    strange = Event(777, result=result)
    wire = [*ANSWER[:5], strange, *ANSWER[5:]]
    extra = ((STAMPED, "id"),) if stamped else ()
    egress = How("egress", legs=("10a0000000000000",), extra=extra)
    found: list[dict[str, Any]] = judge(path(ANSWER, ANSWER, wire, handed_on(wire), egress=egress), settled=True)[
        "findings"
    ]
    return found


@pytest.mark.parametrize(
    ("result", "stamped", "kind"),
    [("wrong_stream", True, "cross_stream"), ("ok", True, "fabricated"), ("wrong_stream", False, "fabricated")],
)
def test_an_event_that_bears_another_streams_number(result: str, stamped: bool, kind: str) -> None:
    """Where the gateway gave numbers of its own to all that it sent, a foreign one is told as another stream's."""
    assert [(f["kind"], f["suspects"], f["sequence"]) for f in from_elsewhere(result, stamped=stamped)] == [
        (kind, ["transport"], [5, 5])
    ]


def test_a_refused_event_has_a_letter_of_its_own() -> None:
    """Seen, not applied: neither in place nor absent."""
    cells = refused("wrong_stream", "ingress", "egress", "wire", "parsed", places=(7, 9))["points"][-1]["cells"]
    assert [at for at, letter in enumerate(cells) if letter == "r"] == [7, 9]
