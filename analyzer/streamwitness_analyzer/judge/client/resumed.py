"""What a client that asked to go on need not take: what comes first may be what it has had (`stream.resumes`).

Some servers begin with the last event again, and whoever asks to go on behind it skips that, in the parser or in the
application. No record of this exchange tells what was had before: what is missing at its head is unproven, and what is
missing behind it is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from streamwitness.semconv import RESUMES
from streamwitness_analyzer.judge.compare.change import SURPLUS, Change, Hop
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .named import USED, Named, read

_HAD: Final = "its client had asked to go on where it was, and may have had what came first"


def goes_on(after: Record) -> bool:
    """Whether the request asked to go on in an answer, so that what comes may have been had before."""
    return after.told(RESUMES) is not None


def but_for_the_head(hop: Hop, before: Record, after: Record) -> Hop:
    """The hop without what may have been left out at its beginning because it was had before."""
    if hop.status != "faulty" or not goes_on(after):
        return hop
    first = next((place for place in View(before, "semantic").positions if place is not None), before.events)
    changes = tuple(change for change in hop.changes if not _at_the_head(change, first))
    if changes:
        return hop if changes == hop.changes else replace(hop, changes=changes)
    return Hop("unproven", unread=hop.unread, reason=_HAD)


def named_but_for_the_head(named: Named, before: Record, after: Record) -> Named:
    """The same of an application's reports; what it calls a copy before it takes anything up points to nobody."""
    if not goes_on(after):
        return named
    taken = (place for place, results in read(after).results.items() if not USED.isdisjoint(results))
    first = min(taken, default=before.events)
    rejected = {place: why for place, why in named.rejected.items() if why != "duplicate" or place > first}
    return replace(named, hop=but_for_the_head(named.hop, before, after), rejected=rejected)


def _at_the_head(change: Change, first: int) -> bool:
    """Whether it may be of the first event with output; not what more came than there was, or is reported as lost.

    Of a mere difference nobody knows where it began.
    """
    if change.side != "before" or change.kind in SURPLUS or change.error or change.results:
        return False
    return change.kind == "mismatch" or min(change.span[0], change.copies[0]) <= first
