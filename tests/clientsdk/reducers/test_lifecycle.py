"""The life of an answer: one completion, a finish by then, an abort that lets go of the connection."""

from __future__ import annotations

import threading
from typing import Any, get_args

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness.reducers import Answer, Lifecycle, Result, Stall
from streamwitness.reducers.lifecycle import OPEN, STATES, Signal, State
from streamwitness.semconv import FINISH, PING, TERMINAL, TEXT, USAGE
from tests.clientsdk.client import raw_server
from tests.clientsdk.providers.vectors import streams

SECOND = 1_000_000_000
FOLLOWED = ("openai_chat", "ollama", "gemini", "envelope")
"""Profiles whose events need no name to be read."""


def run(*signals: Signal) -> tuple[str, list[str]]:
    """The state after these signals, and the results."""
    life = Lifecycle(0)
    results = [str(life.note(signal, at, "stop" if signal == "finish" else None).result)
               for at, signal in enumerate(signals)]  # fmt: skip
    return life.state, results


@pytest.mark.parametrize(("signals", "state", "refused"), [
    (("event", "finish", "terminal"), "completed", 0),
    (("event", "finish", "eof"), "completed", 0),
    (("finish", "usage", "terminal", "eof"), "completed", 0),
    (("event", "finish", "event", "finish", "terminal"), "completed", 0),
    (("event", "finish", "terminal", "terminal"), "completed", 1),
    (("event", "finish", "terminal", "finish"), "completed", 1),
    (("event", "terminal"), "truncated", 0),
    (("eof",), "truncated", 0),
    (("event", "error", "event"), "failed", 1),
    (("event", "abort", "event"), "aborted", 1),
    (("event", "finish", "terminal", "abort"), "completed", 1),
])  # fmt: skip
def test_each_way_through_the_table(signals: tuple[Signal, ...], state: State, refused: int) -> None:
    """The end is the one that came first; what comes after it is refused."""
    assert (run(*signals)[0], run(*signals)[1].count(Result.AFTER_TERMINAL)) == (state, refused)


@given(st.lists(st.sampled_from(get_args(Signal))))
def test_there_is_one_completion_and_it_knows_its_finish(signals: list[Signal]) -> None:
    """No order of signals completes twice, or without a finish reason."""
    life = Lifecycle(0)
    completions = 0
    for signal in signals:
        before = life.state
        life.note(signal, 0, "stop" if signal == "finish" else None)
        completions += life.state == "completed" != before
    assert completions <= 1
    assert life.state != "completed" or life.finish == "stop"


def test_the_table_is_total_over_its_states() -> None:
    """Every state has a row, every open state an answer to every signal."""
    assert set(STATES) == set(get_args(State))
    assert all(set(STATES[state]) == set(get_args(Signal)) for state in STATES if state in OPEN)


@pytest.mark.parametrize(
    ("profile", "place", "stream"),
    [pytest.param(*item, id="/".join(item[:2])) for item in streams() if item[0] in FOLLOWED],
)
def test_an_answer_of_any_provider_completes_exactly_where_its_rule_says(
    profile: str, place: str, stream: dict[str, Any]
) -> None:
    """Fed with what each chunk holds, it is completed at the end of a whole answer without an error, and no other."""
    answer, life = Answer(profile), Lifecycle(0)
    for event in stream["events"]:
        if answer.apply(event["data"]).result is not Result.MALFORMED:
            life.follow(answer.parts, 0, answer.finishes.get("0"), complete=answer.is_complete)
    life.note("eof", 0, complete=answer.is_complete)
    failed = any("error" in event["parts"] for event in stream["events"])
    assert (life.state == "completed") == bool(stream["complete"] and not failed), life.state


def test_a_keep_alive_is_no_progress() -> None:
    """The stall that it falls into goes on."""
    life = Lifecycle(0)
    assert life.follow(PING, SECOND).result is Result.IGNORED
    assert life.silence(3 * SECOND, 2 * SECOND) == Stall(None, 3 * SECOND)


def test_an_event_that_says_several_things_is_one_event() -> None:
    """Text, finish, usage and the terminator in one line, as Ollama ends."""
    life = Lifecycle(0)
    life.follow(TEXT | FINISH | USAGE | TERMINAL, 0, "stop")
    assert (life.state, life.finish, life.events) == ("completed", "stop", 1)


def test_no_first_event_is_told_from_a_stall_after_one() -> None:
    """Before the first event there is none to name; behind it the stall names it; an end is no stall."""
    life = Lifecycle(0)
    assert life.silence(2 * SECOND, 2 * SECOND) is None
    assert life.silence(3 * SECOND, 2 * SECOND) == Stall(None, 3 * SECOND)
    assert str(Stall(None, 3 * SECOND)) == "no event in 3.0 s"
    life.note("event", 3 * SECOND)
    life.note("event", 4 * SECOND)
    assert life.silence(5 * SECOND, 2 * SECOND) is None
    assert str(life.silence(9 * SECOND, 2 * SECOND)) == "nothing for 5.0 s after event 1"
    life.note("error", 9 * SECOND)
    assert life.silence(99 * SECOND, 2 * SECOND) is None


def test_an_abort_closes_the_upstream_connection() -> None:
    """The provider sees the close of a real connection while its answer is still open; a second abort does nothing."""
    seen = threading.Event()

    def until_the_client_goes(connection: object, request: bytes) -> None:
        raw_server.wait_for_client(connection, request)  # type: ignore[arg-type]
        seen.set()

    answer = raw_server.stream((raw_server.event("a"),), end=False, then=until_the_client_goes)
    with (
        raw_server.RawServer(answer) as provider,
        httpx.Client(trust_env=False) as client,
        client.stream("POST", provider.url) as response,
    ):
        life = Lifecycle(0, release=response.close)
        assert b"content" in next(response.iter_bytes())
        life.note("event", 1)
        life.abort(2)
        assert seen.wait(30)
        assert (life.state, life.abort(3)) == ("aborted", None)


def test_an_answer_that_is_complete_is_not_aborted() -> None:
    """Its connection may serve the next request."""
    closed: list[bool] = []
    life = Lifecycle(0, release=lambda: closed.append(True))
    for signal in ("finish", "terminal"):
        life.note(signal, 0, "stop")  # type: ignore[arg-type]
    life.abort(1)
    assert closed == []
