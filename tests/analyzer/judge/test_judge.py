"""Whole verdicts: the demo's scenarios, what is said before the settlement, and the document's shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from bench.truth.build import (
    DELIVERED_BY_SDK,
    LEG,
    STREAM,
    Event,
    How,
    answer,
    handed_on,
    path,
    recorder_id,
    used,
    usual,
)
from streamwitness.blocks import Block
from streamwitness.semconv import ERROR, TERMINAL, USAGE
from streamwitness_analyzer.judge import JUDGE_VERSION, judge

ANSWER = answer(range(1, 13))
CUT = ANSWER[:9]
ERRED = [*ANSWER[:6], Event(parts=ERROR)]
DONE = Event(parts=TERMINAL)
LONG = answer(range(1, 200))
GONE = How("egress", end="disconnected", legs=(LEG,))
STOPPED = How("ingress", leg=0, end="cancelled", complete=False)


def seen(events: Sequence[Event], **how: How) -> list[Block]:
    """A path on which everything after the gateway's upstream is healthy."""
    parsed = handed_on(events)
    return path(events, events, events, parsed, used(parsed), **how)


def ended(end: str) -> dict[str, How]:
    """All client points with this end."""
    return {
        "wire": How("wire", end=end),
        "parsed": How("parsed", end=end, delivers=DELIVERED_BY_SDK),
        "applied": How("applied", end=end, of="parsed"),
    }


def sent(read: Sequence[Event], out: Sequence[Event], **how: How) -> list[Block]:
    """A path whose gateway read one thing and sent another."""
    parsed = handed_on(out)
    return path(read, out, out, parsed, used(parsed), **how)


@dataclass(frozen=True)
class Case:
    """Blocks, and what must be concluded of them."""

    blocks: list[Block]
    ending: str = "completed"
    by: str | None = "source"
    integrity: str = "intact"
    findings: list[tuple[str, str, list[int]]] = field(default_factory=list)
    counts: tuple[int, int] = (15, 15)
    short: str = "completed, intact"
    notes: tuple[str, ...] = ()


def parser_lost() -> list[Block]:
    parsed = handed_on([*ANSWER[:12], *ANSWER[13:]])
    return path(ANSWER, ANSWER, ANSWER, parsed, used(parsed))


def reducer_raised() -> list[Block]:
    applied = [replace(e, result="raised") if e.of == 9 else e for e in used(handed_on(ANSWER))]
    return path(ANSWER, ANSWER, ANSWER, handed_on(ANSWER), applied)


def network_reset() -> list[Block]:
    got = ANSWER[:6]
    return path(ANSWER, ANSWER[:9], got, got, used(got), ingress=STOPPED, egress=GONE, **ended("reset"))


def cancelled() -> list[Block]:
    return path(LONG[:40], LONG[:38], LONG[:20], LONG[:7], used(LONG[:7]), ingress=STOPPED, egress=GONE,
                **ended("cancelled"))  # fmt: skip


def failed_over() -> list[Block]:
    legs = (recorder_id("ingress", 0, "a"), recorder_id("ingress", 1, "a"))
    rest = path(None, ANSWER, ANSWER, handed_on(ANSWER), used(handed_on(ANSWER)),
                egress=How("egress", legs=legs, expected=("ingress", "wire", "parsed", "applied")))  # fmt: skip
    broken = How("ingress", leg=0, end="reset").blocks(ANSWER[:4])
    return [*broken, *How("ingress", leg=1).blocks(ANSWER), *rest]


