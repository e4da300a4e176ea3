"""`python -m bench`: the table, and the figures as JSON with `--json FILE`; with `--strict` a miss is exit 1."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from . import framing, hooks, imports, judging, memory, open_streams, recording, server_side, sizes
from .measure import FULL, QUICK, Figure, Scale

SECTIONS: Final[dict[str, Callable[[Scale], list[Figure]]]] = {
    "recording": recording.figures,
    "bytes": sizes.figures,
    "import": imports.figures,
    "memory": memory.figures,
    "framing": framing.figures,
    "hooks": hooks.figures,
    "server": server_side.figures,
    "judging": judging.figures,
}
ON_REQUEST: Final[dict[str, Callable[[Scale], list[Figure]]]] = {"open": open_streams.figures}
"""Sections that take minutes, and run only where they are named."""
_COLUMNS: Final = (52, 12, 24, 38, 9, 9)
"""Widths: figure, value, unit, peer, ratio, target; what is met follows."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write; a missed target is exit 1 only where that is asked for."""
    known = [*SECTIONS, *ON_REQUEST]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="SECTION",
        help=f"some of: {', '.join(known)}; default: all but {', '.join(ON_REQUEST)}",
    )
    parser.add_argument("--quick", action="store_true", help="tiny counts: shows that it runs; times mean nothing")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.sections if name not in known]:
        parser.error(f"unknown section {unknown[0]!r}; known: {', '.join(known)}")
    found = measure(options.sections or list(SECTIONS), QUICK if options.quick else FULL)
    if options.json:
        options.json.write_text(json.dumps([figure.document() for figure in found], indent=1) + "\n")
    missed = [figure for figure in found if figure.met is False]
    for figure in missed:
        print(f"missed: {figure.name}", file=sys.stderr)
    return 1 if missed and options.strict else 0


def measure(sections: Sequence[str], scale: Scale) -> list[Figure]:
    """The figures of these sections, each printed when it is known."""
    print(_line("figure", "", "unit", "beside", "ratio", "target"))
    found: list[Figure] = []
    for name in sections:
        print(f"-- {name}")
        for figure in (SECTIONS | ON_REQUEST)[name](scale):
            print(row(figure), flush=True)
            found.append(figure)
    return found


def row(figure: Figure) -> str:
    """One line of the table."""
    ratio, peer, target = "", "", ""
    if figure.ratio is not None:
        digits = 1 if figure.ratio >= 10 else 2
        ratio, peer = f"{figure.ratio:.{digits}f} ×", f"{figure.peer} {_number(figure.peer_figure)}"
    if figure.target is not None:
        target = f"≤ {figure.target:g}" if figure.ratio is None else f"≥ {figure.target:g} ×"
    met = {None: "", True: "met", False: "MISSED"}[figure.met]
    return f"{_line(figure.name, _number(figure.figure), figure.unit, peer, ratio, target)}{met}".rstrip()


def _line(*cells: str) -> str:
    name, value, *rest = cells
    widths = _COLUMNS[2:]
    line = f"{name:<{_COLUMNS[0]}} {value:>{_COLUMNS[1]}} "
    return line + "".join(f" {cell:<{width}}" for cell, width in zip(rest, widths, strict=True))


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.2f}" if value < 100 and value != int(value) else f"{value:,.0f}"


if __name__ == "__main__":
    sys.exit(main())
