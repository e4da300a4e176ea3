"""What every test shares: the event loop that async tests run on, a clean environment, and the real services."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.services import Kafka, Postgres, ServiceMissing
from tests.services import promtool as find_promtool
from tests.services.required import VARIABLE, required

_REQUIRED = pytest.StashKey[frozenset[str]]()

Needs = Callable[[str], AbstractContextManager[None]]


def pytest_configure(config: pytest.Config) -> None:
    """Reads STREAMWITNESS_REQUIRE, then forgets all our variables: a developer's own settings must not steer a test.

    Nor must the way pytest was started: a shell without job control makes what it starts with `&` ignore SIGINT, and
    the servers that tests start would inherit that.
    """
    try:
        config.stash[_REQUIRED] = required(os.environ)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    for name in [name for name in os.environ if name.startswith("STREAMWITNESS_")]:
        del os.environ[name]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def anyio_backend() -> str:
    """asyncio only: the hooks promise nothing about trio yet."""
    return "asyncio"


@pytest.fixture(scope="session")
def needs(pytestconfig: pytest.Config) -> Needs:
    """`with needs("kafka"):` skips where the service is missing, or fails where STREAMWITNESS_REQUIRE names it."""

    @contextmanager
    def needs_service(name: str) -> Iterator[None]:
        try:
            yield
        except ServiceMissing as missing:
            if name in pytestconfig.stash[_REQUIRED]:
                pytest.fail(f"{missing} ({VARIABLE} requires {name})", pytrace=False)
            pytest.skip(str(missing))

    return needs_service


@pytest.fixture(scope="session")
def kafka(needs: Needs) -> Iterator[str]:
    """Bootstrap servers of a real broker that lives as long as the test run."""
    with needs("kafka"), Kafka() as broker:
        yield broker.bootstrap


@pytest.fixture
def kafka_topic(kafka: str) -> str:
    """Name of a fresh topic with four partitions."""
    from kafka.admin import KafkaAdminClient

    name = f"test-{uuid.uuid4().hex[:12]}"
    client = KafkaAdminClient(bootstrap_servers=kafka)
    try:
        client.create_topics({name: {"num_partitions": 4, "replication_factor": 1}}, wait_for_metadata=True)
    finally:
        client.close()
    return name


@pytest.fixture(scope="session")
def postgres(needs: Needs) -> Iterator[Postgres]:
    """A real PostgreSQL server that lives as long as the test run."""
    with needs("postgres"), Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(postgres: Postgres) -> str:
    """SQLAlchemy URL of that server's maintenance database; tests that store something use `postgres_database`."""
    return postgres.url


@pytest.fixture
def postgres_database(postgres: Postgres) -> str:
    """SQLAlchemy URL of an empty PostgreSQL database; the next test empties it."""
    return postgres.emptied()


@pytest.fixture(scope="session")
def promtool(needs: Needs) -> str:
    """Path of Prometheus's promtool."""
    with needs("promtool"):
        return find_promtool()
