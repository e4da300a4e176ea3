"""contradictions.py: output for blocks that were never begun, as Anthropic's and Bedrock's profiles notice it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from streamwitness.providers import Profile, profile
from streamwitness.providers.base import MAX_TRACKED
from streamwitness.providers.contradictions import Astray, Contradictions


def found(name: str, events: Iterable[tuple[str, dict[str, Any]]]) -> tuple[tuple[str, ...], int]:
    """What a profile holds against these events, and how many breaks it counts."""
    reader: Profile = profile(name)
    at = [0]
    reader.placed(lambda: at[0])
    for at[0], (kind, event) in enumerate(events):
        reader.read(kind.encode(), json.dumps(event).encode())
    return reader.contradictions, reader.grammar_breaks


def message(**event: Any) -> tuple[str, dict[str, Any]]:
    """An event of the Messages API."""
    return str(event["type"]), event


BEGIN = message(type="message_start", message={"id": "m"})


def start(index: int) -> tuple[str, dict[str, Any]]:
    return message(type="content_block_start", index=index, content_block={"type": "text", "text": ""})


def says(index: int | None, text: str = "a") -> tuple[str, dict[str, Any]]:
    return message(type="content_block_delta", index=index, delta={"type": "text_delta", "text": text})


def stop(index: int | None) -> tuple[str, dict[str, Any]]:
    return message(type="content_block_stop", index=index)


def test_a_block_that_ends_and_never_began() -> None:
    """Each of its events with output is told, from the first to the last."""
    events = [BEGIN, start(0), says(0), stop(0), says(1), says(1), says(2), stop(1)]
    assert found("anthropic", events) == (("malformed 2+ 4 5",), 4)


@pytest.mark.parametrize(
    "events",
    [
        [BEGIN, start(0), says(0), stop(0)],
        [BEGIN, start(0), says(0), stop(0), start(0), says(0), stop(0)],
        [BEGIN, says(0), says(0)],
        [BEGIN, says(0), start(0), says(0), stop(0)],
        [BEGIN, start(0), says(0), stop(0), says(0), stop(0)],
        [BEGIN, says(None), stop(None)],
        [BEGIN, says(0, ""), stop(0)],
        [says(0), stop(0)],
        [BEGIN, stop(0)],
    ],
)
def test_what_is_no_proof(events: list[tuple[str, dict[str, Any]]]) -> None:
    """Blocks in order, blocks that share an index, no blocks at all, a late beginning, more behind the end, no output,
    and the rest of a message."""
    assert found("anthropic", events)[0] == ()


def test_a_call_that_was_never_started() -> None:
    """Bedrock begins only blocks of calls; a text without a start is in order."""

    def delta(**what: Any) -> tuple[str, dict[str, Any]]:
        return "contentBlockDelta", {"contentBlockIndex": 0, "delta": what}

    begin, end = ("messageStart", {"role": "assistant"}), ("contentBlockStop", {"contentBlockIndex": 0})
    called = delta(toolUse={"input": "{}"})
    assert found("bedrock", [begin, called, end]) == (("malformed 1+ 1 1",), 1)
    assert found("bedrock", [begin, delta(text="a"), end]) == ((), 0)
    assert found("bedrock", [begin, called])[0] == ()
    assert found("bedrock", [called, end])[0] == ()


def test_beyond_what_is_told_apart_nobody_is_accused() -> None:
    """Our own limit is no fault of the provider's."""
    events = [BEGIN, *(start(n) for n in range(MAX_TRACKED + 9)), *(says(n) for n in range(MAX_TRACKED + 9))]
    assert found("anthropic", [*events, *(stop(n) for n in range(MAX_TRACKED + 9))])[0] == ()
    calls = [("messageStart", {"role": "assistant"})]
    for n in range(MAX_TRACKED + 9):
        start_ = {"contentBlockIndex": n, "start": {"toolUse": {"name": "f"}}}
        said = {"contentBlockIndex": n, "delta": {"toolUse": {"input": "{}"}}}
        calls += [("contentBlockStart", start_), ("contentBlockDelta", said), ("contentBlockStop", said)]
    assert found("bedrock", calls) == ((), 0)
    astray = Astray()
    for n in range(3 * MAX_TRACKED):
        astray.says(n, n)
    assert len(astray._runs) == MAX_TRACKED


def test_an_announced_call_of_any_kind_is_announced() -> None:
    """An item whose type nobody here knows, or whose index is left out, may have arguments; one never added may not."""

    def read(*events: dict[str, Any], numbers: Iterable[int] = range(9)) -> tuple[str, ...]:
        pairs = zip(({"type": "response.created", "response": {}}, *events), numbers, strict=False)
        return found("openai_responses", [("", event | {"sequence_number": n}) for event, n in pairs])[0]

    arguments = {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{}"}
    other = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}}
    odd = {"type": "response.output_item.added", "output_index": 1, "item": {"type": "odd_call"}}
    assert read(other, odd, arguments) == ()
    assert read(odd | {"output_index": 0}, {k: v for k, v in arguments.items() if k != "output_index"}) == ()
    assert read(arguments) == ()
    assert read(other, arguments) == ("malformed 1+ 2 2",)
    assert found("openai_responses", [("", other), ("", arguments)])[0] == ()  # read on from the middle
    assert read(arguments, numbers=(0, 2)) == ("malformed 1+ 1 1",)


def test_where_nobody_counts_events_nothing_is_told() -> None:
    """Places that are not known are none."""
    nothing = Contradictions()
    nothing.note("gap", (1, -1, -1))
    assert nothing.told(gap=1) == ()
