"""A verdict document as the report that ends an argument between two teams. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from streamwitness import semconv as sc

from .cuts import is_named
from .picture import draw
from .style import Style

_CONFIDENCE: Final = {"certain": "proven", "narrowed": "narrowed", "inconsistent": "contradictory"}
_STATE: Final = {
    "open": "not final",
    "provisional": "provisional",
    "settled": "final",
    "corrected": "final, corrected",
    "failed": "not final",
}
_IN_FULL: Final = 6
"""Findings that are told with their evidence; of more, people read what and where."""
_A_SILENCE_MS: Final = 100
"""A shorter one is none that people would speak of."""
_MARGIN: Final = " " * 10
_TELEMETRY: Final = {
    "lost_blocks": "records lost on their way to the analyzer, which is no loss in the stream",
    "conflicts": "witnesses set aside because they contradict themselves",
    "observer_faults": "points whose observer failed, or could not read what it was shown",
    "dropped_blocks": "records of this or other streams that their sender lost (no room, or not delivered in time)",
    "excess_blocks": "records beyond what is kept of one stream",
}
_EVIDENCE: Final = {"seen": "seen", "missing": "but", "decided": "decided"}
"""Part of the evidence → its word; what the other point had instead is told, not only that something is missing."""
_COLOURS: Final = {"intact": "green", "damaged": "red", "unproven": "yellow"}

Document = Mapping[str, Any]


def render(document: Document, style: Style) -> str:
    """The whole report; ends without a line feed."""
    lines = [_headline(document, style), *style.wrap(str(document["summary"])), *_limit(document, style)]
    lines += _pictures(_points(document), document["findings"], style)
    lines += _findings(document["findings"], style)
    lines += _why(document, style)
    lines += _notes(document, style)
    lines += _about(document, style)
    return "\n".join(line.rstrip() for line in lines)


def _limit(document: Document, style: Style) -> list[str]:
    """That others were cut as this one was."""
    limit = document.get("limit")
    return list(style.wrap(style.plain(str(limit["line"])))) if limit else []


def confidence_word(confidence: str | None) -> str:
    """What people see for a confidence; empty where there is nothing to be confident of."""
    return _CONFIDENCE.get(confidence or "", "")


def _sure(document: Document) -> str:
    """How sure the headline is: of its findings, else of who ended the stream; an integrity says that by itself."""
    found = {finding["confidence"] for finding in document["findings"]}
    if found:
        return " and ".join(word for confidence, word in _CONFIDENCE.items() if confidence in found)
    if document["state"] == "provisional" or not document["ending"].get("vouched", True):
        return ""
    tells_integrity = f", {str(document['integrity']).upper()}" in str(document["headline"])
    says = document["ending"].get("class") != "completed" and not tells_integrity
    return "proven" if document["ending"]["by"] and says else ""


def _headline(document: Document, style: Style) -> str:
    state = _STATE.get(document["state"], str(document["state"]))
    if document["state"] == "corrected":
        state += f" (revision {document['revision']})"
    said = ", ".join(word for word in (_sure(document), state) if word)
    colour = _COLOURS.get(document["integrity"], "bold")
    return f"{style.dress(style.plain(document['headline']), 'bold', colour)}   {said}"


def _points(document: Document) -> list[Document]:
    """The rows of the picture; who sent an error has said why there is no finish."""
    points: list[Document] = list(document["points"])
    failed = str(document["ending"].get("class")).endswith("_error")
    return [{**point, "complete": None} for point in points] if failed else points


def _pictures(points: Sequence[Document], findings: Sequence[Document], style: Style) -> Iterator[str]:
    by_axis = sorted(findings, key=lambda finding: finding.get("axis") == "ingress")  # one that is read there tells
    axes = {finding.get("exchange"): str(finding.get("axis")) for finding in by_axis}
    exchanges = [list(group) for _, group in groupby(points, key=lambda point: point["exchange"])]
    for group in exchanges:
        if title := _title(group[0], points):
            yield title
        yield from draw(group, style, axes.get(group[0]["exchange"], ""))


def _title(point: Document, every: Sequence[Document]) -> str:
    """Which exchange it is, where there are several: the client's attempt, and the gateway in a row of them."""
    attempt, gateway = (len({other[name] for other in every}) > 1 for name in ("attempt", "hop"))
    said = ([f"attempt {point['attempt'] + 1}"] if attempt else []) + _gateway(point, every, gateway)
    return ", ".join(said).capitalize()


