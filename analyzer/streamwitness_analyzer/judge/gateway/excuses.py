"""What excuses a gateway: each reason why what differs proves nothing against it, in the order they are asked.

A rule is a function of a crossing; it answers what can be said then, or None where it does not apply. The first that
answers decides, and what none of them excuses is a fault (docs/design.md §7.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from streamwitness.semconv import PROVIDER_NAME, RESPONSE_ID, UNKNOWN_PROVIDER
from streamwitness_analyzer.judge.compare.change import LOSSES, Hop, Reason
from streamwitness_analyzer.judge.compare.mended import unless_mended
from streamwitness_analyzer.judge.testimony.finishes import OTHER_ENDS, only_finishes, silent_choices
from streamwitness_analyzer.judge.testimony.parts import all_slots, not_understood, stopped_within_an_event, unread
from streamwitness_analyzer.judge.testimony.records import Record

from .behind import behind_the_end
from .crossing import Crossing, Made, unproven
from .declared import edits_of, filtered, merged, rewritten, sifted
from .envelope import (
    broken_events,
    changed_finish,
    left_out,
    lost_finish,
    not_to_the_end,
    other_finish,
    own_word,
    proper,
)
from .legs import left_of_the_only_one, mostly_its_words, passed_on, related
from .recut import CHANGED_TURNS, cut_otherwise, same_content, without_slots
from .rewritten import excuse

Rule = Callable[[Crossing], Made | None]

STORED: Final = (
    "the answer has a response id of its own and is written otherwise, so it may be another one, nearly the same"
)
ELSEWHERE: Final = (
    "some of it stands in fields that are not understood, and what is missing or new may have moved there"
)
TOO_LITTLE: Final = "too little of this upstream response is known to have come in one run for a proof"
_BESIDE_TEXT: Final = ("reasoning", "refusal")
"""Parts of output for which servers have fields of their own."""
_TOLD: Final = ("text", *_BESIDE_TEXT)
_UNTOUCHED: Final = frozenset(("gap", "tail", "duplicate", "reorder"))
"""Kinds that leave every event that came through as it was."""


def without_digests(crossing: Crossing) -> Made | None:
    """Counts alone say nothing of what may be merged and split."""
    if crossing.before.digests and crossing.after.digests:
        return None
    return Made(unproven("no digests were recorded"))


def ended_in_passing(crossing: Crossing) -> Made | None:
    """What was read last was not sent yet when the answer ended, and no client had gone whom it would have been for."""
    if not crossing.hop.unread or crossing.egress.end == "disconnected":
        return None
    return Made(unproven(Reason.IN_PASSING))


def no_difference(crossing: Crossing) -> Made | None:
    """Event by event there is no proven fault."""
    return Made(crossing.hop) if crossing.hop.status != "faulty" else None


def of_something_else(crossing: Crossing) -> Made | None:
    """The answer is another's: a guardrail beside it, a cache."""
    before, after = crossing.before, crossing.after
    if related(before, after) or passed_on(crossing) or sifted(crossing) or left_of_the_only_one(crossing):
        return None
    return Made(unproven(TOO_LITTLE if mostly_its_words(before, after) else Reason.ANOTHERS))


def broke_an_event(crossing: Crossing) -> Made | None:
    """What came out unreadable is told, and nothing else: where it stands, its content is missing."""
    broken = broken_events((crossing.leg,), crossing.egress)
    return Made(Hop("faulty", tuple(broken), prefix=crossing.hop.prefix)) if broken else None


def went_on_behind_the_end(crossing: Crossing) -> Made | None:
    """What came out behind the end is told, and nothing else: before it, it is missing."""
    late = behind_the_end((crossing.leg,), crossing.leg, crossing.egress)
    return Made(Hop("faulty", tuple(late), prefix=crossing.hop.prefix)) if late else None


def under_another_name(crossing: Crossing) -> Made | None:
    """The answer has a response id of its own, and other words, none of it written as it came: it may be a stored one.

    A gateway may read its upstream only to renew what it has stored, and what it plays is nearly the same.
    """
    leg, egress = crossing.leg.told(RESPONSE_ID), crossing.egress.told(RESPONSE_ID)
    if not (leg and egress) or leg == egress or crossing.verbatim.same:
        return None
    less = crossing.verbatim.held and all(change.kind in _UNTOUCHED for change in crossing.hop.changes)
    return None if less else Made(unproven(STORED))


def in_other_fields(crossing: Crossing) -> Made | None:
    """Output stands in as many events less, and there are more of which nothing is understood.

    Servers tell the same in one field or another, not all of which are known here; of another format, which has such
    events of its own, that is asked of reasoning only. What is told as a whole only may be told in pieces.
    """
    leg, egress = crossing.leg, crossing.egress
    same = leg.told(PROVIDER_NAME) == egress.told(PROVIDER_NAME)
    kinds = _TOLD if same else _BESIDE_TEXT
    moved = any(_moved(leg, egress, name, same) or _moved(egress, leg, name, same) for name in kinds)
    told_whole = leg.part("snapshot") and any(egress.part(name) and not leg.part(name) for name in _TOLD)
    return Made(unproven(ELSEWHERE)) if moved or told_whole else None


