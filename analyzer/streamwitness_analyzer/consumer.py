"""Kafka in: polls, hands batches to the numbered steps, and keeps the partitions it owns apart from its rivals'.

The database's offset is the truth. On assignment the partition is taken over there (its epoch goes up) and the
consumer seeks to it; records polled before that are not looked at. Kafka is told the offsets for lag displays only.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from .config import AnalyzerSettings
from .counting import REFUSED_SPANS, UNDECODABLE, add, one
from .dead import DeadLetters
from .decode import Message, UndecodableMessage, decode
from .faults import passes
from .steps import Steps
from .store import Counts, Move, Offset, Received, Store, Superseded

_log: Final = logging.getLogger("streamwitness.analyzer")
_T = TypeVar("_T")

_POLL_MS: Final = 250
_MAX_RECORDS: Final = 500
_TICK_NS: Final = 1_000_000_000
_BACKOFF: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
_ASK_MS: Final = 5_000
_KNOCK_SECONDS: Final = 2.0


class _Stopping(Exception):
    """We were asked to stop while waiting for something."""


@dataclass
class _Assignment(ConsumerRebalanceListener):  # type: ignore[misc]
    """What Kafka says is ours. Filled on kafka-python's own thread, read on ours."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    fresh: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        """Somebody else may read these from now on."""
        with self.lock:
            self.gone |= {item.partition for item in revoked}
            self.fresh -= self.gone

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """These are ours, once they are taken over in the database."""
        with self.lock:
            self.fresh |= {item.partition for item in assigned}

    def take(self) -> tuple[set[int], set[int]]:
        """The news since the last call: (gone, fresh). One that left and came back is in both."""
        with self.lock:
            news = self.gone, self.fresh
            self.gone, self.fresh = set(), set()
            return news


def knock(servers: Iterable[str]) -> None:
    """Raise OSError unless one of these servers takes a connection.

    kafka-python would wait half a minute for a broker that is not there, deaf to our stop, and leaks a socket a try.
    The collector has its own: neither may import the other, and what both may import opens no sockets.
    """
    failure = OSError("no server is named")
    for server in servers:
        host, _, port = server.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_SECONDS):
                return
        except (OSError, ValueError) as error:
            failure = OSError(f"{server}: {error}")
    raise failure


