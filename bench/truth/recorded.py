"""Streams of the model as bytes: random answers in the providers' formats through real framers, profiles and recorders.

What writes and reads the formats is the bench's own (`sockets/writers.py`, `readers.py`). Gateways hand on, print anew,
translate or join; bodies are cut anywhere; clocks are hours apart; some streams are numbered.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from random import Random
from typing import Final

from streamwitness.gateway.stamp import rewriter
from streamwitness.semconv import ALL_PARTS, ERROR, TERMINAL, Component, Point, Stamp
from streamwitness.testing import MemorySink

from .harm import Course, anywhere, but_errors, harm, of_the_answer, that_says_something
from .labels import JOINING, KIND_BY_NUMBERS, Deed, Ended, Passage, Trial, known_to_feed
from .model import ENDS
from .process import PACES_NS, Process, Timed, identity, stamped, told
from .said import GATEWAYS, Events, spoken, told_by
from .scoring.difference import Difference
from .sockets.acts import CONTENT, DONE, Act, Event
from .sockets.bodies import FRAMING, Framer, Style
from .sockets.readers import acts_of, is_complete
from .sockets.scenario import TRANSLATED, written

POINTS: Final[tuple[Point, ...]] = ("ingress", "egress", "wire", "parsed", "applied")
SETUPS: Final[tuple[frozenset[Point], ...]] = (
    frozenset(POINTS), frozenset(POINTS), frozenset(POINTS), frozenset(POINTS[1:]), frozenset(POINTS[:3]),
    frozenset(POINTS[2:]), frozenset(POINTS[:4]),
)  # fmt: skip
# --------------------------------------------------------------------------- one path


def recorded(rng: Random, name: str) -> Trial:
    """A path whose every point reads bytes or objects as it would in a real process."""
    gateway = rng.choice(tuple(GATEWAYS))
    provider = rng.choice(GATEWAYS[gateway][1])
    sort = rng.choice(tuple(ENDS)) if rng.random() < 0.35 else rng.choice(("complete", "at the terminal"))
    guilty = () if rng.random() < 0.4 else rng.sample(_BELOW, rng.choice((1, 1, 1, 2)))
    out = TRANSLATED[provider] if gateway == "translate" else provider
    stamps = gateway != "join" and FRAMING[out] == "sse" and rng.random() < 0.3
    stamp: Stamp = rng.choice(("id", "field")) if stamps else "none"
    return _recorded(rng, name, gateway, provider, sort, frozenset(guilty), stamp)


_NUMBERED: Final[tuple[Component, ...]] = ("transport", "transport", "gateway")


def numbered(rng: Random, name: str) -> Trial:
    """A path on which the gateway numbers what it sends, and somebody does something to it."""
    provider = rng.choice([provider for provider in GATEWAYS["pass"][1] if FRAMING[provider] == "sse"])
    stamp: Stamp = rng.choice(("id", "field"))
    return _recorded(rng, name, "pass", provider, "complete", frozenset((rng.choice(_NUMBERED),)), stamp)


def _recorded(
    rng: Random, name: str, gateway: str, provider: str, sort: str, guilty: frozenset[Component], stamp: Stamp
) -> Trial:
    out = TRANSLATED[provider] if gateway == "translate" else provider
    course = Course(provider, out, ENDS[sort], verbatim=gateway == "pass")
    _run(rng, course, GATEWAYS[gateway][0], guilty)
    setup = rng.choice(SETUPS)
    sink = MemorySink()
    _record(rng, course, sink, setup, stamp, same=gateway == "pass")
    passages = _passages(course, stamp, anew=gateway in JOINING)
    notes = {
        sort,
        *(("undone",) if _undone(course) else ()),
        *(("recut",) if gateway == "join" else ()),
        *((f"stamped {stamp}",) if stamp != "none" else ()),
        *_by_numbers(passages),
    }
    return Trial(
        name, provider, gateway, "model", tuple(course.deeds), passages, _ended(course, setup, gateway, passages),
        told(rng, sink), setup, frozenset(notes),
    )  # fmt: skip


_BELOW: Final[tuple[Component, ...]] = ("gateway", "transport", "parser", "reducer")


def _run(
    rng: Random, course: Course, work: Callable[[Random, str, Events], Events], guilty: frozenset[Component]
) -> None:
    """Let the stream take its course from the provider to the application."""

    def count(who: Component) -> int:
        return rng.choice((1, 1, 2)) if who in guilty else 0

    seen, out = course.seen, course.out
    seen["ingress"] = _fresh(_cut(rng, course, "ingress", written(course.provider, spoken(rng)), course.provider))
    if course.end.error:
        seen["ingress"] += written(course.provider, [Act("error", "overloaded")])
    course.honest = _fresh(work(rng, course.provider, seen["ingress"]))
    due = but_errors if course.verbatim else of_the_answer
    sent = harm(rng, "gateway", course.honest, course, count("gateway"), due)
    seen["egress"] = _fresh(_cut(rng, course, "egress", sent, out))
    came = harm(rng, "transport", seen["egress"], course, count("transport"), anywhere)
    seen["wire"] = _cut(rng, course, "wire", _in_order(came), out)
    read = [event for event in seen["wire"] if not event.comment and event.data != DONE and not _is_error(out, event)]
    seen["parsed"] = harm(rng, "parser", read, course, count("parser"), that_says_something)
    course.rows = _applied(rng, course, count("reducer"))


def _fresh(events: Iterable[Event]) -> Events:
    """The same events as objects of their own, so that each can be followed."""
    return [event._replace(data=event.data) for event in events]


def _in_order(events: Events) -> Events:
    """Nothing stands behind a terminator: readers stop there."""
    done = next((event for event in events if event.data == DONE), None)
    return [*(event for event in events if event.data != DONE), *([done] if done else [])]


def _is_error(provider: str, event: Event) -> bool:
    return any(act.kind == "error" for act in acts_of(provider, event.data))


def _cut(rng: Random, course: Course, point: str, events: Events, provider: str) -> Events:
    """What is left where this point is the one that ends early: before the finish, so that it shows."""
    end = course.end
    if end.cut != point or not events:
        return events
    finishes = (i for i, e in enumerate(events) if any(a.kind == "finish" for a in acts_of(provider, e.data)))
    at = rng.randint(0, next(finishes, len(events) - 1))
    if end.act is not None:
        course.deeds.append(Deed(end.act[0], end.act[1], tuple(range(at, len(events)))))
    return events[:at]


def _applied(rng: Random, course: Course, count: int) -> list[tuple[int, str]]:
    rows = [(i, "applied") for i in range(len(course.seen["parsed"]))]
    for _ in range(count):
        places = [i for i, (at, result) in enumerate(rows) if result == "applied" and _content(course, at)]
        if not places:
            break
        i = rng.choice(places)
        how = rng.choice(("refuse", "drop", "double", "move"))
        if how in ("refuse", "drop") and _last_of_its_kind(course, rows, i):
            continue  # as if the application had no use for that kind
        if how == "refuse" and sum(at == rows[i][0] for at, _ in rows) > 1:
            continue  # applied in the end
        if how == "move" and not _of_one_kind(course, rows[i : i + 2]):
            continue  # as if it took up one kind of output after the other
        course.deeds.append(Deed("reducer", how, (rows[i][0],)))
        if how == "refuse":
            rows[i] = (rows[i][0], "raised")
        elif how == "drop":
            del rows[i]
        elif how == "double":
            rows.insert(i + 1, rows[i])
        elif i + 1 < len(rows):
            rows[i], rows[i + 1] = rows[i + 1], rows[i]
    return rows


def _of_one_kind(course: Course, rows: Sequence[tuple[int, str]]) -> bool:
    events = course.seen["parsed"]
    return len({frozenset(act.kind for act in acts_of(course.out, events[at].data)) for at, _ in rows}) == 1


def _last_of_its_kind(course: Course, rows: Sequence[tuple[int, str]], i: int) -> bool:
    events = course.seen["parsed"]
    kinds = [{act.kind for act in acts_of(course.out, events[at].data) if act.text} & CONTENT for at, _ in rows]
    return not any(kinds[i] & kinds[k] for k, (_, how) in enumerate(rows) if k != i and how == "applied")


def _content(course: Course, position: int) -> bool:
    """Whether this event at parsed says anything of the answer."""
    acts = acts_of(course.out, course.seen["parsed"][position].data)
    return any(act.kind in CONTENT and act.text and act.kind != "tool" for act in acts)


# --------------------------------------------------------------------------- the truth


def _passages(course: Course, stamp: Stamp, *, anew: bool) -> tuple[Passage, ...]:
    end, seen, out = course.end, course.seen, course.out
    stopped, broke = end.stopped, end.ends[1] in ("raised", "shutdown", "disconnected")
    numbers = {id(event): i for i, event in enumerate(e for e in seen["egress"] if not e.comment)}

    def came(events: Events) -> tuple[str, ...]:
        return tuple(f"{_number(e)} {e.name} {e.data}" for e in events if not e.comment)

    def _number(event: Event) -> int:
        return numbers.get(id(course.origins.get(id(event), event)), -1) if stamp != "none" else 0

    reported = {at for at, _ in course.rows}
    due = tuple(str(at) for at in range(len(seen["parsed"])) if _content(course, at) or at in reported)
    read = [event for event in _due(out, seen["wire"]) if not _is_error(out, event)]
    return (
        Passage("gateway", tuple(told_by(out, course.honest)), tuple(told_by(out, seen["egress"])), broke, anew=anew),
        Passage("transport", came(seen["egress"]), came(seen["wire"]), stopped, by_event=True),
        Passage(
            "parser",
            tuple(told_by(out, read, done=False)),
            tuple(told_by(out, _due(out, seen["parsed"]), done=False)),
            stopped or end.error,
        ),
        Passage(
            "reducer", due, tuple(str(at) for at, result in course.rows if result == "applied"), stopped or end.error
        ),
    )


def _by_numbers(passages: Sequence[Passage]) -> list[str]:
    """What of the network's doing is seen in the numbers of equal events only, which rows have: all, or its kind."""
    numbered = next(passage for passage in passages if passage.component == "transport")
    before, after = (tuple(token.partition(" ")[2] for token in side) for side in (numbered.before, numbered.after))
    bare = replace(numbered, before=before, after=after)
    if numbered.stopped or not numbered.visible:
        return []
    other = Difference.of(bare) != Difference.of(numbered)
    return [*(["numbers alone"] if before == after else []), *([KIND_BY_NUMBERS] if other else [])]


