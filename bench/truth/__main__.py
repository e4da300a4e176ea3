"""`python -m bench.truth`: streams with a known truth are judged; a gate that does not hold is exit 1."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from streamwitness_analyzer.report import render
from streamwitness_analyzer.style import Style

from . import mutations, picture, report
from .gates import Tally, gates
from .loss import LOSSES
from .run import simulated, verdict_on
from .streams import trial


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; 0 where every gate holds."""
    options = _options(arguments)
    if options.only:
        return _show(options.only, options.loss)
    if options.mutations:
        return mutations.main(options.simulate, options.first)
    found = simulated(options.simulate, options.first, options.workers)
    print("\n".join(report.text(found)))
    _write(found, options)
    return 0 if all(gate.holds for gate in gates(found)) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.truth", description=__doc__)
    parser.add_argument(
        "--simulate", type=int, default=200_000, metavar="N", help="streams of the model; default 200000"
    )
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed; default 0")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="also draw them there, as SVG")
    parser.add_argument("--only", metavar="NAME", help="show one stream of the model, by its name or seed")
    parser.add_argument(
        "--loss", default="none", choices=tuple(LOSSES), help="with --only: what happens to its records"
    )
    parser.add_argument("--mutations", action="store_true", help="switch each rule of the judge off: a gate must fall")
    return parser.parse_args(arguments)


def _write(found: Tally, options: argparse.Namespace) -> None:
    about = {"command": f"python -m bench.truth --simulate {options.simulate} --first {options.first}"}
    if options.json:
        options.json.write_text(json.dumps(report.document(found, **about), indent=1) + "\n")
    if options.picture:
        options.picture.write_text(picture.drawn(found))


def _show(name: str, loss: str) -> int:
    """A stream's deeds, its verdict as `streamwitness show` prints it, and what is wrong with that."""
    one = trial(int(name.rpartition("/")[2]))
    verdict, score = verdict_on(one, loss)
    print(f"{one.name}, loss: {loss}; {', '.join(sorted(one.notes)) or 'nothing special'}")
    for deed in one.deeds:
        print(f"  {deed.component}: {deed.act} {list(deed.at)}")
    print(render(verdict, Style(colour=False, width=100, ascii=False)))
    print("\n".join(["", *score.wrong] if score.wrong else ["", "nothing is wrong with it"]))
    return 1 if score.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
