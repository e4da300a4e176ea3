"""The report, as a person reads it: golden texts."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from streamwitness_analyzer.documents import unjudged
from streamwitness_analyzer.report import render
from streamwitness_analyzer.style import Style

ID = "71c0" + "0" * 28


def point(name: str, label: str, cells: str, **changes: Any) -> dict[str, Any]:
    values = {
        "exchange": "e", "attempt": 0, "hop": 0, "witness": "w", "point": name, "leg": None, "label": label,
        "events": len(cells) - cells.count("x"), "used": 0, "bytes": 1, "content": 1, "end": "eof", "complete": True,
        "held": "full", "cells": cells, "client": "httpx",
    }  # fmt: skip
    return values | changes


def finding(kind: str, confidence: str, short: str, sentence: str, case: str = "totals") -> dict[str, Any]:
    evidence = {"seen": f"what saw it ({kind})", "missing": f"what missed it ({kind})"}
    said = {"kind": kind, "confidence": confidence, "short": short, "sentence": sentence}
    return said | {"evidence": evidence, "proof": {"case": case}}


def document(**changes: Any) -> dict[str, Any]:
    """The parser fault of the README."""
    whole, lost = "o" * 14 + "F", "o" * 12 + "xoF"
    values: dict[str, Any] = {
        **unjudged(ID, "settled", 5),
        "revision": 1,
        "ending": {"class": "completed", "group": "ok", "by": "source", "finish": "stop", "after": 14, "reason": ""},
        "integrity": "damaged",
        "headline": "THE CLIENT'S PARSER LOST 1 EVENT",
        "summary": "Answer ended normally (stop). 27 of 412 text bytes never reached the application.",
        "confidence": "certain",
        "findings": [finding("gap", "certain", "PARSER lost event 12", "The parser lost event 12.")],
        "points": [
            point("ingress", "gateway in", whole),
            point("egress", "gateway out", whole),
            point("wire", "client received", whole),
            point("parsed", "client parsed", lost),
            point("applied", "client applied", lost),
        ],
        "why": {
            "seen": "client received event 12 whole; same digest as at gateway out",
            "missing": "client parsed 11, then 13; raised nothing; its record is complete",
            "cleared": ["gateway", "transport", "reducer"],
            "unknown": ["loss inside the provider"],
        },
        "labels": {"provider": "openai", "client": "httpx", "service": "unknown_service"},
    }
    return copy.deepcopy(values | changes)


DAMAGED = """\
THE CLIENT'S PARSER LOST 1 EVENT   proven, final
Answer ended normally (stop). 27 of 412 text bytes never reached the application.
                      0         10
 gateway in       15  ●●●●●●●●●●●●●●◆
 gateway out      15  ●●●●●●●●●●●●●●◆
 client received  15  ●●●●●●●●●●●●●●◆
 client parsed    14  ●●●●●●●●●●●●✗●◆
 client applied   14  ●●●●●●●●●●●●✗●◆
                      ◆ ends the answer  ✗ not there
Why
 seen     client received event 12 whole; same digest as at gateway out
 but      client parsed 11, then 13; raised nothing; its record is complete
 cleared  gateway, transport, reducer
 unknown  loss inside the provider