def _due(out: str, events: Events) -> Events:
    """What a parser has to hand on: in Ollama nothing behind the event that ends the answer, should it come twice."""
    ends = (at + 1 for at in range(len(events)) if out == "ollama" and is_complete(out, events[: at + 1], choices=1))
    return events[: next(ends, len(events))]


def _undone(course: Course) -> bool:
    """Whether a component took back what another had done: the point between them contradicts those around it."""
    chain = (course.honest, course.seen["egress"], course.seen["wire"], course.seen["parsed"])
    said = [Counter(told_by(course.out, events, done=False)) for events in chain]
    steps = [(before - after, after - before) for before, after in pairwise(said)]
    return any(lost & added for i, (lost, _) in enumerate(steps) for k, (_, added) in enumerate(steps) if i != k)


def _ended(course: Course, setup: frozenset[Point], gateway: str, passages: tuple[Passage, ...]) -> Ended:
    """The ending, as it can be known: only where the whole path testified and no fault took the end away."""
    seen, end = course.seen, course.end
    at = {point: course.provider if point == "ingress" else course.out for point in POINTS[:4]}
    whole: dict[str, bool] = {point: is_complete(name, seen[point], choices=1) for point, name in at.items()}
    unknown = Ended(frozenset(), None)
    if not setup >= frozenset(POINTS[:3]):
        return unknown
    before = {"egress": "ingress", "wire": "egress"}.get(end.cut)
    if end.cut in ("", "ingress") and len(set(whole.values())) > 1:
        return unknown
    if before is not None and not whole[before]:
        return unknown
    if end.cut == "ingress" and whole["ingress"]:
        return unknown
    if end.cut == "egress" and not known_to_feed(gateway, course.provider, passages[0]):
        return unknown
    return Ended(frozenset((end.ending,)), end.by)


