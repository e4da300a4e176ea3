"""What `import streamwitness` costs a host: the self time of our own modules, and what it must not load."""

from __future__ import annotations

import subprocess
import sys

from .measure import Figure, Scale

HEAVY = ("httpx", "httpx2", "openai", "requests", "opentelemetry.sdk", "starlette", "kafka")
"""Packages that importing us must not load."""

_ALL = "import streamwitness as s; s.instrument, s.watch, s.applied, s.configure, s.gateway.StreamWitness"


def self_milliseconds(statement: str) -> float:
    """Self time of the modules of ours that a statement loads in a fresh interpreter, ms."""
    printed = _python("-X", "importtime", "-c", statement).stderr
    total = 0
    for line in printed.splitlines():
        if line.startswith("import time:") and line.rpartition("|")[2].strip().partition(".")[0] == "streamwitness":
            total += int(line[len("import time:") :].partition("|")[0])
    return total / 1000


def loaded() -> list[str]:
    """Which of HEAVY a plain import loads."""
    printed = _python("-c", "import sys, streamwitness; print('\\n'.join(sys.modules))").stdout.split()
    return sorted(set(HEAVY) & set(printed))


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)


def figures(scale: Scale) -> list[Figure]:
    """Import, import with every hook used, and the number of heavy packages loaded."""
    plain = min(self_milliseconds("import streamwitness") for _ in range(scale.rounds))
    every = min(self_milliseconds(_ALL) for _ in range(scale.rounds))
    return [
        Figure("import streamwitness: our own modules", plain, "ms self time", target=15.0),
        Figure("the same with every hook loaded", every, "ms self time"),
        Figure(
            "loaded of httpx, openai, OTel SDK, requests, kafka …", len(loaded()), "packages", target=0.0, exact=True
        ),
    ]
