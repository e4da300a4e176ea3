"""One verdict held against what really happened: found, narrowed, unknown or wrong, for each component.

A component is guilty where what came out of it is not what went in (a deed that changes nothing is invisible: nobody
can know it). What a finding claims must be true of the class of faults that look alike: a loss only where something is
missing, an order only where it differs, an exact count only if it is that one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from streamwitness.semconv import COMPONENTS, Component, Point

from .labels import ACTS, HARMLESS_ACTS, JOINING, SOURCE_EVIDENCE, Passage, Trial, ambiguous, known_to_feed, lost_run

LOST: Final = frozenset(("gap", "tail", "gap_or_late"))
ADDED: Final = frozenset(("duplicate", "fabricated", "extra"))
CHANGED: Final = frozenset(("altered", "corrupt", "malformed"))
OUTCOMES: Final = {
    "found": "guilty, and certainly named",
    "narrowed": "guilty, and among the suspects",
    "unknown": "guilty, and nobody was named",
    "unknowable": "guilty, and no record can tell",
    "beside": "guilty, and not between two points that testified and can be believed",
    "cleared": "innocent, and not named",
    "suspected": "innocent, and among several suspects of which one is guilty",
    "wrong": "innocent, and accused; or accused of what was not done",
}
"""What a verdict made of a component."""
_UNCOUNTED: Final = frozenset(("recut", "resumed", "a process dies"))
"""Notes of streams in which a number of events is none of what was lost.

Where the content was cut anew, an event is another one behind than before; what a later exchange brought is not told
to be lost in the earlier one; and of a process that died nobody knows how much it had sent.
"""
UNPROVABLE: Final = frozenset(("several answers", "recovered", "lying", "a process dies", "unprovable"))
"""Notes of streams of which the records cannot prove that they are in order."""
_EXCUSED: Final[dict[str, frozenset[Component]]] = {
    "several answers": frozenset(("gateway",)),
    "recovered": frozenset(("transport",)),
    "edited": frozenset(("gateway",)),
    "undone": frozenset(("gateway", "transport", "parser")),
    "unprovable": frozenset(COMPONENTS),
}
"""Notes of streams → whose fault no record tells from something else: an answer made of several upstream ones is the
gateway's, what another connection brought was lost on the way, an edit hides what else the gateway did, and what one
took back of the deed of another is no matter of the application's, which is held to by name."""
_COPIES_WITHIN: Final = 5
"""Places behind an event, or a run of them, in which the model puts the copy."""
_TIMES: Final = frozenset(("delayed", "upstream_kept_running"))
_AROUND: Final[dict[Component, tuple[Point, Point]]] = {
    "gateway": ("ingress", "egress"),
    "transport": ("egress", "wire"),
    "parser": ("wire", "parsed"),
    "reducer": ("parsed", "applied"),
}
"""Component → the two points around it."""