def _gateway(point: Document, every: Sequence[Document], several: bool) -> list[str]:
    """Gateways are counted from the provider outwards."""
    if not several:
        return []
    last = max(other["hop"] for other in every)
    side = {0: " (next to the provider)", last: " (next to the client)"}.get(point["hop"], "")
    return [f"gateway {point['hop'] + 1}{side}"]


def _findings(findings: Sequence[Document], style: Style) -> Iterator[str]:
    """Each finding with its evidence, where there are several; a single one is the headline."""
    if len(findings) < 2:
        return
    yield style.dress("Findings", "bold")
    for number, finding in enumerate(findings[:_IN_FULL], start=1):
        yield from style.wrap(f"{_in_short(finding)}: {finding['sentence']}", f" {number}  ", "    ")
        yield from _evidence(finding["evidence"] | {"decided": _decided(finding)}, "    ", style)
    if more := "; ".join(map(_in_short, findings[_IN_FULL:])):
        yield from style.wrap(f"and {more}", f" {style.glyph('…')}  ", "    ")


def _in_short(finding: Document) -> str:
    return ", ".join(word for word in (finding.get("short"), confidence_word(finding["confidence"])) if word)


def _why(document: Document, style: Style) -> Iterator[str]:
    """What proves a single finding or the ending, who is cleared, and each thing that stays unknown."""
    why, found = document["why"], document["findings"]
    lines = [] if len(found) > 1 else list(_evidence(why | {"decided": _decided(*found)}, " ", style))
    lines += _ended(document["ending"], {finding["kind"] for finding in found}, style)
    if cleared := ", ".join(why["cleared"]):
        lines += style.wrap(cleared, " cleared  ", _MARGIN)
    for number, text in enumerate(why["unknown"]):
        lines += style.wrap(text, _MARGIN if number else " unknown  ", _MARGIN)
    if lines:
        yield style.dress("Why", "bold")
        yield from lines


def _ended(ending: Document, found: Container[str], style: Style) -> list[str]:
    """When an answer was ended early, as the point next to who did it saw it, and what was read for nobody then.

    The latter not beside a finding that is about it: that leaves out what the gateway had in hand.
    """
    at, silent, point = (ending.get(name) for name in ("at_ms", "silent_ms", "at_point"))
    if ending.get("class") in (None, "completed") or at is None or point is None:
        return []
    told = f"{_time(at)} after its beginning"
    if ending.get("after") == -1:
        told += ", before any event"
    elif silent is not None and silent >= _A_SILENCE_MS:
        told += f", {_time(silent)} after its last event"
    told += f" (at {sc.POINT_LABELS.get(point, point)})"
    cost = ending.get("cost")
    if cost and cost.get("events") and "upstream_kept_running" not in found:
        tokens = f", {cost['output_tokens']} output tokens in all" if cost.get("output_tokens") else ""
        told += f"; after its client had gone the gateway read {_counted(cost['events'], 'event')} more"
        told += f" ({cost['bytes']} bytes{tokens})" if cost["bytes"] else ""
    return list(style.wrap(told, " ended    ", _MARGIN))


def _time(ms: int) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms} ms"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" + ("" if count == 1 else "s")


def _evidence(told: Document, margin: str, style: Style) -> Iterator[str]:
    for name, word in _EVIDENCE.items():
        if told.get(name):
            yield from style.wrap(str(told[name]), f"{margin}{word:<7}  ", margin + " " * 9)


def _decided(*findings: Document) -> str:
    """That the events' own numbers, not a comparison of contents, are what proves a finding."""
    numbers = any(finding.get("proof", {}).get("case") == "by_number" for finding in findings)
    return "by the numbers that the gateway gave its events; both points recorded them" if numbers else ""


def _notes(document: Document, style: Style) -> Iterator[str]:
    notes = [note["sentence"] for note in document["notes"]]
    telemetry = document["telemetry"]
    notes += [f"{words}: {telemetry[name]}" for name, words in _TELEMETRY.items() if telemetry.get(name)]
    if notes:
        yield style.dress("Notes", "bold")
    for note in notes:
        yield from style.wrap(note, " - ", "   ")


def _about(document: Document, style: Style) -> Iterator[str]:
    labels = document["labels"]
    known = [
        f"{name} {labels[name]}" for name in ("service", "client", "provider", "model") if is_named(labels.get(name))
    ]
    said = f"Stream {document['stream']}" + (f"; {', '.join(known)}" if known else "")
    for line in style.wrap(said):
        yield style.dress(line, "dim")
