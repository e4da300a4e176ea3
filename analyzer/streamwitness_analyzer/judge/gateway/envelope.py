"""What a gateway puts around an answer: finishes, terminators and errors; which of them it may make up or leave out.

A terminator or finish is invented where no upstream answer was complete, the gateway had not chosen to stop, and the
answer does not say itself that it failed. An error is swallowed where the answer that it ended goes out as if it were
whole (docs/design.md §7.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from streamwitness.semconv import ERROR, FINISH, FINISH_REASONS_ATTRIBUTE, FRAMING, PROVIDER_NAME, TERMINAL
from streamwitness_analyzer.judge.compare.change import LOSSES, Change, Hop, Proof, Reason, Side
from streamwitness_analyzer.judge.testimony.finishes import failed_openly, finishes, tells_error
from streamwitness_analyzer.judge.testimony.parts import (
    last_with,
    left,
    may_go_on_behind_terminal,
    pending,
    positions_with,
    positions_with_result,
    sizes_of,
    stopped_within_an_event,
)
from streamwitness_analyzer.judge.testimony.records import Record

from .behind import behind_the_end
from .crossing import Crossing

_TERMINATOR_BYTES: Final = 16
"""Size of `data: [DONE]` with its line end, and a little."""
_CLOSING_BYTES: Final = 32
"""What a gateway may add where it closes an event that its upstream left open: line ends, an event's name."""
_PROOF: Final = Proof("envelope")
_SHORT: Final = frozenset(("length", "content_filter", "error"))
"""Finishes that say themselves that the answer is not whole."""
_OF_CALLS: Final = frozenset(("stop", "tool_calls"))
"""Two words for the end of a call, one of which some providers have only."""
_KNOWN: Final = frozenset(("error", "other"))
"""Words that a finish may be put into, or taken from, by who knows better."""
BEHIND_AN_ERROR: Final = "the upstream may have finished behind its error, and the gateway left that out"
OTHER_WORD: Final = "why the answer ended is told by another word of the same format, which may be right or wrong"
OTHER_FINISH: Final = "it is told otherwise why the answer ended, and lost rows hide whether all of it was written anew"


# --------------------------------------------------------------------------- finishes


def proper(crossing: Crossing) -> tuple[Change, ...]:
    """The changes of the hop that are no mere envelope; what came more is a bound where a finish may be a copy."""
    changes = crossing.hop.changes
    kept = tuple(change for change in changes if not is_envelope(change, crossing))
    hidden = any(change.kind == "extra" and change not in kept for change in changes)
    return tuple(replace(c, exact=c.exact and c.kind != "duplicate") for c in kept) if hidden else kept


def is_envelope(change: Change, crossing: Crossing) -> bool:
    """Whether a change is of a finish alone, and one that the gateway may leave out or make up."""
    if not change.values or any(crossing.content_of(value) != 0 for value, _ in change.values):
        return False
    if change.kind in LOSSES:
        return failed_openly(crossing.leg, crossing.egress) or _finished_in_other_words(crossing)
    return change.kind in ("fabricated", "extra") and _may_make_up(crossing.leg, crossing.egress)


def _finished_in_other_words(crossing: Crossing) -> bool:
    """Whether a finish of the gateway's own stands in the place of the leg's: formats have other words for it."""
    verbatim = crossing.verbatim
    anew = any(row.parts & FINISH for row in verbatim.new) and not verbatim.mostly
    return anew and finishes(crossing.egress) >= finishes(crossing.leg)


def _may_make_up(leg: Record, egress: Record) -> bool:
    """Whether a finish of the gateway's own invents nothing: its leg was complete, it chose to stop, or it says so."""
    told = egress.told(FINISH_REASONS_ATTRIBUTE)
    honest = isinstance(told, (list, tuple)) and set(told) <= {"error"}
    return leg.complete or chose_to_stop(leg) or honest


def chose_to_stop(leg: Record) -> bool:
    """Whether the gateway let go of its upstream with intent; one whose time was up had nothing to finish.

    Nor had one that stopped at an error.
    """
    return leg.own_end and leg.end != "timeout" and not leg.part("error")


