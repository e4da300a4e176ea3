"""A sink that every hook records into, and no proxies from the developer's own environment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import certifi
import pytest

from streamwitness.testing import MemorySink, recording


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def sink() -> Iterator[MemorySink]:
    """Everything recorded during the test."""
    with recording() as memory:
        yield memory


@pytest.fixture(scope="session")
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with a single certificate: clients that load all of them at their start take longer than their tests."""
    mark = "-----END CERTIFICATE-----\n"
    path = tmp_path_factory.mktemp("trust") / "one.pem"
    path.write_text(Path(certifi.where()).read_text().partition(mark)[0] + mark)
    return str(path)
