"""The real openai client, over a real socket, and what applications make of its stream: what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import openai
import pytest

from streamwitness.blocks import Block
from streamwitness.client import applied, instrument
from streamwitness.reducers import Answer
from streamwitness.testing import recording
from streamwitness_analyzer.decode import decode_otlp
from streamwitness_analyzer.judge import judge
from tests.analyzer.kit import otlp
from tests.clientsdk.client.raw_server import DONE, RawServer, event, stream

QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "?"}], "stream": True}


def verdict(blocks: list[Block]) -> dict[str, Any]:
    """What the analyzer says of them, after their way as OTLP."""
    decoded, refused = decode_otlp(otlp(blocks), "any")
    assert refused == []
    return judge(decoded, settled=True)


def found(said: dict[str, Any]) -> list[tuple[str, list[str], str]]:
    """Kind, suspects and confidence of each finding."""
    return [(f["kind"], f["suspects"], f["confidence"]) for f in said["findings"]]


def ask(use: Callable[..., None], *bodies: bytes) -> dict[str, Any]:
    """The verdict on an answer that the application uses so; the last stream asked for, if several."""
    with RawServer(*(stream((body,)) for body in bodies)) as server, recording() as sink:
        with openai.OpenAI(api_key="k", base_url=server.url + "/v1", max_retries=0) as client:
            instrument(client)
            answers = [client.chat.completions.create(**QUESTION) for _ in bodies]
            use(*answers)
        last = sink.blocks[-1].stream
        return verdict([block for block in sink.blocks if block.stream == last])


def body(*texts: str) -> bytes:
    """An answer of these texts, one after the other."""
    return b"".join(event(text) for text in texts) + event(finish="stop") + DONE


@pytest.mark.parametrize("texts", [("ja ", "ja ", "ja"), ("", "a", "", ""), (" a", "b ", "\n")], ids=repr)
@pytest.mark.parametrize("strip", [False, True])
def test_the_text_that_the_application_kept(texts: tuple[str, ...], strip: bool) -> None:
    """Equal and empty deltas included: nothing is said of the same text, and of another one that it is another."""

    def use(answer: Any) -> None:
        with applied(answer) as report:
            text = ""
            for chunk in answer:
                with report.event(chunk):
                    text += chunk.choices[0].delta.content or ""
            report.result(text.strip() if strip else text)

    said = ask(use, body(*texts))
    other = strip and "".join(texts) != "".join(texts).strip()
    assert found(said) == ([("misapplied", ["reducer"], "certain")] if other else [])
    assert said["integrity"] == ("damaged" if other else "intact")


def test_two_choices_and_a_call_shown_by_an_answer() -> None:
    """Interleaved: each slot is compared with its own."""

    def chunk(choice: int, **delta: Any) -> bytes:
        return event(choices=[{"index": choice, "delta": delta, "finish_reason": None}])

    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a"'}}
    more = {"index": 0, "function": {"arguments": ":1}"}}
    sent = b"".join((
        chunk(0, content="A"), chunk(1, content="B"), chunk(0, tool_calls=[call]), chunk(1, content="b"),
        chunk(0, tool_calls=[more]), event(finish="stop"), DONE,
    ))  # fmt: skip

    def use(answer: Any) -> None:
        built = Answer()
        with applied(answer) as report:
            report.result(built)
            for item in answer:
                outcome = built.apply(item)
                report.report(item, outcome.result, parts=outcome.parts)

    said = ask(use, sent)
    assert (found(said), said["integrity"]) == ([], "intact")


def test_an_application_that_stops_in_the_middle() -> None:
    """What it shows is a beginning; its stop is no fault."""

    def use(answer: Any) -> None:
        with answer, applied(answer) as report:
            first = next(iter(answer))
            report.report(first)
            report.result(first.choices[0].delta.content)

    said = ask(use, body("a", "b", "c"))
    assert (found(said), said["ending"]["class"]) == ([], "client_cancelled")


def test_events_of_two_streams_in_one_answer() -> None:
    """The application reads two streams, and builds the events of one into the other, or behind the other."""

    def use(within: bool) -> Callable[[Any, Any], None]:
        def mix(one: Any, other: Any) -> None:
            strange = next(iter(one))
            one.close()
            with applied(other) as report:
                for at, chunk in enumerate(other):
                    with report.event(chunk):
                        pass
                    if at == 0 and within:
                        report.report(strange)
                if not within:
                    report.report(strange)

        return mix

    assert found(ask(use(within=True), body("x", "y"), body("a", "b"))) == [("cross_stream", ["reducer"], "certain")]
    assert found(ask(use(within=False), body("x", "y"), body("a", "b"))) == []