@dataclass(frozen=True)
class Difference:
    """What came out of a component, beside what went in: the class of all faults that make it so."""

    lost: int
    added: int
    moved: bool
    new: bool = False
    """Whether some of what came out more had never gone in."""
    copied: bool = False
    """Whether some had."""

    @classmethod
    def of(cls, passage: Passage) -> Difference:
        """As multisets, and whether what both have stands in one order."""
        before, after = Counter(passage.before), Counter(passage.after)
        before["0/terminal"] = after["0/terminal"] = 0  # comes and goes, and is compared apart
        both = before & after
        more = after - before
        return cls(
            (before - after).total(),
            more.total(),
            _kept(passage.before, both) != _kept(passage.after, both),
            any(not before[token] for token in more),
            any(before[token] for token in more),
        )

    def allows(self, kind: str, *, stopped: bool) -> bool:
        """Whether a finding of this kind is true of it. `stopped`: what is missing may only have come too late."""
        late = kind == "gap_or_late" and stopped and self.moved
        true = {
            **dict.fromkeys(LOST, self.lost > 0 or late),
            "extra": self.added > 0,
            "duplicate": self.copied,
            "fabricated": self.new,
            "reorder": self.moved,
        }
        return true.get(kind, True)

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of finding that it bears out by itself, whatever the deed was called."""
        changed = bool(self.lost and self.added)
        true = {
            LOST: bool(self.lost) or self.moved,
            ADDED: bool(self.added),
            CHANGED: changed,
            frozenset(("reorder",)): self.moved,
            frozenset(("mismatch",)): bool(self.lost or self.added or self.moved),
        }
        return frozenset().union(*(kinds for kinds, so in true.items() if so))


def _kept(tokens: Sequence[str], both: Counter[str]) -> list[str]:
    left = Counter(both)
    out = []
    for token in tokens:
        if left[token]:
            left[token] -= 1
            out.append(token)
    return out


@dataclass
class Score:
    """What one verdict was worth. `wrong` are sentences; there must be none."""

    outcomes: dict[Component, str] = field(default_factory=dict)
    """Component → one of `OUTCOMES`."""
    suspects: list[int] = field(default_factory=list)
    """Sizes of the suspect sets."""
    wrong: list[str] = field(default_factory=list)
    ending: tuple[str, str] | None = None
    """True and told ending; None where the true one cannot be known."""
    healthy: bool = False
    invisible: bool = False
    ambiguous: bool = False
    blamed: bool = False
    certain: tuple[int, int] = (0, 0)
    """Certain findings that are right, of all."""
    named: tuple[int, int] = (0, 0)
    """Suspect sets with a guilty one among them, of all."""
    placed: tuple[int, int] = (0, 0)
    """Lost runs told exactly where they stood, of those that have one place only."""
    sure: tuple[int, int] = (0, 0)
    """Places told that hold what was done, of those of which it must be so."""
    counted: tuple[int, int] = (0, 0)
    """Components whose findings all have exact counts, of those found with all records there."""
    exact: tuple[int, int] = (0, 0)
    """Findings of a loss or a surplus with an exact count, of all, whatever was lost of the records."""
    integrity: str = ""
    told: int = 0
    """How many events are told to be lost or too many."""
    intact: tuple[int, int] = (0, 0)
    """Whether a stream in order is called intact, where every point and all of its records are there."""
    confused: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(who did it, or nobody; who was named, `narrowed`, or nobody)."""


def guilty(trial: Trial) -> frozenset[Component]:
    """Whose work shows: what came out is not what went in, or the deed is of a sort that shows otherwise."""
    seen = {passage.component for passage in trial.passages if passage.visible}
    told = {
        d.component
        for d in trial.deeds
        if d.act in HARMLESS_ACTS or (d.component == "source" and d.act in SOURCE_EVIDENCE)
    }
    also = {
        d.component
        for d in trial.deeds
        if d.component != "source"
        and d.act in ("invent", "swallow", "malform", "misapply", "foreign", "late", "partial", "refuse")
    }
    return frozenset(seen | told | also)


def score(trial: Trial, verdict: Mapping[str, Any], *, whole: bool) -> Score:
    """Hold the verdict against the trial. `whole`: all that was recorded is held, so it must be complete, too."""
    out = Score()
    to_blame = guilty(trial)
    findings = verdict["findings"]
    out.healthy = not trial.deeds
    out.invisible = bool(trial.deeds) and not to_blame
    out.ambiguous = any(ambiguous(passage) for passage in trial.passages)
    out.blamed = any(f["suspects"] for f in findings)
    out.suspects = [len(f["suspects"]) for f in findings if f["suspects"]]
    for finding in findings:
        _check(finding, to_blame, out)
        if finding["confidence"] == "certain" and trial.doubtful & set(finding["between"]):
            out.wrong.append(f"certain by a record that nobody vouches for: {finding['kind']}")
    _told_otherwise(trial, findings, to_blame, out)
    for passage in trial.passages:
        out.outcomes[passage.component] = _outcome(trial, passage, findings, to_blame, out, whole=whole)
        _counted(trial, passage, findings, out, whole=whole)
    if "ingress" in trial.points:
        out.outcomes["source"] = _source(trial, findings, to_blame)
    _placed(trial, findings, out, whole=whole)
    _confused(findings, to_blame, out)
    out.integrity = verdict["integrity"]
    counted = [f for f in findings if f["kind"] in LOST | ADDED]
    out.told = sum(f["count"] for f in counted)
    out.exact = (sum(f["exact"] for f in counted), len(counted))
    if whole and not trial.deeds and not trial.notes & {*UNPROVABLE, "rewrites"} and not _kept_some(trial):
        out.intact = (verdict["integrity"] == "intact", 1)
    if _every_exchange_left_something(trial, verdict):
        _integrity(trial, verdict, to_blame, out, whole=whole)
        _ended(trial, verdict["ending"], out)
    return out


def _every_exchange_left_something(trial: Trial, verdict: Mapping[str, Any]) -> bool:
    """Whether some record of each exchange is held: of one that left none nobody knows that it was."""
    held = {point["exchange"] for point in verdict["points"] if point["held"] != "none"}
    return held >= {block.exchange for block in trial.blocks}


