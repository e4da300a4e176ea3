"""Gateways with ways of their own: guardrails, attempts that fail, edits on purpose, ends that are made up or lost.

A gateway that does what it may is in order; one that loses, invents or hides something is guilty and says so itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from streamwitness.semconv import EDITED, STATUS_CODE

from .harm import of_the_answer, reworded
from .labels import Deed
from .mediator import Leg, Scene
from .recorded import framed
from .said import UNNUMBERED
from .sockets.acts import DONE, Act, Event
from .sockets.readers import acts_of
from .sockets.scenario import written
from .ways import sorts

_SEVERAL: Final = frozenset(("several answers",))
_UNPROVABLE: Final = frozenset(("unprovable",))


# --------------------------------------------------------------------------- several upstream responses


def _guardrail(one: Scene) -> None:
    """A verdict of a guardrail is read beside the answer, before or behind it."""
    other = written(one.provider, [Act("role"), Act("text", f"safe {one.rng.random()}"), Act("finish", "stop"),
                                   Act("terminal")])  # fmt: skip
    both = [other, one.answer]
    for events in both if one.rng.random() < 0.5 else both[::-1]:
        one.leg([event for event in events if not event.comment])
    one.send(one.broken())
    if {deed.act for deed in one.deeds} & {"invent", "alter"}:
        one.notes = _UNPROVABLE  # new words may be made of those of both


def _abandoned(one: Scene) -> None:
    """An attempt broke off after a few events of other words; another one answered."""
    first = written(one.provider, [Act("role"), *(Act("text", f"other {i} ") for i in range(9)), Act("terminal")])
    one.leg(first[: one.rng.randint(1, 6)], one.rng.choice(("reset", "eof", "cancelled")))
    one.leg(one.answer)
    one.send(one.broken())


def _hedged(one: Scene) -> None:
    """Two attempts say the same; the slower one is let go, or read to its end."""
    if one.rng.random() < 0.3:  # one of them says behind its end that it failed
        legs = [one.answer, [*one.answer, *written(one.provider, [Act("error", "overloaded")])]]
        one.rng.shuffle(legs)
        for events in legs:
            one.leg(events)
        one.send(one.answer)
        return
    slow = one.answer[: one.rng.randint(1, len(one.answer))]
    both = [(slow, "eof" if len(slow) == len(one.answer) else "cancelled"), (one.answer, "eof")]
    for events, end in both if one.rng.random() < 0.5 else both[::-1]:
        one.leg(events, end)
    one.send(one.answer)


def _went_over(one: Scene) -> None:
    """What an attempt brought until it broke, and then the whole of the next one, or the rest of it."""
    said = [i for i, event in enumerate(one.answer) if one.tokens([event])]
    at = one.rng.choice(said[2:4]) + 1  # it shows that the answer began with this
    one.leg(one.answer[:at], "reset")
    again = one.say(one.rng)
    while set(one.tokens(one.answer[:at])) <= set(one.tokens(again)):
        again = one.say(one.rng)
    one.leg(again)
    begin = 0 if one.rng.random() < 0.5 else one.rng.randint(0, (one.finish(again) or 1) - 1)
    one.send([*one.answer[:at], *again[begin:]], [*one.answer[:at], *again[begin:]])
    one.notes = _SEVERAL


# --------------------------------------------------------------------------- the end of an answer


def _swallows(one: Scene) -> None:
    """An error ends the answer, and goes out as an ordinary end; one that asked again swallowed none."""
    at = one.rng.randint(2, one.finish(one.answer) or 2)
    error = written(one.provider, [Act("error", "overloaded")])
    one.leg([*one.answer[:at], *error])
    if one.rng.random() < 0.3:
        one.leg([])
        one.notes = _SEVERAL
    else:
        one.guilty("swallow", at)
    rest = [event for event in one.answer[at:] if one.rng.random() < 0.5 and one.has(event, "finish", "terminal")]
    if rest and not one.deeds:
        one.guilty("invent", at)
    one.send([*one.answer[:at], *rest], [*one.answer[:at], *error])
    one.of_its_own(rest)


def _makes_up_an_end(one: Scene) -> None:
    """The upstream broke off, and the answer goes out as if it were whole; or the gateway had let go by itself."""
    at = one.rng.randint(2, one.finish(one.answer) or 2)
    end = one.rng.choice(("eof", "reset", "timeout", "cancelled"))
    one.leg(one.answer[:at], end)
    ends = [event for event in one.answer[at:] if one.has(event, "finish", "terminal")]
    sort = one.rng.choice(("whole", "failed", "terminator"))
    if sort == "failed":
        one.extra = {STATUS_CODE: 502}
    if sort != "whole":
        ends = [event for event in ends if not one.has(event, "finish")]
    if end != "cancelled" and ends and sort != "failed":
        one.guilty("invent", at)
    one.send([*one.answer[:at], *ends], one.answer[:at])
    one.of_its_own(ends)
    if not one.deeds:
        one.before = one.after  # it may say so
        one.notes = _UNPROVABLE
    if end != "cancelled" and one.deeds:
        one.deeds.append(Deed("source", "cut", (at,)))


def _loses_the_finish(one: Scene) -> None:
    """All came out but the finish."""
    at = one.finish(one.answer) or 0
    one.leg(one.answer)
    one.guilty("drop", at)
    texts = [*one.answer[:at], *one.answer[at + 1 :]]
    one.send(_joined(one, texts) if one.rng.random() < 0.5 else texts)
    one.after = one.tokens(texts)


def _joined(one: Scene, events: Sequence[Event]) -> list[Event]:
    """Some neighbouring texts in one event."""
    out: list[Event] = []
    for event in events:
        both = _both(one, out[-1], event) if out and one.rng.random() < 0.5 else None
        if both is None:
            out.append(event)
        else:
            out[-1] = both
    return out


def _both(one: Scene, first: Event, second: Event) -> Event | None:
    """One event that says what two do, where each is a text and nothing else."""
    said = [acts_of(one.provider, event.data) for event in (first, second)]
    if any([act.kind for act in acts] != ["text"] or not acts[0].text for acts in said):
        return None
    return reworded(one.provider, second, lambda text: said[0][0].text + text)


def _breaks_off(one: Scene) -> None:
    """The gateway lets go and ends its answer in order, before what it had read last was sent."""
    at = one.rng.randint(4, (one.finish(one.answer) or 4) + 0)
    sent = one.rng.randint(1, at - 1)
    one.leg(one.answer[:at], "cancelled")
    one.send(one.answer[:sent], one.answer[:at])
    one.guilty("cut", *range(sent, at))
    one.notes = _UNPROVABLE


def _client_left(one: Scene) -> None:
    """The client went away early; a little more had been read."""
    sent = one.rng.randint(0, len(one.answer))
    at = min(len(one.answer), sent + one.rng.randint(0, 3))
    one.leg(one.answer[:at], "cancelled")
    one.send(one.answer[:sent], one.answer[:sent])
    one.end, one.stopped = "disconnected", True


# --------------------------------------------------------------------------- events that cannot be read


def _breaks_an_event(one: Scene) -> None:
    """An event comes out cut in half."""
    one.leg(one.answer)
    places = [i for i, event in enumerate(one.answer) if of_the_answer(one.provider, event) and len(event.data) > 40]
    at = one.rng.choice(places)
    half = one.answer[at]._replace(data=one.answer[at].data[:-20])
    one.guilty("malform", at)
    one.send([*one.answer[:at], half, *one.answer[at + 1 :]])


def _mends_an_event(one: Scene) -> None:
    """An event came broken from the provider; the gateway passes it on, leaves it out, or mends it."""
    at = one.rng.choice([i for i, event in enumerate(one.answer) if len(event.data) > 40])
    half = one.answer[at]._replace(data=one.answer[at].data[:-20])
    read = [*one.answer[:at], half, *one.answer[at + 1 :]]
    one.leg(read)
    one.deeds.append(Deed("source", "malform", (at,)))
    made = one.rng.choice(([half], [], [one.answer[at]]))
    one.send([*one.answer[:at], *made, *one.answer[at + 1 :]])
    one.before = one.after


def _reads_by_lines(one: Scene) -> None:
    """The upstream ends without a blank line, and the gateway takes the end for one."""
    at = one.rng.randint(2, len(one.answer) - 1)
    frames = framed(one.provider, one.answer[: at + 1])
    frames[-1] = frames[-1].rstrip(b"\r\n")
    one.legs.append(Leg(frames))
    one.send(one.answer[: at + 1], one.answer[: at + 1])
    one.deeds.append(Deed("source", "cut", tuple(range(at + 1, len(one.answer)))))


def _behind_the_end(one: Scene) -> None:
    """Behind the terminator came what nobody reads; the gateway hands it on, or not."""
    terminated = one.has(one.answer[-1], "terminal")  # without one, an error there would still be of the answer
    more = written(one.provider, [Act("error" if terminated and one.rng.random() < 0.5 else "usage")])
    more = more or [Event("", '{"note":"over"}')]
    one.leg([*one.answer, *more])
    one.send([*one.answer, *more] if one.rng.random() < 0.5 else one.answer)
    one.before = one.after


def _goes_on(one: Scene) -> None:
    """The gateway itself sends something more behind the end: an output of its own, or the finish again."""
    finish = one.answer[one.finish(one.answer) or 0]
    again = one.rng.random() < 0.5
    text = next(event for event in one.answer if one.tokens([event]))
    more = finish if again else reworded(one.provider, text, lambda _: "and one thing more ") or finish
    at = one.rng.choice([i for i, event in enumerate(one.answer) if one.tokens([event])])
    one.leg(one.answer)
    if one.rng.random() < 0.3:
        one.guilty("move", at)
        one.guilty("late", len(one.answer))
        one.send([*one.answer[:at], *one.answer[at + 1 :], one.answer[at]])
    else:
        one.guilty("late", len(one.answer))
        one.send([*one.answer, more])
    one.notes = _UNPROVABLE if one.answer[-1].data != DONE and one.provider == "gemini" else frozenset()


def _misframed(one: Scene) -> None:
    """The provider sends lines under the type of events, and the gateway makes proper events of them."""
    one.legs.append(Leg([event.data.encode() + b"\n" for event in one.answer if event.data != DONE]))
    one.send(one.answer)
    one.notes = _UNPROVABLE


# --------------------------------------------------------------------------- what may be written otherwise


def _calls_anew(one: Scene) -> None:
    """A call's arguments are read, and written in other spaces."""
    acts = [Act("role"), *(Act("text", f"t{i} ") for i in range(4)), Act("tool", "look_up"), Act("args", '{"city": '),
            Act("args", '"Paris", "n": [1, 2]}'), Act("finish", "tool_calls"), Act("terminal")]  # fmt: skip
    tight = [act._replace(text=act.text.replace(": ", ":").replace(", ", ",")) if act.kind == "args" else act
             for act in acts]  # fmt: skip
    one.answer = written(one.provider, acts)
    one.leg(one.answer)
    one.send(written(one.provider, tight))
    one.before = one.after
    one.notes = _UNPROVABLE


