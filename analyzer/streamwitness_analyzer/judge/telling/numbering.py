"""One numbering a report: the events' numbers that findings, ending and the ruler of the picture have in common.

A finding is placed where its point counts, as the stream left the gateway, or as the gateway read it (`Finding.axis`).
Where both are told of one exchange, people are told of all by what the gateway read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from streamwitness_analyzer.judge.compare.places import Mapper, back
from streamwitness_analyzer.judge.path import Path
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .cells import steps_drawn
from .findings import Finding, way_back


def numbered_alike(found: Sequence[Finding], every: Sequence[Path]) -> list[Finding]:
    """The same findings, each of which knows what number an event of gateway out has in the picture."""
    read = _counted_as_read(found)
    inward: dict[str, Mapper] = {}
    for path in every:
        key = path.exchange.id
        if key in read and key not in inward and (mapper := _inward(path)) is not None:
            inward[key] = mapper
    return [replace(f, inward=inward.get(f.fault.seen.exchange)) if f.axis == "egress" and inward else f for f in found]


def number_of_last(path: Path, record: Record, found: Sequence[Finding]) -> int | None:
    """What number the last event of a record has in the picture; None where it is not certain."""
    if not record.events:
        return None
    _, mappers = way_back(path, record)
    if path.exchange.id in _counted_as_read(found) and record.point != "ingress":
        inward = _inward(path)
        if inward is None:
            return None
        mappers = [*mappers, inward]
    position, first = record.events - 1, path.first if record.point != "ingress" else 0
    for mapper in mappers:
        low, high, sure = mapper(position)
        if not sure or low != high:
            return None
        position = low
    return first + position


def _counted_as_read(found: Sequence[Finding]) -> set[str]:
    """The exchanges of which some finding is placed by what the gateway read."""
    return {finding.fault.seen.exchange for finding in found if finding.axis == "ingress"}


def _inward(path: Path) -> Mapper | None:
    """From positions at gateway out to those at gateway in, where the picture lays the two below each other."""
    step = next((step for step in steps_drawn(path) if step.before.point == "ingress"), None)
    if step is None or step.after.point != "egress" or path.first:
        return None
    a, b = View(step.before, "semantic"), View(step.after, "semantic")
    return back(a, b, step.hop.status == "intact")
