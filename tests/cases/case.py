"""The case files: publicly reported ways in which a streamed answer went wrong, as invented minimal bytes."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Case:
    """`wire` is what the faulty component's reader read (of a gateway: what it wrote), `upstream` what it had read."""

    name: str
    document: dict[str, Any]
    wire: list[bytes]
    upstream: list[bytes] | None


def load(name: str) -> Case:
    """One case by the name of its file."""
    document = json.loads((DATA / f"{name}.json").read_text())
    return Case(name, document, _reads(document["wire"]), _reads(document.get("upstream_wire")) or None)


def names() -> list[str]:
    """Every case file, sorted."""
    return sorted(path.stem for path in DATA.glob("*.json"))


def _reads(encoded: list[str] | None) -> list[bytes]:
    return [base64.b64decode(read, validate=True) for read in encoded or ()]
