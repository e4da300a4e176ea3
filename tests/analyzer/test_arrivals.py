"""Whatever the order of arrival, the verdict is that of all blocks at once; on the way nothing is said that is unsaid.

Blocks come in random order, in batches cut at random, twice, after the settlement, contradicting each other, or not at
all, through the real steps on a real database, with the real judge.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

import pytest
import sqlalchemy as sa

from bench.truth.build import LEG, Event, How, answer, handed_on, path, summary, used
from streamwitness.blocks import Block
from streamwitness.semconv import Point
from streamwitness_analyzer import judge
from streamwitness_analyzer.settle import Life, Patience
from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import Received, Store, queries
from streamwitness_analyzer.store.schema import streams, verdicts
from tests.analyzer.judge.test_together import ANSWER as CHUNKS
from tests.analyzer.kit import SECOND, START
from tests.cases.parsers import proper
from tests.cases.pipeline import Play, Stream

ANSWER: Final = answer(range(1, 25))
SHORT: Final = ANSWER[:15]
READ: Final = handed_on(ANSWER)
GAP, DOUBLE, MOVED = [*ANSWER[:9], *ANSWER[11:]], [*ANSWER[:9], ANSWER[8], *ANSWER[9:]], [*ANSWER[:5], *ANSWER[9:]]
MOVED[9:9] = ANSWER[5:9]
FOREIGN: Final = [*ANSWER[:9], Event(777), *ANSWER[9:]]
LEFT: Final = How("egress", end="disconnected", legs=(LEG,))
BOTH: Final[tuple[Point, ...]] = ("ingress", "egress")
FAR: Final = START + 10_000 * SECOND
SEEDS: Final = int(os.environ.get("ARRIVAL_SEEDS", "1"))
"""Orders of arrival for each stream and test; more of them find what is rare."""
NEVER_EARLY: Final = frozenset(("client_gone", "client_vanished", "unwitnessed"))
"""Endings that rest on silence (docs/design.md §7.6)."""


def through(*points: Sequence[Event], **how: How) -> list[Block]:
    """A whole path, cut into blocks of four to six events, the closing blocks once more as summaries."""
    ingress, egress, wire, parsed, applied = points
    named = applied if applied and applied[0].of == 0 else used(applied)
    blocks = path(ingress, egress, wire, parsed, named, cuts=lambda n: range(4, n, 5), **how)
    return [*blocks, *(summary(block) for block in blocks if block.final)]


def lossy(sent: Sequence[Event], received: Sequence[Event]) -> list[Block]:
    """The transport makes `received` of what was sent."""
    read = handed_on(received)
    return through(ANSWER, sent, received, read, read)


def cut(end: str, **how: How) -> list[Block]:
    """The client has only the beginning."""
    read = handed_on(SHORT)
    ends = {point: How(point, end=end) for point in ("wire", "parsed")}
    return through(ANSWER, ANSWER, SHORT, read, read, **{**ends, **how})  # type: ignore[arg-type]


def left_alone(*expected: Point) -> list[Block]:
    """The gateway saw its client go, before the answer was whole; nobody else ever spoke."""
    return path(SHORT, SHORT, None, expected=expected, cuts=lambda n: range(4, n, 5), egress=LEFT)


def played(*plays: Callable[[Stream], Play]) -> list[Block]:
    """Exchanges of one stream, as the real hooks record them."""
    stream = Stream()
    for play in plays:
        stream.play(play(stream))
    return list(stream.sink.blocks)


def resumed(first: int) -> list[Block]:
    """The connection broke after four of six events; the client came back and is given the rest from `first`."""

    def begun(stream: Stream) -> Play:
        sent = stream.numbered(CHUNKS)
        ends = {"sent_end": "disconnected", "received_end": "reset"}
        return Play(sent[:4], proper(), sent[:6], CHUNKS, stamp="id", **ends)  # type: ignore[arg-type]

    def ended(stream: Stream) -> Play:
        rest = stream.numbered(CHUNKS)[first:]
        return Play(rest, proper(), rest, attempt=1, first=first, stamp="id")

    return played(begun, ended)


def two_gateways(lost: bool) -> list[Block]:
    """The inner one may lose an event."""
    handed = [*CHUNKS[:3], *CHUNKS[4:]] if lost else CHUNKS
    inner = Play(None, None, handed, CHUNKS, announced=())
    return played(lambda _: inner, lambda _: Play(handed, proper(), handed, handed, hop=1))


STREAMS: Final[dict[str, Callable[[], list[Block]]]] = {
    "healthy": lambda: through(ANSWER, ANSWER, ANSWER, READ, READ),
    "source cut": lambda: through(*[answer(range(1, 25), finish=False, done=False)] * 5),
    "gateway gap": lambda: through(ANSWER, GAP, GAP, handed_on(GAP), handed_on(GAP)),
    "gateway invents": lambda: through(ANSWER, FOREIGN, FOREIGN, handed_on(FOREIGN), handed_on(FOREIGN)),
    "transport gap": lambda: lossy(ANSWER, GAP),
    "transport doubles": lambda: lossy(ANSWER, DOUBLE),
    "transport moves": lambda: lossy(ANSWER, MOVED),
    "parser gap": lambda: through(ANSWER, ANSWER, ANSWER, handed_on(GAP), handed_on(GAP)),
    "reducer gap": lambda: through(ANSWER, ANSWER, ANSWER, READ, [e for e in used(READ) if e.of not in (10, 11)]),
    "reset": lambda: cut("reset"),
    "cancelled": lambda: cut("cancelled", egress=LEFT),
    "vanished": lambda: left_alone(*BOTH, "wire"),
    "gone": lambda: left_alone(*BOTH),
    "gateway only": lambda: path(ANSWER, GAP, None, expected=BOTH, cuts=lambda n: range(4, n, 5)),
    "resumed": lambda: resumed(4),
    "resumed, skipped": lambda: resumed(5),
    "two gateways": lambda: two_gateways(lost=False),
    "two gateways, lost": lambda: two_gateways(lost=True),
}


@dataclass
class Told:
    """All documents of one stream, each with the blocks that it was judged on."""

    documents: list[tuple[list[Block], dict[str, Any]]]

    @property
    def last(self) -> dict[str, Any]:
        return self.documents[-1][1]


@pytest.fixture(scope="module")
def memory() -> Store:
    """A database in memory; each stream has an id of its own in it."""
    store = Store("sqlite://")
    store.create()
    return store


def named(blocks: Sequence[Block], id_: str) -> list[Block]:
    """The blocks as those of another stream."""
    return [replace(block, stream=id_) for block in blocks]


def lead(store: Store, blocks: Sequence[Block], rng: Random, *, impatient: float = 0.3) -> Told:
    """These blocks, in this order, in random batches; at times the watermark runs far ahead of what has come."""
    id_ = f"{rng.getrandbits(128):032x}"
    steps = Steps(store, Life(judge, Patience()), lambda: START)
    rest, held, told = named(blocks, id_), list[Block](), Told([])
    while rest:
        count = rng.randint(1, max(1, len(rest) // 2))
        batch, rest = rest[:count], rest[count:]
        held += batch
        steps.ingest([Received(block, START + rng.randrange(SECOND)) for block in batch])
        _note(store, id_, held, told)
        if rng.random() < impatient:
            steps.settle(FAR)
            _note(store, id_, held, told)
    steps.settle(FAR)
    _note(store, id_, held, told)
    return told


def _note(store: Store, id_: str, held: Sequence[Block], told: Told) -> None:
    with store.read() as connection:
        found = queries.find(connection, id_).document
    if found is not None:
        told.documents.append((list(held), found))


def content(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what tells its history or is the stream's own name."""
    return {key: value for key, value in document.items() if key not in ("state", "revision", "stream")}


