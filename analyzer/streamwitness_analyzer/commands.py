"""The analyzer's commands: up, analyzer, rejudge, streams, show, cuts. Imported for every `--help`: imports little."""

from __future__ import annotations

import json
import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from streamwitness.commands import Command

from .config import AnalyzerSettings, ReaderSettings, RejudgeSettings, UpSettings
from .filters import DEFAULT_LIMIT, WORDS
from .style import Style

if TYPE_CHECKING:
    from .readers import Reader

_SERVER_NEEDS: Final = ("sqlalchemy", "starlette", "uvicorn", "kafka")
_FILTERS: Final = (*WORDS, "client", "since")


def _up(args: Namespace) -> int:
    from .allinone import run

    return run(args.settings)


def _analyzer(args: Namespace) -> int:
    from .service import run

    return run(args.settings)


def _streams(args: Namespace) -> int:
    import time

    from .table import render

    parameters = [(name, value) for name in _FILTERS if (value := getattr(args, name)) is not None]
    parameters += [("limit", str(args.limit))] + ([("cursor", args.cursor)] if args.cursor else [])

    def answer(reader: Reader) -> str:
        page = reader.streams(parameters)
        return _json(page) if args.json else render(page, _style(), time.time_ns())

    return _answer("streams", args, answer)


def _show(args: Namespace) -> int:
    from .history import render_history
    from .report import render

    def answer(reader: Reader) -> str:
        if args.history:
            history = reader.history(args.stream)
            return _json(history) if args.json else render_history(history, _style())
        document = reader.show(args.stream)
        return _json(document) if args.json else render(document, _style())

    return _answer("show", args, answer)


def _cuts(args: Namespace) -> int:
    from .history import render_cuts

    def answer(reader: Reader) -> str:
        found = reader.cuts([("since", args.since)])
        return _json(found) if args.json else render_cuts(found, args.since, _style())

    return _answer("cuts", args, answer)


def _rejudge(args: Namespace) -> int:
    import time

    from sqlalchemy.exc import SQLAlchemyError

    from . import judge
    from .assemble import wall
    from .filters import FilterError, parse
    from .settle import Life, Patience
    from .steps import Steps
    from .store import Store

    try:
        since = parse([("since", args.since)], time.time_ns()).since
        store = Store(args.settings.database)
        store.create()
        done = Steps(store, Life(judge, Patience()), wall).rejudge(since or 0)
        store.close()
    except (FilterError, SQLAlchemyError) as error:
        print(f"streamwitness rejudge: {getattr(error, 'orig', None) or error}", file=sys.stderr)
        return 1
    print(f"{done.looked_at} streams judged anew, {done.changed} verdicts corrected")
    if done.failed:
        print(
            f"the judge failed on {done.failed} of them: what they had stands, the log above says why", file=sys.stderr
        )
    return 1 if done.failed else 0


def _answer(command: str, args: Namespace, answer: Callable[[Reader], str]) -> int:
    from .readers import ReadFailed

    try:
        text = _ask(args, answer)
    except ReadFailed as error:
        print(f"streamwitness {command}: {error}", file=sys.stderr)
        return 1
    print(text)
    return 0


def _ask(args: Namespace, answer: Callable[[Reader], str]) -> str:
    """Ask the database named, else the server; where none was named and none helps, the database that it would use."""
    from .readers import DatabaseReader, ReadFailed, ServerReader, Unknown, Unreachable

    if args.database:
        return answer(DatabaseReader(args.database))
    server, here = args.settings.server, Path(UpSettings().database)
    try:
        return answer(ServerReader(server, args.settings.query_key))
    except (Unreachable, Unknown) as error:
        if server != ReaderSettings().server or not here.is_file():
            raise
        try:
            text = answer(DatabaseReader(str(here)))
        except ReadFailed as nor_here:
            raise (nor_here if isinstance(error, Unreachable) else error) from None
        why = "nothing answers" if isinstance(error, Unreachable) else "no such stream"
        print(f"({why} at {server}: read from {here.resolve()})", file=sys.stderr)
        return text


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, sort_keys=True)


def _style() -> Style:
    """How this terminal is written to: colour only for a person who has not said no, as wide as it is."""
    terminal = sys.stdout.isatty()
    wanted = bool(os.environ.get("FORCE_COLOR")) or terminal
    colour = wanted and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = shutil.get_terminal_size((100, 24)).columns if terminal else 100
    return Style(colour=colour, width=width, ascii=(sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8")


def _reading(parser: ArgumentParser) -> None:
    parser.add_argument("--database", metavar="TEXT", help="read this database (file or URL) instead of a server")
    parser.add_argument("--json", action="store_true", help="the document itself")


def _streams_arguments(parser: ArgumentParser) -> None:
    _reading(parser)
    group = parser.add_argument_group("only streams")
    for name, words in WORDS.items():
        group.add_argument(f"--{name}", metavar="WORDS", help=f"of: {', '.join(words)} (several: commas)")
    group.add_argument("--client", metavar="NAME", help="read by this client library")
    group.add_argument(
        "--since", metavar="WHEN", help="first seen after this: an age (15m, 2h, 7d) or an ISO 8601 time"
    )
    parser.add_argument("--limit", type=int, default=DEFAULT_LIMIT, help=f"rows to list (default {DEFAULT_LIMIT})")
    parser.add_argument("--cursor", metavar="TEXT", help="go on after this page (`next` of --json)")


def _rejudge_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--since", metavar="WHEN", required=True, help="seen last after this: an age (15m, 2h, 7d) or an ISO 8601 time"
    )


def _cuts_arguments(parser: ArgumentParser) -> None:
    _reading(parser)
    parser.add_argument(
        "--since",
        metavar="WHEN",
        default="1d",
        help="first seen after this: an age (15m, 2h, 7d) or an ISO 8601 time (default 1d)",
    )


def _show_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("stream", metavar="ID", help="a stream's id, or its first digits")
    parser.add_argument("--history", action="store_true", help="every revision of its verdict, and what changed")
    _reading(parser)


UP: Final = Command(
    name="up",
    help="run collector and analyzer in one process on a database file: OTLP, questions and metrics on one port",
    run=_up,
    settings=UpSettings,
    needs=(*_SERVER_NEEDS, "prometheus_client"),
)
ANALYZER: Final = Command(
    name="analyzer",
    help="read blocks from Kafka, judge streams, answer questions",
    run=_analyzer,
    settings=AnalyzerSettings,
    needs=_SERVER_NEEDS,
    extra="analyzer",
)
REJUDGE: Final = Command(
    name="rejudge",
    help="judge stored streams anew; what comes out otherwise is corrected, its history kept",
    run=_rejudge,
    add_arguments=_rejudge_arguments,
    settings=RejudgeSettings,
    needs=("sqlalchemy",),
    extra="analyzer",
)
STREAMS: Final = Command(
    name="streams",
    help="list streams and how they ended",
    run=_streams,
    add_arguments=_streams_arguments,
    settings=ReaderSettings,
)
SHOW: Final = Command(
    name="show",
    help="explain one stream: what was lost, where, and how we know",
    run=_show,
    add_arguments=_show_arguments,
    settings=ReaderSettings,
)
CUTS: Final = Command(
    name="cuts",
    help="streams that were cut at the same moment: limits on the way",
    run=_cuts,
    add_arguments=_cuts_arguments,
    settings=ReaderSettings,
)
