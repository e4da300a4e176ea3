"""Edits that a gateway declares: what they excuse, what they leave unproven, and what they never excuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from bench.truth.build import FINISHED, LEG, Event, How, answer, path, random_cuts
from bench.truth.loss import LOSSES, with_summaries
from bench.truth.model import words
from streamwitness.semconv import EDITED, ERROR, FINISH, FINISH_REASONS_ATTRIBUTE, ROLE, TERMINAL, TEXT
from streamwitness_analyzer.judge import judge
from tests.analyzer.judge import chat

ANSWER = answer(range(1, 21))
READ = How("ingress", leg=0)
LIMIT = [Event(FINISHED + 1, FINISH), Event(parts=TERMINAL)]
"""A finish in another word than the upstream's, and the terminator."""


def declared(*kinds: str, end: str = "eof", slots: tuple[str, ...] | None = None, complete: bool | None = None) -> How:
    """Gateway out, with these declarations in its closing block."""
    return How("egress", end, complete, legs=(LEG,), slots=slots, extra=((EDITED, list(kinds)),))


def gateway(read: Sequence[Event], sent: Sequence[Event], out: How, ingress: How = READ) -> dict[str, Any]:
    """The verdict on a gateway that declared its edits."""
    return judge(path(read, sent, None, egress=out, ingress=ingress), settled=True)


def told(verdict: dict[str, Any]) -> tuple[Any, ...]:
    """Integrity, kind and count of each finding, kind and count of each note."""
    return (
        verdict["integrity"],
        [(f["kind"], f["count"]) for f in verdict["findings"]],
        [(n["kind"], n["count"]) for n in verdict["notes"]],
    )


def test_a_filter_that_leaves_events_out_is_intact() -> None:
    """The rest is what was read, in order."""
    verdict = gateway(ANSWER, [*ANSWER[:4], *ANSWER[5:9], *ANSWER[11:]], declared("filter"))
    assert told(verdict) == ("intact", [], [("edited", 3)])
    note = verdict["notes"][0]
    assert note["sentence"] == "The gateway says that it left out 3 events on purpose."
    assert note["edit"] == "filter"
    assert verdict["why"]["cleared"] == ["gateway"]


def test_without_the_declaration_the_same_is_a_loss() -> None:
    """And so it is with a word that nobody knows."""
    for out in (declared(), declared("sieve")):
        assert told(gateway(ANSWER, [*ANSWER[:4], *ANSWER[5:]], out)) == ("damaged", [("gap", 1)], [])


@pytest.mark.parametrize("end", ["eof", "cancelled", "abandoned"])
def test_a_limit_of_the_gateways_own_completes_the_answer(end: str) -> None:
    """It stopped sending, whether or not it stopped reading, and finished in its own word."""
    stopped = How("ingress", end, leg=0)
    verdict = gateway(ANSWER, [*ANSWER[:9], *LIMIT], declared("filter"), ingress=stopped)
    kept, findings, _ = told(verdict)
    assert (verdict["ending"]["class"], kept, findings) == ("completed", "intact", [])


def test_a_limit_while_the_upstream_went_on() -> None:
    """The provider had not finished when the gateway let go of it: the ending is the gateway's choice."""
    stopped = How("ingress", "cancelled", complete=False, leg=0)
    client = [*ANSWER[:4], *ANSWER[5:9], *LIMIT]
    honest = declared("filter")
    honest = replace(honest, extra=(*honest.extra, (FINISH_REASONS_ATTRIBUTE, ("content_filter",))))
    blocks = path(ANSWER[:15], client, client, egress=honest, ingress=stopped)
    verdict = judge(blocks, settled=True)
    notes = [("short_by_design", 1), ("edited", 1)]
    assert (verdict["ending"]["class"], *told(verdict)) == ("completed", "intact", [], notes)
    assert verdict["ending"]["by"] == "gateway"
    cells = {point["point"]: point["cells"] for point in verdict["points"]}
    assert cells["egress"].startswith("ooooeoooo")
    hidden = path(ANSWER[:15], client, client, egress=declared("filter"), ingress=stopped)
    assert judge(hidden, settled=True)["integrity"] == "unproven"  # no word says that it is short