USAGE_EVENT = Event(parts=USAGE)
CASES = {
    "healthy": Case(seen(ANSWER)),
    "stopped at the terminator": Case(seen(ANSWER, **ended("stopped_at_terminal"))),
    "equal deltas": Case(seen(answer([4] * 12))),
    "usage after the finish": Case(seen([*ANSWER[:-1], USAGE_EVENT, DONE]), counts=(16, 16)),
    "finish without terminator": Case(seen(ANSWER[:-1]), counts=(14, 14)),
    "empty answer": Case(seen(answer([])), counts=(3, 3)),
    "provider cut": Case(
        seen(CUT), "upstream_truncated", "source", counts=(9, 9), short="SOURCE cut after event 8",
    ),
    "provider error": Case(
        path(ERRED, ERRED, ERRED, ERRED, used(ERRED[:6]), **ended("stopped_at_terminal")),
        "upstream_error", "source", counts=(7, 6), short="SOURCE sent an error as event 6",
    ),
    "gateway swallows": Case(
        sent(ANSWER, [*ANSWER[:7], *ANSWER[8:]]), integrity="damaged",
        findings=[("gap", "gateway", [7, 7])], counts=(15, 14), short="GATEWAY lost event 7",
    ),
    "gateway doubles": Case(
        sent(ANSWER, [*ANSWER[:6], ANSWER[5], *ANSWER[6:]]), integrity="damaged",
        findings=[("duplicate", "gateway", [5, 5])], counts=(15, 16), short="GATEWAY doubled event 5",
    ),
    "gateway swaps": Case(
        sent(ANSWER, [*ANSWER[:6], ANSWER[7], ANSWER[6], *ANSWER[8:]]), integrity="damaged",
        findings=[("reorder", "gateway", [6, 7])], short="GATEWAY put events 6–7 in another order",
    ),
    "gateway invents the end": Case(
        sent(CUT, [*CUT, DONE], **ended("stopped_at_terminal")), "upstream_truncated", "source", "damaged",
        [("fabricated", "gateway", [9, 9])], (9, 10), "SOURCE cut after event 8; GATEWAY made up the end of the answer",
    ),
    "second upstream": Case(failed_over(), notes=("superseded",)),
    "network reset": Case(
        network_reset(), "network_lost", "transport", "damaged",
        [("tail", "transport", [6, 8])], (15, 6),
        "TRANSPORT broke off after event 5; TRANSPORT lost the end from event 6",
    ),
    "parser loses": Case(
        parser_lost(), integrity="damaged",
        findings=[("gap", "parser", [12, 12])], counts=(15, 14), short="PARSER lost event 12",
    ),
    "reducer raises": Case(
        reducer_raised(), integrity="damaged",
        findings=[("gap", "reducer", [9, 9])], counts=(15, 14), short="REDUCER raised at event 9",
    ),
    "user cancels": Case(
        cancelled(), "client_cancelled", "client", counts=(40, 7),
        short="cancelled by the client after event 6, intact",
        notes=("undelivered",),
    ),
    "gateway only": Case(path(ANSWER, ANSWER, None), counts=(15, None)),  # type: ignore[arg-type]
    "client without a parser's record": Case(path(ANSWER, ANSWER, ANSWER)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_scenario(name: str) -> None:
    """Ending, integrity, findings, counts, the words for a list, and the notes."""
    case = CASES[name]
    verdict = judge(case.blocks, settled=True)
    found = [(f["kind"], *f["suspects"], f["sequence"]) for f in verdict["findings"]]
    assert (verdict["ending"]["class"], verdict["ending"]["by"]) == (case.ending, case.by)
    assert (verdict["integrity"], found) == (case.integrity, case.findings)
    assert (verdict["counts"]["sent"], verdict["counts"]["used"]) == case.counts
    assert verdict["short"] == case.short
    assert tuple(note["kind"] for note in verdict["notes"]) == case.notes
    assert all(f["confidence"] == "certain" for f in verdict["findings"])


@pytest.mark.parametrize("name", CASES)
def test_verdict_is_json(name: str) -> None:
    """The document survives JSON unchanged."""
    verdict = judge(CASES[name].blocks, settled=True)
    assert json.loads(json.dumps(verdict)) == verdict


@pytest.mark.parametrize(
    ("blocks", "unknown"),
    [
        (
            path(None, ANSWER, ANSWER, handed_on(ANSWER), used(handed_on(ANSWER))),
            ["loss inside the provider or gateway (nothing is recorded before gateway out)"],
        ),
        (
            path(None, None, ANSWER),
            [
                "loss inside the provider, gateway or transport (nothing is recorded before client received)",
                "loss inside the parser or reducer (nothing is recorded behind client received)",
            ],
        ),
    ],
)
def test_what_no_point_stood_around_is_not_known(blocks: list[Block], unknown: list[str]) -> None:
    """An answer that is intact where somebody looked may have lost a word where nobody did."""
    assert judge(blocks, settled=True)["why"]["unknown"] == unknown


def test_report_of_a_parser_that_loses_an_event() -> None:
    """The words that end an argument between two teams."""
    verdict = judge(parser_lost(), settled=True)
    assert verdict["headline"] == "THE CLIENT'S PARSER LOST 1 EVENT"
    assert verdict["summary"] == "Answer ended normally. 3 of 36 text bytes never reached the application."
    assert verdict["why"] == {
        "seen": "client received event 12 whole; same digest as at gateway out",
        "missing": "client parsed 11, then 13; raised nothing; its record is complete",
        "cleared": ["gateway", "transport", "reducer"],
        "unknown": ["loss inside the provider"],
    }
    assert [(p["label"], p["events"], p["cells"]) for p in verdict["points"]] == [
        ("gateway in", 15, "ooooooooooooooF"),
        ("gateway out", 15, "ooooooooooooooF"),
        ("client received", 15, "ooooooooooooooF"),
        ("client parsed", 13, "ooooooooooooxoF"),
        ("client applied", 13, "ooooooooooooxoF"),
    ]
    assert (verdict["stream"], verdict["judge_version"], verdict["confidence"]) == (STREAM, JUDGE_VERSION, "certain")


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("gateway doubles", {"ingress": "oooooo ooooooooF", "egress": "oooooo+ooooooooF"}),
        ("gateway invents the end", {"ingress": "ooooooooo ", "egress": "ooooooooo+", "parsed": "oooooooooF"}),
        ("network reset", {"egress": "ooooooooouuuuuu", "wire": "ooooooxxxuuuuuu"}),
        ("reducer raises", {"parsed": "ooooooooooooooF", "applied": "oooooooooxooooF"}),
    ],
)
def test_pictures(name: str, cells: dict[str, str]) -> None:
    """One letter an event, all points over the same columns."""
    points = {p["point"]: p["cells"] for p in judge(CASES[name].blocks, settled=True)["points"]}
    assert {point: points[point] for point in cells} == cells


