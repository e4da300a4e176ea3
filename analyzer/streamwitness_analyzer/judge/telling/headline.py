"""The first line of a verdict with findings: who did what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamwitness.semconv import Component

from . import words
from .findings import Finding

_ROOM: Final = 2
"""Deeds that are told; the rest by the number of its findings."""
_Deed = tuple[tuple[Component, ...], str]
"""Who is suspected, and of what; nobody and nothing where the records contradict each other."""


def headline(found: Sequence[Finding]) -> str:
    """`THE TRANSPORT LOST 2 EVENTS`: what one did several times is one deed, with the sum."""
    deeds: dict[_Deed, list[Finding]] = {}
    for finding in found:
        deeds.setdefault(_deed(finding), []).append(finding)
    told = list(deeds.items())[:_ROOM]
    clauses: dict[tuple[Component, ...], list[str]] = {}
    for (suspects, manner), findings in told:
        clauses.setdefault(suspects, []).append(_done(manner, findings))
    text = ", ".join(f"{words.accused(who)} {' and '.join(what)}".strip() for who, what in clauses.items())
    more = len(found) - sum(len(findings) for _, findings in told)
    return f"{text}, and {words.counted(more, 'more finding')}".upper() if more else text.upper()


def _deed(finding: Finding) -> _Deed:
    suspects = finding.fault.suspects
    manner = "gap" if finding.manner == "tail" else finding.manner
    return suspects, manner if suspects else ""


def _done(manner: str, findings: Sequence[Finding]) -> str:
    if not manner:
        return "the records contradict each other"
    if manner == words.RAISED_AT and len(findings) == 1:
        return words.did(manner, findings[0].where)
    changes = [finding.fault.change for finding in findings]
    return words.at_large(manner, sum(c.count for c in changes), all(c.exact for c in changes))
