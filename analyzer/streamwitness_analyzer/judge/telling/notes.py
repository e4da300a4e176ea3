"""What is no fault, and yet should be known: the notes under a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from streamwitness.semconv import (
    LINKED,
    PROVIDER_NAME,
    STATUS_CODE,
    UPSTREAM_BREAKS,
    UPSTREAM_HOLES,
    UPSTREAM_MISMATCHES,
    UPSTREAM_NOISE,
)
from streamwitness_analyzer.judge.ending import stalls
from streamwitness_analyzer.judge.ending.endings import ending_of
from streamwitness_analyzer.judge.ending.states import client_state, egress_state, finish, ingress_state
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.refused import is_refusal
from streamwitness_analyzer.judge.testimony.records import Record

from . import words

_COUNTED: Final = {
    "superseded": "upstream attempt",
    "went_on": "upstream attempt",
    "refused": "upstream attempt",
    "unanswered": "request",
}
"""Notes that count no events → what they count."""
_WITHOUT_AN_ERROR: Final = frozenset(("complete", "eof", "unfinished"))
"""Ends of a gateway's answer that tell its client of no error."""
_SHORT: Final = frozenset(("length", "content_filter"))


def notes(every: Sequence[Path], main: Path | None, recovered: int = 0) -> list[dict[str, Any]]:
    """What is no fault, and yet should be known."""
    notes: list[dict[str, Any]] = []
    if main is not None:
        notes += _stopped(main)
        reason = finish(main)
        if reason in _SHORT and any(record.complete for record in main.records):
            notes.append(_note("short_by_design", 1, reason))
        if _unterminated(main):
            notes.append(_note("no_terminator", 1))
        if _keeps_usage(main):
            notes.append(_note("usage_kept", 1))
        notes += _numbering(main)
    if recovered:
        notes.append(_note("recovered", recovered))
    notes += _replaced(every)
    notes += [*_refused(every, main), *_unanswered(every)]
    if any(path.upstream.recut and path.upstream.hop and path.upstream.hop.status == "intact" for path in every):
        notes.append(_note("recut", 1))
    finishes = {path.exchange.id: told for path in every if (told := path.upstream.other_finish)}
    notes += [_note("other_finish", 1, f"{sent} instead of {read}") for read, sent in finishes.values()]
    return [*notes, *_edited(every)]


def _replaced(every: Sequence[Path]) -> list[dict[str, Any]]:
    """Upstream attempts that broke: another one answered in their place, or behind what had been sent of them."""
    legs = {leg.recorder: path.upstream for path in every for leg in path.upstream.superseded}
    superseded = [upstream for upstream in legs.values() if not upstream.joined]
    went_on = [u for u in legs.values() if u.joined and u.hop is not None and u.hop.status == "intact"]
    counts = {"superseded": len(superseded), "went_on": len(went_on)}
    return [_note(kind, count) for kind, count in counts.items() if count]


def _refused(every: Sequence[Path], main: Path | None) -> list[dict[str, Any]]:
    """Upstreams that gave an error status in place of an answer; a single one that ended it is told as that."""
    legs = {leg.recorder: leg for path in every for leg in path.exchange.at("ingress")}
    found = [leg.told(STATUS_CODE) for leg in legs.values() if leg.refused]
    ended = bool(legs) and main is not None and _ended_by_a_refusal(main)
    statuses = dict.fromkeys(map(str, found))
    notes = [_note("refused", len(found), ", ".join(statuses))] if len(found) > ended else []
    untold = ended and main is not None and egress_state(main) in _WITHOUT_AN_ERROR
    return [*notes, _note("refusal_untold", 1)] if untold else notes


def _ended_by_a_refusal(main: Path) -> bool:
    upstream = ingress_state(main)
    if upstream != "rejected":
        return False
    return ending_of(upstream, egress_state(main), client_state(main, settled=True)).ending == "upstream_rejected"


