"""The ordered reducer applies a true prefix and refuses everything else with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness.reducers import Answer, Ordered, Result
from streamwitness.reducers.ordered import Duplicates
from streamwitness.semconv import RESULTS

A, B = "a" * 32, "b" * 32


def run(*offers: tuple[int, dict[str, Any]]) -> tuple[list[int], list[str]]:
    """What was applied, and the results."""
    applied: list[int] = []
    reducer: Ordered[int] = Ordered(applied.append)
    results = [reducer.offer(sequence, sequence=sequence, **options).result for sequence, options in offers]
    return applied, [str(result) for result in results]


@pytest.mark.parametrize(("offers", "applied", "results"), [
    (((0, {}), (1, {}), (2, {"final": True})), [0, 1, 2], ["applied", "applied", "applied"]),
    (((0, {}), (0, {})), [0], ["applied", "duplicate"]),
    (((0, {}), (2, {}), (3, {})), [0], ["applied", "gap", "gap"]),
    (((0, {}), (2, {}), (1, {}), (2, {})), [0], ["applied", "gap", "reordered", "reordered"]),
    (((1, {}),), [], ["gap"]),
    (((0, {"stream": A}), (1, {"stream": B}), (1, {"stream": A})), [0, 1], ["applied", "wrong_stream", "applied"]),
    (((0, {"final": True}), (1, {})), [0], ["applied", "after_terminal"]),
    (((0, {"final": True}), (1, {"final": True})), [0], ["applied", "after_terminal"]),
    (((0, {"final": True}), (0, {})), [0], ["applied", "after_terminal"]),
])  # fmt: skip
def test_each_rule(offers: Any, applied: list[int], results: list[str]) -> None:
    """One row of the table each; the applied prefix does not change where something is refused."""
    assert run(*offers) == (applied, results)


def test_a_reducer_that_raises_fails_closed() -> None:
    """The exception comes out; the event is not applied, and nothing after it is, the same event again included."""
    applied: list[int] = []

    def apply(event: int) -> None:
        if event == 1:
            raise ZeroDivisionError
        applied.append(event)

    reducer: Ordered[int] = Ordered(apply)
    reducer.offer(0, sequence=0)
    with pytest.raises(ZeroDivisionError):
        reducer.offer(1, sequence=1)
    assert [reducer.offer(event, sequence=event).result for event in (1, 2)] == [Result.GAP, Result.GAP]
    assert (applied, reducer.expected, reducer.is_broken) == ([0], 1, True)


@pytest.mark.parametrize(
    ("policy", "applied", "results"),
    [
        ("suppress", [0, 1, 2], ["applied", "applied", "duplicate", "applied"]),
        ("reject", [0, 1], ["applied", "applied", "duplicate", "gap"]),
    ],
)
def test_what_a_duplicate_does_is_declared(policy: Duplicates, applied: list[int], results: list[str]) -> None:
    """Suppressed, the answer goes on without it; rejected, the answer is given up; it is never applied twice."""
    done: list[int] = []
    reducer: Ordered[int] = Ordered(done.append, duplicates=policy)
    assert [reducer.offer(event, sequence=event).result for event in (0, 1, 1, 2)] == results
    assert (done, reducer.is_broken) == (applied, policy == "reject")


def test_an_event_without_its_delta_is_refused() -> None:
    """It is malformed, nothing of it is applied, and nothing after it is."""
    done: list[str] = []
    reducer: Ordered[str | None] = Ordered(done.append, whole=lambda event: event is not None)  # type: ignore[arg-type]
    results = [reducer.offer(event, sequence=at).result for at, event in enumerate(("a", None, "c"))]
    assert (results, done) == ([Result.APPLIED, Result.MALFORMED, Result.GAP], ["a"])


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=12))
def test_what_is_applied_is_always_a_prefix(offers: list[tuple[int, bool]]) -> None:
    """Whatever comes in whatever order: 0, 1, 2 … without a hole, and nothing after the end."""
    applied: list[int] = []
    reducer: Ordered[int] = Ordered(applied.append)
    accepted = 0
    for sequence, final in offers:
        outcome = reducer.offer(sequence, sequence=sequence, final=final)
        accepted += outcome.is_applied
        assert outcome.reason
    assert applied == list(range(accepted))


def test_what_the_answer_says_of_an_event_is_its_outcome() -> None:
    """A chunk that the answer refuses is not told as applied, nothing after it is; one with nothing in it goes by."""
    answer = Answer("openai_chat")
    ordered: Ordered[Any] = Ordered(answer.apply)
    chunks = [
        {"choices": []},
        {"choices": [{"delta": {"content": "a"}}]},
        5,
        {"choices": [{"delta": {"content": "b"}}]},
    ]
    results = [ordered.offer(chunk, sequence=at).result for at, chunk in enumerate(chunks)]
    assert results == [Result.IGNORED, Result.APPLIED, Result.MALFORMED, Result.GAP]
    assert (answer.text, ordered.expected, ordered.is_broken) == ("a", 2, True)


def test_results_are_the_shared_words() -> None:
    """Every result is one that travels; a StrEnum is what applied().report takes."""
    assert {str(result) for result in Result} <= set(RESULTS)
