"""The analyzer's commands, from `up` to `prune`. Imported for every `--help`: imports little."""

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
from streamwitness.settings import variable

from .config import AnalyzerSettings, ReaderSettings, StoreSettings, UpSettings, is_missing, shown
from .filters import DEFAULT_LIMIT, SINCE, WHEN, WORDS
from .style import Style

if TYPE_CHECKING:
    from .readers import Reader
    from .store import Store

_SERVER_NEEDS: Final = ("sqlalchemy", "starlette", "uvicorn", "kafka")
_DATABASE: Final = (
    f"read this database (file or URL) instead of a server (default {variable('database')}, where no server is named)"
)
_FILTERS: Final = (*WORDS, "client", "since")


def _up(args: Namespace) -> int:
    from .allinone import run

    return run(args.settings)


def _analyzer(args: Namespace) -> int:
    from .service import run

    return run(args.settings)


def _streams(args: Namespace) -> int:
    import time

    from .table import Asked, render

    parameters = [(name, value) for name in _FILTERS if (value := getattr(args, name)) is not None]
    narrowed = [word for name, value in parameters for word in (f"--{name}", value)]
    parameters += [("limit", str(args.limit))] + ([("cursor", args.cursor)] if args.cursor else [])
    asked = Asked(_place(args), narrowed, [] if args.limit == DEFAULT_LIMIT else ["--limit", str(args.limit)])

    def answer(reader: Reader) -> str:
        page = reader.streams(parameters)
        return _json(page) if args.json else render(page, _style(), time.time_ns(), asked)

    return _answer("streams", args, answer)


def _show(args: Namespace) -> int:
    from .history import render_history
    from .readers import ReadFailed
    from .report import render

    def answer(reader: Reader) -> str:
        if args.stream.strip() in ("", "None"):  # what a program prints of a stream that was not there
            raise ReadFailed(f"{args.stream!r} is no stream id: nothing was observed of this stream")
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
        return _json(found) if args.json else render_cuts(found, args.since, _style(), _place(args))

    return _answer("cuts", args, answer)


def _rejudge(args: Namespace) -> int:
    def work(store: Store, since: int) -> int:
        from . import judge
        from .assemble import wall
        from .settle import Life, Patience
        from .steps import Steps

        done = Steps(store, Life(judge, Patience()), wall).rejudge(since)
        print(f"{done.looked_at} streams judged anew, {done.changed} verdicts corrected")
        if done.failed:
            said = f"the judge failed on {done.failed} of them: what they had stands, the log above says why"
            print(said, file=sys.stderr)
        return 1 if done.failed else 0

    return _on_store("rejudge", args, "since", work)


def _prune(args: Namespace) -> int:
    def work(store: Store, before: int) -> int:
        from .pruning import prune

        gone = prune(store, before, dry=args.dry_run)
        done = "would be deleted" if args.dry_run else "deleted"
        print(f"{gone.streams} streams and their {gone.blocks} records {done}")
        return 0

    return _on_store("prune", args, "older_than", work)


def _on_store(command: str, args: Namespace, when: str, work: Callable[[Store, int], int]) -> int:
    """Do what changes a database: its exit status, or 1 where the time or the database are no good."""
    import time

    from sqlalchemy.exc import SQLAlchemyError

    from .filters import FilterError, moment
    from .store import Store

    if is_missing(args.settings.database):
        missing = f"there is no database file {args.settings.database!r}"
        hint = "name the one that `up` or the analyzer was started with: --database FILE"
        print(f"streamwitness {command}: {missing}; {hint}", file=sys.stderr)
        return 1
    try:
        told = moment(f"--{when.replace('_', '-')}", getattr(args, when), time.time_ns())
        store = Store(args.settings.database)
        try:
            store.create()
            return work(store, told)
        finally:
            store.close()
    except (FilterError, SQLAlchemyError) as error:
        print(f"streamwitness {command}: {getattr(error, 'orig', None) or error}", file=sys.stderr)
        return 1


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
    """Ask the database named, else the server; where none was named and none helps, the database that it would use.

    A database that the environment names, and that is there, is asked unless a server is named.
    """
    from .readers import DatabaseReader, ReadFailed, ServerReader, Unknown, Unreachable

    if args.database:
        return answer(DatabaseReader(args.database))
    server, here = args.settings.server, Path(UpSettings().database)
    named = os.environ.get(variable("database"), "").strip()
    if named and server == ReaderSettings().server and not is_missing(named):
        print(f"(read from {shown(named)}, as {variable('database')} says)", file=sys.stderr)
        return answer(DatabaseReader(named))
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


def _place(args: Namespace) -> list[str]:
    """The options that make another command read where this one does, without any secret."""
    if args.database:
        return ["--database", shown(args.database)]
    return [] if args.settings.server == ReaderSettings().server else ["--server", shown(args.settings.server)]


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
    parser.add_argument("--database", metavar="TEXT", help=_DATABASE)
    parser.add_argument("--json", action="store_true", help="the document itself")


def _streams_arguments(parser: ArgumentParser) -> None:
    _reading(parser)
    group = parser.add_argument_group("only streams")
    for name, words in WORDS.items():
        group.add_argument(f"--{name}", metavar="WORDS", help=f"of: {', '.join(words)} (several: commas)")
    group.add_argument("--client", metavar="NAME", help="read by this client library")
    _time(group.add_argument, "--since", "first seen after this")
    parser.add_argument(
        "--limit", metavar="N", type=int, default=DEFAULT_LIMIT, help=f"rows to list (default {DEFAULT_LIMIT})"
    )
    parser.add_argument("--cursor", metavar="TEXT", help="go on after this page (`next` of --json)")


def _time(add: Callable[..., Any], option: str, meaning: str, **more: Any) -> None:
    """An option that takes a time."""
    add(option, metavar="WHEN", help=f"{meaning}: {WHEN}", **more)


def _rejudge_arguments(parser: ArgumentParser) -> None:
    _time(parser.add_argument, "--since", "seen last after this", required=True)


def _prune_arguments(parser: ArgumentParser) -> None:
    _time(parser.add_argument, "--older-than", "seen last before this", required=True)
    parser.add_argument("--dry-run", action="store_true", help="only count what would be deleted")


def _cuts_arguments(parser: ArgumentParser) -> None:
    _reading(parser)
    _time(parser.add_argument, "--since", f"first seen after this (default {SINCE})", default=SINCE)


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
    settings=StoreSettings,
    needs=("sqlalchemy",),
    extra="analyzer",
)
PRUNE: Final = Command(
    name="prune",
    help="delete judged streams that were seen last long ago, with their records and verdicts",
    run=_prune,
    add_arguments=_prune_arguments,
    settings=StoreSettings,
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