def _declared(one: Scene) -> None:
    """A gateway that says that it filters, rewrites or merges, and does that; it may do something else besides."""
    kind = one.rng.choice(("filter", "rewrite", "merge"))
    if kind == "merge":
        few = [Act("text", one.rng.choice(("a", "b", "ab", "ba", "c"))) for _ in range(12)]
        one.answer = written(one.provider, [Act("role"), *few, Act("finish", "stop"), Act("terminal")])
    one.extra = {EDITED: [kind]}
    one.leg(one.answer)
    texts = [i for i, event in enumerate(one.answer) if one.has(event, "text") and event in one.answer]
    made = list(one.answer)
    if kind == "filter":
        gone = {i for i in texts if one.rng.random() < 0.3}
        made = [event for i, event in enumerate(made) if i not in gone]
    elif kind == "rewrite":
        made = [reworded(one.provider, e, lambda _: "X") or e if i in texts and one.rng.random() < 0.3 else e
                for i, e in enumerate(made)]  # fmt: skip
    else:
        made = _joined(one, made)
    owed = made
    if kind != "rewrite" and one.rng.random() < 0.5 and (twice := [i for i, e in enumerate(made) if e.data
                                                          and one.has(e, "text") and one.tokens([e])]):  # fmt: skip
        at = one.rng.choice(twice)
        one.guilty("double", at)
        made = [*made[: at + 1], made[at], *made[at + 1 :]]
    one.send(made, owed)
    if _is_left_of(one.after, one.tokens(one.answer)) and kind == "filter":
        one.before = one.after  # as if another copy had been left out
    one.notes = _UNPROVABLE


