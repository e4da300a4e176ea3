"""Verdict documents without what changes from run to run, so that they can be kept and compared.

Renew them after a wanted change:  python -m tests.e2e.golden
"""

from __future__ import annotations

import difflib
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from streamwitness.demo.run import Result, embedded, run
from streamwitness.demo.scenarios import SCENARIOS

FOLDER = Path(__file__).parent / "golden"

_IDS = re.compile(r"\b[0-9a-f]{16}(?:[0-9a-f]{16})?\b")
_TIMED = ("started_ns", "ended_ns", "bytes", "at_point", "at_ms", "silent_ms", "at_bytes")
_CLIENT = ("wire", "parsed", "applied")


def stable(result: Result) -> dict[str, Any]:
    """The verdict with ids replaced by their order of appearance and times left out.

    Where timing decides how many events there were (`used` is None), numbers are left out as well.
    """
    names: dict[str, str] = {}
    verdict = _without_times(result.verdict)
    if verdict["ending"]["class"] == "upstream_error":
        _leave_out_ends(verdict)
    _same_end(verdict, ("ingress", *(_CLIENT if result.scenario.client == "openai_async" else ())))
    text = json.dumps(verdict, sort_keys=True, ensure_ascii=False)
    text = _IDS.sub(lambda match: names.setdefault(match[0], f"id{len(names)}"), text)
    if result.scenario.used is None:
        text = re.sub(r"(?<![\w.])\d+", "0", text)
        text = re.sub(r"\b0 event\b", "0 events", text)  # it was one
        text = re.sub(r'("cells": )"[^"]*"', r'\1""', text)
    return dict(json.loads(text))


def path(result: Result) -> Path:
    """Where a scenario's document is kept."""
    return FOLDER / f"{result.scenario.name}.json"


def difference(result: Result) -> str:
    """What is otherwise than in the document that was kept, as a unified diff; empty where nothing is."""
    kept, found = (
        json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True).splitlines()
        for document in (json.loads(path(result).read_text()), stable(result))
    )
    return "\n".join(difflib.unified_diff(kept, found, "kept", "found", lineterm="", n=5))


def _leave_out_ends(verdict: dict[str, Any]) -> None:
    """A client hangs up at an error event, and so may well be gone before the gateway has sent the body's end."""
    verdict["ending"]["cost"] = None
    for point in verdict["points"]:
        if point["point"] in ("ingress", "egress"):
            del point["end"]


def _same_end(verdict: dict[str, Any], points: tuple[str, ...]) -> None:
    """Behind `[DONE]` it is a race whether the body's end comes before the reader goes: both are kept as `eof`.

    openai's client goes at `[DONE]`, so that the gateway may leave its upstream before the end of the body; the async
    one waits for that end, but not for long, and so its own points may have either.
    """
    for point in verdict["points"]:
        if point["point"] in points and point.get("end") == "stopped_at_terminal":
            point["end"] = "eof"


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in _TIMED}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def write() -> None:
    """Run the demo's table once and keep its verdicts."""
    with tempfile.TemporaryDirectory() as folder, embedded(f"sqlite:///{folder}/demo.db") as product:
        for result in run(SCENARIOS, product, lambda _: None):
            path(result).write_text(json.dumps(stable(result), indent=1, ensure_ascii=False, sort_keys=True) + "\n")


if __name__ == "__main__":
    write()
    sys.exit(0)