def left_out(leg: Record, egress: Record) -> str:
    """Why an answer is not proven to be whole whose gateway let go with more read than sent; "" where it had no more.

    Asked where what was sent is known to be what was read.
    """
    own = chose_to_stop(leg) and egress.end not in (None, "disconnected")
    return Reason.LEFT_OUT if own and leg.total("content") > egress.total("content") else ""


def own_word(leg: Record, egress: Record) -> str:
    """Why it is not, where the gateway let go before any finish, and the one that it sent hides that; "" else.

    A limit or a filter of its own tells by its word that the answer is short.
    """
    own = chose_to_stop(leg) and not leg.complete and egress.part("finish")
    told = egress.told(FINISH_REASONS_ATTRIBUTE)
    honest = isinstance(told, (list, tuple)) and bool(told) and set(told) <= _SHORT
    return Reason.OWN_WORD if own and not honest else ""


def not_to_the_end(leg: Record, egress: Record) -> str:
    """Why it is not, where the upstream finished behind an error, or may have, and that was left out; "" else."""
    if not (leg.part("error") and finishes(leg) > finishes(egress)):
        return ""
    finish, error = last_with(leg, FINISH), last_with(leg, ERROR)
    told = leg.every_row and finish is not None and error is not None and finish < error
    return "" if told else BEHIND_AN_ERROR


def lost_finish(leg: Record, egress: Record) -> Hop | None:
    """The fault, where choices finished that did not at gateway out. Asked only where all was due there."""
    lost = finishes(leg) - finishes(egress)
    if lost <= 0 or failed_openly(leg, egress):
        return None
    return Hop("faulty", (_of_finishes("gap", lost, "before", leg),))


def made_up_finish(leg: Record, egress: Record) -> Hop | None:
    """The fault, where an answer of the same content finished and its upstream did not."""
    have = finishes(egress)
    if not have or finishes(leg) or _may_finish(leg, egress):
        return None
    return Hop("faulty", (_of_finishes("fabricated", have, "after", egress),))


def _may_finish(leg: Record, egress: Record) -> bool:
    """Whether the gateway may finish of its own accord, or tells by its terminator that it made it up.

    An event that cannot be read here may have been the finish, to one that reads it.
    """
    told = bool(egress.part("error")) or tells_error(egress)
    unread_end = stopped_within_an_event(leg) or bool(leg.total("malformed"))
    return leg.complete or told or unread_end or egress.part("terminal") > leg.part("terminal")


def other_finish(leg: Record, egress: Record) -> tuple[str, str] | None:
    """Why the answer ended, as it was read and as it was sent, in the canonical words; None where these are not two."""
    had, has = (record.told(FINISH_REASONS_ATTRIBUTE) for record in (leg, egress))
    if not (isinstance(had, (list, tuple)) and isinstance(has, (list, tuple)) and leg.part("finish")):
        return None
    if not had or len(had) != len(has) or sorted(had) == sorted(has) or not egress.part("finish"):
        return None
    return ", ".join(map(str, had)), ", ".join(map(str, has))


def changed_finish(crossing: Crossing) -> Hop | None:
    """The fault, where all is as it was written but a finish, which says something else; unproven where rows are lost.

    Who writes an answer anew has other words for it; so has who knows better, of calls or of a failure.
    """
    told, verbatim = other_finish(crossing.leg, crossing.egress), crossing.verbatim
    if told is None or set(told) == _OF_CALLS or not _KNOWN.isdisjoint(told) or not crossing.peer:
        return None
    if not (verbatim.held or another_format(crossing.leg, crossing.egress)):
        return Hop("unproven", prefix=crossing.hop.prefix, reason=OTHER_FINISH)
    odd = (*verbatim.new, *verbatim.gone)
    if not odd or not verbatim.mostly or any(row.content or not row.parts & FINISH for row in odd):
        return None
    change = _of_finishes("altered", len(verbatim.new), "before", crossing.leg)
    return Hop("faulty", (change,), prefix=crossing.hop.prefix)


def another_format(leg: Record, egress: Record) -> bool:
    """Whether the answer is known to be written anew, in the format of another provider."""
    return leg.told(PROVIDER_NAME) != egress.told(PROVIDER_NAME)


