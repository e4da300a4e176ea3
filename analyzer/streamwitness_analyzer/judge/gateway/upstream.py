"""Ingress → egress: which upstream response feeds the answer, and what the gateway made of it.

Only the leg that provably feeds the answer can accuse the gateway, and only when the egress closing block and those of
all listed legs are held; an abandoned leg accuses nobody (docs/design.md §7.2). Compared are judged events only, for
a gateway may merge, split, filter or translate: where the whole content of every slot is equal, nothing was lost.

`legs.py` finds the leg, `excuses.py` has the rules in order, `envelope.py` what is put around an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final

from streamwitness.blocks import Block
from streamwitness_analyzer.judge.compare.change import ITS_LEG, LOSSES, Hop
from streamwitness_analyzer.judge.testimony.parts import (
    MISREAD,
    UNREAD_OUTPUT,
    may_go_on_behind_terminal,
    misframed,
    says_more,
)
from streamwitness_analyzer.judge.testimony.records import Exchange, Record
from streamwitness_analyzer.judge.testimony.view import View

from .crossing import Crossing, Edited, Made, all_due, unproven
from .envelope import OTHER_WORD, another_format, other_finish, uncounted
from .excuses import judge_leg, with_its_finish
from .legs import (
    begun_anew,
    continued,
    equal_legs,
    explained_by,
    passed_on,
    related,
    replaced,
    shows_nothing_of,
    spliced,
)
from .recut import same_content
from .rewritten import under_one_number, untold_calls

_MORE: Final = "more left than was read, and lost rows hide what"
_SHARED: Final = "several upstream attempts share the answer"
_counted: Final = itemgetter("events", "content", "malformed")


@dataclass(slots=True)
class Upstream:
    """The leg that feeds the answer (None: not known), the hop, and the legs that another one replaced.

    Never changed, as a `Record` is not.
    """

    leg: Record | None
    hop: Hop | None
    superseded: tuple[Record, ...] = ()
    recut: bool = False
    """Whether the gateway cut the same content into other events."""
    peer: bool = True
    """Whether all that the leg brought was due at gateway out."""
    joined: bool = False
    """Whether the answer is made of several legs, one continuing the other."""
    edited: tuple[Edited, ...] = ()
    """What the gateway did on purpose, as it says."""
    other_finish: tuple[str, str] | None = None
    """Why the answer ended, as it was read and as it was sent, where these are two."""


def judge_upstream(exchange: Exchange, egress: Record | None) -> Upstream:
    """Judge the gateway of one exchange. `hop` is None where no upstream was ever to be seen, or none that answered.

    Of upstreams that refused nothing can be in the answer, so that they stand beside no other.
    """
    every, legs = exchange.at("ingress"), exchange.legs
    last = next(iter((legs or every)[-1:]), None)
    if egress is None:
        unseen = unproven("no record tells what the gateway sent") if every else None
        return Upstream(last, unseen, replaced(legs, last))
    if not every and "ingress" not in exchange.expected:
        return Upstream(None, None)
    if reason := _not_held(every, egress):
        return Upstream(last, unproven(reason), replaced(legs, last))
    if not legs:
        return Upstream(last, None)  # all refused: what it may have sent is of no upstream that was seen
    if equal := equal_legs(legs, egress):
        return _equal(equal, legs, egress)
    found = _single(Crossing(legs[0], egress, only=True)) if len(legs) == 1 else _several(legs, egress)
    return _with_uncounted(found, legs, egress)


def _not_held(legs: Sequence[Record], egress: Record) -> str:
    """Which record is missing, so that nothing can be said; "" where all are held."""
    if not egress.closed or egress.closing is None:
        return "the end of the record of gateway out is missing"
    if any(misframed(record) for record in (*legs, egress)):
        return MISREAD
    held = {leg.recorder for leg in legs if leg.closed}
    listed = _listed(legs, egress.closing.legs)
    if not listed or not listed <= held or {leg.recorder for leg in legs} - listed:
        return "the record of an upstream attempt is missing, or its response was never closed"
    return ""


def _listed(legs: Sequence[Record], own: Sequence[str]) -> frozenset[str]:
    """The legs that the answer lists, and those that one read in another process lists in its stead."""
    further = (leg.closing.legs for leg in legs if leg.closing is not None and leg.recorder in own)
    return frozenset(own).union(*further)


def _equal(equal: Sequence[Record], legs: Sequence[Record], egress: Record) -> Upstream:
    """Of attempts that say the same (a hedged pair, an echo) the answer is one that explains it without a fault."""
    intact = Hop("intact", prefix=egress.total("judged"))
    if _as_it_came(equal[0], egress):
        return Upstream(equal[0], intact, replaced(legs, equal[0]), peer=all_due(equal[0], egress))
    found = [_with_uncounted(Upstream(leg, intact, replaced(legs, leg)), legs, egress) for leg in equal]
    return next((one for one in found if one.hop is not None and one.hop.status == "intact"), found[0])


def _single(crossing: Crossing) -> Upstream:
    return _told(judge_leg(crossing), crossing)


def _told(made: Made, crossing: Crossing) -> Upstream:
    return Upstream(crossing.leg, made.hop, recut=made.recut, edited=made.edited, other_finish=made.other_finish)


def _several(legs: Sequence[Record], egress: Record) -> Upstream:
    """Several attempts, none of which is the answer as it stands: the last one that shares enough with it feeds it.

    Copies that any leg can account for excuse both a surplus and a lack, so only certain losses and inventions remain.
    """
    after = View(egress, "semantic")
    views = [View(leg, "semantic") for leg in legs]
    last = Upstream(legs[-1], unproven(_SHARED), replaced(legs, legs[-1]))
    if not after.digests or not all(view.digests for view in views):
        return replace(last, hop=unproven("no digests were recorded"))
    if after.n and continued(views, after):
        return replace(last, hop=begun_anew(views, after) or Hop("intact", prefix=after.n), joined=True)
    whole = [leg for leg in legs if leg.complete]
    for leg in reversed(whole or legs):
        crossing = Crossing(leg, egress)
        made = same_content(crossing)
        if made is not None and made.hop.status == "intact":
            return replace(_told(with_its_finish(made, crossing), crossing), superseded=replaced(legs, leg))
    feeding = [view for view in views if related(view, after)]
    feeding = feeding or [view for view in views if passed_on(Crossing(view.record, egress))]
    if len(feeding) != 1:
        return last
    crossing = Crossing(feeding[0].record, egress)
    sole = _single(crossing)
    others = [view for view in views if view is not feeding[0]]
    gone = replaced(legs, crossing.leg)
    if sole.hop and not explained_by(sole.hop, crossing, others) and not spliced(feeding[0], others, after):
        return replace(sole, hop=_at_least(sole.hop, crossing, others), superseded=gone)
    return Upstream(crossing.leg, unproven(_SHARED), gone)


def _at_least(hop: Hop, crossing: Crossing, others: Sequence[View]) -> Hop:
    """The same, a loss as a bound where another attempt brought content that may be in play.

    What of a later one was due is not known, and a copy that an earlier one brought may stand for what was lost.
    """
    own = crossing.leg.leg or 0
    speaking = [other for other in others if other.record.total("content")]
    if all((other.record.leg or 0) < own and shows_nothing_of(other, crossing) for other in speaking):
        return hop
    changes = (replace(change, exact=change.exact and change.kind not in LOSSES) for change in hop.changes)
    return replace(hop, changes=tuple(changes))


def _with_uncounted(found: Upstream, legs: Sequence[Record], egress: Record) -> Upstream:
    """The differences in uncounted parts that are findings.

    Only of a leg that feeds the answer: what a guardrail or an abandoned attempt said is not missing from it.
    """
    hop, leg = found.hop, found.leg
    if hop is None or leg is None or (hop.status == "unproven" and hop.reason not in ITS_LEG):
        return found
    told = found.other_finish or other_finish(leg, egress)
    if changes := uncounted(legs, leg, egress, told=hop):
        hop = replace(hop, status="faulty", changes=(*hop.changes, *changes))
    elif hop.status == "intact" and _has_more(legs, egress):
        hop = unproven(_MORE)
    elif hop.status == "intact" and (reason := under_one_number(legs, egress) or untold_calls(leg, egress)):
        hop = unproven(reason)
    elif hop.status == "intact" and told is not None and not another_format(leg, egress):
        hop = unproven(OTHER_WORD)
    elif hop.status == "intact" and any(map(says_more, (*legs, egress))):
        hop = unproven(UNREAD_OUTPUT)
    return replace(found, hop=hop, peer=all_due(leg, egress), other_finish=told)


def _as_it_came(leg: Record, egress: Record) -> bool:
    """Healthy first: whether the very bytes of every event went out, so that no other part of it can differ either."""
    if not (leg.closed and egress.closed):
        return False
    read, sent = leg.blocks[-1], egress.blocks[-1]
    return read.payload_o is not None and _said(read) == _said(sent)


def _said(block: Block) -> tuple[object, ...]:
    """What a closing block says of all events, whether they are judged or not, and however many reads they came in."""
    return (*_counted(block.totals), block.total_parts, block.payload_s, block.payload_o)


def _has_more(legs: Sequence[Record], egress: Record) -> bool:
    """Whether the answer had more than was compared, by its counts: lost rows hide what stands behind its end."""
    finishes = sum(leg.part("finish") for leg in legs)
    content = sum(leg.total("content") for leg in legs)
    late = may_go_on_behind_terminal(egress) and egress.total("content") > content
    return egress.part("finish") > finishes > 0 or late
