"""The rules of docs/design.md §7.1 and §7.2 as the judge has them, and for each the wrong thing that it prevents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from streamwitness_analyzer.judge.compare import fill, lost_rows
from streamwitness_analyzer.judge.compare.change import Hop
from streamwitness_analyzer.judge.compare.edits import Edits, edits, matching
from streamwitness_analyzer.judge.gateway import excuses
from streamwitness_analyzer.judge.testimony import records


@dataclass(frozen=True)
class Mutation:
    """A rule, and what stands in for the things of the judge that are it; `sorts` are streams that need it."""

    rule: str
    instead: Mapping[str, Callable[[Any], Any]]
    sorts: tuple[str, ...] = field(default=())


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


def _said(value: Any) -> Callable[[Any], Any]:
    """Instead of a property: always this."""
    return lambda _kept: property(lambda _self: value)


def _left_out(entry: Any) -> Callable[[Any], Any]:
    """A table without one of its entries."""
    return lambda kept: tuple(each for each in kept if each is not entry)


def _everybody_before(kept: Any) -> Callable[..., Any]:
    """The point that lacks the event is blamed from the beginning of the path on, whoever saw it last."""

    def suspects(_seen: Any, missing: Any, cleared: Any = frozenset()) -> Any:
        return kept("source", missing, cleared)

    return suspects


def _all_due(kept: Any) -> Callable[..., Any]:
    """Whoever stopped by himself is held to the whole all the same."""

    def ended(record: Any, before: Any) -> bool:
        return record.end is not None or kept(record, before)

    return ended


def _of_any_process(kept: Any) -> Callable[..., Any]:
    """The records of a point, whichever process made them."""

    def at(exchange: Any, point: Any, _witness: Any = None) -> Any:
        return kept(exchange, point)

    return at


def _as_one_exchange(kept: Any) -> Callable[..., Any]:
    """All blocks of a stream as if they were of one exchange."""

    def collect(blocks: Any, *more: Any) -> Any:
        every = list(blocks)
        one = every[0].exchange if every else ""
        return kept([replace(block, exchange=one, attempt=0, hop=0) for block in every], *more)

    return collect


def _records_only(kept: Any) -> Callable[..., Any]:
    """Of a witness that contradicts itself only the record that does is set aside."""

    def collect(blocks: Any, *more: Any) -> Any:
        recorders: dict[str, list[Any]] = {}
        for block in blocks:
            recorders.setdefault(block.recorder, []).append(block)
        held = [group for group in recorders.values() if records._merge(group) is not None]
        return kept([block for group in held for block in group], *more)

    return collect


def _every_hop_intact(kept: Any) -> Callable[..., Any]:
    """A refusal by the reducer is a finding, whatever came before it."""

    def refused(path: Any) -> Any:
        steps = [replace(step, hop=Hop("intact")) for step in path.steps]
        return kept(replace(path, steps=steps))

    return refused


def _prefix_only(kept: Any) -> Callable[..., Any]:
    """A window that always reaches to the end."""

    def window(a: Any, b: Any, x: int) -> tuple[int, int]:
        return kept(a, b, x)[0], 0

    return window


def _one_explanation(_kept: Any) -> Callable[..., Any]:
    """Of all shortest explanations one."""

    def explained(a: Any, b: Any) -> Any:
        found, pairs = edits(a, b), matching(a, b)
        if found is None or pairs is None:
            return found
        here, there = {i for i, _ in pairs}, {j for _, j in pairs}
        return Edits(found.distance, frozenset(range(len(a))) - here, frozenset(range(len(b))) - there)

    return explained


def _by_count_alone(_kept: Any) -> Callable[..., Any]:
    """The difference of the sums as the first events that make up the number."""

    def decode(a: Any, b: Any, window: Any) -> Any:
        longer, sign = (a, 1) if a.n >= b.n else (b, -1)
        known = [value for value in longer.values[window[0] :] if value is not None]
        return Counter({value: sign * n for value, n in Counter(known[: abs(a.n - b.n)]).items()}) or None

    return decode


def _exactly(kept: Any) -> Callable[..., Any]:
    """A bound told as the number that it is."""

    def bounds(*given: Any) -> Any:
        return tuple(replace(change, exact=True) for change in kept(*given))

    return bounds


def _if_as_long(_kept: Any) -> Callable[..., Any]:
    """Lost rows filled in with as many of the other point's, whatever the sums say."""

    def unchanged(source: Any, lost: Any) -> Any:
        return source.digests if len(source.digests) == lost.length else None

    return unchanged


