"""The Kafka sink against a real broker: what is in the topic, and what happens while Kafka is away."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest
from kafka import KafkaConsumer
from kafka.structs import TopicPartition
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SpanExportResult

from streamwitness.settings import SettingsError
from streamwitness_collector import kafka as kafka_module
from streamwitness_collector.app import create_app
from streamwitness_collector.config import CollectorSettings
from streamwitness_collector.kafka import KafkaSink
from streamwitness_collector.otlp import take
from streamwitness_collector.sink import Batch, SinkUnavailable
from tests.collector.relay import Relay
from tests.collector.server import serving
from tests.collector.spans import block, body, span
from tests.services import Kafka
from tests.services import kafka as kafka_service

PROTOBUF = {"content-type": "application/x-protobuf"}
_TRIES = 120


def _settings(servers: str, topic: str, **given: Any) -> CollectorSettings:
    return CollectorSettings(kafka=(servers,), topic=topic, **given)


def _batch(*numbers: int, role: Any = "client") -> Batch:
    spans = body([span(block(number)) for number in numbers])
    return Batch(role, 1_700_000_000_123_456_789, take(spans, role, CollectorSettings()).messages)


def _records(servers: str, topic: str, count: int) -> list[Any]:
    """At least `count` records of the topic, waited for."""
    consumer = KafkaConsumer(bootstrap_servers=servers, group_id=None, auto_offset_reset="earliest")
    try:
        consumer.assign([TopicPartition(topic, number) for number in range(4)])
        consumer.seek_to_beginning()
        found: list[Any] = []
        for _ in range(_TRIES):
            found += [record for part in consumer.poll(500).values() for record in part]
            if len(found) >= count:
                break
        return found
    finally:
        consumer.close()


def _streams(record: Any) -> set[str]:
    request = ExportTraceServiceRequest.FromString(record.value)
    spans = [item for group in request.resource_spans for scoped in group.scope_spans for item in scoped.spans]
    return {a.value.string_value for item in spans for a in item.attributes if a.key == "stream.id"}


@contextmanager
def _collector(settings: CollectorSettings) -> Iterator[str]:
    sink = KafkaSink(settings)
    with serving(create_app(settings, sink)) as url:
        yield url
    assert sink.waiting_bytes == 0


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_a_real_exporters_blocks_are_in_the_topic_when_it_is_answered(
    kafka: str, kafka_topic: str, compression: Any
) -> None:
    """One message a stream, keyed by it, with version, role and time of receipt in the headers."""
    settings = _settings(kafka, kafka_topic, kafka_compression=compression, keys=("gateway:g",))
    sent = [block(number, point="egress") for number in range(1, 9)]
    with _collector(settings) as url:
        exporter = OTLPSpanExporter(
            f"{url}/v1/traces", headers={"authorization": "Bearer g"}, compression=Compression.Gzip
        )
        assert exporter.export([span(item) for item in sent]) is SpanExportResult.SUCCESS
        records = _records(kafka, kafka_topic, 8)
    assert sorted(record.key.decode() for record in records) == [item.stream for item in sent]
    assert all(_streams(record) == {record.key.decode()} for record in records)
    for record in records:
        headers = dict(record.headers)
        assert (headers["sw-version"], headers["sw-role"]) == (b"1", b"gateway")
        assert abs(int(headers["sw-received"]) // 1_000_000 - record.timestamp) < 600_000
    assert len({record.partition for record in records}) > 1


@pytest.mark.usefixtures("kafka")  # skips, or fails, where there is none
def test_a_broker_that_hangs_makes_the_sender_come_back_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """No acknowledgement: 503 with Retry-After and a reason; when Kafka is back, every stream is in the topic."""
    with Relay(_next_port(monkeypatch)) as relay:
        line = "advertised.listeners=PLAINTEXT://127.0.0.1:"
        properties = kafka_service._PROPERTIES.replace(f"{line}{{port}}", f"{line}{relay.port}")
        monkeypatch.setattr(kafka_service, "_PROPERTIES", properties)
        servers = f"127.0.0.1:{relay.port}"
        with Kafka(), _collector(_settings(servers, "spans", kafka_timeout=2.0)) as url:
            _until_stored(url, 1)
            with relay.hanging():
                with ThreadPoolExecutor(3) as senders:
                    answers = list(senders.map(_post, [url] * 3, [2] * 3))
                assert httpx.get(f"{url}/healthz").status_code == 200
            assert [item.status_code for item in answers] == [503, 503, 503]
            assert {item.headers["retry-after"] for item in answers} == {"1"}
            assert b"does not acknowledge" in answers[0].content
            _until_stored(url, 2)
            _until_stored(url, 3)
            records = _records(servers, "spans", 3)
    assert {record.key.decode() for record in records} == {f"{number:032x}" for number in (1, 2, 3)}


@pytest.mark.usefixtures("kafka")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see _collect_leaks
def test_kafka_may_come_later_than_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no broker there the collector runs and answers 503; once there is one, the retry is stored."""
    port = _next_port(monkeypatch)
    settings = _settings(f"127.0.0.1:{port}", "spans", kafka_timeout=2.0)
    with ExitStack() as collector, ExitStack() as broker:
        url = collector.enter_context(_collector(settings))
        assert _post(url, 1).status_code == 503
        assert broker.enter_context(Kafka()).bootstrap == f"127.0.0.1:{port}"
        _until_stored(url, 1)
        assert [record.key for record in _records(f"127.0.0.1:{port}", "spans", 1)] == [f"{1:032x}".encode()]
        collector.close()
    _collect_leaks()


