"""The life of a verdict, step by step and without a database."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from streamwitness_analyzer.settle import Life, Patience, closing_since, due
from streamwitness_analyzer.store import Change, Document, Received, StreamState
from tests.analyzer.kit import SECOND, START, PlainJudge, block, stream_id

PATIENCE = Patience(settle_after=30 * SECOND, idle_after=900 * SECOND)
NEW = StreamState(stream_id(1), "open", 0, False, False, START, START, None, 0)


@dataclass
class Stream:
    """One stream in the hands of its life, as the steps would lead it."""

    life: Life = field(default_factory=lambda: Life(PlainJudge(), PATIENCE))
    state: StreamState = NEW
    received: list[Received] = field(default_factory=list)
    document: Document | None = None

    def arrives(self, *items: Received) -> Change:
        self.received += items
        closing = self.state.closing or any(item.block.final for item in items)
        last = max([self.state.last_received, *(item.received for item in items)])
        self.state = self.state._replace(closing=closing, last_received=last)
        return self._take(None)

    def time_is(self, watermark: int) -> Change:
        return self._take(watermark)

    def _take(self, watermark: int | None) -> Change:
        change = self.life.advance(
            self.state, self.received, self.document, watermark=watermark, wall=lambda: START + 99 * SECOND
        )
        self.document = change.document or self.document
        self.state = self.state._replace(
            state=change.state, revision=change.revision, expired=change.expired, due=change.due
        )
        return change


def sent(at: int = START, **changes: object) -> Received:
    return Received(block(1, "egress", final=True, **changes), at)  # type: ignore[arg-type]


def got(at: int = START, rows: int = 3) -> Received:
    return Received(block(1, "wire", rows=rows, final=True), at)


def test_open_until_something_closes() -> None:
    """Blocks alone make no verdict; silence gives the stream up after `idle_after`."""
    change = Stream().arrives(Received(block(1, "egress"), START))
    assert (change.state, change.document, change.due) == ("open", None, START + 900 * SECOND)


def test_provisional_with_the_first_closing_block() -> None:
    """It has a document of revision 1, counts nothing, and is due `settle_after` later."""
    change = Stream().arrives(sent())
    assert (change.state, change.revision, change.due, change.counts) == ("provisional", 1, START + 30 * SECOND, {})
    assert change.document is not None
    assert (change.document["state"], change.document["integrity"]) == ("provisional", "unproven")


def test_settled_when_all_have_closed() -> None:
    """At once, without waiting; nothing is due any more, and it is counted."""
    stream = Stream()
    stream.arrives(sent())
    change = stream.arrives(got())
    assert (change.state, change.revision, change.due, change.settled_at) == ("settled", 1, None, START + 99 * SECOND)
    assert change.counts["stream_endings_total", 'class="completed",group="ok"'] == 1


def test_settled_by_the_watermark() -> None:
    """Not a nanosecond before it is due; what never came is then missing."""
    stream = Stream()
    stream.arrives(sent())
    assert stream.time_is(START + 30 * SECOND - 1).state == "provisional"
    change = stream.time_is(START + 30 * SECOND)
    assert (change.state, change.expired) == ("settled", True)
    assert change.counts["stream_telemetry_missing_points_total", 'point="wire"'] == 1


def test_given_up_after_silence() -> None:
    """A stream that nothing ever closed is settled as unwitnessed."""
    stream = Stream()
    stream.arrives(Received(block(1, "egress"), START))
    change = stream.time_is(START + 900 * SECOND)
    assert change.state == "settled"
    assert change.document is not None
    assert change.document["ending"]["class"] == "unwitnessed"


def test_corrected_by_a_late_record() -> None:
    """Each change of a settled document is a revision of its own, counted as a correction and as nothing else."""
    stream = Stream()
    stream.arrives(sent())
    stream.time_is(START + 30 * SECOND)
    change = stream.arrives(got(START + 40 * SECOND, rows=2))
    assert (change.state, change.revision, change.due) == ("corrected", 2, None)
    assert change.counts == {("stream_corrections_total", ""): 1}
    assert change.document is not None
    assert (change.document["state"], change.document["revision"]) == ("corrected", 2)
    again = stream.arrives(Received(block(1, "applied", final=True), START + 50 * SECOND))
    assert (again.state, again.revision) == ("corrected", 3)


def test_an_unchanged_document_is_no_revision() -> None:
    """A late block that tells nothing new leaves everything as it is."""

    class Deaf(PlainJudge):
        def judge(self, blocks: object, *, settled: bool, expired: bool = False, excess: int = 0) -> Document:
            return super().judge(blocks, settled=settled, expired=expired) | {"blocks": 0}  # type: ignore[arg-type]

    stream = Stream(Life(Deaf(), PATIENCE))
    stream.arrives(sent(), got())
    change = stream.arrives(Received(block(1, "applied", final=True), START))
    assert (change.state, change.revision, change.document, change.counts) == ("settled", 1, None, {})


def test_a_settled_stream_is_never_due_again() -> None:
    """Whatever the watermark."""
    stream = Stream()
    stream.arrives(sent(), got())
    assert stream.time_is(START + 10**6 * SECOND).state == "settled"
    assert stream.state.due is None


def test_the_first_closing_block_starts_the_clock() -> None:
    """Later ones do not move it."""
    received = [sent(START + 5), Received(block(1, "parsed", final=True), START + 9)]
    assert closing_since(received) == START + 5


def test_a_resume_starts_the_clock_anew() -> None:
    """Only the newest exchange counts, and while it has not closed, only silence ends the wait."""
    resumed = replace(block(1, "wire"), attempt=1, exchange="f" * 16)
    assert closing_since([sent(), Received(resumed, START + 1)]) is None
    assert due(PATIENCE, START + 1, [sent(), Received(resumed, START + 1)]) == START + 1 + 900 * SECOND
    closed = replace(resumed, final=True, end="eof")
    assert closing_since([sent(), Received(closed, START + 7)]) == START + 7


@pytest.mark.parametrize(("others", "expected"), [((), START), (("egress",), None), (("wire",), None)])
def test_the_end_of_an_upstream_attempt_starts_no_clock(others: tuple[str, ...], expected: int | None) -> None:
    """A gateway that tries a second upstream goes on after its first `ingress` has closed."""
    ingress = Received(block(1, "ingress", final=True), START)
    running = [Received(block(1, point), START) for point in others]  # type: ignore[arg-type]
    assert closing_since([ingress, *running]) == expected


def test_a_failing_judge_keeps_a_settled_verdict() -> None:
    """What was settled stands, each failure counted; a stream that was not is marked, once."""
    judge = PlainJudge()
    stream = Stream(Life(judge, PATIENCE))
    stream.arrives(sent(), got())
    judge.fails_on = stream_id(1)
    change = stream.arrives(Received(block(1, "applied", final=True), START))
    assert (change.state, change.revision, change.counts) == ("settled", 1, {("stream_judge_failures_total", ""): 1})
    fresh = Stream(Life(judge, PATIENCE))
    assert fresh.arrives(sent()).counts == {("stream_judge_failures_total", ""): 1}
    assert fresh.arrives(got()).counts == {}


@pytest.mark.parametrize(
    ("change", "revision"),
    [
        ({"summary": "other words", "why": {}}, 1),
        ({"ending": {"reason": "other words"}}, 1),
        ({"integrity": "unproven"}, 2),
        ({"ending": {"class": "network_lost"}}, 2),
        ({"ending": {"by": "gateway"}}, 2),
        ({"findings": []}, 2),
        ({"findings": [{"suspects": ["parser"]}]}, 2),
        ({"findings": [{"confidence": "narrowed"}]}, 2),
        ({"findings": [{"count": 2}]}, 2),
        ({"findings": [{"sentence": "other words"}]}, 1),
    ],
)
def test_another_version_corrects_only_what_it_says_otherwise(change: Document, revision: int) -> None:
    """Ending, integrity, findings; its words replace those of the old one, whose state and revision stay."""

    class Learnt(PlainJudge):
        def judge(self, blocks: object, *, settled: bool, expired: bool = False, excess: int = 0) -> Document:
            document = super().judge(blocks, settled=settled, expired=expired)  # type: ignore[arg-type]
            ending = document["ending"] | change.get("ending", {})
            found = [one | more for one, more in zip(document["findings"], change.get("findings", [{}]), strict=False)]
            return document | change | {"ending": ending, "findings": found}

    stream = Stream()
    stream.arrives(sent(), got(rows=2))
    stream.life = Life(Learnt(JUDGE_VERSION=2), PATIENCE)
    assert stream.time_is(START).revision == revision
    assert stream.document is not None
    assert stream.document["judge_version"] == 2
    assert (stream.document["revision"], stream.state.state) == (revision, "corrected" if revision > 1 else "settled")
