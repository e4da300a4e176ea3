"""The `streamwitness` command: finds the commands that installed parts declare, and runs one.

Commands come from the entry point group `streamwitness.commands` (see commands.py); nothing is listed here. A
command whose extra is not installed is shown with the pip command that installs it, and says the same when it is run.
Exit status: what the command returns; 2 for an unknown command, option or setting and for a missing extra.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from .commands import GROUP, Command
from .semconv import VERSION
from .settings import Option, SettingsError, load, nearest, options

_EPILOG = "`streamwitness COMMAND --help` lists the options of a command and their environment variables."
_ASKED_WRONGLY = 2
_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Entry:
    """A declared command. `problem` says why it cannot run here, and what to do; empty: it can."""

    name: str
    command: Command | None
    problem: str = ""

    @property
    def help(self) -> str:
        """Its line in the list of commands."""
        said = [self.command.help] if self.command else []
        return " ".join(said + ([f"[{self.problem}]"] if self.problem else []))


def main(argv: Sequence[str] | None = None) -> int:
    """Run `streamwitness ARGV` and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    entries = discover()
    parser = build_parser(entries)
    try:
        if not words:
            parser.print_help(sys.stderr)
            return _ASKED_WRONGLY
        _refuse_unknown_command(parser, words, entries)
        args, rest = parser.parse_known_args(words)
        if rest:
            _refuse_unknown_option(args.parser, rest)
    except SystemExit as stop:  # argparse's way to end after --help and after an error
        return int(stop.code or 0)
    return _run(args.entry, args)


def build_parser(entries: Iterable[Entry] | None = None) -> argparse.ArgumentParser:
    """The whole command line; `entries` are the declared commands (default: discover them)."""
    parser = argparse.ArgumentParser(
        prog="streamwitness",
        description="Where did the missing words go? Says which component lost a part of a streamed LLM answer.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"streamwitness {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for entry in discover() if entries is None else entries:
        text = _literal(entry.help)
        child = commands.add_parser(entry.name, help=text, description=text, allow_abbrev=False)
        child.set_defaults(entry=entry, parser=child)
        if entry.command is not None:
            entry.command.add_arguments(child)
            _add_settings(child, entry.command.settings)
    return parser


def discover() -> list[Entry]:
    """The commands that the installed distributions declare, by name."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    return [_entry(found[name]) for name in sorted(found)]


def _entry(point: EntryPoint) -> Entry:
    try:
        command = point.load()
    except ModuleNotFoundError as error:
        return Entry(point.name, None, _not_installed((error.name or str(error),), "all"))
    except Exception as error:  # one broken command must not take the others with it
        return Entry(point.name, None, f"cannot be loaded: {type(error).__name__}: {error}")
    missing = tuple(module for module in command.needs if importlib.util.find_spec(module) is None)
    return Entry(point.name, command, _not_installed(missing, command.extra) if missing else "")


def _not_installed(missing: Sequence[str], extra: str) -> str:
    return f"needs {', '.join(missing)}, which the extra {extra!r} brings: pip install '.[{extra}]' in a checkout"


# --------------------------------------------------------------------------- options from settings


def _add_settings(parser: argparse.ArgumentParser, settings: type | None) -> None:
    if settings is None:
        return
    group = parser.add_argument_group("settings")
    for option in options(settings):
        if option.kind is bool:
            action = argparse.BooleanOptionalAction
            group.add_argument(option.flag, dest=option.name, default=None, action=action, help=_described(option))
        else:
            group.add_argument(option.flag, dest=option.name, metavar=_metavar(option), help=_described(option))


def _metavar(option: Option) -> str:
    if option.choices:
        return "{" + ",".join(option.choices) + "}"
    return {int: "N", float: "X"}.get(option.kind, "TEXT")


def _described(option: Option) -> str:
    default = f"default {option.default_text}; " if option.default_text else ""
    return _literal(f"{option.help} ({default}{option.variable})")


def _literal(text: str) -> str:
    """argparse reads % in a help text as a format."""
    return text.replace("%", "%%")


# --------------------------------------------------------------------------- running


def _run(entry: Entry, args: argparse.Namespace) -> int:
    """Run one command; what the user can mend is one line on stderr, never a traceback."""
    if entry.command is None or entry.problem:
        return _complain(entry.name, entry.problem)
    try:
        if (settings := entry.command.settings) is not None:
            given = {option.name: getattr(args, option.name) for option in options(settings)}
            args.settings = load(settings, environ=os.environ, overrides=given)
        return entry.command.run(args)
    except SettingsError as error:
        return _complain(entry.name, str(error))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output has left (`streamwitness streams | head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _complain(name: str, problem: str) -> int:
    print(f"streamwitness {name}: {problem}", file=sys.stderr)
    return _ASKED_WRONGLY


def _refuse_unknown_command(parser: argparse.ArgumentParser, words: Sequence[str], entries: Iterable[Entry]) -> None:
    known = [entry.name for entry in entries]
    word = next((word for word in words if not word.startswith("-")), None)
    if word is not None and word not in known:
        near = nearest(word, known)
        parser.error(f"unknown command {word!r}; " + (f"did you mean {near!r}?" if near else f"known: {_list(known)}"))


def _refuse_unknown_option(parser: argparse.ArgumentParser, rest: Sequence[str]) -> None:
    word = rest[0].partition("=")[0]
    if not word.startswith("-"):
        parser.error(f"unexpected argument {word!r}")
    known = {flag.lstrip("-"): flag for flag in parser._option_string_actions}  # argparse has no public list
    near = nearest(word.lstrip("-"), known)
    parser.error(f"unknown option {word}; " + (f"did you mean {known[near]}?" if near else "--help lists all"))


def _list(words: Sequence[str]) -> str:
    return ", ".join(words) or "none installed"
