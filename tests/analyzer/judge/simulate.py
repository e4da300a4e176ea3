"""Random streams, faults and lost blocks with the truth kept beside them: what the simulation test is made of.

By hand, much larger than in the tests:  python -m tests.analyzer.judge.simulate 200000 [first seed]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from bench.truth.model import words
from streamwitness.blocks import Block
from streamwitness.semconv import ERROR, RESULT, TERMINAL
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge.build import (
    DELIVERED_BY_SDK,
    LEG,
    Event,
    How,
    answer,
    handed_on,
    path,
    random_cuts,
    recorder_id,
    summary,
    used,
)

_LOSSES: Final = ("gap", "tail")
_SURPLUS: Final = ("duplicate", "fabricated", "extra")

FAULTS: Final = ("drop", "burst", "duplicate", "invent", "move", "swap", "alter", "tail")


def damage(rng: Random, events: Sequence[Event], count: int) -> list[Event]:
    """Apply `count` random faults to a copy of the events."""
    out = list(events)
    for _ in range(count):
        if not out:
            break
        _FAULT[rng.choice(FAULTS)](rng, out)
    return out


def _drop(rng: Random, out: list[Event]) -> None:
    del out[rng.randrange(len(out))]


def _burst(rng: Random, out: list[Event]) -> None:
    at = rng.randrange(len(out))
    del out[at : at + rng.randint(2, 6)]


def _duplicate(rng: Random, out: list[Event]) -> None:
    at = rng.randrange(len(out))
    out.insert(min(len(out), at + rng.randint(1, 4)), out[at])


def _invent(rng: Random, out: list[Event]) -> None:
    out.insert(rng.randint(0, len(out)), Event(500_000 + rng.randrange(1000)))


def _move(rng: Random, out: list[Event]) -> None:
    event = out.pop(rng.randrange(len(out)))
    out.insert(rng.randint(0, len(out)), event)


def _swap(rng: Random, out: list[Event]) -> None:
    if len(out) > 1:
        i = rng.randrange(len(out) - 1)
        out[i], out[i + 1] = out[i + 1], out[i]


def _alter(rng: Random, out: list[Event]) -> None:
    out[rng.randrange(len(out))] = Event(700_000 + rng.randrange(1000))


def _tail(rng: Random, out: list[Event]) -> None:
    del out[rng.randrange(len(out)) :]


_FAULT = {
    "drop": _drop, "burst": _burst, "duplicate": _duplicate, "invent": _invent, "move": _move, "swap": _swap,
    "alter": _alter, "tail": _tail,
}  # fmt: skip


def lose(rng: Random, blocks: Sequence[Block]) -> list[Block]:
    """Lose up to 30 % of the blocks, singly or in bursts; sometimes a closing block's summary survives it."""
    share = rng.choice((0.0, 0.0, 0.1, 0.3))
    burst = rng.random() < 0.4
    out: list[Block] = []
    left = 0
    for block in blocks:
        if left:
            left -= 1
            lost = True
        else:
            lost = rng.random() < share / (3 if burst else 1)
            left = rng.randint(1, 4) if lost and burst else 0
        if not lost:
            out.append(block)
        if block.final and rng.random() > share:
            out.append(summary(block))
    rng.shuffle(out)
    return out


@dataclass
class Truth:
    """What really happened on a path: per hop, what each side really had (judged or all, as the hop compares)."""

    blocks: list[Block]
    guilty: set[str]
    sides: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)
    place: int | None = None
    """Where the only fault struck, if it was a single event that was dropped: no place that is called certain, and no
    range of a count that is exact, may leave it out."""

    def short(self, component: str) -> Counter[int]:
        """Digests of which the component handed on fewer than it got."""
        before, after = self.sides[component]
        return Counter(before) - Counter(after)

    def surplus(self, component: str) -> Counter[int]:
        """Digests of which it handed on more."""
        before, after = self.sides[component]
        return Counter(after) - Counter(before)


def judged(events: Sequence[Event]) -> list[int]:
    """Semantic digests in order."""
    return [event.semantic for event in events if event.judged]


def payloads(events: Sequence[Event]) -> list[int]:
    """Payload digests in order."""
    return [event.digest for event in events]