def _unanswered(every: Sequence[Path]) -> list[dict[str, Any]]:
    """Requests upstream that no response came to, where that may be why nothing came."""
    sent = {path.exchange.id: (path.exchange, path.record("egress")) for path in every}
    count = sum(exchange.unanswered for exchange, egress in sent.values() if egress is not None and not egress.complete)
    return [_note("unanswered", count)] if count > 0 else []


def _edited(every: Sequence[Path]) -> list[dict[str, Any]]:
    """What a gateway did on purpose, as it says: once for each gateway."""
    told = {path.exchange.id: path.upstream.edited for path in every}
    return [
        _note("edited", edit.count, words.edited(edit.kind, edit.count, edit.exact)) | {"edit": edit.kind}
        for edits in told.values()
        for edit in edits
    ]


def _stopped(path: Path) -> list[dict[str, Any]]:
    undelivered = unread(path)
    notes = [_undelivered(path, undelivered)] if undelivered else []
    if (silence := stalls.told(path)) is not None:
        notes.append(_note("silent", 1, silence))
    if path.named is not None and path.named.ignored:
        notes.append(_note("ignored", len(path.named.ignored)))
    if path.named is not None and path.named.rejected and not any(is_refusal(f.change) for f in path.faults):
        notes.append(_note("rejected", len(path.named.rejected)))
    return notes


def unread(path: Path | None) -> int:
    """Events that came, and that a client which had stopped did not take up."""
    steps = path.steps if path is not None else []
    return sum(s.hop.unread for s in steps if s.after.point != "egress" and s.after.end != "stopped_at_terminal")


def _undelivered(path: Path, count: int) -> dict[str, Any]:
    """Events that the client did not take up; what raised may have had some of them in hand, or raised at one."""
    note = _note("undelivered", count)
    raised = next((step.components[-1] for step in path.steps if step.after.end == "raised" and step.hop.unread), None)
    if raised in words.RAISED:
        note["sentence"] = words.IN_HAND.format(count=words.events(count), who=words.RAISED[raised])
    return note


def _unterminated(path: Path) -> bool:
    """Finish, then a clean end without the terminator that this provider sends."""
    first = path.records[0] if path.records else None
    provider = first.told(PROVIDER_NAME) if first else None
    return bool(first and provider == "openai" and first.complete and first.end == "eof" and not first.part("terminal"))


def _keeps_usage(path: Path) -> bool:
    """Whether the gateway read how many tokens were used, and its whole answer in the same format has no such event."""
    leg, sent = path.upstream.leg, path.record("egress")
    if leg is None or sent is None or not sent.complete or leg.told(PROVIDER_NAME) != sent.told(PROVIDER_NAME):
        return False
    return bool(leg.part("usage") and not sent.part("usage") and path.upstream.hop and not path.upstream.joined)


def _numbering(path: Path) -> list[dict[str, Any]]:
    """What the numbers say that a provider gave its events, and which stream a gateway could not continue."""
    first = path.records[0] if path.records else None
    holes = first.told(UPSTREAM_HOLES) if first is not None else None
    notes = [_note("holes", holes)] if isinstance(holes, int) and holes > 0 else []
    notes += [_note(kind, count) for kind, key in _ODD.items() if (count := _count(first, key)) > 0]
    linked = next((text for r in path.records if isinstance(text := r.told(LINKED), str)), None)
    return notes + ([_note("linked", 1, linked)] if linked else [])


_ODD: Final = {"odd_text": UPSTREAM_MISMATCHES, "odd_order": UPSTREAM_BREAKS, "noise": UPSTREAM_NOISE}
"""Note → the attribute that counts what it is about."""


def _count(record: Record | None, key: str) -> int:
    told = record.told(key) if record is not None else None
    return told if isinstance(told, int) else 0


def _note(kind: str, count: int, detail: str | None = None) -> dict[str, Any]:
    counted = words.counted(count, _COUNTED.get(kind, "event"))
    text = words.NOTES[kind].format(count=counted, detail=detail, it="it" if count == 1 else "them")
    return {"kind": kind, "count": count, "sentence": text}
