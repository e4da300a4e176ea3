"""Streams that were cut at the same moment: what is a limit, and what is an accident."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from streamwitness_analyzer.cuts import CUT, Cluster, Ended, about, clusters, sentence
from streamwitness_analyzer.vocabulary import ENDINGS


def ended(n: int, time: int, ending: str = "network_lost", **changes: object) -> Ended:
    """A stream cut by the transport after so many ms, 10 ms after its last event."""
    values = {
        "by": "source" if ending == "completed" else "transport",
        "point": "wire",
        "silence": 10,
        "bytes": 500 + n,
    }
    return Ended(f"{n:032x}", "shop", "openai", ending, time=time, **(values | changes))  # type: ignore[arg-type]


def whole(rng: Random, count: int = 200) -> list[Ended]:
    """Answers that ended well, of any length below a minute."""
    return [ended(1000 + n, rng.randint(2_000, 58_000), "completed") for n in range(count)]


def cancelled(rng: Random, count: int = 20) -> list[Ended]:
    """People who had read enough, after any time."""
    return [ended(3000 + n, rng.randint(2_000, 58_000), "client_cancelled", by="client") for n in range(count)]


def at_a_minute(rng: Random, count: int = 8) -> list[Ended]:
    """Cut by a limit of 60 s."""
    return [ended(n, 60_000 + rng.randint(0, 90)) for n in range(count)]


def found(streams: Sequence[Ended]) -> list[tuple[str, float, int]]:
    """Measure, value in s (or KiB) and number of streams of each cluster."""
    return [(c.measure, round(c.at / 1000), len(c.streams)) for c in clusters(streams)]


def test_a_limit_shows_among_ordinary_streams() -> None:
    """Eight of 28 cut streams at 60 s; whole answers and people who cancel are spread."""
    rng = Random(1)
    (cluster,) = clusters([*whole(rng), *cancelled(rng), *at_a_minute(rng)])
    assert (cluster.measure, cluster.cut, cluster.longer, cluster.by) == ("time", 28, 0, "transport")
    assert set(cluster.streams) == {f"{n:032x}" for n in range(8)}
    assert 60_000 <= cluster.low <= cluster.high <= 60_090
    assert cluster.endings == (("network_lost", 8),)


@pytest.mark.parametrize(("count", "spread", "expected"), [(2, 0, 0), (3, 90, 1), (3, 500, 0), (4, 500, 1)])
def test_a_few_streams_are_enough_where_they_agree(count: int, spread: int, expected: int) -> None:
    """Three within a tenth of a percent are no accident, four within one; two are never enough."""
    streams = [ended(n, 60_000 + spread * n // count) for n in range(count)]
    assert len(clusters(streams)) == expected


SPREADS: dict[str, Callable[[Random], float]] = {
    "uniform": lambda rng: rng.uniform(1_000, 120_000),
    "exponential": lambda rng: rng.expovariate(1 / 20_000),
    "log-normal": lambda rng: rng.lognormvariate(9, 1),
    "normal": lambda rng: rng.gauss(20_000, 2_000),
}


@pytest.mark.parametrize("name", SPREADS)
def test_what_is_only_dense_is_no_limit(name: str) -> None:
    """Whatever the spread of durations, in groups of any size; silences and sizes likewise."""
    for seed in range(60):
        rng = Random(f"{name} {seed}")
        streams = [
            ended(
                n,
                max(0, int(SPREADS[name](rng))),
                rng.choice(["completed", "network_lost"]),
                silence=rng.randint(0, 3_000),
                bytes=rng.randint(1_000, 100_000),
            )
            for n in range(2 * rng.choice([3, 10, 60, 200]))
        ]
        assert clusters(streams) == [], seed


def test_answers_of_one_length_make_no_limit() -> None:
    """Where whole answers end at that moment as well, those cut there were cut near their end."""
    rng = Random(3)
    same = [ended(1000 + n, 60_000 + rng.randint(0, 90), "completed") for n in range(40)]
    assert clusters([*same, *at_a_minute(rng)]) == []


def test_one_service_is_not_measured_by_another() -> None:
    """Two and two of different services are no four."""
    streams = [ended(n, 60_000)._replace(service=name) for n, name in enumerate(["shop", "shop", "bank", "bank"])]
    assert clusters(streams) == []


def test_silence_is_a_limit_of_its_own() -> None:
    """Ended at any time, each 60 s after its last event."""
    rng = Random(4)
    idle = [ended(n, rng.randint(61_000, 300_000), "upstream_truncated", silence=60_000 + n) for n in range(6)]
    assert found([*whole(rng), *idle]) == [("silence", 60, 6)]


def test_a_silence_from_the_beginning_is_told_once() -> None:
    """It is the time as well."""
    streams = [ended(n, 60_000 + n, "stalled_before_first", silence=60_000 + n) for n in range(6)]
    assert found(streams) == [("time", 60, 6)]


def test_sizes_are_a_limit_too() -> None:
    """Cut after 128 KiB, at any time."""
    rng = Random(5)
    streams = [ended(n, rng.randint(5_000, 300_000), "client_parser_abort", bytes=131_072) for n in range(5)]
    (cluster,) = clusters(streams)
    assert (cluster.measure, cluster.low, cluster.high) == ("bytes", 131_072, 131_072)
    assert cluster.known is not None
    assert cluster.known.name == "the longest line that older versions of aiohttp read"


def test_a_stream_of_which_nothing_came_may_have_met_a_limit_on_silence() -> None:
    """Its time is a silence; that of a stream with events is not."""
    nothing = [ended(n, 120_000)._replace(silence=120_000) for n in range(5)]
    cluster = one(nothing)
    assert cluster.known is not None
    assert (cluster.measure, cluster.known.measure) == ("time", "silence")
    assert one([ended(n, 120_000) for n in range(5)]).known is None


def test_two_limits_are_two_clusters() -> None:
    """The larger one first."""
    later = [ended(100 + n, 300_000 + n, "gateway_truncated", by="gateway") for n in range(5)]
    assert found([*at_a_minute(Random(6)), *later]) == [("time", 60, 8), ("time", 300, 5)]


def test_unknown_moments_count_for_nothing() -> None:
    """A lost block hides the time, not the size."""
    streams = [ended(n, 0, bytes=131_072)._replace(time=None, silence=None) for n in range(5)]
    assert found(streams) == [("bytes", 131, 5)]


def test_short_answers_make_no_limits() -> None:
    """Below a second or 4 KiB many streams are alike by themselves."""
    assert clusters([ended(n, 300, bytes=700) for n in range(50)]) == []


def test_which_endings_are_cut() -> None:
    """All that a limit can have made; a gateway that is stopped or refused is none."""
    assert set(ENDINGS) - CUT == {
        "completed", "upstream_rejected", "gateway_shutdown", "client_reducer_abort", "unwitnessed",
    }  # fmt: skip


def one(streams: Sequence[Ended]) -> Cluster:
    (cluster,) = clusters(streams)
    return cluster


def test_the_sentence() -> None:
    """How many of how many, whose, when, where, which limit is known, and whether any lived longer."""
    rng = Random(1)
    streams = [*whole(rng), *cancelled(rng), *[ended(n, 60_000) for n in range(8)], ended(99, 90_000, "completed")]
    assert sentence(one(streams)) == (
        "8 of 28 cut streams of service shop from openai ended after 60.0 s, between gateway out and client received: "
        "a time limit on the way "
        "(one such: the time that Google's Cloud Functions (1st generation) have for a response "
        "by default). "
        "1 stream of the same went on for longer, so it does not hold on every way."
    )


def test_the_line_of_one_stream() -> None:
    """The others of its service, without itself; without a name of the service it is told without one."""
    streams = [ended(n, 77_000) for n in range(5)]
    line = "Cut after 77.0 s, as 4 others of this service within a day were: a time limit on the way."
    assert about(one(streams), "within a day") == line
    unnamed = [item._replace(service="unknown_service:python") for item in streams]
    assert "as 4 others like it within a day" in about(one(unnamed), "within a day")


@pytest.mark.parametrize(
    ("by", "point", "place"),
    [
        ("source", "ingress", "at the provider or on the way to it"),
        ("gateway", "egress", "at the gateway"),
        ("transport", "wire", "between gateway out and client received"),
        ("client", "wire", "at the client"),
        (None, "wire", "somewhere before client received"),
        (None, None, "somewhere on the way"),
    ],
)
def test_the_place(by: str | None, point: str | None, place: str) -> None:
    """Who ended it tells the place; where nobody is known to have, the point that saw it."""
    assert one([ended(n, 60_000, by=by, point=point) for n in range(4)]).place == place


def test_a_reader_that_was_gone_was_cut_behind_who_saw_it() -> None:
    """Clients that nobody observes wait three seconds and leave: what did that is not before gateway out."""
    cluster = one([ended(n, 3_100, "client_gone", by=None, point="egress") for n in range(4)])
    assert cluster.place.startswith("at gateway out or behind it")


def test_a_limit_of_streams_at_an_even_pace_may_be_of_either() -> None:
    """Six cut after 1.5 s, and so after the same number of bytes: which of the two it was is not told."""
    times = (1492, 1493, 1495, 1497, 1493, 1494)
    (cluster,) = clusters([ended(n, time, bytes=8 * time) for n, time in enumerate(times)])
    assert cluster.also is not None
    said = sentence(cluster)
    assert "ended after 1.5 s or about 11,95" in said
    assert said.split(": ")[-1].startswith(
        "a limit of one of these on the way; at an even pace it cannot be told which."
    )


def test_a_known_limit_is_told_as_that_at_any_pace() -> None:
    """A minute is nobody's size."""
    (cluster,) = clusters([ended(n, 60_000 + 9 * n, bytes=480_000 + n) for n in range(6)])
    assert "after 60.0 s" in sentence(cluster)
    assert "a time limit on the way (one such: " in sentence(cluster)