def test_a_waiting_write_blocks_neither_the_loop_nor_memory(kafka: str, kafka_topic: str) -> None:
    """While the producer is stuck, others are served, and writes beyond the bound are refused as full."""

    async def scenario() -> None:
        first, second = _batch(1), _batch(2)
        sink = KafkaSink(_settings(kafka, kafka_topic))
        object.__setattr__(sink._settings, "max_waiting_bytes", first.size + second.size - 1)
        stuck = threading.Event()
        sink._worker.submit(stuck.wait)
        write = asyncio.create_task(sink.write(first))
        await asyncio.sleep(0)
        assert sink.waiting_bytes == first.size
        with pytest.raises(SinkUnavailable) as caught:
            await sink.write(second)
        assert caught.value.full
        stuck.set()
        await write
        assert sink.waiting_bytes == 0
        await sink.write(second)
        await sink.close()

    asyncio.run(scenario())
    assert len(_records(kafka, kafka_topic, 2)) == 2


def test_a_write_that_waits_too_long_gives_its_bytes_back(kafka: str, kafka_topic: str) -> None:
    """A write that is given up before the producer took it no longer counts."""

    async def scenario() -> None:
        sink = KafkaSink(_settings(kafka, kafka_topic, kafka_timeout=0.05))
        stuck = threading.Event()
        sink._worker.submit(stuck.wait)
        with pytest.raises(SinkUnavailable) as caught:
            await sink.write(_batch(1))
        assert caught.value.retryable
        assert sink.waiting_bytes == 0
        stuck.set()
        await sink.close()

    asyncio.run(scenario())


def test_closing_flushes(kafka: str, kafka_topic: str) -> None:
    """What the producer has taken is in the topic after close, and a closed sink takes nothing more."""

    async def scenario() -> None:
        sink = KafkaSink(_settings(kafka, kafka_topic))
        batch = _batch(1, 2, 3)
        sink._reserve(batch.size)
        sent: Future[Any] = sink._worker.submit(sink._send, batch)
        await sink.close()
        assert len(sent.result()) == 3
        assert sink.waiting_bytes == 0
        with pytest.raises(SinkUnavailable):
            await sink.write(_batch(4))

    asyncio.run(scenario())
    assert len(_records(kafka, kafka_topic, 3)) == 3


def test_a_message_that_kafka_never_takes_is_not_sent_again(kafka: str, kafka_topic: str) -> None:
    """Too large for the topic is permanent: a retry would never end."""

    async def scenario() -> None:
        sink = KafkaSink(_settings(kafka, kafka_topic))
        batch = _batch(1)
        message = batch.messages[0]
        huge = type(message)(message.stream, os.urandom(2 << 20), message.blocks)
        with pytest.raises(SinkUnavailable) as caught:
            await sink.write(Batch("client", 1, (huge,)))
        assert not caught.value.retryable
        assert sink.waiting_bytes == 0
        await sink.write(batch)
        await sink.close()

    asyncio.run(scenario())


def test_every_replica_has_it_and_nothing_is_written_twice(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One broker cannot show the difference, so the producer is asked what it was told."""
    told: dict[str, Any] = {}

    class Producer(kafka_module.KafkaProducer):  # type: ignore[misc]
        def __init__(self, **settings: Any) -> None:
            told.update(settings)
            super().__init__(**settings)

    monkeypatch.setattr(kafka_module, "KafkaProducer", Producer)

    async def connect_and_close() -> None:
        sink = KafkaSink(_settings(kafka, "any"))
        sink.connect()
        await sink.close()

    asyncio.run(connect_and_close())
    assert (told["acks"], told["enable_idempotence"]) == ("all", True)


def test_a_compression_that_is_not_installed_is_said_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at the first message."""
    monkeypatch.setitem(kafka_module._CODECS, "lz4", lambda: False)
    with pytest.raises(SettingsError, match=r"STREAMWITNESS_KAFKA_COMPRESSION.*'lz4'"):
        KafkaSink(_settings("127.0.0.1:1", "t", kafka_compression="lz4"))


def _post(url: str, number: int) -> httpx.Response:
    return httpx.post(f"{url}/v1/traces", content=body([span(block(number))]), headers=PROTOBUF, timeout=60)


def _collect_leaks() -> None:
    """kafka-python leaks the sockets of refused connections: let them be reported here, where that is ignored."""
    gc.collect()


def _until_stored(url: str, number: int) -> None:
    """Send again as a sender does, until it is answered 200."""
    for _ in range(_TRIES):
        exporter = OTLPSpanExporter(f"{url}/v1/traces", timeout=30)
        if exporter.export([span(block(number))]) is SpanExportResult.SUCCESS:
            return
    pytest.fail("Kafka never took it")


def _next_port(monkeypatch: pytest.MonkeyPatch) -> int:
    """The port that the next broker will take."""
    real = kafka_service.free_port
    port = real()
    ports = [port]
    monkeypatch.setattr(kafka_service, "free_port", lambda: ports.pop() if ports else real())
    return port
