"""How many events were sent, and how many of them reached the application."""

from __future__ import annotations

from typing import Final

from .attribute import Step
from .path import Path
from .records import Record

_LOST: Final = frozenset(("gap", "tail", "gap_or_late"))
_ADDED: Final = frozenset(("duplicate", "fabricated", "extra"))


def counts(path: Path) -> tuple[int | None, int | None]:
    """(sent, used): sent by the upstream answer (else by the gateway); used by the last client point held.

    What an SDK consumes by design counts as used, an invented event as received. None: nobody who testified knows.
    """
    egress = path.record("egress")
    feeding = path.upstream.hop is not None and path.upstream.hop.status != "unproven"
    first = (path.record("ingress") if feeding or egress is None else None) or egress
    sent = first.events if first is not None else None
    client = [record for record in path.records if record.point in ("wire", "parsed", "applied")]
    if not client:
        return sent, None
    used: int | None = _first(path, client[0], egress)
    for step in path.steps:
        if step.before in client and used is not None:
            used = _through(path, step, used)
    return sent, used


def _first(path: Path, record: Record, egress: Record | None) -> int | None:
    if record.point == "wire" or egress is None:
        return record.events
    step = next(step for step in path.steps if step.after is record)
    return _through(path, step, egress.events)


def _through(path: Path, step: Step, before: int) -> int | None:
    after = step.after
    have = path.named.used if after.point == "applied" and path.named is not None else after.events
    if not step.peer:  # a stop at an error event: the application was told of it by an exception
        return before - step.hop.unread if after.end == "stopped_at_terminal" else have
    if step.hop.status == "unproven":
        return None if have is None else min(before, have + _consumed(step))
    lost = sum(c.count for c in step.hop.changes if c.kind in _LOST)
    added = sum(c.count for c in step.hop.changes if c.kind in _ADDED)
    return before - lost + added


def _consumed(step: Step) -> int:
    """Events without model output that the point did not hand on, by design as far as anybody knows."""
    if step.after.point == "applied":
        return 0
    quiet = step.before.events - step.before.total("judged")
    return max(0, quiet - (step.after.events - step.after.total("judged")))
