"""What helpers of the real SDKs make of events is reported as those events, once each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import pytest

import streamwitness
from streamwitness.client import Applied, instrument
from streamwitness.semconv import MISSING, RESULT
from streamwitness.testing import MemorySink
from streamwitness_analyzer.decode import decode_otlp
from streamwitness_analyzer.judge import judge
from tests.analyzer.kit import otlp
from tests.clientsdk.client.contract import MESSAGES, RESPONSES
from tests.clientsdk.client.raw_server import BODY, RawServer, cut, stream

pytestmark = pytest.mark.anyio

ASK = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def _anthropic(url: str) -> Any:
    return anthropic.Anthropic(api_key="k", base_url=url, max_retries=0)


def _openai(url: str) -> Any:
    return openai.OpenAI(api_key="k", base_url=url + "/v1", max_retries=0)


HELPERS: dict[str, tuple[Callable[[str], Any], Callable[[Any], Any], Any]] = {
    "anthropic": (_anthropic, lambda client: client.messages.stream(**ASK), stream(MESSAGES.events)),
    "openai": (_openai, lambda client: client.chat.completions.stream(**CHAT), stream(cut(BODY, 40))),
    "openai responses": (
        _openai, lambda client: client.responses.stream(model="m", input="x"), stream(RESPONSES.events)
    ),
}  # fmt: skip
"""Client, what is asked of it, what the server answers."""
every = pytest.mark.parametrize("name", HELPERS)


@contextmanager
def asked(name: str) -> Iterator[tuple[Any, Applied]]:
    """The helper of an instrumented client, and its report."""
    make, ask, answer = HELPERS[name]
    with RawServer(answer) as server, make(server.url) as client:
        instrument(client)
        with ask(client) as helper, streamwitness.applied(helper) as report:
            yield helper, report


def reported(name: str, reduce: Callable[[Any], None]) -> None:
    """All that the helper yields is reported, as README shows."""
    with asked(name) as (helper, report):
        for item in helper:
            try:
                with report.event(item):
                    reduce(item)
            except ZeroDivisionError:
                pass


def verdict(sink: MemorySink) -> Any:
    return judge(decode_otlp(otlp(sink.blocks), "any")[0], settled=True)


@every
def test_each_event_is_reported_once(name: str, sink: MemorySink) -> None:
    """However many objects the helper makes of an event: one row, which names it."""
    reported(name, lambda item: None)
    rows = sink.closing("applied").columns()
    assert list(rows["of"]) == list(range(sink.closing("parsed").totals["events"]))
    assert (verdict(sink)["integrity"], verdict(sink)["findings"]) == ("intact", [])


@every
def test_a_reducer_that_raises_on_what_the_helper_made_is_found(name: str, sink: MemorySink) -> None:
    """The event that it was made of did not reach the answer, whatever became of the other objects made of it."""
    done: list[Any] = []

    def reduce(item: Any) -> None:
        if item.type in ("text", "content.delta", "response.output_text.delta") and not done:
            done.append(item)
            raise ZeroDivisionError

    reported(name, reduce)
    rows = sink.closing("applied").columns()
    assert list(rows["result"]).count(RESULT["raised"]) == 1
    [finding] = verdict(sink)["findings"]
    assert (finding["kind"], finding["suspects"]) == ("gap", ["reducer"])


async def test_the_async_helper_is_followed_too(sink: MemorySink) -> None:
    """The same rows."""
    with RawServer(stream(MESSAGES.events)) as server:
        client = instrument(anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0))
        async with client.messages.stream(**ASK) as helper:
            with streamwitness.applied(helper) as report:
                async for item in helper:
                    with report.event(item):
                        pass
        await client.close()
    rows = sink.closing("applied").columns()
    assert list(rows["of"]) == list(range(sink.closing("parsed").totals["events"]))


def test_an_object_of_the_applications_own_names_no_event(sink: MemorySink) -> None:
    """A copy is not what the helper made."""
    with asked("anthropic") as (helper, report):
        for item in helper:
            report.report(item.model_copy())
    assert set(sink.closing("applied").columns().get("of", [MISSING])) == {MISSING}


@pytest.mark.parametrize("kinds", [("text",), ("content_block_delta",), ("message_stop",), ("text", "message_stop")])
@pytest.mark.parametrize("collected", [False, True])
def test_an_application_that_reports_some_of_it_accuses_nobody(
    kinds: tuple[str, ...], collected: bool, sink: MemorySink
) -> None:
    """It may use what it likes of a helper, as it comes or once all of it is there."""
    with asked("anthropic") as (helper, report):
        items = list(helper) if collected else helper
        for item in items:
            if item.type in kinds:
                report.report(item)
    assert verdict(sink)["findings"] == []
