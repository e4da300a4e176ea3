"""What an operator can set for the analyzer, and how a database is named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamwitness import semconv as sc
from streamwitness.settings import require, setting

NANOSECONDS: Final = 1_000_000_000
ROLES: Final = ("client", "gateway", "any")
"""What an ingest key may testify for; `any` is for a single trusted machine."""

_DRIVERS: Final = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "sqlite": "sqlite",
}


class DatabaseNameError(ValueError):
    """The text names no database that we can open; the message says which forms are known."""


@dataclass(frozen=True)
class AnalyzerSettings:
    """Settings of `streamwitness analyzer`."""

    database: str = setting("streamwitness.db", "SQLite file, or postgresql://user@host/name")
    kafka: tuple[str, ...] = setting(("127.0.0.1:9092",), "Kafka bootstrap servers, host:port, separated by commas")
    topic: str = setting(sc.TOPIC, "topic to read; undecodable messages go to the same name with _dead behind it")
    group: str = setting("streamwitness-analyzer", "consumer group that shares the partitions")
    settle_after: float = setting(
        30.0, "seconds after the first closing record until a verdict is final without the rest"
    )
    idle_after: float = setting(900.0, "seconds of silence after which a stream that never closed is given up")
    default_role: str = setting("", "what a record without a role may testify for: gateway, client or any")
    host: str = setting("127.0.0.1", "address to answer queries on")
    port: int = setting(4319, "port to answer queries on; 0 takes a free one")
    query_key: str = setting("", "key that readers of verdicts must send; empty: whoever reaches the port", secret=True)

    def __post_init__(self) -> None:
        require(self.settle_after >= 0, "settle_after", self.settle_after, "0 or more seconds")
        require(self.idle_after >= 0, "idle_after", self.idle_after, "0 or more seconds")
        require(self.default_role in ("", *ROLES), "default_role", self.default_role, ", ".join(ROLES))
        require(0 <= self.port <= 65535, "port", self.port, "0 to 65535")
        require(bool(self.topic), "topic", self.topic, "the name of a topic")
        try:
            database_url(self.database)
        except DatabaseNameError as error:
            require(False, "database", "not understood", str(error))

    @property
    def dead_topic(self) -> str:
        """Where messages go that cannot be decoded."""
        return f"{self.topic}_dead"

    @property
    def settle_after_ns(self) -> int:
        """`settle_after` in nanoseconds."""
        return int(self.settle_after * NANOSECONDS)

    @property
    def idle_after_ns(self) -> int:
        """`idle_after` in nanoseconds."""
        return int(self.idle_after * NANOSECONDS)


def database_url(name: str) -> str:
    """The SQLAlchemy URL of a database named by a person: a URL, or the path of an SQLite file."""
    scheme, separator, rest = name.partition("://")
    if not separator:
        if not name:
            raise DatabaseNameError("the database has no name: give a file or postgresql://user@host/name")
        return f"sqlite:///{Path(name).expanduser()}"
    if scheme not in _DRIVERS:
        raise DatabaseNameError(f"no database is called {scheme!r}: known are a file, sqlite:// and postgresql://")
    return f"{_DRIVERS[scheme]}://{rest}"
