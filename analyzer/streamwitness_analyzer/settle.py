"""The life of a verdict: provisional → settled → corrected. Pure: the blocks and the time are handed in.

| from        | when                                                    | to          | revision |
|-------------|---------------------------------------------------------|-------------|----------|
| open        | a closing block arrives                                 | provisional | 1        |
| open        | the watermark passes `idle_after` since the last block  | settled     | 1        |
| provisional | all expected points have closed without a hole          | settled     | 1        |
| provisional | the watermark passes `settle_after` since the first     | settled     | 1        |
|             | closing block of the newest exchange                    |             |          |
| settled     | a late record changes the document                      | corrected   | + 1      |
| settled     | another `judge_version` says something else             | corrected   | + 1      |
| settled     | another `judge_version` says the same                   | settled     | the same |

Metrics count a stream once, on the way to `settled`. A document that did not change makes no new revision. What another
version of the judge says otherwise is `_said`; what it words otherwise, or tells besides, replaces the stored document.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from streamwitness.blocks import Block

from .config import NANOSECONDS
from .counting import CORRECTIONS, JUDGE_FAILURES, one, settled_counts
from .failures import Failures
from .store.records import Change, Document, Received, StreamState

_log: Final = logging.getLogger("streamwitness.analyzer")

FINAL: Final = ("settled", "corrected")
_NOT_COMPARED: Final = ("state", "revision")
_SAID_OF_ENDING: Final = ("class", "by", "finish", "after")
_SAID_OF_FINDING: Final = ("kind", "suspects", "confidence", "count", "exact", "exchange", "sequence")


class Judge(Protocol):
    """What the life of a verdict needs of the judge; the package `judge` is one."""

    JUDGE_VERSION: int

    def judge(
        self, blocks: Sequence[Block], *, settled: bool, expired: bool = False, excess: int = 0
    ) -> dict[str, Any]:
        """The verdict document on these blocks, without `state` and `revision`; `excess` more came and are not held."""

    def all_closed(self, blocks: Sequence[Block]) -> bool:
        """Whether every expected point has closed, with no block missing."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for what has not come, in nanoseconds."""

    settle_after: int = 30 * NANOSECONDS
    idle_after: int = 900 * NANOSECONDS


def due(patience: Patience, last_received: int, received: Sequence[Received] = ()) -> int:
    """When the watermark settles a stream of which `received` is known (nothing: only that it has not closed)."""
    since = closing_since(received)
    return last_received + patience.idle_after if since is None else since + patience.settle_after


def closing_since(received: Sequence[Received]) -> int | None:
    """When the first closing block of the newest exchange came, Unix ns; None while nothing has closed there.

    The end of an upstream attempt starts no clock while the same exchange has other witnesses: a gateway that tries
    a second upstream, or hands out what it has buffered, goes on long after its first `ingress` has closed.
    """
    newest = max((item.block.attempt for item in received), default=0)
    there = [item for item in received if item.block.attempt == newest]
    beyond = [item for item in there if item.block.point not in ("source", "ingress")]
    return min((item.received for item in beyond or there if item.block.final), default=None)


@dataclass(frozen=True, slots=True)
class Life:
    """Judges a stream's blocks and says what becomes of its row."""

    judge: Judge
    patience: Patience
    failures: Failures = field(default_factory=lambda: Failures(_log))

    def advance(
        self,
        state: StreamState,
        received: Sequence[Received],
        previous: Document | None,
        *,
        watermark: int | None = None,
        wall: Callable[[], int],
    ) -> Change:
        """The stream's next row. With a `watermark` its due time counts, without one only what has arrived."""
        when = due(self.patience, state.last_received, received)
        expired = state.expired or (watermark is not None and state.state not in FINAL and when <= watermark)
        blocks = [item.block for item in received]
        try:
            settled = state.state in FINAL or expired or self.judge.all_closed(blocks)
            if not settled and not state.closing:
                return Change(state.id, "open", state.revision, expired, when)
            verdict = self.judge.judge(blocks, settled=settled, expired=expired, excess=state.excess)
            document = json.loads(json.dumps(verdict))
        except Exception as error:  # a defect of the judge must not stop every other stream: it is told, and counted
            self.failures.happened(error, state.id)
            return _failed(state)
        if not settled:
            return _provisional(state, document, previous, when)
        return _settled(state, document, previous, received, expired, wall())


def _provisional(state: StreamState, document: Document, previous: Document | None, when: int) -> Change:
    stamped = document | {"state": "provisional", "revision": 1}
    news = stamped if _differs(document, previous) else None
    return Change(state.id, "provisional", 1, False, when, news)


def _settled(
    state: StreamState,
    document: Document,
    previous: Document | None,
    received: Sequence[Received],
    expired: bool,
    now: int,
) -> Change:
    if state.state not in FINAL:
        stamped = document | {"state": "settled", "revision": 1}
        counts = settled_counts(stamped, received)
        return Change(state.id, "settled", 1, expired, None, stamped, settled_at=now, counts=counts)
    if not _differs(document, previous):
        return Change(state.id, state.state, state.revision, expired, None)
    if _worded_anew(document, previous):
        stamped = document | {"state": state.state, "revision": state.revision}
        return Change(state.id, state.state, state.revision, expired, None, stamped)
    revision = state.revision + 1
    stamped = document | {"state": "corrected", "revision": revision}
    return Change(state.id, "corrected", revision, expired, None, stamped, counts=one(CORRECTIONS))


def _failed(state: StreamState) -> Change:
    """A verdict that was final stands, each failure counted; a stream without one is counted once, on its way here."""
    if state.state == "failed":
        return Change(state.id, state.state, state.revision, state.expired, None)
    if state.state in FINAL:
        return Change(state.id, state.state, state.revision, state.expired, None, counts=one(JUDGE_FAILURES))
    return Change(state.id, "failed", state.revision, state.expired, None, counts=one(JUDGE_FAILURES))


def _differs(document: Document, previous: Document | None) -> bool:
    return previous is None or _compared(document) != _compared(previous)


def _worded_anew(document: Document, previous: Document | None) -> bool:
    """Whether another version of the judge says the same: an upgrade alone corrects nobody's verdict."""
    if previous is None or document["judge_version"] == previous["judge_version"]:
        return False
    return _said(document) == _said(previous)


def _said(document: Document) -> tuple[Any, ...]:
    """What a verdict says, without its words: ending, integrity, and of each finding who, what, where and how much."""
    findings = [json.dumps([finding.get(name) for name in _SAID_OF_FINDING]) for finding in document["findings"]]
    return [document["ending"].get(name) for name in _SAID_OF_ENDING], document["integrity"], sorted(findings)


def _compared(document: Document) -> Document:
    return {key: value for key, value in document.items() if key not in _NOT_COMPARED}
