"""Events that do not belong: another stream's, or behind the end; and what the application's reducer refused.

A reducer that fails closed says why it refuses an event. Where something before it is not known to be in order, that
answers to what came before, and is a note. Where every hop is intact, either the reducer is wrong, or the stream was
when the first point read it. An event of another stream is known as one by its stamp, or because this process handed it
on for that other stream (docs/design.md §7.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from streamwitness.semconv import FOREIGN

from .attribute import Fault, on_intact_path, told_of
from .client.named import REJECTIONS, carrying
from .compare.change import Change, Hop, Proof, Span
from .path import Path
from .testimony.parts import positions_with_result
from .testimony.records import Record
from .testimony.view import View

KINDS: Final = {"wrong_stream": "cross_stream", "after_terminal": "after_terminal"}
"""Result of a refusal → the kind of its finding; of all others a `gap`: the event is not in the answer."""
MIXED_UP: Final = "another stream of the same process had handed it on"
STAMPED_OTHERWISE: Final = "it bears another stream's number"
_TAKEN: Final = "stall_flushed"
"""A refusal of what did not come before it: the event itself is in the answer."""
_NEVER_SENT: Final = frozenset(("fabricated", "extra"))


def refused(path: Path) -> list[Fault]:
    """What the reducer refused of a stream of which every hop is intact, where nothing else tells what was wrong."""
    if path.named is None or not path.named.rejected or not path.steps or any(f.by_itself for f in path.faults):
        return []
    last = path.steps[-1]
    if any(step.bridged or len(step.components) > 1 for step in path.steps):  # a role may be lost there, and be missed
        return []
    if any(step.hop.status != "intact" for step in path.steps[:-1]) or last.after.point != "applied":
        return []
    if path.upstream.edited:  # what the reducer misses may have been left out on purpose
        return []
    content = carrying(View(last.before, "semantic"))
    grouped: dict[str, dict[int, str]] = {}
    for position, result in path.named.rejected.items():
        if position in content and result != _TAKEN:
            grouped.setdefault(KINDS.get(result, "gap"), {})[position] = result
    first = path.steps[0].before
    return [on_intact_path(first, last, _refusal(kind, results)) for kind, results in sorted(grouped.items())]


def _refusal(kind: str, results: dict[int, str]) -> Change:
    span = (min(results), max(results))
    told = tuple(sorted(set(results.values())))
    note = f"rejected as {', '.join(told)}"
    placed = len(results) == span[1] - span[0] + 1
    proof = Proof("by_name")
    return Change(kind, len(results), True, "before", span, span, placed, note=note, proof=proof, results=told)


def is_refusal(change: Change) -> bool:
    """Whether it is told by what the application's reducer refused."""
    return not REJECTIONS.isdisjoint(change.results)


def mixed_up(path: Path) -> list[Fault]:
    """Events of another stream that the application built into this one."""
    applied = path.record("applied")
    step = next((step for step in path.steps if step.after is applied), None)
    count = applied.told(FOREIGN) if applied is not None and applied.closed else None
    if step is None or applied is None or not isinstance(count, int) or count <= 0:
        return []
    span = (0, max(0, applied.events - 1))
    change = Change("cross_stream", count, True, "after", span, span, note=MIXED_UP, proof=Proof("by_rows"))
    return [told_of(step, change)]


def but_for_its_effect(faults: Sequence[Fault], mixed: Sequence[Fault]) -> list[Fault]:
    """The faults without another text at the application, where it built in events of another stream: that is why."""
    return [fault for fault in faults if not mixed or fault.change.kind != "misapplied"]


def of_another_stream(hop: Hop, before: Record, after: Record) -> Hop:
    """The hop, with what came more told as another stream's where each such event bears that one's number.

    Numbers say so only where the gateway gave its own to all that it sent.
    """
    if before.first_number is None or not any(change.kind in _NEVER_SENT for change in hop.changes):
        return hop
    foreign = set(positions_with_result(after, "wrong_stream"))
    return replace(hop, changes=tuple(_if_foreign(change, foreign) for change in hop.changes)) if foreign else hop


def _if_foreign(change: Change, foreign: set[int]) -> Change:
    if change.kind not in _NEVER_SENT or change.side != "after" or not change.placed or not _all(change.span, foreign):
        return change
    return replace(change, kind="cross_stream", note=STAMPED_OTHERWISE)


def _all(span: Span, foreign: set[int]) -> bool:
    return all(position in foreign for position in range(span[0], span[1] + 1))
