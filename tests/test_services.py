"""The service helpers: what is here works, what is missing is named, and nothing outlives its owner."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psycopg
import pytest
import sqlalchemy
from kafka import KafkaConsumer, KafkaProducer

from tests.services import NAMES, Postgres, ServiceFailed
from tests.services.process import Process, scratch
from tests.services.required import required

ROOT = Path(__file__).resolve().parents[1]


def test_kafka_stores_and_returns_a_message(kafka: str, kafka_topic: str) -> None:
    """A message acknowledged by the broker is read back, key and headers included."""
    with KafkaProducer(bootstrap_servers=kafka, acks="all", enable_idempotence=True) as producer:
        producer.send(kafka_topic, key=b"stream", value=b"blocks", headers=[("sw-version", b"1")]).get(timeout=30)
    with KafkaConsumer(kafka_topic, bootstrap_servers=kafka, auto_offset_reset="earliest") as consumer:
        message = next(consumer)
    assert (message.key, message.value, message.headers) == (b"stream", b"blocks", [("sw-version", b"1")])


def test_each_postgres_database_is_empty(postgres_database: str) -> None:
    """A test's database has no tables."""
    engine = sqlalchemy.create_engine(postgres_database)
    try:
        assert sqlalchemy.inspect(engine).get_table_names() == []
    finally:
        engine.dispose()


def test_an_emptied_postgres_database_has_nothing_of_the_last_test(postgres: Postgres) -> None:
    """Whatever a test left there, even a transaction that is open and holds locks."""
    with psycopg.connect(postgres.emptied().replace("+psycopg", "")) as forgotten:
        forgotten.execute("CREATE TABLE left_over (id int)")
        forgotten.execute("CREATE TYPE mood AS ENUM ('good')")
        forgotten.commit()
        forgotten.execute("LOCK TABLE left_over")
        with psycopg.connect(postgres.emptied().replace("+psycopg", "")) as connection:
            found = connection.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
            assert found.fetchall() == []
            connection.execute("CREATE TYPE mood AS ENUM ('good')")
        forgotten.close()


def test_a_postgres_database_is_dropped_although_somebody_is_connected(postgres: Postgres) -> None:
    """A test that forgets a connection does not keep its database alive."""
    with postgres.database() as url:
        forgotten = psycopg.connect(url.replace("+psycopg", ""))
    with forgotten, pytest.raises(psycopg.OperationalError):
        forgotten.execute("SELECT 1")
    with postgres.database() as other, psycopg.connect(other.replace("+psycopg", "")) as asking:
        names = {row[0] for row in asking.execute("SELECT datname FROM pg_database")}
    assert url.rpartition("/")[2] not in names


def test_promtool_runs(promtool: str) -> None:
    """The promtool that is found is one."""
    assert subprocess.run([promtool, "--version"], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("value", "names"), [("", set()), ("all", set(NAMES)), ("kafka, promtool", {"kafka", "promtool"})]
)
def test_required_reads_the_variable(value: str, names: set[str]) -> None:
    """STREAMWITNESS_REQUIRE is nothing, `all`, or names with commas."""
    assert required({"STREAMWITNESS_REQUIRE": value}) == names


def test_required_names_an_unknown_service() -> None:
    """A misspelt service is refused rather than silently not required."""
    with pytest.raises(ValueError, match=r"kafak.*known are all, kafka, postgres, promtool"):
        required({"STREAMWITNESS_REQUIRE": "kafak"})


@pytest.mark.parametrize(("require", "outcome"), [("", "1 skipped"), ("all", "1 error"), ("kafka", "1 skipped")])
def test_a_missing_service_skips_or_fails_by_name(require: str, outcome: str) -> None:
    """Without promtool its test is skipped with the reason; where it is required, the same test fails."""
    test = "tests/test_services.py::test_promtool_runs"
    environ = {**os.environ, "PATH": "/nonexistent", "STREAMWITNESS_REQUIRE": require}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "promtool is missing" in done.stdout
    assert outcome in done.stdout


def test_a_program_that_ends_while_starting_is_reported_with_its_log() -> None:
    """The error holds what the program said, and its folder is gone."""
    folder = scratch("test")
    process = Process([sys.executable, "-c", "print('no such port'); raise SystemExit(3)"], folder=folder)
    with pytest.raises(ServiceFailed, match=r"ended with 3 while starting\nno such port"):
        process.wait_until(lambda: False, seconds=60)
    process.stop()
    assert not folder.exists()


def test_stopping_does_not_wait_for_a_forked_child() -> None:
    """A child that was forked while the service ran holds its pipes, and does not keep it alive."""
    folder = scratch("test")
    process = Process([sys.executable, "-c", "import signal; signal.pause()"], folder=folder)
    blocked, release = os.pipe()
    if (child := os.fork()) == 0:
        os.close(release)
        os.read(blocked, 1)
        os._exit(0)
    try:
        process.stop()
    finally:
        os.close(release)
        os.close(blocked)
        os.waitpid(child, 0)
    assert not folder.exists()


def test_a_program_does_not_outlive_a_killed_owner() -> None:
    """When the owner is killed without a chance to clean up, its service ends and its folder goes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        service = f"""
            import signal, socket
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the polite way is not enough for this one
            connection = socket.create_connection(("127.0.0.1", {listener.getsockname()[1]}))
            connection.sendall(b"up")
            connection.recv(1)
        """
        owner = f"""
            import sys
            from tests.services.process import Process, scratch
            folder = scratch("test")
            print(folder, flush=True)
            process = Process([sys.executable, "-c", {textwrap.dedent(service)!r}], folder=folder, polite="SIGKILL")
            sys.stdin.read()
        """
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(owner)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as killed:
            assert killed.stdout is not None
            folder = Path(killed.stdout.readline().strip())
            connection, _ = listener.accept()
            with connection:
                assert connection.recv(2) == b"up"
                killed.send_signal(signal.SIGKILL)
                # End of file is the service's end; nobody else holds its socket.
                assert connection.recv(1) == b""
    assert _gone(folder)


def _gone(folder: Path) -> bool:
    """Waits, within bounds, until the guard has removed the folder."""
    deadline = time.monotonic() + 60
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not folder.exists()