_NOT_BY_THE_CLIENT: Final = frozenset(("network_lost", "stalled", "stalled_before_first"))
"""Endings that look, to a gateway alone, as if its client had gone."""


def _ended(trial: Trial, ending: Mapping[str, Any], out: Score) -> None:
    """Who is said to have ended it did so, whatever was lost of the records.

    That the source completed it accuses nobody; whether it did, its class tells. Nor is a client accused that waited
    no longer, which is so in every stall, or of which only the gateway tells that the connection to it ended.
    """
    if not trial.ended.ending:
        return
    told, by = str(ending["class"]), ending["by"]
    out.ending = (told if told in trial.ended.ending else sorted(trial.ended.ending)[0], told)
    waited = told == "client_timeout" and trial.ended.ending & {"stalled", "stalled_before_first"}
    gone = told in ("client_gone", "client_vanished") and trial.ended.ending & _NOT_BY_THE_CLIENT
    if by in (trial.ended.by, None) or (told == "completed" and by == "source") or waited or gone:
        return
    out.wrong.append(f"ended by {by} ({told}), really by {trial.ended.by} ({out.ending[0]})")


def _told_otherwise(
    trial: Trial, findings: Sequence[Mapping[str, Any]], to_blame: frozenset[Component], out: Score
) -> None:
    """A finding is of a kind that a guilty one among its suspects did, by its deeds or by what came of them.

    A text as a whole is another one whatever was done to a piece of it, and so is an event of which it became a part.
    """
    joins = to_blame if trial.gateway in JOINING else frozenset()
    for finding in findings:
        guilty_ones = to_blame & set(finding["suspects"])
        true = _kinds(trial, guilty_ones)
        if finding["proof"]["case"] == "by_itself" and true & LOST:  # without its beginning a part is unreadable
            true |= {"malformed"}
        if "mismatch" in true and (finding["proof"]["case"] == "by_content" or "gateway" in guilty_ones <= joins):
            true |= {"altered"}
        if guilty_ones and finding["kind"] not in true:
            who = ", ".join(known(guilty_ones))
            out.wrong.append(f"{who} is said to have done {finding['kind']}; really {', '.join(sorted(true))}")


def _kinds(trial: Trial, who: frozenset[Component]) -> frozenset[str]:
    """All kinds that tell what these did: a loss by one and an addition by another may look like a change."""
    kinds = [ACTS[deed.act] for deed in trial.deeds if deed.component in who]
    kinds += [Difference.of(passage).kinds for passage in trial.passages if passage.component in who]
    if "fails closed" in trial.notes:  # what came wrong to an application that then takes nothing is lost to it
        kinds.append(LOST)
    every = frozenset[str]().union(*kinds)
    return every | CHANGED if every & LOST and every & ADDED else every


def _check(finding: Mapping[str, Any], to_blame: frozenset[Component], out: Score) -> None:
    suspects = frozenset(finding["suspects"])
    right = bool(suspects & to_blame)
    if finding["confidence"] == "certain":
        right = suspects <= to_blame
        out.certain = (out.certain[0] + right, out.certain[1] + 1)
    if suspects:
        out.named = (out.named[0] + bool(suspects & to_blame), out.named[1] + 1)
    if suspects and not right:
        out.wrong.append(f"{finding['confidence']}: blames {', '.join(sorted(suspects))}, guilty: "
                         f"{', '.join(sorted(to_blame)) or 'nobody'} ({finding['kind']})")  # fmt: skip


def _outcome(
    trial: Trial, passage: Passage, findings: Sequence[Mapping[str, Any]], to_blame: frozenset[Component], out: Score,
    *, whole: bool,
) -> str:  # fmt: skip
    who = passage.component
    sole = [f for f in findings if f["suspects"] == [who]]
    if who not in to_blame:
        return "wrong" if sole else "cleared" if not any(who in f["suspects"] for f in findings) else "suspected"
    if not passage.visible or not set(_AROUND[who]) <= trial.points - trial.doubtful:
        return "beside"
    difference = Difference.of(passage)
    false = [
        f["kind"]
        for f in sole
        if f["kind"] not in _TIMES and not difference.allows(f["kind"], stopped=passage.stopped or not whole)
    ]
    if false:
        out.wrong.append(f"{who} is said to have done {', '.join(false)}; really {difference}")
        return "wrong"
    if any(f["confidence"] == "certain" for f in sole):
        return "found"
    if named := [f for f in findings if who in f["suspects"]]:
        return "unknowable" if "one of two" in trial.notes or _may_have_put_right(trial, named) else "narrowed"
    return "unknown" if distinguishable(trial, passage) else "unknowable"