def at_once(blocks: Sequence[Block]) -> dict[str, Any]:
    """The verdict on all of them, with nothing before."""
    return judge.judge(blocks, settled=True)


def disturbed(blocks: Sequence[Block], rng: Random, *, lost: float = 0.0, doubled: float = 0.3) -> list[Block]:
    """A random order of arrival, with losses and repetitions."""
    kept = [block for block in blocks if rng.random() >= lost] or [rng.choice(list(blocks))]
    again = [replace(block, resource={"by": "another road"}) for block in kept if rng.random() < doubled]
    mixed = [*kept, *again]
    rng.shuffle(mixed)
    return mixed


def accused(document: dict[str, Any], *confidences: str) -> list[set[str]]:
    """The suspects of each finding of these confidences."""
    return [set(f["suspects"]) for f in document["findings"] if f["confidence"] in confidences]


@pytest.mark.parametrize("lost", [0.0, 0.3])
@pytest.mark.parametrize("name", STREAMS)
def test_every_order_of_arrival_gives_the_same_verdict(memory: Store, name: str, lost: float) -> None:
    """Late, twice, in any batches, settled in between or not: the last document is that of what came, at once."""
    blocks = STREAMS[name]()
    for seed in range(SEEDS):
        rng = Random(f"{name} {lost} {seed}")
        mixed = disturbed(blocks, rng, lost=lost)
        told = lead(memory, mixed, rng)
        assert content(told.last) == content(at_once(mixed)), seed
        assert told.last["state"] in ("settled", "corrected")


