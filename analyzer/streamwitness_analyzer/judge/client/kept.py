"""What the application kept, beside what it was given: `misapplied` (docs/design.md §7.3).

An application may show its result (`applied(stream).result(text)`): then its closing block holds the digests of its
texts, made as those of the point before. Equal in every slot, nothing was lost, whatever the reports say. Different, it
is another text, of which the reports tell why, or else that nothing but the application can have changed it: it took up
every event that carries output, once, in order and whole, and kept something else. A text whose events were left out on
purpose, refused, or not reported proves nothing, and neither does one that the application stopped reading. Where the
digests of what it was given are lost, those of what reached the client, or left the gateway, may be equal; if they are
not, reports prove nothing, for a result that is equal would clear it whatever they say. Where several report of one
stream, a text that differs may be the title that one of them makes of it; where an answer is gone on with, all of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from streamwitness.semconv import PART, TEXT
from streamwitness_analyzer.judge.compare.change import Change, Hop, Proof, Span
from streamwitness_analyzer.judge.testimony.parts import (
    all_slots,
    first_difference,
    kind_of_slot,
    parts_of,
    slots_of,
    unread,
)
from streamwitness_analyzer.judge.testimony.records import Record
from streamwitness_analyzer.judge.testimony.view import View

from .named import CONTENT_MASK, Named, carrying, read, shared
from .resumed import goes_on

PRIMARY: Final = "0/text/0"
_KINDS: Final = {"text": "text", "reasoning": "reasoning", "refusal": "refusal", "tool": "call"}
"""Kinds of slots that an application can show → how they are called."""
_PARTS: Final = {
    "text": ("text",),
    "reasoning": ("reasoning",),
    "refusal": ("refusal",),
    "tool": ("tool_start", "tool_args"),
}
"""Kind of slot → the parts of events that carry it."""
_TAKEN: Final = frozenset(("ok", "applied"))
_SILENT: Final = "the text that the application kept is not the one that it was given, and it reported no event"
_UNREAD: Final = "the text that the application kept is not the one that is known to have been given to it"
_NOT_TOLD: Final = "it shows what it kept, and the record that was to tell what it was given does not"
_LEFT_OUT: Final = (
    "the text that the application kept is not the one that it was given, but it did not take up every event"
)
_OF_ONE: Final = "what it shows is another text, which may be the part of one of several, or have begun before"
_PUT_TOGETHER: Final = "the answer has several texts of which it shows one, and that may be another of them, or several"
_Told = dict[str, tuple[str, int]]


def judge_kept(named: Named, a: Record, b: Record, *, peer: bool, before: Sequence[Record] = ()) -> Named:
    """The hop A → B, judged by its reports, beside what the application shows of its result.

    `before` are the points on the way to A, the nearest first.
    """
    kept = slots_of(b)
    if not (kept and peer and b.closed):
        return named
    if not (a.closed and all_slots(a)):
        return _beside_what_came(named, a, kept, before)
    given = slots_of(a)
    kept = _paired(given, kept)
    different = {slot: (given[slot], kept[slot]) for slot in _comparable(given, kept, a) if given[slot] != kept[slot]}
    if not different:
        return replace(named, hop=Hop("intact", prefix=a.events), rejected={}) if given == kept else named
    if shared(b) or goes_on(b):
        return _as_told(named)
    if not b.events:
        return replace(named, hop=Hop("unproven", reason=_SILENT))
    if named.hop.status == "faulty":
        return named  # which is why
    if unread(a):
        return replace(named, hop=Hop("unproven", reason=_UNREAD, unread=named.hop.unread))
    if not _took_all(named, a, b, different):
        return replace(named, hop=Hop("unproven", reason=_LEFT_OUT, unread=named.hop.unread))
    different = {slot: both for slot, both in different.items() if not _may_be_several(*both, given, kept)}
    if not different:
        return replace(named, hop=Hop("unproven", reason=_PUT_TOGETHER, unread=named.hop.unread))
    change = Change("misapplied", len(different), True, "before", *_where(a, b, different), note=_sizes(different))
    return replace(named, hop=Hop("faulty", (replace(change, proof=Proof("by_content")),)))


def _beside_what_came(named: Named, a: Record, kept: _Told, before: Sequence[Record]) -> Named:
    """The same where A does not tell what the application was given: its end is lost, or what it said of all texts."""
    for record in before:
        given = slots_of(record) if record.closed and all_slots(record) else {}
        if given and given == _paired(given, kept):
            return replace(named, hop=Hop("intact", prefix=a.events), rejected={})
    known = named.hop.status != "unproven"
    return replace(named, hop=Hop("unproven", reason=_NOT_TOLD), rejected={}) if known else named


def _as_told(named: Named) -> Named:
    """What is left where what is shown may be no text of this answer alone.

    One of several may show a title, or its part, and another nothing; who goes on in an answer has its beginning, too.

    What somebody reports as lost, it is; what only nobody reports, one that shows its result need not report.
    """
    if named.hop.status != "faulty":
        return named
    changes = tuple(change for change in named.hop.changes if change.results)
    hop = replace(named.hop, changes=changes) if changes else Hop("unproven", reason=_OF_ONE, unread=named.hop.unread)
    return replace(named, hop=hop)


def _may_be_several(had: tuple[str, int], has: tuple[str, int], given: _Told, kept: _Told) -> bool:
    """Whether what is shown may be another text of the answer, or several put together: some are shown nowhere."""
    hidden = [given[slot] for slot in given.keys() - kept.keys()]
    return bool(hidden) and (has[1] > had[1] or has in hidden)


def _paired(given: _Told, kept: _Told) -> _Told:
    """What was kept, each call beside the given one of the same content: which is the first means nothing."""
    paired, had = dict(kept), _grouped(given)
    for group, slots in _grouped(kept).items():
        if not group.endswith("/tool") or slots != had.get(group):
            continue
        rest = Counter(kept[slot] for slot in slots)
        others = []
        for slot in sorted(slots):
            if rest[given[slot]]:
                rest[given[slot]] -= 1
                paired[slot] = given[slot]
            else:
                others.append(slot)
        paired |= zip(others, rest.elements(), strict=True)
    return paired


def _comparable(given: _Told, kept: _Told, a: Record) -> list[str]:
    """Slots at both points of which it is known that they mean the same.

    What it shows as one text may be several of a choice put together, and a call whose name came twice is written
    otherwise.
    """
    had, has = _grouped(given), _grouped(kept)
    once = a.part("tool_start") == sum(1 for slot in given if kind_of_slot(slot) == "tool")
    alike = [slot for group, slots in has.items() if slots == had.get(group) for slot in slots]
    return sorted(slot for slot in alike if kind_of_slot(slot) in _KINDS and (kind_of_slot(slot) != "tool" or once))


def _grouped(told: _Told) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for slot in told:
        groups[slot.rpartition("/")[0]].add(slot)
    return groups


def _took_all(named: Named, a: Record, b: Record, slots: Iterable[str]) -> bool:
    """Whether it took up, once and in order, every event that carries these texts."""
    if not named.orderly or named.rejected:
        return False
    if named.used == a.events and not named.ignored:
        return True
    view = View(a, "semantic")
    wanted = sum(PART[name] for slot in slots for name in _PARTS[kind_of_slot(slot)])
    masks, results = parts_of(a), read(b).results
    due = [position for position in carrying(view) if masks.get(position, 0) & wanted]
    return view.whole and all(results.get(position, [""])[-1] in _TAKEN for position in due)


def _sizes(different: dict[str, tuple[tuple[str, int], tuple[str, int]]]) -> str:
    return ", ".join(
        f"{_called(slot)}: {given} bytes given, {kept} kept" for slot, ((_, given), (_, kept)) in different.items()
    )


def _called(slot: str) -> str:
    choice, kind, ordinal = slot.split("/")
    number = f" {int(ordinal) + 1}" if ordinal != "0" else ""
    return f"{_KINDS[kind]}{number}" + (f" of choice {int(choice) + 1}" if choice != "0" else "")


def _where(a: Record, b: Record, different: Collection[str]) -> tuple[Span, Span]:
    """Events of A that carry what differs, by the marks of both texts, and all that carry output."""
    content = carrying(View(a, "semantic"))
    every = (min(content), max(content)) if content else (0, max(0, a.events - 1))
    texts = [slot for slot in slots_of(a) if kind_of_slot(slot) == "text"]
    marked = first_difference(a, b) if list(different) == texts == [PRIMARY] else None
    return (marked and _within(a, marked, content)) or every, every


def _within(a: Record, run: Span, content: dict[int, int]) -> Span | None:
    """The events that hold these bytes of the only text; None where an event also carries something else."""
    masks, at, found = parts_of(a), 0, []
    for position in sorted(content):
        mask = masks.get(position, 0) & CONTENT_MASK
        if mask & TEXT and mask != TEXT:
            return None
        if mask == TEXT:
            if at <= run[1] and at + content[position] > run[0]:
                found.append(position)
            at += content[position]
    return (found[0], found[-1]) if found and View(a, "semantic").whole else None