def test_a_filter_while_rows_are_lost_is_unproven() -> None:
    """Whether the rest came in order, nobody knows."""
    blocks = path(ANSWER, [*ANSWER[:4], *ANSWER[5:9], *ANSWER[11:]], None, cuts=lambda _: range(2, 30, 3),
                  egress=declared("filter"))  # fmt: skip
    lost = [b for b in blocks if not (b.point == "egress" and b.index in (1, 2, 3))]
    verdict = judge(lost, settled=True)
    assert (verdict["integrity"], verdict["findings"]) == ("unproven", [])


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("duplicate", [*ANSWER[:4], *ANSWER[5:9], ANSWER[8], *ANSWER[9:]]),
        ("reorder", [*ANSWER[:4], *ANSWER[5:9], ANSWER[10], ANSWER[9], *ANSWER[11:]]),
        ("duplicate", [*ANSWER[:9], ANSWER[8], *ANSWER[9:]]),
        ("reorder", [*ANSWER[:9], ANSWER[10], ANSWER[9], *ANSWER[11:]]),
        ("fabricated", [*ANSWER[:9], Event(777), *ANSWER[9:]]),
    ],
    ids=["doubled beside a loss", "displaced beside a loss", "doubled", "displaced", "put in"],
)
def test_a_filter_excuses_nothing_but_losses(kind: str, sent: list[Event]) -> None:
    """Who leaves out does not double, move or add."""
    verdict = gateway(ANSWER, sent, declared("filter"))
    assert [(f["kind"], f["count"], f["confidence"]) for f in verdict["findings"]] == [(kind, 1, "certain")]


def test_a_part_of_an_event_left_out_is_unproven() -> None:
    """The event that is gone, and the shorter one in its place."""
    sent = [*ANSWER[:4], replace(ANSWER[4], text=4004), *ANSWER[5:]]
    assert told(gateway(ANSWER, sent, declared("filter")))[:2] == ("unproven", [])


WORDS = ("The ", "quick ", "brown ", "fox ", "jumped ", "over ", "dogs.")


@pytest.mark.parametrize("stamp", [False, True])
@pytest.mark.parametrize(
    ("words", "findings"),
    [
        (("The ", "quick ", "brown ", "fox ", "fox ", "over ", "dogs."), []),
        (("The ", "fox ", "quick ", "brown ", "fox ", "over ", "dogs."), [("duplicate", ["gateway"], 1)]),
        (("The ", "The ", "quick ", "brown ", "fox ", "over ", "dogs."), [("duplicate", ["gateway"], 1)]),
        (("The ", "quick ", "brown ", "fox ", "over ", "dogs.", "mid. "), [("fabricated", ["gateway"], 1)]),
        (("The ", "quick ", "brown ", "fox ", "jump ", "over ", "dogs."), []),
        (("The ", "fox ", "quick ", "brown ", "fox ", "over ", "dogs.", "fox "), []),
        (("The ", "brown ", "quick ", "fox ", "over ", "dogs."), [("reorder", ["gateway"], 1)]),
        (("The ", "quick ", "over ", "jumped ", "over ", "dogs."), []),
        (("The ", "quick ", "brown ", "jumped ", "over ", "jumped ", "dogs."), [("duplicate", ["gateway"], 1)]),
    ],
    ids=[
        "where one is missing",
        "elsewhere",
        "at first",
        "put in elsewhere",
        "a part of it",
        "two of them",
        "moved",
        "where two are missing",
        "where a shorter one is",
    ],
)
def test_one_too_many_is_a_part_of_another_only_where_that_one_is_missing(
    words: tuple[str, ...], findings: list[tuple[Any, ...]], stamp: bool
) -> None:
    """A filter that leaves out a word may leave a part of it, there, which may look like any other event."""
    read = chat.Leg([*chat.said(*WORDS), *chat.ends()])
    sent = [*chat.said(*words), *chat.ends()]
    assert chat.found(chat.gateway(sent, read, edited=("filter",), stamp=stamp)) == findings


def test_one_that_was_moved_or_was_left_out_and_doubled() -> None:
    """Of equal events that a filter may leave out, nobody can tell which."""
    read = chat.Leg([*chat.said(*WORDS, "fox ", "too."), *chat.ends()])
    sent = [*chat.said(*WORDS[:3], *WORDS[5:], "fox ", "fox ", "too."), *chat.ends()]
    assert chat.found(chat.gateway(sent, read, edited=("filter",))) == []
    none_less = [*chat.said(*WORDS[:3], "fox ", *WORDS[3:], "too."), *chat.ends()]
    assert chat.found(chat.gateway(none_less, read, edited=("filter",))) == []
    assert chat.found(chat.gateway(none_less, read)) == [("reorder", ["gateway"], 1)]