def _is_left_of(some: Sequence[str], every: Sequence[str]) -> bool:
    """Whether these are, in order, among those."""
    rest = iter(every)
    return all(token in rest for token in some)


def _merges_alike(one: Scene) -> None:
    """A declared merge makes an event that there is already, and another one is lost."""
    texts = ["x ", "a", "b", *(f"w{i} " for i in range(4)), "ab", "c ", "d "]
    acts = [Act("role"), *(Act("text", text) for text in texts), Act("finish", "stop"), Act("terminal")]
    one.answer = written(one.provider, acts)
    lost = one.rng.choice(texts[3:7])
    kept = [act for act in acts if act.text != lost]
    one.extra = {EDITED: ["merge"]}
    one.leg(one.answer)
    one.guilty("drop", texts.index(lost))
    joined = [act for act in kept if act.text != "a"]
    joined[joined.index(Act("text", "b"))] = Act("text", "ab")
    one.send(written(one.provider, joined))
    one.after = one.tokens(written(one.provider, kept))
    one.notes = frozenset(("recut",))


def _counted(one: Scene) -> None:
    """Recorders that keep counters only, and a gateway that joins pieces."""
    one.level = "counters"
    one.leg(one.answer)
    one.send(_joined(one, one.answer))
    one.before = one.after
    one.notes = _UNPROVABLE


def _unknown_format(one: Scene) -> None:
    """A format that nobody knows; the gateway adds a field of its own."""
    one.path = "/v9/stream"
    acts = [{"seq": i, "piece": f"p{i} "} for i in range(one.rng.randint(6, 20))]
    one.answer = [Event("", json.dumps(act)) for act in acts]
    one.leg(one.answer)
    at = one.rng.randrange(len(acts))
    one.send([Event("", json.dumps(act | {"trace": 1} if i == at else act)) for i, act in enumerate(acts)])
    one.before = one.after
    one.notes = _UNPROVABLE


_MAKERS: Final = (
    _guardrail, _abandoned, _hedged, _went_over, _swallows, _makes_up_an_end, _loses_the_finish, _breaks_off,
    _client_left, _breaks_an_event, _mends_an_event, _reads_by_lines, _behind_the_end, _goes_on, _misframed,
    _calls_anew, _declared, _merges_alike, _counted, _unknown_format,
)  # fmt: skip


SORTS: Final = sorts("gateway", 2, _MAKERS, lambda rng: Scene(rng, rng.choice(UNNUMBERED)))
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
