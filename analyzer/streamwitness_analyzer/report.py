"""A verdict document as the report that ends an argument between two teams. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

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
_WHY: Final = ("seen", "missing", "cleared", "unknown")
_TELEMETRY: Final = {
    "lost_blocks": "records lost on the way",
    "conflicts": "witnesses set aside because they contradict themselves",
    "observer_faults": "points whose observer failed, or could not read what it was shown",
    "dropped_blocks": "records of this or other streams that their sender lost (no room, or not delivered in time)",
    "excess_blocks": "records beyond what is kept of one stream",
}
_COLOURS: Final = {"intact": "green", "damaged": "red", "unproven": "yellow"}

Document = Mapping[str, Any]


def render(document: Document, style: Style) -> str:
    """The whole report; ends without a line feed."""
    lines = [_headline(document, style), *style.wrap(str(document["summary"])), *_limit(document, style)]
    lines += _pictures(document["points"], style)
    lines += _findings(document["findings"], style)
    lines += _why(document["why"], style)
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


def _headline(document: Document, style: Style) -> str:
    state = _STATE.get(document["state"], str(document["state"]))
    if document["state"] == "corrected":
        state += f" (revision {document['revision']})"
    said = ", ".join(word for word in (confidence_word(document["confidence"]), state) if word)
    colour = _COLOURS.get(document["integrity"], "bold")
    return f"{style.dress(style.plain(document['headline']), 'bold', colour)}   {said}"


def _pictures(points: Sequence[Document], style: Style) -> Iterator[str]:
    exchanges = [list(group) for _, group in groupby(points, key=lambda point: point["exchange"])]
    for group in exchanges:
        if len(exchanges) > 1:
            hop = group[0]["hop"]
            yield f"Attempt {group[0]['attempt'] + 1}" + (f" at gateway {hop + 1}" if hop else "")
        yield from draw(group, style)


def _findings(findings: Sequence[Document], style: Style) -> Iterator[str]:
    """Each finding in a sentence, where there are several; a single one is the headline."""
    if len(findings) < 2:
        return
    yield style.dress("Findings", "bold")
    for number, finding in enumerate(findings, start=1):
        said = confidence_word(finding["confidence"])
        sentence = f"{finding['sentence']} ({said})" if said else finding["sentence"]
        yield from style.wrap(sentence, f" {number}  ", "    ")


def _why(why: Document, style: Style) -> Iterator[str]:
    rows = [(name, _joined(why.get(name))) for name in _WHY]
    if not any(text for _, text in rows):
        return
    yield style.dress("Why", "bold")
    for name, text in rows:
        if text:
            yield from style.wrap(text, f" {name:<7}  ", " " * 10)


def _notes(document: Document, style: Style) -> Iterator[str]:
    notes = [note["sentence"] for note in document["notes"]]
    telemetry = document["telemetry"]
    notes += [f"{words}: {telemetry[name]}" for name, words in _TELEMETRY.items() if telemetry.get(name)]
    if telemetry["missing_points"]:
        notes.append(f"no complete record of: {_joined(telemetry['missing_points'])}")
    if notes:
        yield style.dress("Notes", "bold")
    for note in notes:
        yield from style.wrap(note, " - ", "   ")


def _about(document: Document, style: Style) -> Iterator[str]:
    labels = document["labels"]
    known = [
        f"{name} {labels[name]}" for name in ("service", "client", "provider", "model") if _named(labels.get(name))
    ]
    said = f"Stream {document['stream']}" + (f"; {', '.join(known)}" if known else "")
    for line in style.wrap(said):
        yield style.dress(line, "dim")


def _named(label: Any) -> bool:
    """OpenTelemetry calls a process that nobody has named `unknown_service`, which is no news to anybody."""
    return bool(label) and not str(label).startswith("unknown_service")


def _joined(value: Any) -> str:
    return str(value or "") if isinstance(value, str) or value is None else ", ".join(map(str, value))
