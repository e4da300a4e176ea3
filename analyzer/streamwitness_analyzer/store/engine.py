"""Opening a database: the settings that make SQLite and PostgreSQL behave alike under several writers."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event

from streamwitness_analyzer.config import database_url

_BUSY_MS: Final = 30_000
WRITE: Final = "streamwitness_write"
"""Execution option of a connection whose transaction will write."""


def open_engine(name: str) -> sa.Engine:
    """An engine for a database named by a person (see config.database_url); connects to nothing yet.

    Its errors, which are logged, show no values: a batch of blocks would fill the log.
    """
    url = sa.make_url(database_url(name))
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    return sa.create_engine(url, pool_pre_ping=True, isolation_level="READ COMMITTED", hide_parameters=True)


def _sqlite(url: sa.URL) -> sa.Engine:
    """SQLite in WAL mode: readers never wait, and a writer takes the write lock before its first read."""
    arguments = {"timeout": _BUSY_MS / 1000, "check_same_thread": False}
    engine = sa.create_engine(url, connect_args=arguments, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver would begin by itself, deferred
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")

    @event.listens_for(engine, "begin")
    def on_begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(WRITE)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