def test_a_filter_that_leaves_no_neighbours_together() -> None:
    """Every third event is gone: the answer is known to be the leg's by the order of the others."""

    def sent(words: int, *, edited: tuple[str, ...] = ("filter",), backwards: bool = False) -> Any:
        texts = [f"word {n} " for n in range(words)]
        kept = [word for n, word in enumerate(texts) if n % 3]
        sent = chat.said(*(kept[::-1] if backwards else [*kept[:3], kept[2], *kept[3:]]), name="other")
        blocks = chat.gateway([*sent, *chat.ends("other")], chat.Leg([*chat.said(*texts), *chat.ends()]), edited=edited)
        return chat.found(blocks)

    assert sent(31) == [("duplicate", ["gateway"], 1)]
    assert (sent(10), sent(31, edited=()), sent(31, backwards=True)) == ([], [], [])


@pytest.mark.parametrize(
    ("sent", "changed"),
    [
        ([replace(e, text=999) if e.text == 7 else e for e in ANSWER], 1),
        ([*ANSWER[:7], Event(999, TEXT), *ANSWER[7:]], 1),
        ([*ANSWER[:7], Event(999, TEXT), *ANSWER[9:]], 2),
        ([*ANSWER[:7], *ANSWER[9:]], 2),
    ],
    ids=["changed", "added", "two for one", "emptied"],
)
def test_a_rewrite_leaves_the_hop_unproven(sent: list[Event], changed: int) -> None:
    """What it meant to change nobody knows."""
    verdict = gateway(ANSWER, sent, declared("rewrite"))
    assert told(verdict) == ("unproven", [], [("edited", changed)])
    assert "changes content on purpose" in verdict["why"]["unknown"][-1]
    assert verdict["ending"]["class"] == "completed"


def test_a_rewriting_gateway_that_changed_nothing_is_intact() -> None:
    """A declaration is no doubt."""
    assert told(gateway(ANSWER, ANSWER, declared("rewrite", "filter", "merge"))) == ("intact", [], [])


@pytest.mark.parametrize("kind", ["duplicate", "reorder"])
def test_a_rewrite_excuses_neither_copies_nor_order(kind: str) -> None:
    """Nothing was changed, and nothing is gone."""
    sent = {
        "duplicate": [*ANSWER[:9], ANSWER[8], *ANSWER[9:]],
        "reorder": [*ANSWER[:9], ANSWER[10], ANSWER[9], *ANSWER[11:]],
    }
    verdict = gateway(ANSWER, sent[kind], declared("rewrite", "filter"))
    assert [f["kind"] for f in verdict["findings"]] == [kind]


@pytest.mark.parametrize("kinds", [("filter",), ("rewrite",), ("merge",), ("filter", "merge", "rewrite")])
def test_no_declaration_excuses_a_made_up_end(kinds: tuple[str, ...]) -> None:
    """The upstream broke off, and the answer ends as if it had not: also where content is missing besides."""
    sent = [*ANSWER[:5], *ANSWER[6:9], Event(parts=TERMINAL)]
    verdict = gateway(ANSWER[:9], sent, declared(*kinds))
    assert "fabricated" in [f["kind"] for f in verdict["findings"]]
    assert verdict["ending"]["class"] == "upstream_truncated"


@pytest.mark.parametrize("kinds", [("filter",), ("rewrite",), ("filter", "merge", "rewrite")])
def test_no_declaration_excuses_a_swallowed_error(kinds: tuple[str, ...]) -> None:
    """An error at gateway in, and an answer that ends as if there had been none."""
    read = [*ANSWER[:9], Event(parts=ERROR)]
    verdict = gateway(read, [*ANSWER[:5], *ANSWER[6:9]], declared(*kinds))
    assert ("gap", "GATEWAY swallowed an error") in [(f["kind"], f["short"]) for f in verdict["findings"]]


