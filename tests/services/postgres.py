"""A real PostgreSQL server on a free port, with its data in a scratch folder and durability off."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.services.errors import ServiceFailed, ServiceMissing
from tests.services.process import Process, free_port, scratch
from tests.services.programs import postgres_bin

_READY_SECONDS = 60.0
_TRIES = 3

# The data dies with the server, so nothing waits for a disk.
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "100",
}


class Postgres:
    """`with Postgres() as postgres:` runs a server; `postgres.url` is its SQLAlchemy URL (psycopg 3).

    Raises ServiceMissing or ServiceFailed. As root it runs as the user `postgres`, since PostgreSQL refuses root.
    """

    def __init__(self) -> None:
        self.port = 0
        self._process: Process | None = None
        self._shared = ""

    @property
    def url(self) -> str:
        """URL of the server's maintenance database."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """SQLAlchemy URL of one database of this server."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """URL of an empty database that is dropped at the end, open connections or not."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        self._sql(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield self.url_of(name)
        finally:
            self._sql(f"DROP DATABASE {name} WITH (FORCE)")

    def emptied(self) -> str:
        """URL of one database that is the same each time, emptied: to make and to drop one costs ten times as much.

        Whoever is still connected to it is thrown out first.
        """
        if not self._shared:
            self._shared = f"test_{uuid.uuid4().hex[:12]}"
            self._sql(f"CREATE DATABASE {self._shared} TEMPLATE template0")
        others = "pid <> pg_backend_pid() AND datname = current_database()"
        self._sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}", self._shared)
        self._sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public", self._shared)
        return self.url_of(self._shared)

    def __enter__(self) -> Postgres:
        for attempt in range(1, _TRIES + 1):
            try:
                self._start()
                return self
            except ServiceFailed as error:
                self._stop()
                # Somebody else took our port between choosing and binding.
                if attempt == _TRIES or "could not bind" not in str(error):
                    raise
            except BaseException:
                self._stop()
                raise
        raise AssertionError("unreachable")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def _start(self) -> None:
        binaries, user = postgres_bin(), _user()
        folder = scratch("postgres")
        try:
            _initialise(binaries, folder, user)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.port = free_port()
        settings = {**_SETTINGS, "port": str(self.port), "unix_socket_directories": str(folder)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(binaries / "postgres"), "-D", str(folder / "data"), *options]
        # SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every client to leave.
        self._process = Process(command, folder=folder, polite="SIGINT", user=user)
        self._process.wait_until(lambda: _answers(binaries, self.port), seconds=_READY_SECONDS)

    def _stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None

    def _sql(self, statement: str, database: str = "postgres") -> None:
        import psycopg

        with psycopg.connect(f"postgresql://postgres@127.0.0.1:{self.port}/{database}", autocommit=True) as connection:
            connection.execute(statement.encode())


def _user() -> str:
    """Who runs the server: `-` for ourselves, `postgres` where we are root."""
    if os.geteuid() != 0:
        return "-"
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        raise ServiceMissing("the user postgres", "PostgreSQL refuses to run as root; run as another user") from None


def _initialise(binaries: Path, folder: Path, user: str) -> None:
    """Makes the data folder, owned by who will run the server. Anyone on this machine's loopback may connect."""
    identity: dict[str, Any] = {} if user == "-" else {"user": user, "group": user, "extra_groups": []}
    if user != "-":
        shutil.chown(folder, user, user)
    command = [str(binaries / "initdb"), "-D", str(folder / "data"), "-U", "postgres", "--auth=trust", "--no-sync"]
    done = subprocess.run(
        [*command, "--encoding=UTF8", "--locale=C"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        **identity,
    )
    if done.returncode != 0:
        raise ServiceFailed(f"initdb failed in {folder}\n{done.stdout}{done.stderr}")


def _answers(binaries: Path, port: int) -> bool:
    """True once the server accepts connections."""
    ask = [str(binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    return subprocess.run(ask, check=False).returncode == 0