def _table_with(place: int, made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda kept: tuple(made(each) if i == place else each for i, each in enumerate(kept))


def _bare(kept: Any) -> Callable[..., Any]:
    """Bounds, though every row is known."""

    def all_known(a: Any, b: Any, x: int, y: int) -> Any:
        return lost_rows.bounds(a, b, x, y)

    return all_known


def _not_slid(_kept: Any) -> Callable[..., Any]:
    return lambda _values, x, _count: (x, x, True)


def _only_there(_kept: Any) -> Callable[..., Any]:
    return lambda _values, x, count: (x, x + count - 1)


def _first_copy(_kept: Any) -> Callable[..., Any]:
    def copies(view: Any, values: Any) -> Any:
        hulls = [view.hulls[value] for value in values if value in view.hulls]
        return (hulls[0][0], hulls[0][0]) if hulls else (0, max(0, view.n - 1))

    return copies


def _without_summaries(kept: Any) -> Callable[..., Any]:
    """The closing block's later copy is thrown away."""

    def collect(blocks: Any, *more: Any) -> Any:
        return kept([block for block in blocks if not block.summary], *more)

    return collect


def _all_settled(kept: Any) -> Callable[..., Any]:
    """What is the same at both ends is so in between, whether or not the end was due."""

    def around(steps: Any) -> Any:
        return kept([replace(step, peer=True) for step in steps])

    return around


def _believed(opened: Any, place: int, s: Any, o: Any) -> None:
    """The last one is believed."""
    for table, value in ((opened.sums, s), (opened.prefix, o)):
        if value is not None:
            table[place] = value


def _named_only(kept: Any) -> Callable[..., Any]:
    def note(naming: Any, rows: Any) -> None:
        kept(naming, rows)
        naming.unnamed = 0

    return note


# --------------------------------------------------------------------------- the rules

_NEEDED_BY: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("filtered", "rewritten"), ("declared",)),
    "merged": ("merges_alike",),
    "without_digests": ("counted",),
    "ended_in_passing": ("breaks_off",),
    "no_difference": ("client_left",),
    "broke_an_event": ("breaks_an_event",),
    "went_on_behind_the_end": ("goes_on",),
    "read_by_lines": ("reads_by_lines",),
    "not_all_read": ("mends_an_event",),
    "written_otherwise": ("calls_anew",),
    "only_envelope": ("makes_up_an_end",),
    "unknown_format": ("unknown_format",),
}
"""Excuse → the streams that need it; of any other, those of all gateways."""
_GATEWAYS: Final = ("recorded", "merging", "attempts", "gateway")
_HOPS: Final = ("hop", "path")


REPEATED: Final = {
    "unchanged": "`one_changed` finds that, too: it is there for speed",
    "without_digests": "`of_something_else` says the same in other words",
}
"""Entry of a table → why nothing is missed without it."""


def mutations() -> tuple[Mutation, ...]:
    """All of them: those below, and each entry of the judge's tables, so that a new one cannot be forgotten."""
    excused = (
        Mutation(
            f"7.2 gateway excused: {rule.__name__}",
            {"excuses.RULES": _left_out(rule)},
            _NEEDED_BY.get(rule.__name__, _GATEWAYS),
        )
        for rule in excuses.RULES
        if rule.__name__ not in REPEATED
    )
    guessed = (
        Mutation(f"7.2 rule 5: filled in, {guess.__name__}", {"fill.GUESSES": _left_out(guess)}, ("hop",))
        for guess in fill.GUESSES
        if guess.__name__ not in REPEATED
    )
    return (*_BLAME, *_HOP, *guessed, *_GATEWAY, *excused)


