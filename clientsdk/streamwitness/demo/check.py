"""Laying a verdict beside what was broken: what is missing, what is wrong, and whether an innocent was blamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .scenarios import Finding, Scenario

Document = dict[str, Any]
"""A verdict as the query API gives it."""


def differences(scenario: Scenario, verdict: Document) -> list[str]:
    """What the verdict says otherwise than the scenario; empty where it is right."""
    return list(_differences(scenario, verdict))


def blamed_innocents(scenario: Scenario, verdict: Document) -> set[str]:
    """Components that a certain finding accuses though nothing was broken there."""
    accused = {c for finding in verdict["findings"] if finding["confidence"] == "certain" for c in finding["suspects"]}
    return accused - {finding.component for finding in scenario.findings}


def _differences(scenario: Scenario, verdict: Document) -> Iterator[str]:
    counts = (verdict["counts"]["sent"], verdict["counts"]["used"])
    kinds = {note["kind"] for note in verdict["notes"]}
    pairs: tuple[tuple[str, Any, Any], ...] = (
        ("ending", scenario.ending, verdict["ending"]["class"]),
        ("integrity", scenario.integrity, verdict["integrity"]),
        ("findings", len(scenario.findings), len(verdict["findings"])),
        ("sent→used", scenario.used or counts, counts),
        ("notes", set(scenario.notes) - kinds, set()),
    )
    for what, expected, found in pairs:
        if expected != found:
            yield f"{what}: expected {expected}, found {found}"
    for finding in scenario.findings:
        if not any(_same(finding, found) for found in verdict["findings"]):
            yield f"expected {finding}, found {[_brief(found) for found in verdict['findings']]}"


def _same(expected: Finding, found: Document) -> bool:
    first, last = found["sequence"]
    return (
        found["kind"] == expected.kind
        and found["suspects"] == [expected.component]
        and found["confidence"] == expected.confidence
        and expected.count in (None, found["count"])
        and expected.sequence[0] <= first <= last
        and (expected.sequence[1] is None or last <= expected.sequence[1])
    )


def _brief(found: Document) -> str:
    return f"{found['kind']} {found['suspects']} {found['confidence']} ×{found['count']} at {found['sequence']}"