# --------------------------------------------------------------------------- before the settlement


def test_a_provisional_verdict_is_never_intact() -> None:
    """What is still to come might say otherwise."""
    verdict = judge(seen(ANSWER), settled=False)
    assert (verdict["state"], verdict["integrity"]) == ("provisional", "unproven")


def test_a_provisional_verdict_states_what_is_certain() -> None:
    """The gateway's own records prove its fault, whatever the client will say."""
    blocks = [b for b in CASES["gateway swallows"].blocks if b.point in ("ingress", "egress")]
    verdict = judge(blocks, settled=False)
    assert [(f["kind"], f["suspects"]) for f in verdict["findings"]] == [("gap", ["gateway"])]


def test_a_client_that_has_not_spoken_yet_has_not_vanished() -> None:
    """Before the settlement the ending is open, after it the client vanished."""
    blocks = path(LONG[:40], LONG[:38], None, ingress=STOPPED, egress=GONE,
                  expected=("ingress", "egress", "wire"))  # fmt: skip
    assert judge(blocks, settled=False)["ending"]["class"] is None
    late = judge(blocks, settled=True)
    assert (late["ending"]["class"], late["integrity"]) == ("client_vanished", "unproven")
    assert late["telemetry"]["missing_points"] == ["wire"]


def test_a_stream_that_nobody_saw_end_is_unwitnessed_when_time_is_up() -> None:
    """Blocks, but no closing one."""
    blocks = [b for b in path(LONG, LONG, None, cuts=lambda n: [50, 100]) if not b.final]
    verdict = judge(blocks, settled=True, expired=True)
    assert (verdict["ending"]["class"], verdict["integrity"]) == ("unwitnessed", "unproven")


