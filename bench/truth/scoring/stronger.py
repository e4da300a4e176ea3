"""Does a verdict on fewer records claim what the one on all of them does not? That asks for no label.

Lost records make a verdict weaker at most: whoever is accused was a suspect with everything there, nothing is called
intact or cleared that was damaged, nor damaged what was not, and an ending has the maker that it had, or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

from bench.truth.labels import Trial
from streamwitness.semconv import CLIENT_POINTS, COMPONENT_BEFORE, POINTS, Component
from streamwitness_analyzer.vocabulary import HARMLESS

_Verdict = Mapping[str, Any]
_BY_NUMBERS: Final = "numbers alone"
"""Note of a stream in which equal events are in disorder, which rows alone can show, whoever looks at it."""
_COULD_COME_AGAIN: Final = frozenset(("gap", "tail", "gap_or_late"))
_CUT: Final = ("gateway_truncated", "gateway")
_WAITED: Final = ("client_timeout", "client")
"""What a stall is told as where nobody tells where progress stopped: its client waited no longer, which it says."""


def stronger(trial: Trial, weak: _Verdict, whole: _Verdict) -> Iterator[str]:
    """What a verdict on fewer records claims and that on all of them does not, a sentence each."""
    heard = _exchanges(weak) >= {block.exchange for block in trial.blocks}
    yield from _accused(weak, whole, heard=heard)
    if not _nothing_left_of_somebody(trial, weak):
        yield from _cleared(trial, weak, whole)
    if heard:
        yield from _ended(trial, weak, whole)


def _accused(weak: _Verdict, whole: _Verdict, *, heard: bool) -> Iterator[str]:
    """A certain suspect is one of the whole verdict's, too, and among several there is one of them.

    What the network lost of one exchange may have come again by another. The finding may stand where the stream is
    unproven, or where of that other exchange no record is left (not `heard`), so that nobody knows that there was one.
    """
    named = _suspects(whole)
    for finding in weak["findings"]:
        suspects, certain = set(finding["suspects"]), finding["confidence"] == "certain"
        if not suspects or (suspects <= named if certain else suspects & named):
            continue
        on_the_way = finding["kind"] in _COULD_COME_AGAIN and "transport" in suspects
        if on_the_way and _came_again(whole) and (weak["integrity"] == "unproven" or not heard):
            continue
        who, then = ", ".join(sorted(suspects)), ", ".join(sorted(named)) or "nobody"
        yield f"{finding['confidence']}: {finding['kind']} by {who}; with all records: {then}"


def _suspects(whole: _Verdict) -> Set[Component]:
    """Who is suspected of anything, or may be: where two records contradict each other, one of them may be lost."""
    named = {component for finding in whole["findings"] for component in finding["suspects"]}
    for finding in whole["findings"]:
        if finding["confidence"] == "inconsistent":
            first, last = map(POINTS.index, finding["between"])
            named |= {COMPONENT_BEFORE[point] for point in POINTS[first + 1 : last + 1]}
    return named


def _came_again(whole: _Verdict) -> bool:
    """Whether something that the network lost came by a later exchange, so that nobody lacks it."""
    return any(note["kind"] == "recovered" for note in whole["notes"])


def _cleared(trial: Trial, weak: _Verdict, whole: _Verdict) -> Iterator[str]:
    """Nothing is called intact or damaged that is not, and nobody cleared who is proven to have done damage."""
    if _BY_NUMBERS in trial.notes:
        return
    if weak["integrity"] == "intact" != whole["integrity"]:
        yield f"intact; with all records: {whole['integrity']}"
    if weak["integrity"] == "damaged" != whole["integrity"] and not _contradicted(whole):
        yield f"damaged; with all records: {whole['integrity']}"
    damage = [f for f in whole["findings"] if f["confidence"] == "certain" and f["kind"] not in HARMLESS]
    guilty = {component for finding in damage for component in finding["suspects"]}
    if false := guilty & set(weak["why"]["cleared"]):
        yield f"cleared: {', '.join(sorted(false))}; with all records: certain"


def _contradicted(whole: _Verdict) -> bool:
    """Whether all records together contradict each other, for which they accuse nobody: it is damage all the same.

    Two faults that undo each other look so. Who holds fewer records may see one of them alone, and tells who did it.
    """
    return any(finding["confidence"] == "inconsistent" for finding in whole["findings"])


def _nothing_left_of_somebody(trial: Trial, weak: _Verdict) -> bool:
    """Whether of some process or exchange no record is left at all: of what nobody knows of, nothing is said.

    Nor of a second record that a client made of one of its points, which nobody announces.
    """
    held = Counter((p["exchange"], p["witness"], p["point"]) for p in weak["points"] if p["held"] != "none")
    made = Counter((b.exchange, b.witness, b.point) for b in {b.recorder: b for b in trial.blocks}.values())
    again = (of for of, count in made.items() if count > 1 and of[2] in CLIENT_POINTS)
    processes = {of[:2] for of in made} - {of[:2] for of in held}
    return bool(processes) or any(held[of] < made[of] for of in again)


def _exchanges(weak: _Verdict) -> Set[str]:
    return {point["exchange"] for point in weak["points"] if point["held"] != "none"}


def _ended(trial: Trial, weak: _Verdict, whole: _Verdict) -> Iterator[str]:
    """The maker of the end is the same, or nobody; or that of an end which a part of the path had come to before.

    Where several clients read at once, each had an end of its own, and which one is told hangs on what is held of each.
    """
    (told, by), (real, maker) = ((one["ending"]["class"], one["ending"]["by"]) for one in (weak, whole))
    if len(_clients(whole)) > 1 or (told, by) in trial.ended.before:
        return
    if by in (None, maker) or ((told, by) == _WAITED and real in ("stalled", "stalled_before_first")):
        return
    if (told, by, real) == ("completed", "source", "completed"):
        return  # which accuses nobody
    if (told, by) == _CUT and _accuses(whole, "gateway") and not _held(weak) & set(CLIENT_POINTS):
        return  # it did cut the answer, and of a client that had left before, no record is held
    if by == "source" and not _points(weak) >= _points(whole):
        return  # as far as anybody knows: of the points behind it no record is left, and none was announced
    yield f"ended by {by} ({told}); with all records: by {maker or 'nobody'} ({real})"


def _accuses(verdict: _Verdict, who: Component) -> bool:
    return any(f["confidence"] == "certain" and f["suspects"] == [who] for f in verdict["findings"])


def _held(verdict: _Verdict) -> Set[str]:
    return {point["point"] for point in verdict["points"] if point["held"] != "none"}


def _points(verdict: _Verdict) -> Set[str]:
    return {point["point"] for point in verdict["points"]}


def _clients(weak: _Verdict) -> Set[str]:
    """The processes that read the newest exchange, "" for one that was announced only."""
    newest = max((point["attempt"] for point in weak["points"]), default=0)
    here = [point for point in weak["points"] if point["attempt"] == newest and point["point"] in CLIENT_POINTS]
    return {point["witness"] for point in here if point["witness"]} or {point["witness"] for point in here}
