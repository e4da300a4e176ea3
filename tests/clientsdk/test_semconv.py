"""The vocabulary: nothing stands in it that nobody says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streamwitness import semconv as sc

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "".join(
    path.read_text()
    for home in ("clientsdk", "collector", "analyzer")
    for path in (ROOT / home).rglob("*.py")
    if path.name != "semconv.py"
)


@pytest.mark.parametrize("name", [name for name, value in vars(sc).items() if str(value).startswith("stream.")])
def test_every_attribute_is_used(name: str) -> None:
    """Some part writes or reads it; a name alone would be passed on and stored for nobody."""
    assert re.search(rf"\b{name}\b", SOURCES)
