"""The consumer on a real broker: what it reads, what it sets apart, and how two of them share a topic."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from sqlalchemy.exc import OperationalError

from streamwitness import semconv as sc
from streamwitness_analyzer.config import AnalyzerSettings
from streamwitness_analyzer.consumer import Consumer, _Assignment
from streamwitness_analyzer.dead import PLACE_HEADER, REASON_HEADER
from streamwitness_analyzer.settle import Life, Patience
from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import Store
from streamwitness_analyzer.store.schema import counters, offsets, streams
from tests.analyzer.kit import SECOND, PlainJudge, block, otlp, stream_id

DEADLINE = 60


@pytest.fixture
def database(postgres_database: str) -> str:
    """PostgreSQL only: the path that Kafka is for."""
    return postgres_database


@pytest.fixture
def settings(kafka: str, kafka_topic: str) -> AnalyzerSettings:
    return AnalyzerSettings(kafka=(kafka,), topic=kafka_topic, group=f"{kafka_topic}-group")


@pytest.fixture
def producer(kafka: str) -> Iterator[KafkaProducer]:
    client = KafkaProducer(bootstrap_servers=kafka, acks="all")
    yield client
    client.close()


def send(producer: KafkaProducer, topic: str, value: bytes, key: str | None = None, **headers: str) -> None:
    """One message, acknowledged; headers by their names with _ for -."""
    pairs = [(name.replace("_", "-"), text.encode()) for name, text in headers.items()]
    producer.send(topic, value=value, key=key.encode() if key else None, headers=pairs).get(timeout=DEADLINE)


def eventually(what: Callable[[], bool]) -> None:
    """Wait for a condition; fails when it does not come true."""
    end = time.monotonic() + DEADLINE
    while not what():
        if time.monotonic() > end:
            pytest.fail("the condition never came true")
        threading.Event().wait(0.05)


@contextmanager
def consuming(settings: AnalyzerSettings, store: Store, **options: Any) -> Iterator[Consumer]:
    """A consumer on its thread, stopped at the end; an exception in it fails the test."""
    stop = threading.Event()
    patience = options.pop("patience", Patience())
    wall = options.pop("wall", time.time_ns)
    steps = options.pop("steps", None) or Steps(store, Life(PlainJudge(), patience), wall)
    consumer = Consumer(settings, store, steps, wall, stop)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            consumer.run()
        except BaseException as error:  # re-raised below
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield consumer
    finally:
        stop.set()
        thread.join(DEADLINE)
    if failures:
        raise failures[0]


def states(store: Store) -> dict[str, str]:
    with store.read() as connection:
        return {row.id: row.state for row in connection.execute(sa.select(streams.c.id, streams.c.state))}


def counter(store: Store, name: str) -> int:
    with store.read() as connection:
        return connection.execute(sa.select(counters.c.value).where(counters.c.name == name)).scalar() or 0


def test_keyed_and_unkeyed_messages_meet_in_one_verdict(
    settings: AnalyzerSettings, store: Store, producer: KafkaProducer
) -> None:
    """Our collector's keyed message and a stock collector's mixture, on different partitions: the streams settle."""
    sent = [block(n, "egress", final=True) for n in (1, 2)]
    got = [block(n, "wire", final=True) for n in (1, 2)]
    for item in sent:
        send(producer, settings.topic, otlp([item]), item.stream, sw_version="1", sw_role="gateway")
    send(producer, settings.topic, otlp(got))
    with consuming(settings, store):
        eventually(lambda: states(store) == {stream_id(1): "settled", stream_id(2): "settled"})


def test_an_undecodable_message_is_set_apart_and_the_next_is_read(
    settings: AnalyzerSettings, store: Store, producer: KafkaProducer, kafka: str
) -> None:
    """It is counted, stands in the dead topic with reason and place, and the good message behind it is judged."""
    send(producer, settings.topic, b"\xff\xffno protobuf", "k")
    good = [block(1, "egress", final=True), block(1, "wire", final=True)]
    send(producer, settings.topic, otlp(good), "k")
    with consuming(settings, store):
        eventually(lambda: states(store) == {stream_id(1): "settled"})
    assert counter(store, "stream_undecodable_messages_total") == 1
    reader = KafkaConsumer(settings.dead_topic, bootstrap_servers=kafka, auto_offset_reset="earliest")
    try:
        dead: list[Any] = []
        eventually(lambda: bool(dead.extend(r for rs in reader.poll(timeout_ms=200).values() for r in rs) or dead))
    finally:
        reader.close()
    headers = dict(dead[0].headers)
    assert dead[0].value == b"\xff\xffno protobuf"
    assert b"no OTLP trace request" in headers[REASON_HEADER]
    assert headers[PLACE_HEADER].startswith(settings.topic.encode() + b"/")


def test_reading_goes_on_at_the_databases_offset(
    settings: AnalyzerSettings, store: Store, producer: KafkaProducer
) -> None:
    """A new consumer in another group does not begin again: the database knows the place, not Kafka."""
    send(producer, settings.topic, otlp([block(1, "egress", final=True)]), "k")
    with consuming(settings, store):
        eventually(lambda: states(store) == {stream_id(1): "provisional"})
    read: list[int] = []
    steps = Steps(store, Life(PlainJudge(), Patience()), time.time_ns)
    other = replace(settings, group=settings.group + "-other")
    send(producer, settings.topic, otlp([block(1, "wire", final=True)]), "k")

    class Noting(Consumer):
        def _process(self, messages: Any) -> None:
            read.extend(message.offset for message in messages)
            super()._process(messages)

    stop = threading.Event()
    thread = threading.Thread(target=Noting(other, store, steps, time.time_ns, stop).run)
    thread.start()
    try:
        eventually(lambda: states(store) == {stream_id(1): "settled"})
    finally:
        stop.set()
        thread.join(DEADLINE)
    assert read == [1]


def test_two_consumers_share_the_topic(settings: AnalyzerSettings, store: Store, producer: KafkaProducer) -> None:
    """The second joins while the first reads; partitions change hands, and every stream settles once."""
    many = range(1, 61)
    with consuming(settings, store):
        for n in many:
            send(producer, settings.topic, otlp([block(n, "egress", final=True)]))
            if n == 30:
                break
        with consuming(settings, store):
            for n in many:
                send(producer, settings.topic, otlp([block(n, "egress", final=True)]))
                send(producer, settings.topic, otlp([block(n, "wire", final=True)]))
            eventually(lambda: states(store) == {stream_id(n): "settled" for n in many})
    assert counter(store, "stream_endings_total") == len(many)


def test_time_passes_where_a_partition_is_read_to_its_end(
    settings: AnalyzerSettings, store: Store, producer: KafkaProducer
) -> None:
    """A stream whose second point never closes settles, though no further message brings the time."""
    send(producer, settings.topic, otlp([block(1, "egress", final=True)]), "k")
    with consuming(settings, store, patience=Patience(settle_after=SECOND)):
        eventually(lambda: states(store) == {stream_id(1): "settled"})


def test_a_partition_nobody_has_read_holds_time_back(
    settings: AnalyzerSettings, store: Store, producer: KafkaProducer
) -> None:
    """The watermark is that of all partitions: one unread partition, and nothing settles by time."""
    with store.write() as transaction:
        transaction.know_partitions(settings.topic, [99])
    send(producer, settings.topic, otlp([block(1, "egress", final=True)]), "k")

    def all_read() -> bool:
        with store.read() as connection:
            rows = connection.execute(sa.select(offsets.c.watermark).where(offsets.c.partition != 99)).scalars()
            return all(rows) and states(store) == {stream_id(1): "provisional"}

    with consuming(settings, store, patience=Patience(settle_after=0)):
        eventually(all_read)
    assert states(store) == {stream_id(1): "provisional"}


def test_a_database_that_is_away_loses_and_skips_nothing(
    settings: AnalyzerSettings, store: Store, producer: KafkaProducer
) -> None:
    """The batch is tried again until the database takes it; then reading goes on."""
    failures = iter(range(3))

    def flaky(step: int) -> None:
        if step == 5 and next(failures, None) is not None:
            raise OperationalError("statement", {}, Exception("gone away"))

    steps = Steps(store, Life(PlainJudge(), Patience()), time.time_ns, done=flaky)
    for n in (1, 2):
        send(producer, settings.topic, otlp([block(n, "egress", final=True), block(n, "wire", final=True)]), "k")
    with consuming(settings, store, steps=steps):
        eventually(lambda: states(store) == {stream_id(1): "settled", stream_id(2): "settled"})
    assert next(failures, None) is None


def test_a_zombie_joins_anew(settings: AnalyzerSettings, store: Store, producer: KafkaProducer) -> None:
    """A rival that took the partition over in the database: our batch is not committed, a new session reads it."""
    with consuming(settings, store) as consumer:
        eventually(lambda: len(consumer._held) == 4)
        with store.write() as transaction:
            for partition in range(4):
                transaction.take_over(settings.topic, partition)
        send(producer, settings.topic, otlp([block(1, "egress", final=True), block(1, "wire", final=True)]), "k")
        eventually(lambda: states(store) == {stream_id(1): "settled"})
    assert counter(store, "stream_endings_total") == 1


def test_kafka_is_told_the_offset(
    settings: AnalyzerSettings, store: Store, producer: KafkaProducer, kafka: str
) -> None:
    """Lag displays read it from Kafka."""
    producer.send(settings.topic, value=otlp([block(1, "egress", final=True)]), partition=2).get(timeout=DEADLINE)
    place = TopicPartition(settings.topic, 2)
    reader = KafkaConsumer(bootstrap_servers=kafka, group_id=settings.group, enable_auto_commit=False)
    try:
        with consuming(settings, store):
            eventually(lambda: reader.committed(place) == 1)
    finally:
        reader.close()


class Polled:
    """A client library whose polls were written down beforehand; it remembers where it was told to go."""

    def __init__(self, *polls: dict[TopicPartition, list[Any]]) -> None:
        self.polls, self.sought = iter(polls), []

    def poll(self, **_: Any) -> dict[TopicPartition, list[Any]]:
        return next(self.polls)

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.sought.append((place.partition, offset))

    def commit_async(self, _: Any) -> None:
        pass


def test_records_polled_before_a_take_over_are_not_looked_at(store: Store) -> None:
    """They are from where the library stood, not from where the database goes on: what lies between would be lost."""
    settings = AnalyzerSettings(topic="t")
    consumer = Consumer(settings, store, Steps(store, Life(PlainJudge(), Patience()), lambda: 0), lambda: -1, Event())
    place = TopicPartition("t", 3)

    def record(number: int) -> SimpleNamespace:
        value = otlp([block(number + 1, "egress")])
        return SimpleNamespace(topic="t", partition=3, offset=number, value=value, headers=(), timestamp=1)

    polled = Polled({place: [record(5)]}, {place: [record(0)]})
    assignment = _Assignment()
    assignment.on_partitions_assigned([place])
    consumer._turn(polled, assignment)
    assert (states(store), polled.sought) == ({}, [(3, 0)])
    consumer._turn(polled, assignment)
    assert states(store) == {stream_id(1): "open"}
    assert consumer._held[3].next == 1


class Behind(Polled):
    """A library that has read `read` of `written` messages of partition 0; the topic has no other."""

    read, written = 1, 1000

    def partitions_for_topic(self, _: str) -> set[int]:
        return {0}

    def end_offsets(self, places: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, self.written)

    def position(self, _: TopicPartition) -> int:
        return self.read


def test_a_backlog_settles_nothing(store: Store) -> None:
    """The wall clock is hours ahead of what has been read: only at the partition's end does it count."""
    settings, start = AnalyzerSettings(topic="t"), 1_700_000_000 * SECOND
    hours_later = start + 5 * 3600 * SECOND
    steps = Steps(store, Life(PlainJudge(), Patience()), lambda: hours_later)
    consumer = Consumer(settings, store, steps, lambda: hours_later, Event())
    place = TopicPartition("t", 0)
    headers = [(sc.KAFKA_RECEIVED_HEADER, str(start).encode())]
    value = otlp([block(1, "egress", final=True)])
    record = SimpleNamespace(topic="t", partition=0, offset=0, value=value, headers=headers, timestamp=1)
    polled = Behind({}, {place: [record]}, {})
    assignment = _Assignment()
    assignment.on_partitions_assigned([place])
    for _ in range(2):
        consumer._next_tick = 0
        consumer._turn(polled, assignment)
    assert states(store) == {stream_id(1): "provisional"}
    polled.written = 1
    consumer._next_tick = 0
    consumer._turn(polled, assignment)
    assert states(store) == {stream_id(1): "settled"}


def test_the_dead_topic_is_named_after_the_topic() -> None:
    """With the default topic it is the one that docs name."""
    assert AnalyzerSettings().dead_topic == sc.DEAD_TOPIC