_BLAME: Final = (
    Mutation("7.1 suspects: from the last point that saw it", {"attribute.suspects": _everybody_before}),
    Mutation("7.1 seen, missing, seen again: nobody", {"attribute._contradicted": first(1)}, ("lying",)),
    Mutation("7.1 accountability: a stop of one's own is no loss", {"hops.ended_by_peer": _all_due}, _HOPS),
    Mutation("7.1 one process", {"records.Exchange.at": _of_any_process, "hops._only": lambda _: lambda records:
             records[-1] if records else None}, ("tabs",)),
    Mutation("7.1 one exchange", {"records.collect": _as_one_exchange}, ("resumed", "gateways")),
    Mutation("7.1 two records of one point in one process: none", {"hops._only": lambda _: lambda records:
             records[-1] if records else None}, ("twice",)),
    Mutation("7.1 roles: only points that the key may testify for", {"records.contributes": never(True)}, ("roles",)),
    Mutation("7.1 roles: nothing is certain without one", {"records.Record.vouched": _said(True)}, ("roles",)),
    Mutation("7.1 contradicting: counters that fall, blocks behind the end", {"records._follows": never(True)},
             ("contradicting",)),
    Mutation("7.1 contradicting: one block, two contents", {"records._agree": never(True)}, ("contradicting",)),
    Mutation("7.1 contradicting: rows that do not add up", {"view.Opened._know": lambda _: _believed},
             ("contradicting",)),
    Mutation("7.1 contradicting: the witness is set aside whole", {"records.collect": _records_only},
             ("contradicting",)),
    Mutation("7.1 by name: a lost block owns what it passed", {"named._note_lost": never(None)}),
    Mutation("7.1 by name: what was not applied is lost", {"named._absent": never(())}, ("path", "recorded")),
    Mutation("7.1 by name: applied twice", {"named._repeated": never(())}, ("path",)),
    Mutation("7.1 by name: applied out of order", {"named._displaced": never(())}, ("path", "recorded")),
    Mutation("7.1 by name: rows that name nothing", {"named._note_rows": _named_only}, ("nameless",)),
    Mutation("7.1 by name: kinds that the application has no use for", {"named._taken_up": lambda _: lambda content,
             _a, _b: (content, False)}, ("one_kind",)),
    Mutation("7.1 by name: one of several choices", {"named._choices": never(1)}, ("one_choice",)),
    Mutation("7.1 what a reducer reports as raised is lost", {"named._told_losses": never(())}, ("path",)),
    Mutation("7.1 a reducer that refuses points back", {"refused.refused": never([])}, ("refuses",)),
    Mutation("7.1 a reducer that refuses accuses only behind what is intact", {"refused.refused": _every_hop_intact},
             ("fails_closed",)),
    Mutation("7.1 a reducer that puts right", {"hops._put_right": never(False)}, ("puts_right",)),
    Mutation("7.1 what the application kept", {"kept.judge_kept": first(0)}, ("kept",)),
    Mutation("7.1 what it kept, and did not take up whole", {"kept._took_all": never(True)}, ("kept",)),
    Mutation("7.1 a body that is not what it was announced as", {"parts.misframed": never(False)}, ("lines",)),
)  # fmt: skip


_HOP: Final = (
    Mutation("7.2 rule 1: equal counts and sums are intact", {"align.healthy": never(False)}),
    Mutation("7.2 rule 2: no fault without a proof", {"align.proof_of_difference": never("totals")}, _HOPS),
    Mutation("7.2 rule 3: equal beginnings and ends are unchanged", {"align.window": _prefix_only}, _HOPS),
    Mutation("7.2 rule 4: all rows known, exact counts", {"known.all_known": _bare}, _HOPS),
    Mutation("7.2 rule 4: a copy is no invention", {"known.surplus_kind": never("fabricated")}, _HOPS),
    Mutation("7.2 rule 4: an invention is no copy", {"known.surplus_kind": never("duplicate")}, _HOPS),
    Mutation("7.2 rule 5: lost rows are filled in", {"fill.filled": lambda _: lambda a, b, _x, _y: (a, b)}, _HOPS),
    Mutation("7.2 rule 5: never by count alone", {"fill.GUESSES": _table_with(0, _if_as_long)}, _HOPS),
    Mutation("7.2 rule 5: lost rows are decoded", {"decode.decode": never(None)}, _HOPS),
    Mutation("7.2 rule 5: decoded by the sums", {"decode.decode": _by_count_alone}, _HOPS),
    Mutation("7.2 rule 5: bounds are bounds", {"lost_rows.bounds": _exactly}, _HOPS),
    Mutation("7.2 rule 6: only what B went past was due", {"open_ends.anchor": lambda _: lambda a, _b: a.n}, _HOPS),
    Mutation("7.2 rule 6: what B went past was due", {"open_ends.anchor": never(0)}, _HOPS),
    Mutation("7.2 rule 6: not by a run that may be an accident", {"open_ends._CHANCE": lambda _: 0.1}, _HOPS),
    Mutation("7.2 rule 7: no additions where A has not closed", {"open_ends.may_tell_additions": never(True)}, _HOPS),
    Mutation("7.2 rule 7: additions where A has closed", {"open_ends.may_tell_additions": never(False)}, _HOPS),
    Mutation("7.2 rule 8: a lost run slides over equal neighbours", {"known.slide": _not_slid, "known.left_over":
             _only_there}, _HOPS),
    Mutation("7.2 rule 8: others than one run may be lost", {"known.left_over": _only_there}, _HOPS),
    Mutation("7.2 rule 8: any copy may be the one", {"known.copies_of": _first_copy}, _HOPS),
    Mutation("7.2 rule 8: all shortest explanations", {"edits.edits": _one_explanation}, _HOPS),
    Mutation("7.2 rule 9: numbers first", {"numbered.judge_numbered": never(None)}, ("recorded", "resumed")),
    Mutation("7.2 rule 9: what bears another's number", {"numbered._foreign": never([])}, ("recorded", "resumed")),
    Mutation("7.2 rule 10: around an unproven hop", {"attribute.around_unproven": lambda _: lambda steps:
             (list(steps), [])}, ("path", "recorded")),
    Mutation("7.2 rule 10: only where both count the same events", {"attribute._comparable": never(True)},
             ("path", "recorded")),
    Mutation("7.2 rule 10: only as far as it was due", {"attribute.around_unproven": _all_settled},
             ("path", "recorded")),
    Mutation("a closing block's second copy", {"records.collect": _without_summaries}, _HOPS),
    Mutation("7.2 parsed: what a parser keeps to itself", {"parts.withholds": never(False)}, ("withholds",)),
    Mutation("7.2 parsed: the same content in other pieces", {"handed.same_slots": never(False)}, ("cuts_anew",)),
    Mutation("7.2 parsed: other pieces prove nothing", {"handed._new_pieces": never(False)}, ("cuts_anew",)),
    Mutation("7.2 parsed: nothing is due behind a terminator", {"parts.may_go_on_behind_terminal": never(False)},
             ("behind_the_end",)),
    Mutation("7.2 parsed: who reads by lines", {"parts.stopped_within_an_event": never(False)},
             ("by_lines", "reads_by_lines")),
    Mutation("7.2 parsed: a swallowed error", {"hops._with_error": first(0)}, ("parser_swallows",)),
)  # fmt: skip