@pytest.mark.parametrize("name", STREAMS)
def test_a_contradiction_is_seen_whenever_it_comes(memory: Store, name: str) -> None:
    """A second content under one key sets its witness aside, the same whichever of the two was first."""
    for seed in range(SEEDS):
        rng = Random(f"{name} {seed}")
        blocks = STREAMS[name]()
        liar = rng.choice([block for block in blocks if not block.summary])
        other = replace(liar, total_parts=tuple(n + 1 for n in liar.total_parts))
        mixed = disturbed([*blocks, other], rng)
        told = lead(memory, mixed, rng)
        assert content(told.last) == content(at_once(mixed)), seed
        assert told.last["telemetry"]["conflicts"] == 1


@pytest.mark.parametrize("name", STREAMS)
def test_a_provisional_verdict_rests_on_nobodys_silence(memory: Store, name: str) -> None:
    """It is never intact, never says that somebody has gone or never spoke, and no time has decided it."""
    for seed in range(SEEDS):
        rng = Random(f"{name} {seed}")
        told = lead(memory, disturbed(STREAMS[name](), rng), rng, impatient=0)
        early = [document for _, document in told.documents if document["state"] == "provisional"]
        for document in early:
            assert document["integrity"] != "intact"
            assert document["ending"]["class"] not in NEVER_EARLY


@pytest.mark.parametrize("name", STREAMS)
def test_a_provisional_verdict_accuses_nobody_whom_the_settled_one_clears(memory: Store, name: str) -> None:
    """On the same blocks the settlement takes no finding back, and makes none of them weaker."""
    for seed in range(SEEDS):
        rng = Random(f"{name} {seed}")
        told = lead(memory, disturbed(STREAMS[name](), rng, lost=0.2), rng, impatient=0)
        for held, document in told.documents:
            if document["state"] == "provisional":
                final = accused(at_once(held), "certain", "narrowed")
                for suspects in accused(document, "certain", "narrowed"):
                    assert any(other <= suspects for other in final), (seed, suspects)


@pytest.mark.parametrize("name", STREAMS)
def test_what_comes_later_clears_nobody_who_was_accused(memory: Store, name: str) -> None:
    """A verdict is a proof, whatever was still missing: the culprit of the last one is among the suspects of the first.

    Except for what a later exchange brings after all.
    """
    for seed in range(SEEDS):
        rng = Random(f"{name} {seed}")
        told = lead(memory, disturbed(STREAMS[name](), rng), rng)
        final = accused(told.last, "certain", "narrowed")
        recovered = any(note["kind"] == "recovered" for note in told.last["notes"])
        for held, document in told.documents:
            for suspects in accused(document, "certain", "narrowed"):
                came = sorted((b.point, b.attempt, b.index, b.summary) for b in held)
                assert (recovered and "transport" in suspects) or any(other <= suspects for other in final), (
                    seed,
                    suspects,
                    came,
                )


def test_history_is_kept_whole(memory: Store) -> None:
    """Each revision of a stream that was corrected is there, numbered without a hole, the last one the current."""
    rng = Random(5)
    blocks = disturbed(STREAMS["transport gap"](), rng)
    told = lead(memory, blocks, rng, impatient=1)
    id_ = told.last["stream"]
    with memory.read() as connection:
        rows = connection.execute(sa.select(verdicts.c.revision).where(verdicts.c.stream == id_)).scalars()
        current = connection.execute(sa.select(streams.c.revision).where(streams.c.id == id_)).scalar_one()
        assert sorted(rows) == list(range(1, current + 1))
    assert current > 1


EXPECTED: Final = {
    "healthy": ("intact", "completed"),
    "source cut": ("intact", "upstream_truncated"),
    "gateway gap": ("damaged", "completed"),
    "gateway invents": ("damaged", "completed"),
    "transport gap": ("damaged", "completed"),
    "transport doubles": ("damaged", "completed"),
    "transport moves": ("damaged", "completed"),
    "parser gap": ("damaged", "completed"),
    "reducer gap": ("damaged", "completed"),
    "reset": ("damaged", "network_lost"),
    "cancelled": ("intact", "client_cancelled"),
    "vanished": ("unproven", "client_vanished"),
    "gone": ("intact", "client_gone"),
    "gateway only": ("damaged", "completed"),
    "resumed": ("intact", "completed"),
    "resumed, skipped": ("damaged", "completed"),
    "two gateways": ("intact", "completed"),
    "two gateways, lost": ("damaged", "completed"),
}


def test_the_streams_are_what_their_names_say() -> None:
    """With everything there, each fault is found; so none of these tests is about nothing."""
    said = {name: (at_once(make())["integrity"], at_once(make())["ending"]["class"]) for name, make in STREAMS.items()}
    assert said == EXPECTED