def _moved(full: Record, less: Record, name: str, same: bool) -> bool:
    """Whether events with this part may be those that tell nothing at the other point."""
    least, most = not_understood(full)[0] if same else 0, not_understood(less)[1]
    return full.part(name) > less.part(name) and most > least


def read_by_lines(crossing: Crossing) -> Made | None:
    """The upstream ended within an event, and who reads by lines takes that for one."""
    if not stopped_within_an_event(crossing.leg) or all(c.kind in LOSSES for c in crossing.hop.changes):
        return None
    return Made(unproven("the upstream ended without a blank line, and the gateway may read by lines"))


def not_all_read(crossing: Crossing) -> Made | None:
    """What could not be read, or stands behind a terminator, is not among the judged events."""
    if not (unread(crossing.leg) or unread(crossing.egress)):
        return None
    return Made(unproven("some of its events could not be read, or came after the terminator"))


def written_otherwise(crossing: Crossing) -> Made | None:
    """A call's arguments are JSON, and a text that comes whole again may come less often; a finish is still due."""
    reason = excuse(crossing)
    if not reason:
        return None
    lost = lost_finish(crossing.leg, crossing.egress) if crossing.peer else None
    return Made(lost or unproven(reason))


def only_envelope(crossing: Crossing) -> Made | None:
    """Nothing but finishes that the gateway may make up or leave out; one of its own proves no answer to be whole."""
    if proper(crossing):
        return None
    leg, egress = crossing.leg, crossing.egress
    kept = "" if "filter" in edits_of(crossing) else left_out(leg, egress)
    reason = kept or own_word(leg, egress) or not_to_the_end(leg, egress)
    return Made(unproven(reason) if reason else Hop("intact", prefix=crossing.hop.prefix))


def in_other_turns(crossing: Crossing) -> Made | None:
    """So many things are told that not each has a digest: what changed place may have done so between them only."""
    known = all_slots(crossing.leg) and all_slots(crossing.egress)
    moved = any(change.kind == "reorder" for change in proper(crossing))
    return Made(unproven(CHANGED_TURNS)) if moved and not known else None


def unknown_format(crossing: Crossing) -> Made | None:
    """Where only the framing is known every field counts as content, those too that are no output."""
    known = crossing.leg.told(PROVIDER_NAME) != UNKNOWN_PROVIDER
    if known or all(change.kind in _UNTOUCHED for change in proper(crossing)):
        return None
    return Made(unproven("the format is not known, so what the gateway rewrote in it may be no output"))


def of_silent_choices(crossing: Crossing) -> Made | None:
    """Only ends of choices changed places, and of one that said nothing no digest tells that it was not its turn."""
    changes, leg = proper(crossing), crossing.leg
    moved = bool(changes) and all(change.kind == "reorder" for change in changes)
    only = moved and silent_choices(leg) and all(only_finishes(leg, change.span) for change in changes)
    return Made(unproven(OTHER_ENDS)) if only else None


RULES: Final[tuple[Rule, ...]] = (
    without_digests,
    same_content,
    ended_in_passing,
    no_difference,
    of_something_else,
    broke_an_event,
    went_on_behind_the_end,
    under_another_name,
    in_other_fields,
    read_by_lines,
    not_all_read,
    written_otherwise,
    only_envelope,
    in_other_turns,
    of_silent_choices,
    without_slots,
    filtered,
    rewritten,
    merged,
    unknown_format,
    cut_otherwise,
)
"""In this order: the first that answers decides."""


def judge_leg(crossing: Crossing) -> Made:
    """What a gateway made of the upstream response that feeds its answer, but for what it may have put right."""
    made = _by_the_rules(crossing)
    return replace(made, hop=unless_mended(made.hop, crossing.leg, crossing.egress))


def _by_the_rules(crossing: Crossing) -> Made:
    for rule in RULES:
        if (made := rule(crossing)) is not None:
            return with_its_finish(made, crossing)
    return Made(replace(crossing.hop, changes=proper(crossing)))


def with_its_finish(made: Made, crossing: Crossing) -> Made:
    """The same, and whether the answer ended for another reason than was read: a fault where nothing else differs."""
    if made.hop.status != "intact":
        return made
    changed = None if edits_of(crossing) else changed_finish(crossing)
    if changed is not None and changed.status == "faulty":
        return Made(changed)
    return replace(made, hop=changed or made.hop, other_finish=other_finish(crossing.leg, crossing.egress))
