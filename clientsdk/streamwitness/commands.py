"""What a part declares to add a command to `streamwitness`: the contract between the parts and the command line.

A part names a `Command` in the entry point group `streamwitness.commands`. The module that holds it is imported for
every `--help`, so it imports only the standard library and the contract modules at its top, the rest inside `run`.
Pure: no I/O.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

GROUP: Final = "streamwitness.commands"
"""The entry point group that commands are discovered in."""


def _nothing(parser: ArgumentParser) -> None:
    """A command without arguments of its own."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of `streamwitness`.

    `run(args)` does it and returns the exit status (0 well, 1 failed, 2 asked wrongly); it may raise SettingsError.
    `settings` is a settings class: each field becomes an option, and `args.settings` is the loaded instance.
    `add_arguments` adds what is no setting (positional arguments, `--json`). `needs` lists the modules that must be
    importable, `extra` the extra that installs them; where one is missing the command is shown as not installed.
    """

    name: str
    help: str
    run: Callable[[Namespace], int]
    add_arguments: Callable[[ArgumentParser], None] = _nothing
    settings: type | None = None
    needs: tuple[str, ...] = ()
    extra: str = "all"