def _may_have_put_right(trial: Trial, named: Sequence[Mapping[str, Any]]) -> bool:
    """Whether only an application's order is told of, and no point before the client tells in which it was sent."""
    return trial.points.isdisjoint(("ingress", "egress")) and {f["kind"] for f in named} <= {"reorder"}


def _confused(findings: Sequence[Mapping[str, Any]], to_blame: frozenset[Component], out: Score) -> None:
    """Who did it beside who was named, for the matrix."""
    for component, outcome in out.outcomes.items():
        if outcome in ("found", "narrowed", "unknown"):
            out.confused[component, {"found": component, "unknown": "nobody"}.get(outcome, outcome)] += 1
    innocent = {f["suspects"][0] for f in findings if len(f["suspects"]) == 1} - to_blame
    for accused in innocent:
        out.confused[next(iter(known(to_blame)), "nobody"), accused] += 1
    if not to_blame and not innocent:
        out.confused["nobody", "narrowed" if out.blamed else "nobody"] += 1


def _kept_some(trial: Trial) -> bool:
    """Whether a gateway broke off by itself, and had read more than it sent: nothing says how much of it was due."""
    own = trial.ended.by == "gateway" or not trial.notes.isdisjoint(("gateway raises", "gateway is stopped"))
    return own and any(p.component == "gateway" and len(p.after) < len(p.before) for p in trial.passages)


def _source(trial: Trial, findings: Sequence[Mapping[str, Any]], to_blame: frozenset[Component]) -> str:
    """The source is known by what its own stream gives away only; a stop of its own is an ending, and no finding."""
    named = [f for f in findings if "source" in f["suspects"]]
    sole = [f for f in named if f["suspects"] == ["source"]]
    if "source" in to_blame:
        return "found" if sole else "narrowed" if named else "unknown"
    if sole:
        return "wrong"
    if any(deed.component == "source" for deed in trial.deeds):
        return "unknowable"
    return "suspected" if named else "cleared"


def distinguishable(trial: Trial, passage: Passage) -> bool:
    """Whether the records can tell this fault from something else.

    Not where an answer made of several upstream ones explains it, where nothing of the answer came out (it may be
    another one), where a side stopped so early that all that is missing may have been on its way, or where another
    component took back what this one did: a point that lacks what the points around it have contradicts them.
    """
    if any(passage.component in _EXCUSED.get(note, ()) for note in trial.notes):
        return False
    if passage.component == "gateway" and not known_to_feed(trial.gateway, trial.provider, passage):
        return False
    if passage.stopped and not _was_due(passage):
        return False
    return not any(_undone(passage, other) for other in trial.passages if other is not passage)


def _was_due(passage: Passage) -> bool:
    """Whether something is missing that its reader went past before it stopped: that cannot have been on its way."""
    return bool(passage.due) and bool(Counter(passage.before[: passage.due]) - Counter(passage.after))


def _undone(one: Passage, other: Passage) -> bool:
    """Whether something that one lost the other added, or both moved events."""
    lost, added = _net(one)
    lost_there, added_there = _net(other)
    moved = Difference.of(one).moved and Difference.of(other).moved
    return bool(lost & added_there or added & lost_there or moved)


def _net(passage: Passage) -> tuple[Counter[str], Counter[str]]:
    """What it lost and what it added, by what the events say."""
    before, after = (Counter(token.split(" ")[0] for token in side) for side in (passage.before, passage.after))
    return before - after, after - before


def _counted(trial: Trial, passage: Passage, findings: Sequence[Mapping[str, Any]], out: Score, *, whole: bool) -> None:
    """No count is above the real one, and an exact one is the real one."""
    if not set(_AROUND[passage.component]) <= trial.points or trial.notes & _UNCOUNTED:
        return
    told = [f for f in findings if f["suspects"] == [passage.component] and f["kind"] not in _TIMES]
    if passage.stopped:
        if whole:  # else what is told to be late may have come behind the last row that is held
            _bounded(trial, passage, told, out)
        return
    if any(f["proof"]["case"] in ("envelope", "by_rows") for f in told):
        return
    replaced = sum(f["count"] for f in told if f["kind"] in CHANGED)
    difference = Difference.of(passage)
    if whole and not difference.moved and (here := [f for f in told if f["kind"] in LOST | ADDED]):
        out.counted = (out.counted[0] + all(f["exact"] for f in here), out.counted[1] + 1)
    for kinds, real in ((LOST, difference.lost), (ADDED, difference.added)):
        here = [f for f in told if f["kind"] in kinds]
        count = sum(f["count"] for f in here) + replaced
        if here and count > real and not difference.moved:
            out.wrong.append(f"{passage.component}: {count} told, {real} real")
        complete = whole or passage.component != "reducer"  # of what is lost nothing is said, by name
        if here and complete and all(f["exact"] for f in here) and count != real and not difference.moved:
            out.wrong.append(f"{passage.component}: exactly {count} told, {real} real")


