"""The text reducer assembles what a reader would show, and says of each chunk what became of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamwitness.client import applied, watch
from streamwitness.reducers import Result, TextReducer
from streamwitness.semconv import RESULT
from streamwitness.testing import recording


def chunk(choice: int = 0, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A Chat Completions chunk."""
    return {"choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}


def test_texts_are_assembled_per_slot() -> None:
    """Two choices, reasoning and tool arguments each get a text of their own."""
    reducer = TextReducer()
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
        assert reducer.apply(item) is Result.APPLIED
    assert (reducer.text, reducer.slot("1/text/0")) == ("Da\u2028s", "\U0001f426")
    assert [reducer.slot(slot) for slot in reducer.slots] == ["Da\u2028s", "\U0001f426", '{"a":1}']
    assert (reducer.finishes, reducer.slot("9/text/0")) == ({"0": "stop"}, "")


def test_content_after_the_finish_still_counts() -> None:
    """Finish is provisional: some providers send text after it."""
    reducer = TextReducer()
    reducer.apply(chunk(finish="stop"))
    assert reducer.apply(chunk(content="x")) is Result.APPLIED
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
    assert TextReducer().apply(item) is result


def test_nothing_is_added_after_the_terminator() -> None:
    """What comes after [DONE] is not part of the answer."""
    reducer = TextReducer()
    reducer.apply(chunk(content="a"))
    reducer.apply("[DONE]")
    assert reducer.apply(chunk(content="b")) is Result.AFTER_TERMINAL
    assert reducer.text == "a"


def test_results_are_reported_to_applied() -> None:
    """A reducer's result is what `applied` takes."""
    reducer = TextReducer()
    with recording() as sink:
        chunks = watch([chunk(content="a"), {"choices": []}], profile="openai_chat")
        with applied(chunks) as report:
            for item in chunks:
                report.report(item, reducer.apply(item))
    assert list(sink.closing("applied").columns()["result"]) == [RESULT["applied"], RESULT["ignored"]]
