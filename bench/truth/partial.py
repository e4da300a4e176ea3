"""Streams of the model that are less than a path: one hop, a gateway with several upstream answers, one that joins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Final

from streamwitness.blocks import Block
from streamwitness.semconv import ERROR, RESPONSE_ID, ROLE, TERMINAL, USAGE

from .build import LEG, Event, How, answer, handed_on, path, random_cuts, recorder_id, used
from .labels import Deed, Ended, Passage, Trial
from .model import ID, damaged, in_bytes, missed, reached, said, whole, words

# --------------------------------------------------------------------------- one hop


def hop(rng: Random, name: str) -> Trial:
    """Gateway out → client alone: longer answers, up to six faults, every way for the client to end."""
    sent = answer(words(rng, rng.randint(0, 80)))
    count = rng.choice((0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6))
    return _hop(rng, name, sent, count, ("eof", "eof", "eof", "reset", *_OWN, "stopped_at_terminal"))


def few_words(rng: Random, name: str) -> Trial:
    """The same, of two or three words in no order, so that runs of them stand in more than one place; then it stops."""
    sent = answer(rng.choices((1000, 1001, 1002)[: rng.choice((2, 2, 3))], k=rng.randint(20, 70)))
    return _hop(rng, name, sent, rng.randint(1, 3), _OWN)


def stops_soon(rng: Random, name: str) -> Trial:
    """An event is lost, and the client stops a few events behind it, all of them new."""
    sent = answer(range(1000, 1000 + rng.randint(12, 40)))
    at = rng.randint(2, len(sent) - 6)
    return _stopped(rng, name, sent, at, at + 4)


def stops_late(rng: Random, name: str) -> Trial:
    """The same long behind it, and of a few words in no order, none of which stands once."""
    sent = answer(rng.choices(range(1000, 1006), k=rng.randint(50, 70)))
    at = rng.randint(2, 10)
    return _stopped(rng, name, sent, at, at + rng.randint(25, 35))


def far_apart(rng: Random, name: str) -> Trial:
    """Most of a long answer is cut off, and something was put in before: too much for a search among explanations."""
    sent = answer(rng.choices(range(1000, 1040), k=rng.randint(100, 120)))
    keep = rng.randint(15, 35)
    came = sent[:keep]
    at = rng.randint(2, keep - 2)
    came.insert(at, Event(500_000))
    blocks = How("egress", legs=()).blocks(sent, random_cuts(rng, len(sent)))
    blocks += How("wire", expected=("egress",)).blocks(came, random_cuts(rng, len(came)))
    deeds = (Deed("transport", "cut", tuple(range(keep, len(sent)))), Deed("transport", "invent", (at,)))
    passage = Passage("transport", in_bytes(sent), in_bytes(came), by_event=True, lost=missed(sent, came))
    return Trial(
        name, "model", "pass-through", "model", deeds, (passage,), Ended(frozenset(), None), blocks,
        frozenset(("egress", "wire")),
    )  # fmt: skip


def _stopped(rng: Random, name: str, sent: list[Event], at: int, stop: int) -> Trial:
    came = [event for i, event in enumerate(sent[:stop]) if i != at]
    blocks = How("egress", legs=()).blocks(sent, random_cuts(rng, len(sent)))
    blocks += How("wire", end="cancelled", expected=("egress",)).blocks(came, random_cuts(rng, len(came)))
    passage = Passage(
        "transport", in_bytes(sent), in_bytes(came), True, by_event=True, due=stop, lost=missed(sent, came)
    )
    return Trial(
        name, "model", "pass-through", "model", (Deed("transport", "drop", (at,)),), (passage,),
        Ended(frozenset(), None), blocks, frozenset(("egress", "wire")),
    )  # fmt: skip


_OWN: Final = ("cancelled", "timeout", "unknown")
"""Ends that a client makes by itself."""


def _hop(rng: Random, name: str, sent: list[Event], count: int, ends: tuple[str, ...]) -> Trial:
    deeds: list[Deed] = []
    came = damaged(rng, "transport", sent, count, deeds)
    end = rng.choice(ends)
    if end == "stopped_at_terminal" and not (came and came[-1].parts & TERMINAL):
        end = "eof"
    own = end in _OWN
    came = came[: rng.randint(0, len(came))] if own else came
    due = reached(sent, came)
    size = rng.choice(((1, 3), (2, 16), (2, 16)))
    blocks = How("egress", legs=()).blocks(sent, random_cuts(rng, len(sent), *size))
    blocks += How("wire", end=end, expected=("egress",)).blocks(came, random_cuts(rng, len(came), *size))
    passage = Passage("transport", in_bytes(sent), in_bytes(came), own, by_event=True, due=due, lost=missed(sent, came))
    return Trial(
        name, "model", "pass-through", "model", tuple(deeds), (passage,), Ended(frozenset(), None), blocks,
        frozenset(("egress", "wire")),
    )  # fmt: skip


def no_output(rng: Random, name: str) -> Trial:
    """A whole path on which the transport loses what is no output, so that only the points next to it can tell."""
    sent = answer(words(rng, rng.randint(3, 30)))
    sent.insert(rng.randint(2, len(sent) - 2), Event(parts=USAGE))
    at = rng.choice([i for i, event in enumerate(sent) if event.parts & (ROLE | USAGE)])
    came = [*sent[:at], *sent[at + 1 :]]
    parsed = handed_on(came)
    blocks = path(sent, sent, came, parsed, used(parsed), cuts=lambda n: random_cuts(rng, n))
    passage = Passage("transport", in_bytes(sent), in_bytes(came), by_event=True)
    return Trial(
        name, "model", "pass-through", "model", (Deed("transport", "drop", (at,)),), (passage,),
        Ended(frozenset(), None), blocks, frozenset(("ingress", "egress", "wire", "parsed", "applied")),
    )  # fmt: skip


def every_byte(rng: Random, name: str) -> Trial:
    """Every event is written otherwise on the way to a client that stops by itself; what they say is the same."""
    sent = answer(words(rng, rng.randint(6, 30)))
    came = [replace(event, payload=event.digest ^ 5) for event in sent[: rng.randint(3, len(sent) - 1)]]
    blocks = How("egress", legs=()).blocks(sent, random_cuts(rng, len(sent)))
    blocks += How("wire", end="cancelled", expected=("egress",)).blocks(came, random_cuts(rng, len(came)))
    after = tuple(f"{token}, otherwise" for token in in_bytes(came))
    return Trial(
        name, "model", "pass-through", "model", (Deed("transport", "alter", tuple(range(len(came)))),),
        (Passage("transport", in_bytes(sent), after, stopped=True),), Ended(frozenset(), None), blocks,
        frozenset(("egress", "wire")),
    )  # fmt: skip


# --------------------------------------------------------------------------- several upstream answers, or fewer events


def attempts(rng: Random, name: str) -> Trial:
    """A gateway that read one to three upstream answers, of which the last or none feeds its own."""
    answers = [answer(words(rng, rng.randint(0, 30))) for _ in range(rng.randint(1, 3))]
    for i in range(len(answers) - 1):
        answers[i] = answers[i][: rng.randint(0, len(answers[i]))]
    elsewhere = rng.random() < 0.2
    right = answer(word + 300_000 for word in words(rng, rng.randint(1, 30))) if elsewhere else list(answers[-1])
    if len(answers) > 1 and not elsewhere and rng.random() < 0.3:
        right = [*answers[0], *right]
    deeds: list[Deed] = []
    spliced = right[: len(right) - len(answers[-1])]
    sent = damaged(rng, "gateway", right, rng.choice((0, 0, 1, 2)), deeds)
    if spliced and any(sent == [*spliced[:k], *answers[-1]] for k in range(len(spliced))):
        right = sent  # as if it had gone over to the other attempt a little earlier
    owed = right
    if spliced and answers[-1][: len(spliced)] == spliced:  # which is no splice: it sent the beginning twice
        owed = list(answers[-1])
        deeds.append(Deed("gateway", "double", tuple(range(len(spliced)))))
    for i in range(len(answers) - (not elsewhere)):  # an attempt that feeds nothing may have failed loudly
        answers[i] += [Event(parts=ERROR)] if rng.random() < 0.3 else []
    legs = tuple(recorder_id("ingress", i, "a") for i in range(len(answers)))
    ids = [((RESPONSE_ID, f"answer {i}"),) for i in range(len(answers))]
    blocks: list[Block] = []
    for i, events in enumerate(answers):
        last = i == len(answers) - 1
        how = How("ingress", leg=i, end="eof" if last else rng.choice(("eof", "reset", "cancelled")), extra=ids[i])
        blocks += how.blocks(events, random_cuts(rng, len(events)))
    blocks += How("egress", legs=legs, expected=("ingress",), extra=() if elsewhere else ids[-1]).blocks(
        sent, random_cuts(rng, len(sent))
    )
    passage = Passage("gateway", said(owed), said(sent))
    return Trial(
        name, "model", "failing over", "none", tuple(deeds), (passage,), Ended(frozenset(), None), blocks,
        frozenset(("ingress", "egress")), frozenset(("several answers",) if len(answers) > 1 or elsewhere else ()),
    )  # fmt: skip


def merging(rng: Random, name: str) -> Trial:
    """A gateway that joins texts into larger events; a guilty one loses, doubles or changes a piece inside."""
    texts = words(rng, rng.randint(2, 40))
    deeds: list[Deed] = []
    before = answer(texts)
    kept = [Event(text) for text in texts]
    if rng.random() < 0.5:
        kept = damaged(rng, "gateway", kept, 1, deeds)
    sent: list[Event] = [before[0]]
    at = 0
    while at < len(kept):
        piece = tuple(event.text for event in kept[at : at + rng.randint(1, 5)])
        at += len(piece)
        sent.append(kept[at - 1] if len(piece) == 1 else Event(joined(piece)))
    sent += before[-2:]
    told, come = tuple(map(str, texts)), tuple(str(event.text) for event in kept)
    hows: dict[str, Any] = {
        "ingress": How("ingress", leg=0, extra=ID, slots=(f"0/text/0 {digest_of(told)} {3 * len(told)}",)),
        "egress": How("egress", legs=(LEG,), extra=ID, slots=(f"0/text/0 {digest_of(come)} {3 * len(come)}",)),
    }
    blocks = path(before, sent, None, cuts=lambda n: random_cuts(rng, n), **hows)
    return Trial(
        name, "model", "merging", "none", tuple(deeds), (Passage("gateway", told, come),), Ended(frozenset(), None),
        blocks, frozenset(("ingress", "egress")), frozenset(("recut",)),
    )  # fmt: skip


def joined(piece: tuple[int, ...]) -> int:
    """A text that no single event says."""
    return 1_000_000 + int(digest_of(tuple(map(str, piece))), 16) % 1_000_000_000


def digest_of(tokens: tuple[str, ...]) -> str:
    value = 0x811C9DC5
    for byte in " ".join(tokens).encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{value:08x}"


SORTS: Final[dict[str, tuple[Callable[[Random, str], Trial], int]]] = {
    "path": (whole, 6),
    "hop": (hop, 4),
    "few_words": (few_words, 1),
    "stops_soon": (stops_soon, 1),
    "stops_late": (stops_late, 1),
    "far_apart": (far_apart, 1),
    "no_output": (no_output, 1),
    "every_byte": (every_byte, 1),
    "attempts": (attempts, 2),
    "merging": (merging, 1),
}
"""Name → what makes such a stream, and how often beside the others."""