def _bounded(trial: Trial, passage: Passage, told: Sequence[Mapping[str, Any]], out: Score) -> None:
    """Of what had to come before its reader stopped, no more is told lost than is missing; what was moved came late."""
    if passage.due is None:
        return
    late = any(deed.act == "move" and deed.component == passage.component for deed in trial.deeds)
    missing = Counter(passage.before[: passage.due]) - Counter(passage.after)
    count = sum(f["count"] for f in told if f["kind"] in LOST and not (late and f["kind"] == "gap_or_late"))
    if count > missing.total():
        out.wrong.append(f"{passage.component}: {count} told, {missing.total()} were due and did not come")


def _placed(trial: Trial, findings: Sequence[Mapping[str, Any]], out: Score, *, whole: bool) -> None:
    """Where one run was lost and no other place explains it, no place that is told surely leaves it out.

    With all records there, it is told exactly.
    """
    for passage in trial.passages:
        _covered(trial, passage, findings, out, whole=whole)
        run = lost_run(passage) if passage.by_event else None
        told = [f for f in findings if f["suspects"] == [passage.component] and f["kind"] in LOST]
        if run is None or not told:
            continue
        reach = (min(f["sequence"][0] for f in told), max(f["sequence"][1] for f in told))
        sure = all(f["exact"] and not f["about"] for f in told)
        if sure and reach != run:
            out.wrong.append(f"lost {run[0]}-{run[1]}, told surely {reach[0]}-{reach[1]}")
        if whole:
            out.placed = (out.placed[0] + (reach == run), out.placed[1] + 1)


def _covered(trial: Trial, passage: Passage, findings: Sequence[Mapping[str, Any]], out: Score, *, whole: bool) -> None:
    """A place that is told surely is one where all was lost, and not something that looks like it elsewhere.

    A single deed is a shortest explanation, so with all rows there its place is within what is told, surely or not.
    """
    if passage.stopped or passage.lost is None or Difference.of(passage).moved:
        return
    if [token for at, token in enumerate(passage.before) if at not in passage.lost] != [*passage.after]:
        return  # of several deeds a shorter explanation is told
    told = [f for f in findings if f["suspects"] == [passage.component] and f["exact"]]
    for low, high in [f["sequence"] for f in told if f["kind"] in ("gap", "tail") and not f["about"]]:
        out.sure = (out.sure[0] + passage.lost.issuperset(range(low, high + 1)), out.sure[1] + 1)
    deeds = [deed for deed in trial.deeds if deed.component == passage.component]
    if not whole or len(deeds) != 1 or len(told) != 1 or deeds[0].act not in ("double", "drop", "cut"):
        return
    (low, high), at = told[0]["sequence"], deeds[0].at
    last = at[-1] + _COPIES_WITHIN if deeds[0].act == "double" else at[0]
    out.sure = (out.sure[0] + (low <= last and at[0] <= high), out.sure[1] + 1)


def _integrity(
    trial: Trial, verdict: Mapping[str, Any], to_blame: frozenset[Component], out: Score, *, whole: bool
) -> None:
    if not to_blame and verdict["integrity"] == "damaged":
        out.wrong.append("nothing shows, and it is called damaged")
    here = {p.component for p in trial.passages if p.visible and set(_AROUND[p.component]) <= trial.points}
    here -= {who for note in trial.notes & {"several answers", "recovered"} for who in _EXCUSED[note]}
    clients = {p["witness"] for p in verdict["points"] if p["point"] in ("wire", "parsed", "applied")}
    if not clients:  # of a client without any record nobody knows
        here &= {"gateway"}
    unseen = "two tabs" in trial.notes and len(clients) < 2
    if here and verdict["integrity"] == "intact" and not unseen:
        out.wrong.append(f"{', '.join(sorted(here))} did damage that shows, and it is called intact")


def known(components: frozenset[Component]) -> list[Component]:
    """In path order."""
    return [component for component in COMPONENTS if component in components]
