"""Each reducer, driven with what an input held, and what must hold of its outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, get_args

from streamwitness import reducers as r
from streamwitness.events import Frame, Reading
from streamwitness.reducers.lifecycle import Signal

Reduce = Callable[[str, Sequence[Frame], Sequence[Reading], Random], None]
_RESULTS: Final = frozenset(r.Result)


class Broken(Exception):
    """A reducer that does not keep its promise."""


def _answer(profile: str, frames: Sequence[Frame], readings: Sequence[Reading], random: Random) -> None:
    answer = r.Answer(profile)
    for frame in frames:
        outcome = answer.apply(frame.data)
        _expect(outcome.result in _RESULTS, "a result that is none")
    for slot in answer.slots:
        answer.slot(slot)
        _value(answer.value, slot)
        answer.tool(slot)
    _expect(answer.is_complete in (True, False, None), "completion is neither known nor unknown")
    _expect(all(answer.finishes.values()) and len(answer.usage) == 2, "a finish without a reason")


def _ordered(profile: str, frames: Sequence[Frame], readings: Sequence[Reading], random: Random) -> None:
    applied: list[int] = []
    ordered: r.Ordered[int] = r.Ordered(applied.append, duplicates=random.choice(("suppress", "reject")))
    for number in _disturbed(len(frames), random):
        before = list(applied)
        outcome = ordered.offer(number, sequence=number, final=number == len(frames) - 1)
        _expect(applied == before + [number] * outcome.is_applied, "refused, and yet applied")
    _expect(applied == list(range(len(applied))), "applied out of order")


def _reorder(profile: str, frames: Sequence[Frame], readings: Sequence[Reading], random: Random) -> None:
    reorder: r.Reorder[int] = r.Reorder(max_pending=3, max_wait=10)
    released: list[r.Released[int]] = []
    offered = _disturbed(len(frames), random)
    for now, number in enumerate(offered):
        released += reorder.offer(number, sequence=number, now=now * random.randrange(4))
        _expect(reorder.pending <= 3, "more waits than may")
    released += reorder.close()
    applied = [each.sequence for each in released if each.outcome.is_applied]
    _expect(applied == sorted(set(applied)), "released out of order, or twice")
    _expect(sorted(each.sequence for each in released) == sorted(offered), "an event without an outcome")


def _paced(profile: str, frames: Sequence[Frame], readings: Sequence[Reading], random: Random) -> None:
    paced = r.Paced(limit=64)
    offered, taken = [], []
    for piece in _pieces(readings):
        text = piece.content.decode("utf-8", "surrogatepass")
        while not paced.offer(piece.slot, text):
            taken += paced.take()
        offered.append((piece.slot, text))
    taken += paced.take()
    for slot in {slot for slot, _ in offered}:
        whole = "".join(text for of, text in offered if of == slot)
        _expect("".join(each.text for each in taken if each.slot == slot) == whole, "a delta was lost")
    _expect(sum(each.deltas for each in taken) == len(offered), "a delta was lost or doubled")


def _lifecycle(profile: str, frames: Sequence[Frame], readings: Sequence[Reading], random: Random) -> None:
    life = r.Lifecycle(0)
    for now in range(len(frames) + 2):
        was_open = life.is_open
        life.note(random.choice(get_args(Signal)), now, "stop")
        _expect(was_open or not life.is_open, "an answer that was over goes on")
        life.silence(now + 100, 50)


def _styles(profile: str, frames: Sequence[Frame], readings: Sequence[Reading], random: Random) -> None:
    styles: list[Any] = [r.Text(), r.Snapshot(), r.Arguments(), r.Patch()]
    deltas = [piece.content for piece in _pieces(readings)] + [frame.data for frame in frames]
    for delta in deltas:
        for style in styles:
            try:
                style.add(delta)
            except r.Refused:
                continue
    for style in styles:
        _value(getattr, style, "value")
    usage = r.Usage(cumulative=random.random() < 0.5)
    usage.add(len(frames), None)
    _expect(usage.value == (len(frames), None), "a count went astray")


REDUCERS: Final[dict[str, Reduce]] = {
    "answer": _answer,
    "ordered": _ordered,
    "reorder": _reorder,
    "paced": _paced,
    "lifecycle": _lifecycle,
    "styles": _styles,
}
"""Every reducer there is, by what drives it."""


def _pieces(readings: Sequence[Reading]) -> list[Any]:
    return [piece for reading in readings for piece in reading.pieces if piece.content]


def _disturbed(count: int, random: Random) -> list[int]:
    """The numbers of the events in an order that a bad network would give: some missing, doubled or late."""
    numbers = [n for n in range(count) for _ in range(random.choice((0, 1, 1, 1, 1, 2)))]
    for at in range(len(numbers) - 1):
        if random.random() < 0.2:
            numbers[at], numbers[at + 1] = numbers[at + 1], numbers[at]
    return numbers


def _value(ask: Callable[..., Any], *arguments: Any) -> None:
    """A value that is not whole yet is a ValueError, and nothing else."""
    try:
        ask(*arguments)
    except ValueError:
        return


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)