Stream 71c00000000000000000000000000000; client httpx, provider openai"""


def test_a_damaged_stream() -> None:
    """The report of the README, to the letter."""
    assert render(document(), Style()) == DAMAGED


CUT = {
    "class": "client_cancelled", "group": "cancellation", "by": "client", "finish": None, "after": 6, "reason": "",
    "at_point": "wire", "at_ms": 4_210, "silent_ms": 1_300, "cost": {"events": 3, "bytes": 410, "output_tokens": 87},
}  # fmt: skip


def ended(ending: dict[str, Any], *found: dict[str, Any]) -> list[str]:
    """What is told of when it ended, as words."""
    text = render(document(ending=ending, findings=list(found)), Style())
    _, _, told = text.partition(" ended    ")
    return told.partition(" cleared")[0].split()


def test_when_a_stream_was_ended_and_what_was_read_for_nobody() -> None:
    """By the clock of the point next to who ended it; an answer that came whole has no such line."""
    assert " ".join(ended(CUT)) == (
        "4.2 s after its beginning, 1.3 s after its last event (at client received); after its client had gone the"
        " gateway read 3 events more (410 bytes, 87 output tokens in all)"
    )
    assert ended(CUT | {"class": "completed"}) == ended(CUT | {"at_ms": None}) == []


def test_what_was_read_for_nobody_is_not_told_twice() -> None:
    """A finding about it has another number: without what the gateway had in hand."""
    found = finding("upstream_kept_running", "certain", "GATEWAY read events 4–6 after its client had gone", "It did.")
    assert " ".join(ended(CUT, found)) == "4.2 s after its beginning, 1.3 s after its last event (at client received)"


@pytest.mark.parametrize(
    ("by", "headline", "sure"),
    [("source", "SOURCE CUT AFTER EVENT 8", "proven, final"), (None, "THE CONNECTION BROKE", "final"),
     ("client", "CANCELLED BY THE CLIENT, DAMAGED", "final")],
)  # fmt: skip
def test_an_ending_as_headline_says_how_sure_it_is(by: str | None, headline: str, sure: str) -> None:
    """Where it is known who ended it, that is proven; an integrity says by itself whether it is."""
    ending = {"class": "network_lost", "by": by}
    first = render(document(findings=[], ending=ending, headline=headline), Style()).splitlines()[0]
    assert first == f"{headline}   {sure}"


def test_of_very_many_findings_some_are_told_with_their_evidence() -> None:
    """The others by what and where: a report is read to its end."""
    found = [finding("gap", "certain", f"GATEWAY lost event {n}", f"Event {n} never left.") for n in range(8)]
    lines = render(document(findings=found), Style()).splitlines()
    assert [line for line in lines if line.startswith(" 6 ")] == [
        " 6  GATEWAY lost event 5, proven: Event 5 never left."
    ]
    assert " …  and GATEWAY lost event 6, proven; GATEWAY lost event 7, proven" in lines


def test_a_healthy_stream() -> None:
    """Says so, with what remains unknown."""
    healthy = document(
        integrity="intact",
        headline="COMPLETED, INTACT",
        summary="Answer ended normally (stop). Nothing was lost, doubled or displaced.",
        confidence=None,
        findings=[],
        points=[point("egress", "gateway out", "ooF"), point("parsed", "client parsed", "ooc")],
        why={"seen": "", "missing": "", "cleared": ["transport", "parser"], "unknown": ["loss inside the provider"]},
    )
    assert render(healthy, Style()) == (
        """\
COMPLETED, INTACT   final
Answer ended normally (stop). Nothing was lost, doubled or displaced.
                      0
 gateway out       3  ●●◆
 client parsed     3  ●●●
                      ◆ ends the answer
Why
 cleared  transport, parser
 unknown  loss inside the provider
