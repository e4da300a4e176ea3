"""`streamwitness demo`: healthy and broken streams over real sockets, and what the analyzer said of each."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from streamwitness.commands import Command

from . import DATABASE

if TYPE_CHECKING:
    from .run import Product, Result
    from .scenarios import Scenario


def run(arguments: Namespace) -> int:
    """Run the table, or one stream with `--break`; 1 where a verdict is wrong or an innocent is blamed."""
    from .scenarios import BREAKABLE, SCENARIOS

    if arguments.fault:
        component, position = arguments.fault
        return _run_one(BREAKABLE[component](position), arguments)
    healthy = sum(scenario.healthy for scenario in SCENARIOS)
    print(f"{healthy} healthy + {len(SCENARIOS) - healthy} broken streams. The analyzer never sees the list of faults.")
    results = _results(SCENARIOS, arguments)
    return _report(results, arguments)


def _results(scenarios: Sequence[Scenario], arguments: Namespace) -> list[Result]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from .run import run as run_scenarios

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with _product(arguments) as product, Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("streaming, then judging", total=2 * len(scenarios))
        return run_scenarios(scenarios, product, lambda _: bar.advance(task))


def _product(arguments: Namespace) -> AbstractContextManager[Product]:
    import contextlib

    from .run import Product, distributed, embedded

    if arguments.endpoint:
        return contextlib.nullcontext(Product(arguments.endpoint, arguments.server or arguments.endpoint))
    if arguments.kafka:
        return distributed(arguments.kafka, arguments.database)
    return embedded(arguments.database)


def _report(results: Sequence[Result], arguments: Namespace) -> int:
    from .view import conclusion, next_steps, table

    print(table(results))
    said, well = conclusion(results)
    print(said)
    print(next_steps(results, arguments))
    return 0 if well else 1


def _run_one(scenario: Scenario, arguments: Namespace) -> int:
    from .view import explain, program

    (result,) = _results((scenario,), arguments)
    stream = result.outcome.stream
    print(f"We broke: {scenario.broke}. HTTP status: {result.outcome.status}. The verdict: {result.verdict['short']}")
    what, command = explain(stream, arguments)
    print(f"{what:<14} {program()} {command}")
    return 0


def _fault(text: str) -> tuple[str, int]:
    from .scenarios import BREAKABLE

    component, _, position = text.partition(":")
    if component not in BREAKABLE or not position.isdigit() or not 1 <= int(position) <= 12:
        raise ArgumentTypeError(f"{text!r} is not COMPONENT:N with COMPONENT one of {', '.join(BREAKABLE)} and N 1…12")
    return component, int(position)


def _arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--break",
        dest="fault",
        type=_fault,
        metavar="COMPONENT:N",
        help="break one stream there, for example parser:12",
    )
    add("--database", default=DATABASE, metavar="TEXT", help=f"where verdicts are kept (default {DATABASE})")
    add("--kafka", metavar="HOST:PORT", help="run collector and analyzer apart, with this Kafka between them")
    add("--endpoint", metavar="URL", help="start neither: send to the collector there")
    add("--server", metavar="URL", help="with --endpoint: the analyzer's query API (default: the same URL)")


COMMAND = Command(
    name="demo",
    help="healthy and broken streams over real sockets, and what the analyzer says of each",
    run=run,
    add_arguments=_arguments,
    needs=("httpx", "openai", "rich", "starlette", "uvicorn", "sqlalchemy"),
    extra="demo",
)