def test_every_subset_of_blocks_has_a_verdict() -> None:
    """Whatever is lost, the judge answers, accuses nobody on a healthy stream, and writes JSON."""
    blocks = seen(ANSWER)
    for mask in range(1, 1 << len(blocks)):
        some = [b for i, b in enumerate(blocks) if mask >> i & 1]
        verdict = json.loads(json.dumps(judge(some, settled=bool(mask & 1))))
        assert verdict["findings"] == []


# --------------------------------------------------------------------------- several attempts, several points


def test_the_newest_attempt_tells_how_the_stream_ended() -> None:
    """A resumed stream ends as its last exchange does; each exchange is judged."""
    again = [replace(b, exchange="f" * 16, attempt=1, recorder=b.recorder[:-1] + "1", witness=b.witness[:-1] + "1",
                     legs=tuple(leg[:-1] + "1" for leg in b.legs)) for b in seen(ANSWER)]  # fmt: skip
    verdict = judge([*network_reset(), *again], settled=True)
    assert verdict["ending"]["class"] == "completed"
    assert [f["suspects"] for f in verdict["findings"]] == [["transport"]]
    assert len(verdict["points"]) == 10


def test_a_client_alone_compares_its_own_points() -> None:
    """Without a gateway parser and reducer can be proven, and the axis is the client's own count."""
    parsed = handed_on([*ANSWER[:5], *ANSWER[6:]])
    verdict = judge(path(None, None, ANSWER, parsed), settled=True)
    finding = verdict["findings"][0]
    assert (finding["suspects"], finding["axis"], finding["sequence"]) == (["parser"], "wire", [5, 5])


def test_one_point_alone_is_unproven() -> None:
    """There is nothing to compare it with."""
    verdict = judge(path(None, None, ANSWER), settled=True)
    assert (verdict["ending"]["class"], verdict["integrity"]) == ("completed", "unproven")


def test_a_long_stream_has_no_picture() -> None:
    """The document stays small."""
    verdict = judge(seen(answer(range(1, 5000))), settled=True)
    assert {p["cells"] for p in verdict["points"]} == {""}


def test_a_healthy_stream_is_judged_without_opening_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Healthy hops cost O(blocks): no digest column is turned into sums."""

    def opened(_: object) -> None:
        raise AssertionError("a healthy record was opened")

    monkeypatch.setattr("streamwitness_analyzer.judge.testimony.view.Opened.__init__", lambda self, view: opened(view))
    assert judge(seen(ANSWER), settled=True)["integrity"] == "intact"


def test_more_blocks_than_are_kept_prove_nothing_intact() -> None:
    """What is held says what it says; that nothing else happened is not said any more."""
    whole = judge(seen(ANSWER), settled=True)
    more = judge(seen(ANSWER), settled=True, excess=7)
    assert (whole["integrity"], more["integrity"], more["ending"]) == ("intact", "unproven", whole["ending"])
    assert more["telemetry"] == whole["telemetry"] | {"excess_blocks": 7}
    assert "more records came than are kept of one stream" in more["why"]["unknown"]


def test_the_picture_of_counters_alone_claims_no_places() -> None:
    """At level `counters` nobody knows which event is which: each row is as long as its count, and says no more."""
    how = {point: replace(usual(point), level="counters") for point in ("ingress", "egress", "wire")}
    blocks = path(ANSWER, ANSWER, [*ANSWER[:5], *ANSWER[6:]], **how)
    assert [p["cells"] for p in judge(blocks, settled=True)["points"]] == ["?" * 15, "?" * 15, "?" * 14]


@pytest.mark.parametrize(
    ("name", "seen", "missing"),
    [
        ("provider cut", "gateway in read 9 events, then the end of the body", "no finish reason"),
        ("provider error", "gateway in read an error as event 6", ""),
    ],
)
def test_an_ending_that_is_the_providers_has_its_evidence(name: str, seen: str, missing: str) -> None:
    """What the gateway read last says who stopped."""
    why = judge(CASES[name].blocks, settled=True)["why"]
    assert (why["seen"], why["missing"]) == (seen, missing)
