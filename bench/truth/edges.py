"""Gateways at the edge of a rule: each does what one rule of the judge alone tells from something else.

Their answers say something new in every event, so that nothing but the rule is in question. `rules.py` says which rule
needs which.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from streamwitness.semconv import EDITED

from .harm import reworded
from .labels import Deed
from .mediator import Scene
from .said import UNNUMBERED
from .sockets.acts import DONE, Act, Event
from .sockets.scenario import written
from .ways import sorts

_IN_PIECES: Final = ("openai_chat", "anthropic")
"""Formats in which the arguments of a call come in pieces."""
_UNPROVABLE: Final = frozenset(("unprovable",))
_SEVERAL: Final = frozenset(("several answers",))
_CALL: Final = ('{"city": ', '"Paris", ', '"days": ', "[1, 2], ", '"unit": ', '"C"}')
_SHORT: Final = ('{"city": ', '"Paris"}')


def _said(one: Scene, texts: int, *more: Act, finish: str = "stop", word: str = "w") -> list[Event]:
    """An answer of so many texts, all new, and what else it says before its finish."""
    acts = [Act("role"), *(Act("text", f"{word}{i} ") for i in range(texts)), *more, Act("finish", finish)]
    return written(one.provider, [*acts, Act("terminal")])


def _call(*pieces: str) -> tuple[Act, ...]:
    return (Act("tool", "look_up"), *(Act("args", piece) for piece in pieces))


def _texts(one: Scene, events: Sequence[Event]) -> list[int]:
    """Where the texts stand."""
    return [i for i, event in enumerate(events) if one.has(event, "text") and one.tokens([event])]


def _anew(events: Sequence[Event]) -> list[Event]:
    """The events as somebody else writes them: the same, in other bytes."""
    return [
        event if event.data == DONE else event._replace(data=json.dumps(json.loads(event.data) | {"via": "gateway"}))
        for event in events
    ]


def _without(events: Sequence[Event], *gone: int) -> list[Event]:
    return [event for i, event in enumerate(events) if i not in gone]


# --------------------------------------------------------------------------- finishes


def _other_words(one: Scene) -> None:
    """The answer is written anew, its finish in a word that the other format has for it, and a text is lost."""
    one.answer = _said(one, 12, finish="content_filter")
    owed = _said(one, 12, finish="stop")
    one.leg(one.answer)
    at = one.rng.choice(_texts(one, owed)[1:-1])
    one.guilty("drop", at)
    one.send(_anew(_without(owed, at)), owed)


def _loses_and_makes_up(one: Scene) -> None:
    """The upstream broke off; the gateway had lost a text, and finishes as if nothing had been."""
    one.answer = _said(one, 12)
    texts = _texts(one, one.answer)
    one.leg(one.answer[: texts[-2]], one.rng.choice(("eof", "reset")))
    ends = [event for event in one.answer[texts[-1] + 1 :] if one.has(event, "finish", "terminal")]
    at = one.rng.choice(texts[1:6])
    one.guilty("drop", at)
    one.guilty("invent", texts[-2])
    one.deeds.append(Deed("source", "cut", (texts[-2],)))
    one.send([*_without(one.answer[: texts[-2]], at), *ends], one.answer[: texts[-2]])
    one.of_its_own(ends)


def _finished_and_left(one: Scene) -> None:
    """All is written anew, the finish in a word that the other format has for it, and then the client is gone."""
    one.answer = _said(one, 12, finish="content_filter")
    owed = _anew(_said(one, 12, finish="stop"))
    one.leg(one.answer)
    one.send(owed, owed)
    one.end = "disconnected"


def _another_finish(one: Scene) -> None:
    """All is handed on as it was written, but for the reason why it ended."""
    one.answer = _said(one, 12, finish="length")
    one.leg(one.answer)
    one.guilty("alter", one.finish(one.answer) or 0)
    one.send(_said(one, 12, finish="stop"))


def _finish_twice(one: Scene) -> None:
    """All is handed on as it was written, and the finish is there twice."""
    one.answer = _said(one, 12)
    at = one.finish(one.answer) or 0
    one.leg(one.answer)
    one.guilty("double", at)
    one.send([*one.answer[: at + 1], *one.answer[at:]])


def _lets_go(one: Scene) -> None:
    """The gateway lets go of its upstream, and finishes in a word that hides it, or keeps back what it had read."""
    one.answer = _said(one, 12)
    texts = _texts(one, one.answer)
    at = one.rng.choice(texts[6:])
    hides = one.rng.random() < 0.5
    one.leg(one.answer[:at], "cancelled")
    sent = one.answer[: at if hides else one.rng.choice(texts[4:6])]
    end = _said(one, 12, finish="stop" if hides else "length")
    ends = [event for event in end[texts[-1] + 1 :] if one.has(event, "finish", "terminal")]
    one.guilty("invent" if hides else "cut", at)
    one.send([*sent, *ends], one.answer[:at])
    one.of_its_own(ends)
    one.notes = _UNPROVABLE


# --------------------------------------------------------------------------- which response it is


def _every_other(one: Scene) -> None:
    """Of the only response every second text is lost, and the rest is written anew."""
    one.answer = _said(one, 24)
    one.leg(one.answer)
    gone = _texts(one, one.answer)[1::2]
    one.guilty("drop", *gone)
    one.send(_anew(_without(one.answer, *gone)))


def _sifts(one: Scene) -> None:
    """A declared filter leaves one text in four, written anew."""
    one.answer = _said(one, 60)
    one.extra = {EDITED: ["filter"]}
    one.leg(one.answer)
    texts = _texts(one, one.answer)
    made = _anew(_without(one.answer, *(at for i, at in enumerate(texts) if i % 4)))
    one.send(made, made)


def _filters_within(one: Scene) -> None:
    """A declared filter leaves out a part of a text, and what is left of it reads as another one does."""
    words = [f"w{i} " for i in range(8)]
    at = one.rng.randint(2, 6)
    words[at] = f"{words[at - 2]}and a secret "
    answer = [Act("role"), *(Act("text", word) for word in words), Act("finish", "stop"), Act("terminal")]
    one.answer = written(one.provider, answer)
    one.extra = {EDITED: ["filter"]}
    one.leg(one.answer)
    made = [act._replace(text=words[at - 2]) if act.text == words[at] else act for act in answer]
    one.send(written(one.provider, made), written(one.provider, made))
    one.notes = _UNPROVABLE


def _doubles_beside_a_filter(one: Scene) -> None:
    """A declared filter leaves out long texts, and behind the last of them a short one is doubled."""
    words = [f"w{i} " for i in range(12)]
    gone = [f"{i} is not to be told " for i in range(3)]
    acts = [Act("text", word) for i, word in enumerate(words) for word in (word, *gone[i : i + 1])]
    made = [act for act in acts if act.text not in gone]
    one.answer, owed = (
        written(one.provider, [Act("role"), *said, Act("finish", "stop"), Act("terminal")]) for said in (acts, made)
    )
    one.extra = {EDITED: ["filter"]}
    one.leg(one.answer)
    at = one.rng.choice(_texts(one, owed)[6:])
    one.guilty("double", at)
    one.send([*owed[: at + 1], *owed[at:]], owed)


# --------------------------------------------------------------------------- several upstream responses


def _other_attempt(one: Scene, pieces: int) -> list[Event]:
    """The beginning of another response, that broke off."""
    events = _said(one, 9, word="other")
    return events[: _texts(one, events)[pieces - 1] + 1]


def _goes_over(one: Scene, pieces: int, read: int) -> None:
    """The first pieces of an attempt that broke, written anew in one event, and the whole of the next one behind it."""
    broke = _other_attempt(one, read)
    one.answer = _said(one, 12)
    one.leg(broke, "reset")
    one.leg(one.answer)
    at = _texts(one, broke)
    whole = "".join(f"other{i} " for i in range(pieces))
    joined = reworded(one.provider, broke[at[0]], lambda _: whole) or broke[at[0]]
    first = _texts(one, one.answer)[0]
    made = [*one.answer[:first], *_anew([joined]), *one.answer[first:]]
    one.send(made, made)
    one.notes = _SEVERAL


def _keeps_a_piece(one: Scene) -> None:
    """Of an attempt that broke the first of two pieces was sent already."""
    _goes_over(one, 1, 2)


def _keeps_a_run(one: Scene) -> None:
    """Of an attempt that broke some pieces were sent already, joined."""
    pieces = one.rng.randint(2, 4)
    _goes_over(one, pieces, pieces)


def _invents_beside(one: Scene) -> None:
    """An attempt broke, and showed nothing; of the next one all came through as it was, and a text that was made up."""
    one.answer = _said(one, 12)
    one.leg(_other_attempt(one, 3), "reset")
    one.leg(one.answer)
    at = one.rng.choice(_texts(one, one.answer)[3:])
    made = reworded(one.provider, one.answer[at], lambda _: f"made up {one.rng.random()} ") or one.answer[at]
    one.guilty("invent", at)
    one.send([*one.answer[:at], made, *one.answer[at:]])


def _loses_beside(one: Scene) -> None:
    """A verdict of a guardrail was read before, whole; the answer came as it was written, but for a text."""
    one.answer = _said(one, 12)
    one.leg(_said(one, 1, word="safe"))
    one.leg(one.answer)
    at = one.rng.choice(_texts(one, one.answer)[3:-1])
    one.guilty("drop", at)
    one.send(_without(one.answer, at))


def _one_behind_the_other(one: Scene) -> None:
    """Two responses that are whole go out one behind the other."""
    one.answer = _said(one, 12)
    more = _said(one, 2, word="more")
    one.leg(one.answer)
    one.leg(more)
    one.send([*one.answer, *more], [*one.answer, *more])
    one.notes = _SEVERAL | _UNPROVABLE


# --------------------------------------------------------------------------- what the source gives away


def _hole(one: Scene) -> None:
    """The provider leaves a text out, and its own numbers and its whole text tell."""
    one.provider = "openai_responses"
    whole = _said(one, 12)
    at = one.rng.choice(_pieces_of(whole)[1:-1])
    one.answer = _without(whole, at)
    one.deeds.append(Deed("source", "hole", (at,)))
    one.leg(one.answer)
    one.send(one.answer)


def _pieces_of(events: Sequence[Event]) -> list[int]:
    return [i for i, event in enumerate(events) if event.name == "response.output_text.delta"]


# --------------------------------------------------------------------------- calls


def _changes_a_piece(one: Scene) -> None:
    """All is handed on as it was written, but for one piece of a call."""
    one.provider = one.rng.choice(_IN_PIECES)
    one.answer = _said(one, 6, *_call(*_CALL), finish="tool_calls")
    one.leg(one.answer)
    changed = [piece.replace("Paris", "Milan") for piece in _CALL]
    one.guilty("alter", 8)
    one.send(_said(one, 6, *_call(*changed), finish="tool_calls"))


def _call_anew(one: Scene) -> None:
    """All is handed on as it was written, but for a call, which is written in other spaces."""
    one.answer = _said(one, 20, *_call(*_SHORT), finish="tool_calls")
    one.leg(one.answer)
    one.send(_said(one, 20, *_call('{"city":', '"Paris"}'), finish="tool_calls"))
    one.before = one.after
    one.notes = _UNPROVABLE


def _other_turns(one: Scene) -> None:
    """The same words in the same order within each kind of output, and the kinds in turns of their own."""
    one.provider = one.rng.choice(("openai_chat", "gemini"))
    thoughts, texts = [[Act(kind, f"{kind}{i} ") for i in range(6)] for kind in ("reason", "text")]
    end = [Act("finish", "stop"), Act("terminal")]
    one.answer = written(one.provider, [Act("role"), *thoughts, *texts, *end])
    one.leg(one.answer)
    at = one.rng.randint(2, 5)
    one.guilty("move", at)
    one.send(written(one.provider, [Act("role"), *thoughts[:at], *texts[:3], *thoughts[at:], *texts[3:], *end]))
    one.notes = _UNPROVABLE


def _numbers_alike(one: Scene) -> None:
    """Two calls, and all pieces go out under the number of the first: the ids alone tell where the second begins."""
    one.provider = "openai_chat"
    one.answer = _said(one, 6, *_call(*_CALL), *_call(*_SHORT), finish="tool_calls")
    made = [e._replace(data=e.data.replace('"tool_calls":[{"index":1', '"tool_calls":[{"index":0')) for e in one.answer]
    one.leg(one.answer)
    one.guilty("alter", *(i for i, (event, other) in enumerate(zip(one.answer, made, strict=True)) if event != other))
    one.send(made)
    one.after = (*one.after[:-1], "pieces of one call", one.after[-1])
    one.notes = _UNPROVABLE


def _wrong_call(one: Scene) -> None:
    """Two calls at once, and a piece of one goes out as the other's."""
    one.provider = "openai_chat"
    one.answer = _said(one, 6, *_call(*_CALL), *_call(*_SHORT), finish="tool_calls")
    pieces = [i for i, event in enumerate(one.answer) if one.has(event, "args") and one.tokens([event])]
    at = one.rng.choice(pieces[: len(_CALL)])
    made = list(one.answer)
    made[at] = made[at]._replace(data=made[at].data.replace('"index":0,"function"', '"index":1,"function"'))
    one.leg(one.answer)
    one.guilty("alter", at)
    one.send(made)
    one.after = (*one.after[:-1], "a piece of another call", one.after[-1])
    one.notes = _UNPROVABLE


_MAKERS: Final = (
    _other_words, _loses_and_makes_up, _finished_and_left, _another_finish, _finish_twice, _lets_go, _every_other,
    _sifts, _filters_within, _doubles_beside_a_filter, _keeps_a_piece, _keeps_a_run, _invents_beside, _loses_beside,
    _one_behind_the_other, _hole, _changes_a_piece, _call_anew, _other_turns,
    _numbers_alike, _wrong_call,
)  # fmt: skip


SORTS: Final = sorts("edges", 1, _MAKERS, lambda rng: Scene(rng, rng.choice(UNNUMBERED)))
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
