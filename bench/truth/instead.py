"""What stands in for a rule of the judge that is switched off: it answers always the same, or as if there were none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from streamwitness_analyzer.judge.compare import lost_rows
from streamwitness_analyzer.judge.compare.change import Hop
from streamwitness_analyzer.judge.compare.edits import Edits, edits, matching
from streamwitness_analyzer.judge.testimony import records


@dataclass(frozen=True)
class Mutation:
    """A rule, and what stands in for the things of the judge that are it."""

    rule: str
    instead: Mapping[str, Callable[[Any], Any]]
    sorts: tuple[str, ...] = ()
    """Streams that need it; without any, all are tried."""
    losses: tuple[str, ...] = ()
    """Losses under which it is needed; without any, each stream is judged without loss and under some."""


# --------------------------------------------------------------------------- what stands in


def never(value: Any) -> Callable[[Any], Any]:
    """Instead of a rule: always this answer."""

    def instead(_kept: Any) -> Callable[..., Any]:
        def answer(*_: Any, **__: Any) -> Any:
            return value

        return answer

    return instead


def first(place: int) -> Callable[[Any], Any]:
    """Instead of a rule: what it was given at this place."""

    def instead(_kept: Any) -> Callable[..., Any]:
        def answer(*given: Any, **__: Any) -> Any:
            return given[place]

        return answer

    return instead


def said(value: Any) -> Callable[[Any], Any]:
    """Instead of a property: always this."""
    return lambda _kept: property(lambda _self: value)


def left_out(entry: Any) -> Callable[[Any], Any]:
    """A table without one of its entries."""
    return lambda kept: tuple(each for each in kept if each is not entry)


def as_promised(_kept: Any) -> Callable[..., Any]:
    """Whoever says what a parser delivers is believed that it hands on event by event, to the end."""
    return lambda parsed: bool(parsed.delivers)


def everybody_before(kept: Any) -> Callable[..., Any]:
    """The point that lacks the event is blamed from the beginning of the path on, whoever saw it last."""

    def suspects(_seen: Any, missing: Any, cleared: Any = frozenset()) -> Any:
        return kept("source", missing, cleared)

    return suspects


def all_due(kept: Any) -> Callable[..., Any]:
    """Whoever stopped by himself is held to the whole all the same."""

    def ended(record: Any, before: Any) -> bool:
        return record.end is not None or kept(record, before)

    return ended


def of_any_process(kept: Any) -> Callable[..., Any]:
    """The records of a point, whichever process made them."""

    def at(exchange: Any, point: Any, _witness: Any = None) -> Any:
        return kept(exchange, point)

    return at


def as_one_exchange(kept: Any) -> Callable[..., Any]:
    """All blocks of a stream as if they were of one exchange."""

    def collect(blocks: Any, *more: Any) -> Any:
        every = list(blocks)
        one = every[0].exchange if every else ""
        return kept([replace(block, exchange=one, attempt=0, hop=0) for block in every], *more)

    return collect


def records_only(kept: Any) -> Callable[..., Any]:
    """Of a witness that contradicts itself only the record that does is set aside."""

    def collect(blocks: Any, *more: Any) -> Any:
        recorders: dict[str, list[Any]] = {}
        for block in blocks:
            recorders.setdefault(block.recorder, []).append(block)
        held = [group for group in recorders.values() if records._merge(group) is not None]
        return kept([block for group in held for block in group], *more)

    return collect


def every_hop_intact(kept: Any) -> Callable[..., Any]:
    """A refusal by the reducer is a finding, whatever came before it."""

    def refused(path: Any) -> Any:
        steps = [replace(step, hop=Hop("intact")) for step in path.steps]
        return kept(replace(path, steps=steps))

    return refused


def prefix_only(kept: Any) -> Callable[..., Any]:
    """A window that always reaches to the end."""

    def window(a: Any, b: Any, x: int) -> tuple[int, int]:
        return kept(a, b, x)[0], 0

    return window


def one_explanation(_kept: Any) -> Callable[..., Any]:
    """Of all shortest explanations one."""

    def explained(a: Any, b: Any) -> Any:
        found, pairs = edits(a, b), matching(a, b)
        if found is None or pairs is None:
            return found
        here, there = {i for i, _ in pairs}, {j for _, j in pairs}
        return Edits(found.distance, frozenset(range(len(a))) - here, frozenset(range(len(b))) - there)

    return explained


def by_count_alone(_kept: Any) -> Callable[..., Any]:
    """The difference of the sums as the first events that make up the number."""

    def decode(a: Any, b: Any, window: Any) -> Any:
        longer, sign = (a, 1) if a.n >= b.n else (b, -1)
        known = [value for value in longer.values[window[0] :] if value is not None]
        return Counter({value: sign * n for value, n in Counter(known[: abs(a.n - b.n)]).items()}) or None

    return decode


def exactly(kept: Any) -> Callable[..., Any]:
    """A bound told as the number that it is."""

    def bounds(*given: Any) -> Any:
        return tuple(replace(change, exact=True) for change in kept(*given))

    return bounds


def if_as_long(_kept: Any) -> Callable[..., Any]:
    """Lost rows filled in with as many of the other point's, whatever the sums say."""

    def unchanged(source: Any, lost: Any) -> Any:
        return source.digests if len(source.digests) == lost.length else None

    return unchanged


def table_with(place: int, made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda kept: tuple(made(each) if i == place else each for i, each in enumerate(kept))


def bare(kept: Any) -> Callable[..., Any]:
    """Bounds, though every row is known."""

    def all_known(a: Any, b: Any, x: int, y: int) -> Any:
        return lost_rows.bounds(a, b, x, y)

    return all_known


def not_slid(_kept: Any) -> Callable[..., Any]:
    return lambda _values, x, _count: (x, x, True)


def only_there(_kept: Any) -> Callable[..., Any]:
    return lambda _values, x, count: (x, x + count - 1)


def first_copy(_kept: Any) -> Callable[..., Any]:
    def copies(view: Any, values: Any) -> Any:
        hulls = [view.hulls[value] for value in values if value in view.hulls]
        return (hulls[0][0], hulls[0][0]) if hulls else (0, max(0, view.n - 1))

    return copies


def without_summaries(kept: Any) -> Callable[..., Any]:
    """The closing block's later copy is thrown away."""

    def collect(blocks: Any, *more: Any) -> Any:
        return kept([block for block in blocks if not block.summary], *more)

    return collect


def all_settled(kept: Any) -> Callable[..., Any]:
    """What is the same at both ends is so in between, whether or not the end was due."""

    def around(steps: Any) -> Any:
        out, faults = kept([replace(step, peer=True) for step in steps])
        return [replace(step, peer=before.peer) for step, before in zip(out, steps, strict=True)], faults

    return around


def believed(opened: Any, place: int, s: Any, o: Any) -> None:
    """The last one is believed."""
    for table, value in ((opened.sums, s), (opened.prefix, o)):
        if value is not None:
            table[place] = value


def named_only(kept: Any) -> Callable[..., Any]:
    def note(naming: Any, rows: Any) -> None:
        kept(naming, rows)
        naming.unnamed = 0

    return note