class Consumer:
    """Reads one topic in a consumer group until `stop` is set; run() belongs on a thread of its own."""

    def __init__(
        self, settings: AnalyzerSettings, store: Store, steps: Steps, wall: Callable[[], int], stop: threading.Event
    ) -> None:
        self._settings = settings
        self._store = store
        self._steps = steps
        self._wall = wall
        self._stop = stop
        self._dead = DeadLetters(settings.kafka, settings.dead_topic)
        self._held: dict[int, Offset] = {}
        self._known: frozenset[int] = frozenset()
        self._next_tick = 0

    def run(self) -> None:
        """Consume; a lost broker or a lost partition begins a new session, a lost database is waited for."""
        failures = 0
        try:
            while not self._stop.is_set():
                try:
                    self._session()
                    failures = 0
                except Superseded as error:
                    _log.warning("another analyzer has taken over: %s; joining the group anew", error)
                except (KafkaError, OSError) as error:
                    _log.warning("Kafka at %s: %s; trying again", ",".join(self._settings.kafka), error)
                    self._stop.wait(_BACKOFF[min(failures, len(_BACKOFF) - 1)])
                    failures += 1
        except _Stopping:
            pass  # nothing was committed for what we were working on, so nothing is lost
        finally:
            self._dead.close()

    def _session(self) -> None:
        knock(self._settings.kafka)
        assignment = _Assignment()
        consumer = KafkaConsumer(
            bootstrap_servers=list(self._settings.kafka),
            group_id=self._settings.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            client_id="streamwitness-analyzer",
        )
        try:
            self._held.clear()
            self._await_topic(consumer)
            consumer.subscribe([self._settings.topic], listener=assignment)
            while not self._stop.is_set():
                self._turn(consumer, assignment)
        finally:
            consumer.close()

    def _await_topic(self, consumer: Any) -> None:
        """Join only when the topic's partitions are known: a group that is formed without them may stay empty."""
        failures = 0
        while not self._stop.is_set() and not consumer.partitions_for_topic(self._settings.topic):
            if not failures:
                _log.warning("the topic %s does not exist yet; waiting for it", self._settings.topic)
            self._stop.wait(_BACKOFF[min(failures, len(_BACKOFF) - 1)])
            failures += 1

    def _turn(self, consumer: Any, assignment: _Assignment) -> None:
        polled = consumer.poll(timeout_ms=_POLL_MS, max_records=_MAX_RECORDS)  # 1
        gone, fresh = assignment.take()
        for partition in gone:
            self._held.pop(partition, None)
        for partition in sorted(fresh):
            self._take_over(consumer, partition)
        messages = [
            _message(record)
            for place, records in sorted(polled.items())
            if place.partition in self._held and place.partition not in fresh
            for record in records
        ]
        if messages:
            self._process(messages)
            self._tell(consumer)  # 8
        if (now := self._wall()) >= self._next_tick:
            self._next_tick = now + _TICK_NS
            self._tick(consumer)

    def _take_over(self, consumer: Any, partition: int) -> None:
        def take() -> Offset:
            with self._store.write() as transaction:
                return transaction.take_over(self._settings.topic, partition)

        held = self._insist(take)
        self._held[partition] = held
        consumer.seek(TopicPartition(held.topic, partition), held.next)
        _log.info("reading %s/%d from %d", held.topic, partition, held.next)

    def _process(self, messages: Sequence[Message]) -> None:
        """Steps 2 to 7. What the database refuses for its content is found by going on one message at a time."""
        received: list[Received] = []
        counts: Counts = {}
        for message in messages:
            try:
                received += self._decode(message, counts)  # 2
            except UndecodableMessage as error:
                self._bury(message, str(error), counts)
        try:
            self._commit(messages, received, counts)
        except DBAPIError as error:
            if len(messages) > 1:
                for message in messages:
                    self._process([message])
                return
            counts = {}
            self._bury(messages[0], f"the database refuses it: {error.orig}", counts)
            self._commit(messages, [], counts)

    def _decode(self, message: Message, counts: Counts) -> list[Received]:
        decoded = decode(message, self._settings.default_role)
        for reason in decoded.refused:
            _log.warning("span refused at %s/%d/%d: %s", message.topic, message.partition, message.offset, reason)
        add(counts, one(REFUSED_SPANS, len(decoded.refused)))
        return [Received(block, decoded.received_ns) for block in decoded.blocks]

    def _bury(self, message: Message, reason: str, counts: Counts) -> None:
        _log.warning("undecodable message at %s/%d/%d: %s", message.topic, message.partition, message.offset, reason)
        self._dead.send(message, reason)
        add(counts, one(UNDECODABLE))

    def _commit(self, messages: Sequence[Message], received: Sequence[Received], counts: Counts) -> None:
        reached: dict[int, tuple[int, int]] = {}
        for message in messages:
            _, latest = reached.get(message.partition, (0, 0))
            reached[message.partition] = (message.offset + 1, max(latest, message.received_ns))
        moves = [Move(self._held[partition], *place) for partition, place in reached.items()]
        self._insist(lambda: self._steps.ingest(received, moves, counts))  # 3 to 7
        self._moved(moves)

    def _tick(self, consumer: Any) -> None:
        """Bring time forward where a partition is read to its end, then settle what that makes due."""
        topic = self._settings.topic
        partitions = frozenset(consumer.partitions_for_topic(topic) or ())
        if partitions != self._known:
            self._insist(lambda: self._know(partitions))
            self._known = partitions
        now = self._wall()  # before the question: what is appended after it is not claimed to be read
        moves = [Move(held, held.next, now) for held in self._read_to_end(consumer)]
        if moves:
            self._insist(lambda: self._steps.ingest([], moves))
        self._insist(self._settle)

    def _read_to_end(self, consumer: Any) -> list[Offset]:
        places = {partition: TopicPartition(held.topic, partition) for partition, held in self._held.items()}
        if not places:
            return []
        ends = consumer.end_offsets(list(places.values()), timeout_ms=_ASK_MS)
        # The position, not our next offset: it also knows what retention has removed.
        return [self._held[number] for number, place in places.items() if consumer.position(place) >= ends[place]]

    def _know(self, partitions: Iterable[int]) -> None:
        with self._store.write() as transaction:
            transaction.know_partitions(self._settings.topic, partitions)

    def _settle(self) -> None:
        with self._store.write() as transaction:
            watermark = transaction.watermark(self._settings.topic)
        self._steps.settle(watermark)

    def _moved(self, moves: Iterable[Move]) -> None:
        for move in moves:
            self._held[move.held.partition] = move.held._replace(next=move.next)

    def _tell(self, consumer: Any) -> None:
        offsets = {
            TopicPartition(held.topic, held.partition): OffsetAndMetadata(held.next, "", -1)
            for held in self._held.values()
        }
        try:
            consumer.commit_async(offsets)  # a failure is told to the log by kafka-python, and mended by the next
        except KafkaError as error:
            _log.debug("Kafka was not told the offsets: %s", error)

    def _insist(self, action: Callable[[], _T]) -> _T:
        """Do it, waiting for a database that is away as long as it takes; raises _Stopping when asked to stop."""
        failures = 0
        while True:
            try:
                return action()
            except SQLAlchemyError as error:
                if not passes(error):
                    raise
                _log.warning("the database does not answer, trying again: %s", error)
            if self._stop.wait(_BACKOFF[min(failures, len(_BACKOFF) - 1)]):
                raise _Stopping
            failures += 1


def _message(record: Any) -> Message:
    return Message(
        record.topic, record.partition, record.offset, record.value or b"", tuple(record.headers), record.timestamp or 0
    )