# --------------------------------------------------------------------------- recording


def _record(
    rng: Random, course: Course, sink: MemorySink, setup: frozenset[Point], stamp: Stamp, *, same: bool
) -> None:
    whole = identity(rng)
    style = _style(rng)
    frames = _frames(course.out, course.seen["egress"], style if same else _style(rng))
    pace = rng.choice(PACES_NS)
    number = rewriter(whole.exchange, stamp, "sse") if stamp != "none" else None
    sent = {id(e): number.feed(frame) if number is not None else frame for e, frame in frames}
    if setup & {"ingress", "egress"}:
        _gateway(rng, course, Process(rng, whole, sink, setup, pace), sent, style, setup, stamp)
    if setup & {"wire", "parsed", "applied"}:
        _client(rng, course, Process(rng, whole, sink, setup, pace), sent, setup, stamp)


def _style(rng: Random) -> Style:
    return Style(newline=rng.choice((b"\n", b"\n", b"\r\n")), space=rng.choice((b" ", b"")),
                 comments=rng.choice((0, 0, 3)))  # fmt: skip


def framed(provider: str, events: Events) -> list[bytes]:
    """The bytes of these events, plainly."""
    return [frame for _, frame in _frames(provider, events, Style())]


def _frames(provider: str, events: Events, style: Style) -> list[tuple[Event, bytes]]:
    framer = Framer(FRAMING[provider], style)
    return [(event, framer.frame(event)) for event in events]