def test_a_declared_merge_that_lacks_content_is_a_finding() -> None:
    """Two joins that are equal are no copy, and what is gone is no less gone for being joined."""
    slots = ("0/text/0 00c0ffee 60", "0/text/0 00decade 54")
    read = answer([1, 2, 12, 3, 4, 5, 6, 7, 8, 9])
    sent = [read[0], Event(12), Event(12), *read[6:]]
    made = How("ingress", leg=0, slots=slots[:1])
    verdict = gateway(read, sent, declared("merge", slots=slots[1:]), ingress=made)
    assert [(f["kind"], f["exact"]) for f in verdict["findings"]] == [("altered", False)]
    verdict = gateway(read, sent, declared("merge", slots=slots[:1]), ingress=made)
    assert told(verdict) == ("intact", [], [("recut", 1)])


def test_a_merge_excuses_no_loss() -> None:
    """All that came is as it was."""
    assert told(gateway(ANSWER, [*ANSWER[:4], *ANSWER[5:]], declared("merge")))[1] == [("gap", 1)]


def test_a_merging_filter_is_unproven() -> None:
    """Another cut of other content proves nothing."""
    sent = [*ANSWER[:4], Event(4004), *ANSWER[9:]]
    assert told(gateway(ANSWER, sent, declared("merge", "filter")))[:2] == ("unproven", [])


def test_a_reducer_that_refuses_behind_a_filter_points_at_nobody() -> None:
    """The events that it misses were left out on purpose."""
    sent = [*ANSWER[:4], *ANSWER[6:]]
    read = [event for event in sent if not event.parts & TERMINAL]
    rows = [replace(event, of=i, result="gap" if i == 4 else "applied") for i, event in enumerate(read)]
    verdict = judge(path(ANSWER, sent, sent, read, rows, egress=declared("filter")), settled=True)
    assert verdict["findings"] == []
    healthy = judge(path(sent, sent, sent, read, rows), settled=True)
    assert [f["suspects"] for f in healthy["findings"]] == [["source", "reducer"]]


def test_a_declaration_of_a_worker_counts() -> None:
    """Where another process read the leg, and edited it, the leg's closing block says so."""
    leg = How("ingress", leg=0, witness="b" * 16, recorder=LEG, extra=((EDITED, ["filter"]),))
    out = How("egress", legs=(LEG,))
    assert told(gateway(ANSWER, [*ANSWER[:4], *ANSWER[5:]], out, ingress=leg))[0] == "intact"


def test_roles_and_usage_beside_a_filter_are_nobodys_business() -> None:
    """Events without output come and go."""
    sent = [Event(parts=ROLE), Event(parts=ROLE), *ANSWER[1:4], *ANSWER[5:]]
    assert told(gateway(ANSWER, sent, declared("filter"))) == ("intact", [], [("edited", 1)])


def left_out(rng: Random, read: list[Event]) -> list[Event]:
    """A filter: some events go, or all from one on, with a finish of the gateway's own."""
    if rng.random() < 0.3:
        return [*read[: rng.randint(1, len(read) - 2)], *LIMIT]
    return [event for event in read if event.parts != TEXT or rng.random() < 0.8]


def changed(rng: Random, read: list[Event]) -> list[Event]:
    """A rewrite: other words, more of them or fewer, and words that stand elsewhere, too."""
    sent: list[Event] = []
    for event in read:
        how = rng.random() if event.parts == TEXT else 1.0
        sent += [] if how < 0.1 else [Event(rng.choice((3_000, event.text + 1)))] if how < 0.3 else [event]
        sent += [Event(4_000)] if how > 0.9 and event.parts == TEXT else []
    return sent


@pytest.mark.parametrize(("kind", "does"), [("filter", left_out), ("rewrite", changed)])
def test_who_does_what_he_says_is_never_accused(kind: str, does: Callable[[Random, list[Event]], list[Event]]) -> None:
    """Random answers over alphabets of any size, lost blocks, clients that leave and upstreams that are let go of."""
    for seed in range(200):
        rng = Random(f"{kind} {seed}")
        read = answer(words(rng, rng.randint(0, 40)))
        sent = does(rng, read)
        gone = sent[: rng.randint(0, len(sent))] if rng.random() < 0.2 else None
        out = declared(kind, end="eof" if gone is None else "disconnected")
        upstream = How("ingress", rng.choice(("eof", "eof", "cancelled")), leg=0)
        whole = path(read, sent if gone is None else gone, None, cuts=partial(random_cuts, rng),
                     egress=out, ingress=upstream)  # fmt: skip
        verdict = judge(
            LOSSES[rng.choice(("none", "10 %", "30 % in bursts"))](rng, with_summaries(whole)), settled=True
        )
        assert verdict["findings"] == [], f"{kind} {seed}"