Stream 71c00000000000000000000000000000; client httpx, provider openai"""
    )


def test_everything_else_that_can_be_said() -> None:
    """Corrected, several findings, two attempts, an own stop, lost records, notes."""
    findings = [
        finding("gap", "certain", "GATEWAY lost event 3", "1 event never left the gateway.", "by_number"),
        finding("fabricated", "narrowed", "GATEWAY or TRANSPORT invented event 9", "1 event reached the client."),
    ]
    telemetry = {
        "lost_blocks": 2, "missing_points": ["applied"], "conflicts": 0, "observer_faults": 0, "dropped_blocks": 0,
    }  # fmt: skip
    text = render(
        document(
            state="corrected",
            revision=3,
            findings=findings,
            notes=[{"kind": "undelivered", "count": 3, "sentence": "3 events were under way when the client left."}],
            telemetry=telemetry,
            why={"seen": "", "missing": "", "cleared": ["parser"], "unknown": ["one thing", "another"]},
            points=[
                point("egress", "gateway out", "ooom", exchange="a"),
                point("egress", "gateway out", "oooo", exchange="b", attempt=1),
                point("wire", "client received", "oou+", exchange="b", attempt=1, end="cancelled", held="partial"),
            ],
        ),
        Style(),
    )
    assert (
        text.splitlines()[0] == "THE CLIENT'S PARSER LOST 1 EVENT   proven and narrowed, final, corrected (revision 3)"
    )
    assert text.splitlines()[2:] == [
        "Attempt 1",
        "                      0",
        " gateway out       4  ●●●↷",
        "                      ↷ out of place",
        "Attempt 2",
        "                      0",
        " gateway out       4  ●●●●",
        " client received   4  ●●·+  cancelled, records missing",
        "                      · went no further  + one more than above",
        "Findings",
        " 1  GATEWAY lost event 3, proven: 1 event never left the gateway.",
        "    seen     what saw it (gap)",
        "    but      what missed it (gap)",
        "    decided  by the numbers that the gateway gave its events; both points recorded them",
        " 2  GATEWAY or TRANSPORT invented event 9, narrowed: 1 event reached the client.",
        "    seen     what saw it (fabricated)",
        "    but      what missed it (fabricated)",
        "Why",
        " cleared  parser",
        " unknown  one thing",
        "          another",
        "Notes",
        " - 3 events were under way when the client left.",
        " - records lost on their way to the analyzer, which is no loss in the stream: 2",
        "Stream 71c00000000000000000000000000000; client httpx, provider openai",
    ]


def test_gateways_in_a_row_are_told_apart() -> None:
    """Counted from the provider outwards, with which is next to the client; a single attempt is not counted."""
    gateways = [
        point("egress", "gateway out", "oF", exchange=str(hop), hop=hop) | {"label": f"gateway {hop}"}
        for hop in range(3)
    ]
    lines = render(document(points=gateways), Style()).splitlines()
    assert [line for line in lines if line.startswith("Gateway")] == [
        "Gateway 1 (next to the provider)", "Gateway 2", "Gateway 3 (next to the client)",
    ]  # fmt: skip
    again = [point("wire", "client received", "oF", exchange=str(n), attempt=n, hop=n) for n in range(2)]
    assert "Attempt 2, gateway 2 (next to the client)" in render(document(points=again), Style()).splitlines()


def test_numbers_that_decided_are_told() -> None:
    """Of a single finding, too: in one line, below what was seen and missing."""
    numbered = [finding("gap", "certain", "TRANSPORT lost event 12", "1 event never reached the client.", "by_number")]
    assert render(document(findings=numbered), Style()).splitlines()[10:13] == [
        *DAMAGED.splitlines()[10:12],
        " decided  by the numbers that the gateway gave its events; both points recorded them",
    ]


def test_a_stream_without_verdict() -> None:
    """Claims nothing, draws nothing."""
    assert render(unjudged(ID, "open", 1), Style()) == (
        "STILL RUNNING   not final\n"
        "1 record received. This stream has not ended, or no closing record has arrived.\n"
        f"Stream {ID}"
    )


def test_narrow_places_wrap_and_elide() -> None:
    """No line is wider than the place, and the fault is in the picture."""
    long = "o" * 300
    wide = document(
        points=[point("egress", "gateway out", long + "F"), point("wire", "client received", long[:-9] + "xooooooooF")]
    )
    lines = render(wide, Style(width=60)).splitlines()
    assert max(map(len, lines)) <= 60
    pictures = [line for line in lines if "●" in line]
    assert all("…●" in line for line in pictures)
    assert "✗" in pictures[1]


def test_colour_is_only_dress() -> None:
    """Without its escapes a coloured report is the plain one."""
    import re

    coloured = render(document(), Style(colour=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == DAMAGED


def test_ascii_places_get_ascii() -> None:
    """A terminal without UTF-8 is not broken by our marks."""
    found = [finding("gap", "certain", "GATEWAY lost events 3–5", "Events 3–5 never left.")] * 8
    text = render(document(), Style(ascii=True)) + render(document(findings=found), Style(ascii=True))
    assert text.isascii()
    assert "events 3-5" in text
    assert " client parsed    14  ooooooooooooXo#" in text


def test_labels_cannot_play_with_the_terminal() -> None:
    """Escapes in a label that a client sent are shown, not obeyed."""
    text = render(document(labels={"client": "\x1b[2Jevil\n\r"}), Style())
    assert "\x1b" not in text
    assert text.count("\n") == DAMAGED.count("\n")


def test_a_stream_that_was_cut_as_others_were() -> None:
    """One line more, below what is said of the stream itself."""
    line = "Cut after 60.0 s, as 37 others of this service within a day were: a time limit on the way."
    assert render(document(limit={"line": line}), Style()).splitlines()[2] == line


@pytest.mark.parametrize(("state", "said"), [("provisional", "provisional"), ("settled", "proven, final")])
def test_nothing_is_proven_while_records_may_still_come(state: str, said: str) -> None:
    """Of an ending alone; a finding rests on what is held already."""
    told = document(state=state, findings=[], integrity="unproven", headline="SOURCE CUT AFTER EVENT 6")
    told["ending"] = told["ending"] | {"class": "upstream_truncated"}
    assert render(told, Style()).splitlines()[0] == f"SOURCE CUT AFTER EVENT 6   {said}"


def test_an_end_before_any_event_is_not_told_after_one() -> None:
    """There was no last event to be silent after."""
    told = document(findings=[])
    ended = {"class": "client_timeout", "after": -1, "at_ms": 2500, "silent_ms": 2500, "at_point": "wire", "cost": None}
    told["ending"] = told["ending"] | ended
    assert " ended    2.5 s after its beginning, before any event (at client received)" in render(told, Style())
