"""What an operator can set for the analyzer, and how a database is named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamwitness import semconv as sc
from streamwitness.settings import require, setting

NANOSECONDS: Final = 1_000_000_000

_DRIVERS: Final = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "sqlite": "sqlite",
}

_SETTLE_AFTER: Final = "seconds after the first closing record until a verdict is final without the rest"
_IDLE_AFTER: Final = "seconds of silence after which a stream that never closed is given up"
_MAX_BLOCKS: Final = "records kept of one stream; what comes beyond is counted, and the stream stays unproven"
_QUERY_KEY: Final = "key that readers of verdicts must send; empty: whoever reaches the port"


class DatabaseNameError(ValueError):
    """The text names no database that we can open; the message says which forms are known."""


@dataclass(frozen=True)
class AnalyzerSettings:
    """Settings of `streamwitness analyzer`."""

    database: str = setting("streamwitness.db", "SQLite file, or postgresql://user@host/name")
    kafka: tuple[str, ...] = setting(("127.0.0.1:9092",), "Kafka bootstrap servers, host:port, separated by commas")
    topic: str = setting(sc.TOPIC, "topic to read; undecodable messages go to the same name with _dead behind it")
    group: str = setting("streamwitness-analyzer", "consumer group that shares the partitions")
    settle_after: float = setting(30.0, _SETTLE_AFTER)
    idle_after: float = setting(900.0, _IDLE_AFTER)
    max_blocks: int = setting(20_000, _MAX_BLOCKS)
    default_role: str = setting("", "what a record without a role may testify for: gateway, client or any")
    host: str = setting("127.0.0.1", "address to answer queries on")
    port: int = setting(4319, "port to answer queries on; 0 takes a free one")
    query_key: str = setting("", _QUERY_KEY, secret=True)

    def __post_init__(self) -> None:
        _check(self)
        require(self.default_role in ("", *sc.ROLES), "default_role", self.default_role, ", ".join(sc.ROLES))
        require(bool(self.kafka), "kafka", self.kafka, "host:port")
        require(bool(self.topic), "topic", self.topic, "the name of a topic")

    @property
    def dead_topic(self) -> str:
        """Where messages go that cannot be decoded."""
        return f"{self.topic}_dead"


@dataclass(frozen=True)
class UpSettings:
    """Settings of `streamwitness up`: the collector's bounds are read from their own variables."""

    host: str = setting("127.0.0.1", "address to listen on")
    port: int = setting(4318, "port to listen on; 0 takes a free one")
    database: str = setting("streamwitness.db", "SQLite file, or postgresql://user@host/name")
    settle_after: float = setting(30.0, _SETTLE_AFTER)
    idle_after: float = setting(900.0, _IDLE_AFTER)
    max_blocks: int = setting(20_000, _MAX_BLOCKS)
    query_key: str = setting("", _QUERY_KEY, secret=True)

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class StoreSettings:
    """Settings of commands that change what a database holds: `streamwitness rejudge` and `prune`."""

    database: str = setting("streamwitness.db", "SQLite file, or postgresql://user@host/name")

    def __post_init__(self) -> None:
        _check_database(self.database)


@dataclass(frozen=True)
class ReaderSettings:
    """Settings of `streamwitness streams` and `show`."""

    server: str = setting("http://127.0.0.1:4318", "where `streamwitness up` or an analyzer answers queries")
    query_key: str = setting("", "the server's query key, if it has one", secret=True)

    def __post_init__(self) -> None:
        good = self.server.startswith(("http://", "https://"))
        require(good, "server", self.server, "http://host:port or https://host:port")


def _check(settings: AnalyzerSettings | UpSettings) -> None:
    require(settings.settle_after >= 0, "settle_after", settings.settle_after, "0 or more seconds")
    require(settings.idle_after >= 0, "idle_after", settings.idle_after, "0 or more seconds")
    require(settings.max_blocks > 0, "max_blocks", settings.max_blocks, "a number above 0")
    require(0 <= settings.port <= 65535, "port", settings.port, "0 to 65535")
    _check_database(settings.database)


def _check_database(name: str) -> None:
    try:
        database_url(name)
    except DatabaseNameError as error:
        require(False, "database", "***", str(error))


def is_missing(name: str) -> bool:
    """Whether a person named the file of a database by its path, and there is none."""
    return "://" not in name and not Path(name).expanduser().is_file()


def shown(name: str) -> str:
    """A database or server as it may be printed: without the password."""
    scheme, separator, rest = name.partition("://")
    account, at, place = rest.rpartition("@")
    return f"{scheme}{separator}{account.partition(':')[0]}{at}{place}"


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
