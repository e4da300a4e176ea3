"""The demo's table: each stream, what was broken, and what the analyzer said, beside each other."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import DATABASE
from .check import blamed_innocents, differences
from .clients import CLIENTS
from .run import Result

_CONFIDENCE = {"certain": "proven", "narrowed": "narrowed", None: ""}
_ROW = "{mark:<2}{id:<6}{client:<13}{status:<6}{counts:>9}   {broke:<25}{verdict}"


def table(results: Sequence[Result]) -> str:
    """One line a stream; where a verdict is wrong, a line below says how."""
    head = _ROW.format(
        mark="", id=" id", client="client", status="HTTP", counts="sent→used", broke="we broke", verdict="verdict"
    )
    width = max(len(said) for result in results for said in _said(result))
    return "\n".join([head, *(line for result in results for line in _rows(result, width))])


def conclusion(results: Sequence[Result]) -> tuple[str, bool]:
    """How many are right, who was blamed without reason; and whether all is well."""
    right = sum(not differences(result.scenario, result.verdict) for result in results)
    innocents = sum(bool(blamed_innocents(result.scenario, result.verdict)) for result in results)
    blamed = "nobody innocent blamed" if not innocents else f"INNOCENTS BLAMED in {innocents}"
    statuses = ", ".join(str(status) for status in sorted({result.outcome.status for result in results}))
    said = f"{right}/{len(results)} right, {blamed}. HTTP status of all of them: {statuses}."
    return said, right == len(results) and not innocents


def next_steps(results: Sequence[Result], arguments: Namespace) -> str:
    """What to do now, as lines to copy."""
    chosen = next((r for r in results if r.scenario.name == "parser_splits"), results[-1])
    lines = (explain(chosen.outcome.stream, arguments), ("Break it", "demo --break parser:12"), ("Look", "up"))
    return "\n".join(f"{what:<14} {program()} {command}" for what, command in lines)


def explain(stream: str, arguments: Namespace) -> tuple[str, str]:
    """The line that explains a stream, from where its verdict is kept."""
    kept = f" --server {arguments.server or arguments.endpoint}" if arguments.endpoint else ""
    if not kept and arguments.database != DATABASE:
        kept = f" --database '{arguments.database}'"
    return "Explain one", f"show {stream[:4]}{kept}"


def program() -> str:
    """How this program was called, so that the lines can be copied."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "streamwitness" and called.parent != Path() else "streamwitness"


def _said(result: Result) -> list[str]:
    """The verdict in short, one part a line."""
    *parts, last = result.verdict["short"].split("; ")
    return [*(f"{part};" for part in parts), last]


def _rows(result: Result, width: int) -> Iterator[str]:
    scenario, verdict = result.scenario, result.verdict
    wrong = differences(scenario, verdict)
    said = _said(result)
    said[-1] = f"{said[-1]:<{width}}  {_CONFIDENCE[verdict['confidence']]}".rstrip()
    yield _ROW.format(
        mark="✗" if wrong else "✓",
        id=" " + result.outcome.stream[:4],
        client=CLIENTS[scenario.client][0],
        status=result.outcome.status,
        counts=f"{verdict['counts']['sent']}→{verdict['counts']['used']}",
        broke=scenario.broke or "nothing",
        verdict=said[0],
    ).rstrip()
    for more in said[1:]:
        yield _ROW.format(mark="", id="", client="", status="", counts="", broke="", verdict=more).rstrip()
    for difference in wrong:
        yield f"      wrong: {difference}"