def _gateway(
    rng: Random, course: Course, process: Process, sent: dict[int, bytes], style: Style, setup: frozenset[Point],
    stamp: Stamp,
) -> None:  # fmt: skip
    ends, seen = course.end.ends, course.seen
    legs: tuple[str, ...] = ()
    if "ingress" in setup:
        frames = [frame for _, frame in _frames(course.provider, seen["ingress"], style)]
        frames += [_closing(course.provider, frames)] if course.end.cut != "ingress" else []
        leg = process.body("ingress", course.provider, pieces(rng, frames), ends[0], leg=0)
        legs = (leg.recorder.id,)
    if "egress" in setup:
        frames = [sent[id(event)] for event in seen["egress"]]
        frames += [_closing(course.out, frames)] if course.end.cut not in ("ingress", "egress") else []
        scale = _scale(course)
        process.body("egress", course.out, pieces(rng, frames, scale), ends[1], legs=legs, stamp=stamp,
                     extra=stamped(stamp))  # fmt: skip


def _scale(course: Course) -> float:
    """Paces between two events that leave, where there are fewer or more of them than came."""
    return min(2.0, len(course.seen["ingress"]) / max(1, len(course.honest)))


def _closing(provider: str, frames: Sequence[bytes]) -> bytes:
    """What closes the body."""
    return (b"]" if frames else b"[]") if FRAMING[provider] == "json_array" else b""


def _client(
    rng: Random, course: Course, process: Process, sent: dict[int, bytes], setup: frozenset[Point], stamp: Stamp
) -> None:
    end, seen = course.end, course.seen
    frames = [sent.get(id(event)) or _changed(course, sent, event) for event in seen["wire"]]
    frames += [_closing(course.out, frames)] if not end.cut else []
    ends = list(end.ends)
    if ends[2] == "stopped_at_terminal" and not (seen["wire"] and seen["wire"][-1].data == DONE):
        ends[2:] = ["eof"] * 3
    scale = _scale(course)
    wire = process.body("wire", course.out, pieces(rng, frames, scale), ends[2], stamp=stamp)
    objects = [json.loads(event.data) for event in seen["parsed"]]
    if "parsed" in setup:
        process.parsed(wire, objects, ends[3], ALL_PARTS & ~TERMINAL & ~ERROR if course.out == "openai_chat" else
                       ALL_PARTS & ~ERROR)  # fmt: skip
    if "applied" in setup:
        process.applied(wire, [(at, objects[at], result) for at, result in course.rows], ends[4])


def _changed(course: Course, sent: dict[int, bytes], event: Event) -> bytes:
    """An event that the transport changed, under the number that it had, or made, without one."""
    if (origin := course.origins.get(id(event))) is not None and id(origin) in sent:
        return sent[id(origin)].replace(origin.data[1:].encode(), event.data[1:].encode())
    framer = Framer(FRAMING[course.out], Style())
    if FRAMING[course.out] == "json_array":
        framer.frame(event)  # not the first one
    return framer.frame(event)


def pieces(rng: Random, frames: Sequence[bytes], scale: float = 1.0) -> Iterator[Timed]:
    """The body as reads bring it: event by event or cut anywhere, one event a pace (times `scale`)."""
    if rng.random() < 0.5:
        yield from ((frame, scale * (i + 1)) for i, frame in enumerate(frames) if frame)
        return
    body, ends, at, step = b"".join(frames), list(accumulate(map(len, frames))), 0, rng.choice((5, 60, 400))
    while at < len(body):
        size = rng.randint(1, step * 2)
        at, start = min(len(body), at + size), at
        yield body[start:at], scale * bisect_right(ends, at)
