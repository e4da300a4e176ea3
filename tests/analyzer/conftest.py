"""Both databases, so that one contract suite runs against each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streamwitness_analyzer.store import Store


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Name of an empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "test.db")
    return str(request.getfixturevalue("postgres_database"))


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """A store with its tables made."""
    opened = Store(database)
    opened.create()
    try:
        yield opened
    finally:
        opened.close()
