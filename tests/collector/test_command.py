"""`streamwitness collector` as a process: its port, its end, and what it says when something is wrong."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from typing import Any

import httpx
import pytest
from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from tests.collector.spans import block, body, span


def _start(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "streamwitness", "collector", *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def _url(process: subprocess.Popen[str]) -> str:
    """Where it listens, from the line that it prints once the port is taken."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"listens on (http://\S+),", line):
            return found[1]
    pytest.fail("it ended without listening")


def test_an_occupied_port_is_said_and_the_option_named() -> None:
    """It does not hop to another port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with _start("--port", str(port)) as process:
            _, err = process.communicate()
    assert process.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in err
    assert "--port (STREAMWITNESS_PORT)" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--kafak", "x"), "unknown option --kafak; did you mean --kafka?"),
        (("--kafka", "localhost"), "--kafka (STREAMWITNESS_KAFKA) is 'localhost'; possible: host:port"),
        (("--keys", "admin:x"), "--keys (STREAMWITNESS_KEYS): entry 1"),
        (("--default-role", "gatway"), "did you mean 'gateway'?"),
    ],
)
def test_a_wrong_setting_exits_2(options: tuple[str, ...], said: str) -> None:
    """One line that names the setting, no traceback."""
    with _start(*options) as process:
        _, err = process.communicate()
    assert process.returncode == 2
    assert said in err
    assert "Traceback" not in err


def test_an_endless_head_is_refused() -> None:
    """Nobody, with a key or without, can make it hold the head of a request that never ends."""
    with _start("--port", "0", "--kafka", "127.0.0.1:1") as process:
        host, port = _url(process).removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as sender:
            sender.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: x\r\nx: " + b"a" * (1 << 17))
            answer = sender.recv(1 << 12)
        process.terminate()
        process.communicate()
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGINT])
def test_it_runs_without_kafka_and_ends_when_told(ended_by: signal.Signals) -> None:
    """No broker: it says so, answers 503, and ends by signal with a status that says how."""
    with _start("--port", "0", "--kafka", "127.0.0.1:1", "--kafka-timeout", "1") as process:
        url = _url(process)
        answer = httpx.post(f"{url}/v1/traces", content=body([span(block())]), headers=_PROTOBUF)
        process.send_signal(ended_by)
        _, err = process.communicate()
    assert answer.status_code == 503
    assert process.returncode == {signal.SIGTERM: 0, signal.SIGINT: 130}[ended_by]
    assert "Kafka at 127.0.0.1:1 does not acknowledge" in err
    assert "Connection refused" in err
    assert "Traceback" not in err


def test_a_request_under_way_is_finished_before_the_end(kafka: str, kafka_topic: str) -> None:
    """SIGTERM drains: the request that has begun is answered 200, and its blocks are in Kafka."""
    content = body([span(block(7))])
    with _start("--port", "0", "--kafka", kafka, "--topic", kafka_topic) as process:
        url = _url(process)
        assert httpx.post(f"{url}/v1/traces", content=b"", headers=_PROTOBUF).status_code == 200
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as sender:
            head = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n"
            sender.sendall(f"{head}content-length: {len(content)}\r\nexpect: 100-continue\r\n\r\n".encode())
            assert sender.recv(1000).startswith(b"HTTP/1.1 100")
            process.send_signal(signal.SIGTERM)
            sender.sendall(content)
            assert sender.recv(1000).startswith(b"HTTP/1.1 200")
        _, err = process.communicate()
    assert (process.returncode, "Traceback" in err) == (0, False)
    assert [record.key for record in _records(kafka, kafka_topic)] == [f"{7:032x}".encode()]


_PROTOBUF = {"content-type": "application/x-protobuf"}


def _records(servers: str, topic: str) -> list[Any]:
    """What is in the topic now."""
    consumer = KafkaConsumer(bootstrap_servers=servers, group_id=None)
    try:
        partitions = [TopicPartition(topic, number) for number in range(4)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        found: list[Any] = []
        while any(consumer.position(part) < ends[part] for part in partitions):
            found += [record for records in consumer.poll(500).values() for record in records]
        return found
    finally:
        consumer.close()
