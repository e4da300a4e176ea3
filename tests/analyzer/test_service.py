"""`streamwitness analyzer` as a process: Kafka in, PostgreSQL, questions answered, a clean end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer

from tests.analyzer.kit import block, otlp, stream_id

DEADLINE = 60
CLI = (sys.executable, "-m", "streamwitness")


@contextmanager
def analyzer(folder: Path, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A running analyzer: its address and process."""
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*CLI, "analyzer", "--port", "0", *words], cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            line = process.stdout.readline() if process.stdout else ""
            found = re.search(r"answers on (\S+)", line)
            if found is None:
                pytest.fail(line + (folder / "log").read_text())
            yield found[1], process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=DEADLINE)


def rows(base: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{base}/api/v1/streams", timeout=DEADLINE) as response:
        return list(json.load(response)["streams"])


def test_from_kafka_to_the_answer(tmp_path: Path, kafka: str, kafka_topic: str, postgres_database: str) -> None:
    """A message becomes a verdict that the API tells; SIGTERM ends with 0 and without a traceback."""
    words = ("--kafka", kafka, "--topic", kafka_topic, "--database", postgres_database, "--group", kafka_topic)
    producer = KafkaProducer(bootstrap_servers=kafka, acks="all")
    with analyzer(tmp_path, *words) as (base, process):
        value = otlp([block(1, "egress", final=True), block(1, "wire", rows=2, final=True)])
        producer.send(kafka_topic, value=value, key=b"k").get(timeout=DEADLINE)
        end = time.monotonic() + DEADLINE
        while not (known := rows(base)) and time.monotonic() < end:
            threading.Event().wait(0.05)
        assert [(row["stream"], row["state"]) for row in known] == [(stream_id(1), "settled")]
        os.kill(process.pid, signal.SIGTERM)
        process.wait(DEADLINE)
    producer.close()
    assert process.returncode == 0
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_an_unreachable_broker_is_waited_for(tmp_path: Path) -> None:
    """The API answers meanwhile, and SIGTERM still ends it."""
    with analyzer(tmp_path, "--kafka", "127.0.0.1:1") as (base, process):
        assert rows(base) == []
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(DEADLINE) == 0


def test_an_occupied_port_is_said(tmp_path: Path) -> None:
    """As `up` does."""
    with analyzer(tmp_path, "--kafka", "127.0.0.1:1") as (base, _):
        port = base.rpartition(":")[2]
        words = [*CLI, "analyzer", "--port", port, "--kafka", "127.0.0.1:1"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=DEADLINE)
    assert done.returncode == 1
    assert "choose another with --port (STREAMWITNESS_PORT)" in done.stderr
