"""The fuzzer on a few thousand inputs, and that it would notice: what raises, what doubles, what grows."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import fuzz.__main__ as command
from fuzz.corpus import ENCODERS, seeds
from fuzz.examine import Finding, Input, examine, read
from fuzz.reducing import REDUCERS
from fuzz.run import Report, batch, make
from streamwitness import reducers
from streamwitness.framing import FRAMINGS, SSEFramer
from streamwitness.framing.suspicion import is_whole
from streamwitness.providers import PROFILES


def test_mutated_inputs_give_events_or_an_error_of_ours() -> None:
    """Some thousand inputs through every framing, profile and reducer."""
    report = batch(("test", 0, 4000))

    assert report.failures == {}
    assert report.inputs == 4000 < report.events


def test_every_framing_profile_and_reducer_is_met() -> None:
    """The tables are walked, so that what is added to them is fuzzed; every class of reducers is driven by name."""
    random = Random(1)
    made = [make(random) for _ in range(2000)]
    driven = {"Answer", "Ordered", "Reorder", "Paced", "Lifecycle", "Text", "Snapshot", "Arguments", "Patch", "Usage"}
    results = {"Outcome", "Result", "Refused", "Released", "Rendered", "Stall"}

    assert {each.framing for each in made} == set(FRAMINGS) == set(ENCODERS)
    assert {each.profile for each in made} == set(PROFILES)
    assert {each.reducer for each in made} == set(REDUCERS)
    assert {seed.profile for seed in seeds()} == set(PROFILES)
    assert set(reducers.__all__) == driven | results


def test_an_encoded_stream_reads_as_its_events() -> None:
    """The bodies that inputs are made from are proper ones: each event of a seed comes out of its framing."""
    streams = [seed.events for seed in seeds() if seed.events and all(_is_ordinary(data) for _, data in seed.events)]

    assert len(streams) > 100
    for events in streams:
        for framing, encode in ENCODERS.items():
            frames = read(framing, [encode(events)])["frames"]
            assert [frame.data for frame in frames] == [data for _, data in events]


def _is_ordinary(data: bytes) -> bool:
    return len(data) < 900 and b"\n" not in data and data.startswith(b"{") and is_whole(data)


def test_a_batch_can_be_made_again() -> None:
    """The same seed and number give the same inputs."""
    first, again = ([make(Random("a/1")) for _ in range(3)] for _ in range(2))

    assert first == again


def test_memory_is_flat() -> None:
    """A thousand inputs more leave nothing behind."""
    batch(("warm", 0, 1000))
    gc.collect()
    tracemalloc.start()
    batch(("flat", 0, 500))
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    batch(("flat", 1, 500))
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert after - before < 200_000


class _Raises(SSEFramer):
    def feed(self, data: Any) -> Any:
        raise IndexError("a bug")


class _Doubles(SSEFramer):
    def feed(self, data: Any) -> Any:
        return super().feed(data) * 2


class _Hasty(SSEFramer):
    def feed(self, data: Any) -> Any:
        return super().feed(data + b"\n\n") if data else []


@pytest.mark.parametrize(
    ("framer", "error"),
    [(_Raises, IndexError), (_Doubles, Finding), (_Hasty, Finding)],
)
def test_a_broken_framer_is_noticed(
    monkeypatch: pytest.MonkeyPatch, framer: Callable[[], Any], error: type[Exception]
) -> None:
    """What raises, what counts a byte twice, and what reads by the piece."""
    monkeypatch.setitem(FRAMINGS, "sse", framer)

    with pytest.raises(error):
        examine(Input("sse", "generic", "answer", b"data: a\n\ndata: b\n\n"), cuts=[3])


def test_a_failure_is_reported_with_the_command_that_replays_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first input of each kind of failure is kept, printed, and fails in the same way when it is replayed."""
    monkeypatch.setitem(FRAMINGS, "sse", _Raises)
    report = batch(("test", 1, 200))
    total = command.Total()
    total.add(report)

    assert command.told(total, 1.0) == 1
    printed = capsys.readouterr()
    line = next(line for line in printed.err.splitlines() if "--replay" in line)
    with pytest.raises(IndexError, match="a bug"):
        command.main(line.split()[3:])
    assert len(report.failures) == 1


def test_a_replay_reads_an_input_with_every_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """What holds is said."""
    assert command.main(["--replay", "sse", "openai_chat", "styles", "ZGF0YTogYQoK"]) == 0
    assert capsys.readouterr().out == "9 bytes, 1 events: everything holds\n"


def test_memory_that_grows_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """Measured from when a process is warm."""
    total = command.Total()
    for number in range(command.WARM_BATCHES + 1):
        total.add(Report(inputs=1, process=7, resident=number * (command.GROWTH // 10)))
    assert command.told(total, 1.0) == 0
    total.add(Report(inputs=1, process=7, resident=command.GROWTH * 4))

    assert command.told(total, 1.0) == 1
    assert "memory is not flat" in capsys.readouterr().err
