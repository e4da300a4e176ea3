"""The answer assembles what a reader would show, and says of each chunk what became of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamwitness.client import applied, watch
from streamwitness.reducers import Answer, Result
from streamwitness.semconv import PART, RESULT
from streamwitness.testing import recording


def chunk(choice: int = 0, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A Chat Completions chunk."""
    return {"choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}


def test_texts_are_assembled_per_slot() -> None:
    """Two choices, reasoning and tool arguments each get a text of their own."""
    reducer = Answer()
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}}
    for item in (
        chunk(role="assistant"),
        chunk(content="Da"),
        chunk(1, content="\U0001f426"),
        chunk(content="\u2028s"),
        chunk(tool_calls=[call]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": ":1}"}}]),
        chunk(finish="stop"),
    ):
        assert reducer.apply(item).result is Result.APPLIED
    assert (reducer.text, reducer.slot("1/text/0")) == ("Da\u2028s", "\U0001f426")
    assert [reducer.slot(slot) for slot in reducer.slots] == ["Da\u2028s", "\U0001f426", '{"a":1}']
    assert (reducer.finishes, reducer.slot("9/text/0")) == ({"0": "tool_calls"}, "")


def test_content_after_the_finish_still_counts() -> None:
    """Finish is provisional: some providers send text after it."""
    reducer = Answer()
    reducer.apply(chunk(finish="stop"))
    assert reducer.apply(chunk(content="x")).is_applied
    assert reducer.text == "x"


@pytest.mark.parametrize(("item", "result"), [
    ({"choices": []}, Result.IGNORED),
    ("[DONE]", Result.APPLIED),
    ("{no", Result.MALFORMED),
    (object(), Result.MALFORMED),
    (json.dumps(chunk(content="x")), Result.APPLIED),
])  # fmt: skip
def test_results(item: Any, result: Result) -> None:
    """What is not a chunk is refused, never raised."""
    outcome = Answer().apply(item)
    assert outcome.result is result
    assert outcome.reason


def test_nothing_is_added_after_the_terminator() -> None:
    """What comes after [DONE] is not part of the answer."""
    reducer = Answer()
    reducer.apply(chunk(content="a"))
    reducer.apply("[DONE]")
    assert reducer.apply(chunk(content="b")).result is Result.AFTER_TERMINAL
    assert reducer.text == "a"


def test_results_are_reported_to_applied() -> None:
    """A reducer's result is what `applied` takes."""
    reducer = Answer()
    with recording() as sink:
        chunks = watch([chunk(content="a"), {"choices": []}], profile="openai_chat")
        with applied(chunks) as report:
            for item in chunks:
                report.report(item, reducer.apply(item).result)
    assert list(sink.closing("applied").columns()["result"]) == [RESULT["applied"], RESULT["ignored"]]


def test_tool_calls_have_names_and_values() -> None:
    """A call's arguments are a JSON value once they are whole; until then the text is there, and the value is not."""
    answer = Answer()
    answer.apply(chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}}]))
    with pytest.raises(ValueError, match="no whole JSON value"):
        answer.value("0/tool/0")
    answer.apply(chunk(tool_calls=[{"index": 0, "function": {"arguments": ":[1]}"}}]))
    assert (answer.tool("0/tool/0"), answer.value("0/tool/0"), answer.tool("0/tool/9")) == ("f", {"a": [1]}, "")


def test_a_chunk_that_is_half_applied_says_so() -> None:
    """Two calls in one slot: the second's arguments are refused, the text beside them is kept, and both are told."""
    answer = Answer()
    answer.apply(chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"x":1}'}}]))
    outcome = answer.apply(chunk(content="t", tool_calls=[{"index": 0, "function": {"arguments": '{"y":2}'}}]))
    assert (outcome.result, outcome.parts, outcome.is_applied) == (Result.PARTIAL, ("text",), False)
    assert "two calls in one slot" in outcome.reason
    assert (answer.text, answer.slot("0/tool/0")) == ("t", '{"x":1}')


def test_a_half_applied_chunk_is_recorded_with_the_parts_that_were() -> None:
    """What `Answer` says is what `applied` takes: a row `partial` that holds the parts applied."""
    answer = Answer()
    with recording() as sink:
        first = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
        second = {"index": 0, "function": {"arguments": "{}"}}
        chunks = watch([chunk(tool_calls=[first]), chunk(content="t", tool_calls=[second])], profile="openai_chat")
        with applied(chunks) as report:
            for item in chunks:
                outcome = answer.apply(item)
                report.report(item, outcome.result, parts=outcome.parts)
    columns = sink.closing("applied").columns()
    assert columns["result"][1] == RESULT["partial"]
    assert columns["parts"][1] == PART["text"]


def test_usage_may_follow_the_finish() -> None:
    """The counts come in a chunk of their own, after the finish and before the terminator."""
    answer = Answer()
    answer.apply(chunk(content="a", finish="length"))
    assert answer.usage == (None, None)
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    assert answer.apply(usage).is_applied
    assert (answer.usage, answer.finishes, answer.is_complete) == ((3, 1), {"0": "length"}, True)