def hop(rng: Random) -> Truth:
    """One hop, gateway out → client received, by payload."""
    sent = answer(words(rng, rng.randint(0, 80)))
    faults = rng.choice((0, 0, 1, 1, 1, 2, 3, 4, 5, 6))
    place = rng.randrange(len(sent)) if faults == 1 and rng.random() < 0.5 else None
    got = damage(rng, sent, faults) if place is None else [*sent[:place], *sent[place + 1 :]]
    end = rng.choice(("eof", "eof", "eof", "reset", "cancelled", "timeout", "unknown", "stopped_at_terminal"))
    own = end in ("cancelled", "timeout", "unknown")
    full = list(got)
    if own and got:
        got = got[: rng.randint(0, len(got))]
    wide = rng.random() < 0.3
    size = (1, 3) if wide else (2, 16)
    blocks = lose(rng, How("egress", legs=()).blocks(sent, random_cuts(rng, len(sent), *size)))
    blocks += lose(rng, How("wire", end=end, expected=("egress",)).blocks(got, random_cuts(rng, len(got), *size)))
    rng.shuffle(blocks)
    guilty = {"transport"} if full != sent else set()
    return Truth(blocks, guilty, {"transport": (payloads(sent), payloads(got))}, place)


def attempts(rng: Random) -> Truth:
    """A gateway that read one to three upstream answers, of which the last or none feeds its own."""
    answers = [answer(words(rng, rng.randint(0, 30))) for _ in range(rng.randint(1, 3))]
    for i in range(len(answers) - 1):
        answers[i] = answers[i][: rng.randint(0, len(answers[i]))]
    elsewhere = rng.random() < 0.2
    right = answer(words(rng, rng.randint(1, 30), 200_000)) if elsewhere else list(answers[-1])
    if len(answers) > 1 and not elsewhere and rng.random() < 0.3:
        right = [*answers[0], *right]
    sent = damage(rng, right, rng.choice((0, 0, 1, 2)))
    for i in range(len(answers) - (not elsewhere)):  # an attempt that feeds nothing may have failed loudly
        answers[i] += [Event(parts=ERROR)] if rng.random() < 0.3 else []
    legs = tuple(recorder_id("ingress", i, "a") for i in range(len(answers)))
    end = rng.choice(("eof", "eof", "disconnected", "raised"))
    blocks: list[Block] = []
    for i, events in enumerate(answers):
        how = How("ingress", leg=i, end=rng.choice(("eof", "reset", "cancelled")) if i < len(answers) - 1 else "eof")
        blocks += lose(rng, how.blocks(events, random_cuts(rng, len(events))))
    how = How("egress", legs=legs, end=end, expected=("ingress",))
    blocks += lose(rng, how.blocks(sent, random_cuts(rng, len(sent))))
    rng.shuffle(blocks)
    guilty = {"gateway"} if sent != right else set()
    return Truth(blocks, guilty)


def whole(rng: Random) -> Truth:
    """A path ingress → … → applied with faults in random components and lost blocks at every point."""
    start = answer(words(rng, rng.randint(0, 50)))
    guilty_ones = [c for c in ("gateway", "transport", "parser", "reducer") if rng.random() < 0.3]
    faults = {c: rng.randint(1, 2) for c in guilty_ones}
    stop = rng.random() < 0.2
    egress = damage(rng, start, faults.get("gateway", 0))
    wire = damage(rng, egress, faults.get("transport", 0))
    wire_now = wire[: rng.randint(0, len(wire))] if stop else wire
    parsed = damage(rng, handed_on(wire_now), faults.get("parser", 0))
    parsed_now = parsed[: rng.randint(0, len(parsed))] if stop else parsed
    parsed_now = [replace(e, parts=e.parts & ~TERMINAL) if e.parts & TERMINAL else e for e in parsed_now]
    applied = reduce_wrongly(rng, used(parsed_now), faults.get("reducer", 0))
    applied_now = applied[: rng.randint(0, len(applied))] if stop else applied
    end = rng.choice(("cancelled", "timeout")) if stop else rng.choice(("eof", "stopped_at_terminal"))
    low = rng.choice((2, 6))
    made = path(
        start, egress, wire_now, parsed_now, applied_now,
        cuts=lambda n: random_cuts(rng, n, low, 16),
        egress=How("egress", legs=(LEG,), end="disconnected" if stop and rng.random() < 0.5 else "eof"),
        wire=How("wire", end=end if stop or (wire_now[-1:] and wire_now[-1].parts & TERMINAL) else "eof"),
        parsed=How("parsed", end=end, delivers=DELIVERED_BY_SDK),
        applied=How("applied", end=end, of="parsed"),
    )  # fmt: skip
    by_point: dict[str, list[Block]] = {}
    for block in made:
        by_point.setdefault(block.point, []).append(block)
    drop_point = rng.choice(("wire", "parsed", "egress")) if rng.random() < 0.1 else ""
    blocks = [b for point, group in by_point.items() if point != drop_point for b in lose(rng, group)]
    rng.shuffle(blocks)
    sides = {
        "gateway": (judged(start), judged(egress)),
        "transport": (payloads(egress), payloads(wire_now)),
        "parser": (judged(wire_now), judged(parsed_now)),
    }
    pairs = {
        "gateway": sides["gateway"],
        "transport": (egress, wire),
        "parser": (handed_on(wire_now), parsed),
        "reducer": (used(parsed_now), applied),
    }
    guilty = {component for component, (before, after) in pairs.items() if before != after}
    sides["reducer"] = (_told(used(parsed_now)), _told(applied_now))
    return Truth(blocks, guilty, sides)


