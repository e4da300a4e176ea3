"""Is the stream as it is called, and did who is said to have ended it do so?"""

from __future__ import annotations

from typing import Final

from bench.truth.labels import Passage, Trial

from .case import EXCUSED, Case
from .worth import Score

UNPROVABLE: Final = frozenset(("several answers", "recovered", "lying", "a process dies", "unprovable"))
"""Notes of streams of which the records cannot prove that they are in order."""
_REWRITTEN: Final = frozenset(("rewrites",))
_SILENT: Final = frozenset(("stalled", "stalled_before_first"))
_NOT_BY_THE_CLIENT: Final = _SILENT | {"network_lost"}
"""Endings that look, to a gateway alone, as if its client had gone."""


def ended(case: Case, out: Score) -> None:
    """What it is called, and how it ended; of an exchange that left no record nobody knows that it was."""
    out.integrity = case.verdict["integrity"]
    trial = case.trial
    if case.whole and not trial.deeds and not trial.notes & (UNPROVABLE | _REWRITTEN) and not _kept_some(trial):
        out.count("intact", out.integrity == "intact")
    if _every_exchange_left_something(case):
        _called(case, out)
        _maker(case, out)


def _kept_some(trial: Trial) -> bool:
    """Whether a gateway broke off by itself, and had read more than it sent: nothing says how much of it was due."""
    own = trial.ended.by == "gateway" or not trial.notes.isdisjoint(("gateway raises", "gateway is stopped"))
    return own and any(p.component == "gateway" and len(p.after) < len(p.before) for p in trial.passages)


def _every_exchange_left_something(case: Case) -> bool:
    held = {point["exchange"] for point in case.verdict["points"] if point["held"] != "none"}
    return held >= {block.exchange for block in case.trial.blocks}


def _called(case: Case, out: Score) -> None:
    """Not damaged where nothing shows, and not intact where damage shows between two points that were to testify."""
    if not case.guilty and out.integrity == "damaged":
        out.say("called", "nothing shows, and it is called damaged")
    here = {p.component for p in case.trial.passages if _shows(case, p)}
    clients = {p["witness"] for p in case.verdict["points"] if p["point"] in ("wire", "parsed", "applied")}
    if not clients:  # of a client without any record nobody knows
        here &= {"gateway"}
    unseen = "two tabs" in case.trial.notes and len(clients) < 2
    if here and out.integrity == "intact" and not unseen:
        out.say("called", f"{', '.join(sorted(here))} did damage that shows, and it is called intact")


def _shows(case: Case, passage: Passage) -> bool:
    """Between two points, and not excused; what differs in its numbers alone shows in rows only, and may be lost."""
    excused = [EXCUSED[note] for note in case.trial.notes & {"several answers", "recovered"}]
    if any(passage.component in one for one in excused):
        return False
    in_numbers = passage.component == "transport" and "numbers alone" in case.trial.notes
    return passage.visible and case.between_points(passage) and (case.whole or not in_numbers)


def _maker(case: Case, out: Score) -> None:
    """Who is said to have ended it did so, whatever was lost of the records."""
    real = case.trial.ended
    if not real.ending:
        return
    told, by = str(case.verdict["ending"]["class"]), case.verdict["ending"]["by"]
    ending = told if told in real.ending else min(real.ending)
    if real.seen:
        out.ending = (ending, told)
    if by not in (real.by, None) and (told, by) not in real.before and not _accuses_nobody(told, by, real.ending):
        out.say("maker", f"ended by {by} ({told}), really by {real.by} ({ending})")


def _accuses_nobody(told: str, by: str, real: frozenset[str]) -> bool:
    """That the source completed it accuses nobody; whether it did, its class tells.

    Nor is a client accused that waited no longer, which is so in every stall, or of which only the gateway tells that
    the connection to it ended.
    """
    return (
        (told == "completed" and by == "source")
        or (told == "client_timeout" and bool(real & _SILENT))
        or (told in ("client_gone", "client_vanished") and bool(real & _NOT_BY_THE_CLIENT))
    )
