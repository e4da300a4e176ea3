"""What every test shares: the event loop that async tests run on, and the real services."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """asyncio only: the hooks promise nothing about trio yet."""
    return "asyncio"