def _told(applied: Sequence[Event]) -> list[int]:
    """What the rows at applied say of events with content."""
    return [event.of * 16 + RESULT[event.result] for event in applied if event.content]


def reduce_wrongly(rng: Random, rows: list[Event], count: int) -> list[Event]:
    """What a faulty reducer reports: raised, dropped, twice, out of order."""
    out = list(rows)
    for _ in range(count):
        if not out:
            break
        i = rng.randrange(len(out))
        fault = rng.choice(("raised", "drop", "twice", "swap"))
        alone = sum(event.of == out[i].of for event in out) == 1  # raised, then applied, is applied in the end
        if fault == "raised" and alone:
            out[i] = replace(out[i], result="raised")
        elif fault == "drop":
            del out[i]
        elif fault == "twice":
            out.insert(i + 1, out[i])
        elif i + 1 < len(out):
            out[i], out[i + 1] = out[i + 1], out[i]
    return out


def wrong(truth: Truth, verdict: dict[str, Any]) -> list[str]:
    """What the verdict says against the truth."""
    out: list[str] = []
    for finding in verdict["findings"]:
        suspects = set(finding["suspects"])
        if finding["confidence"] == "certain" and not suspects <= truth.guilty:
            out.append(f"accuses {suspects}, guilty are {truth.guilty}: {finding}")
        if finding["confidence"] == "narrowed" and not suspects & truth.guilty:
            out.append(f"suspects only innocents {suspects}, guilty are {truth.guilty}: {finding}")
    for component in ("gateway", "transport", "parser"):
        if component not in truth.sides:
            continue
        out += _wrong_counts(truth, component, [f for f in verdict["findings"] if f["suspects"] == [component]])
    if truth.place is not None:
        out += [f"lost {truth.place}, told {f}" for f in verdict["findings"] if not _covers(f, truth.place)]
    if not truth.guilty and verdict["integrity"] == "damaged":
        out.append("a healthy stream is called damaged")
    if truth.guilty and verdict["integrity"] == "intact" and not _cancels_out(truth):
        out.append(f"a stream that {truth.guilty} broke is called intact")
    return out


def _covers(finding: dict[str, Any], place: int) -> bool:
    """Whether the range holds the place, or the finding says that it may not."""
    low, high = finding["sequence"]
    return low <= place <= high or (finding["about"] and not finding["exact"])


def _wrong_counts(truth: Truth, component: str, findings: list[dict[str, Any]]) -> list[str]:
    """Exact counts must be those of the multisets, bounds must be no more.

    That some content differs, cut otherwise and partly lost, says nothing of how many events were.
    """
    out = []
    replaced = sum(f["count"] for f in findings if f["kind"] in ("altered", "corrupt") and f["exact"])
    pairs = ((_LOSSES, truth.short(component).total()), (_SURPLUS, truth.surplus(component).total()))
    for kinds, real in pairs:
        told = [f for f in findings if f["kind"] in kinds]
        total = sum(f["count"] for f in told) + replaced
        if total > real:
            out.append(f"{component}: {total} told, {real} real: {told}")
        if told and all(f["exact"] for f in told) and total != real:
            out.append(f"{component}: exactly {total} told, {real} real: {told}")
    return out


def _cancels_out(truth: Truth) -> bool:
    """Faults that changed nothing between the points that compare (equal events swapped, a role event lost)."""
    return all(before == after or before[: len(after)] == after for before, after in truth.sides.values())


KINDS: Final[dict[str, Callable[[Random], Truth]]] = {"hop": hop, "path": whole, "attempts": attempts}


def failure(kind: str, seed: str) -> list[str]:
    """Simulate, judge, and say what is wrong; empty where all is right."""
    truth = KINDS[kind](Random(f"{kind} {seed}"))
    return wrong(truth, judge(truth.blocks, settled=True))


def main(count: int, first: int) -> int:
    """Run `count` hops and a quarter as many paths and gateways; print what is wrong; how many were."""
    failed = 0
    for kind, times in (("hop", count), ("path", count // 4), ("attempts", count // 4)):
        for i in range(first, first + times):
            if found := failure(kind, str(i)):
                failed += 1
                sys.stdout.write(f"{kind} {i}: {found}\n")
    sys.stdout.write(f"{failed} wrong\n")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0) else 0)