_GATEWAY: Final = (
    Mutation("7.2 gateway: all listed legs must be held", {"upstream._not_held": never("")}, _GATEWAYS),
    Mutation("7.2 gateway: only the leg that feeds the answer accuses", {"legs.related": never(True)}, _GATEWAYS),
    Mutation("7.2 gateway: known by one id and an event byte for byte", {"legs.passed_on": never(False)}, _GATEWAYS),
    Mutation("7.2 gateway: an attempt that says the same explains it", {"legs.equal_legs": never([])}, ("hedged",)),
    Mutation("7.2 gateway: another attempt may explain it", {"legs.explained_by": never(False)},
             ("attempts", "went_over")),
    Mutation("7.2 gateway: parts of several in a row", {"legs.continued": never(False)}, ("went_over", "attempts")),
    Mutation("7.2 gateway: content of another attempt", {"legs.spliced": never(False)}, ("went_over", "attempts")),
    Mutation("7.2 gateway: only what was due", {"crossing.all_due": never(True)}, _GATEWAYS),
    Mutation("7.2 gateway: equal content, however it is cut", {"recut.same_slots": never(False)}, _GATEWAYS),
    Mutation("7.2 gateway: content cut otherwise is not lost by pieces", {"recut._is_recut": never(False)}, _GATEWAYS),
    Mutation("7.2 envelope: a finish that it may make up or leave out", {"envelope.is_envelope": never(False)},
             ("makes_up_an_end", "gateway")),
    Mutation("7.2 envelope: no finish that it may not make up", {"envelope._may_make_up": never(True)},
             ("makes_up_an_end",)),
    Mutation("7.2 envelope: lost_finish", {"envelope.lost_finish": never(None)}, ("loses_the_finish",)),
    Mutation("7.2 envelope: made_up_finish", {"envelope.made_up_finish": never(None)}, ("makes_up_an_end",)),
    Mutation("7.2 envelope: invented_terminal", {"envelope.invented_terminal": never([])}, ("makes_up_an_end",)),
    Mutation("7.2 envelope: swallowed_error", {"envelope.swallowed_error": never([])}, ("swallows",)),
    Mutation("7.2 envelope: broken_events", {"envelope.broken_events": never([])}, ("breaks_an_event",)),
    Mutation("7.2 envelope: a gateway that let go may finish", {"envelope.chose_to_stop": never(False)},
             ("makes_up_an_end",)),
    Mutation("7.2 envelope: one whose time was up may not", {"envelope.chose_to_stop": lambda _: lambda leg:
             leg.own_end}, ("makes_up_an_end",)),
    Mutation("7.2 envelope: one that says that it failed", {"finishes.tells_error": never(False)},
             ("makes_up_an_end",)),
    Mutation("7.2 envelope: one that asked again swallowed nothing", {"envelope._asked_again": never(False)},
             ("swallows",)),
    Mutation("7.2 declared: a filter leaves the rest in order", {"declared._left_out": never(0)}, ("declared",)),
)  # fmt: skip