def _of_finishes(kind: str, count: int, side: Side, record: Record) -> Change:
    places = positions_with(record, FINISH)
    last = max(0, record.events - 1)
    span = (places[0], places[-1]) if places else (0, last)
    return Change(kind, count, len(places) == 1, side, span, span, len(places) == 1, proof=_PROOF)


# --------------------------------------------------------------------------- terminators, errors, broken events


def uncounted(legs: Sequence[Record], leg: Record, egress: Record, *, told: Hop) -> tuple[Change, ...]:
    """Findings in what is not counted among judged events. `told`: what comparing these has told already."""
    broken = any(change.kind == "malformed" for change in told.changes)
    late = any(change.late for change in told.changes)
    of_events = [] if broken else broken_events(legs, egress)
    behind = [] if late else behind_the_end(legs, leg, egress)
    return (*of_events, *behind, *invented_terminal(legs, egress), *swallowed_error(legs, leg, egress))


def invented_terminal(legs: Sequence[Record], egress: Record) -> list[Change]:
    """A terminator without a complete upstream answer: it hides that one broke off."""
    more = egress.part("terminal") - sum(leg.part("terminal") + _half_terminal(leg) for leg in legs)
    if more <= 0 or any(leg.complete or chose_to_stop(leg) or leg.total("malformed") for leg in legs):
        return []
    if egress.part("error") or tells_error(egress):  # it ends an answer that says itself that it failed
        return []
    places = positions_with(egress, TERMINAL)
    last = max(0, egress.events - 1)
    span = (places[-more], places[-1]) if len(places) >= more else (last, last)
    note = "terminator without a complete upstream answer"
    return [Change("fabricated", more, True, "after", span, span, len(places) == more, note=note, proof=_PROOF)]


def _half_terminal(leg: Record) -> bool:
    """Whether a terminator may be what the leg ended within: one that is there whole, or something as short as one."""
    return 0 < pending(leg) <= _TERMINATOR_BYTES or bool(left(leg) & TERMINAL)


def swallowed_error(legs: Sequence[Record], leg: Record, egress: Record) -> list[Change]:
    """An error of the leg that feeds the answer, and an answer that ends as if there had been none.

    A gateway that asked again swallowed nothing, though it was given nothing: what it sent is what it had.
    """
    if not leg.part("error") or egress.part("error") or egress.end != "eof" or tells_error(egress):
        return []
    if leg.complete or may_go_on_behind_terminal(leg) or _asked_again(legs, leg):
        return []
    places = positions_with(leg, 0, error=True)
    last = max(0, leg.events - 1)
    span = (places[0], places[-1]) if places else (last, last)
    note, count = "an error was swallowed", leg.part("error")
    return [Change("gap", count, True, "before", span, span, bool(places), note=note, proof=_PROOF, error=True)]


def _asked_again(legs: Sequence[Record], leg: Record) -> bool:
    """Whether a later response brought no content and no error: a fallback that had nothing to add."""
    later = legs[legs.index(leg) + 1 :]
    return any(not (other.total("content") or other.part("error")) for other in later)


def broken_events(legs: Sequence[Record], egress: Record) -> list[Change]:
    """Events that nobody can read came out, and all that was read upstream could be."""
    if any(leg.total("malformed") for leg in legs) or not egress.total("malformed"):
        return []
    places = positions_with_result(egress, "malformed")
    if any(stopped_within_an_event(leg) for leg in legs):  # what was left may have been closed as it was
        longest = max(pending(leg) for leg in legs) + _CLOSING_BYTES
        sizes = sizes_of(egress)
        places = [p for p in places if sizes.get(p, 0) > longest] if _framed_alike(legs, egress) else []
    if not places:  # too long to be read here, which proves nothing
        return []
    span = (places[0], places[-1])
    placed = len(places) == span[1] - span[0] + 1
    note = "it cannot be decoded"
    return [Change("malformed", len(places), egress.every_row, "after", span, span, placed, note=note)]


def _framed_alike(legs: Sequence[Record], egress: Record) -> bool:
    """Whether sizes on both sides of the gateway can be compared."""
    return {leg.told(FRAMING) for leg in legs} == {egress.told(FRAMING)} != {None}
