"""`python -m bench.truth`: streams with a known truth are judged; a gate that does not hold is exit 1."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from streamwitness_analyzer.report import render
from streamwitness_analyzer.style import Style

from . import exhaustive, mutations, report, results
from .gates import Tally, counts_against, fallen
from .labels import Trial
from .loss import LOSSES, called
from .run import over_sockets, simulated, verdict_on
from .sockets import matrix
from .sockets.run import run
from .streams import SORTS, named


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; 0 where every gate holds."""
    options = _options(arguments)
    if options.only:
        return _show(options.only, options.loss)
    if options.mutations is not None:
        most = min(options.simulate, options.mutation_streams)
        return mutations.main(most, options.first, options.workers, options.mutations)
    if options.exhaustive is not None:
        return exhaustive.main(options.exhaustive, options.first, options.sort)
    found = Tally()
    if options.simulate:
        print(f"the model, seeds {options.first} to {options.first + options.simulate - 1}", file=sys.stderr)
        found.join(simulated(options.simulate, options.first, options.workers))
    if options.sockets:
        chosen = matrix.select(limit=options.sockets, seed=options.first)
        print(f"{len(chosen)} streams over sockets, drawn with seed {options.first}", file=sys.stderr)
        begun = time.monotonic()
        found.join(over_sockets(chosen, options.workers))
        print(f"that took {(time.monotonic() - begun) / 60:.1f} minutes", file=sys.stderr)
    printed = [*report.text(found)]
    print("\n".join(printed))
    _write(found, printed, options)
    return 1 if fallen(found) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.truth", description=__doc__)
    add = parser.add_argument
    add("--simulate", type=int, default=200_000, metavar="N", help="streams of the model; default 200000, 0: none")
    add("--sockets", type=int, default=3_000, metavar="N", help="streams over real sockets at most; default 3000")
    add("--first", type=int, default=0, metavar="SEED", help="the first seed; default 0")
    add("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    add("--json", type=Path, metavar="FILE", help="also write the figures there")
    add("--results", type=Path, metavar="DIR", help="keep the run there: RESULTS.md, results.json and truth.svg")
    add("--only", metavar="NAME", help="show one stream: a seed of the model, model/SORT/SEED, or a name as printed")
    add("--loss", default="none", type=_loss, metavar="NAME", help="with --only: what happens to its records; one of "
        f"{', '.join(LOSSES).replace('%', '%%')}, or, as --exhaustive prints it, `without 3 7r`")  # fmt: skip
    add("--exhaustive", type=int, metavar="N", help="N streams of each sort, or of --sort: every block lost "
        "or without its rows, and every two of them")  # fmt: skip
    add("--sort", default="", metavar="NAME", help="with --exhaustive: the only sort")
    add("--mutations", nargs="?", const="", metavar="NAME", help="switch each rule of the judge off (or those in whose "
        "names this occurs): a gate or a figure must fall")  # fmt: skip
    add("--mutation-streams", type=int, default=1_500, metavar="N", help="streams for each at most; default 1500")
    return parser.parse_args(arguments)


def _loss(name: str) -> str:
    try:
        called(name)
    except KeyError:
        raise argparse.ArgumentTypeError(f"no loss is called {name!r}; there are {', '.join(LOSSES)}") from None
    return name


def _write(found: Tally, printed: Sequence[str], options: argparse.Namespace) -> None:
    command = f"python -m bench.truth --simulate {options.simulate} --sockets {options.sockets} --first {options.first}"
    if options.json:
        options.json.write_text(report.dumped(found, command=command))
    if options.results:
        results.write(options.results, found, printed, command)


def _stream(name: str) -> Trial:
    """The stream of this seed or name. Raises SystemExit where there is none."""
    sort, _, seed = name.removeprefix("model/").rpartition("/")
    if name.isdecimal() or (sort in SORTS and seed.isdecimal()):
        return named(name)
    if name.startswith("model/"):
        known = ", ".join(SORTS)
        raise SystemExit(f"no stream is called {name!r}; give a seed, or model/SORT/SEED with a sort out of {known}")
    try:
        return next(run([matrix.called(name)]))
    except LookupError as error:
        some = ", ".join(scenario.name for scenario in matrix.select(limit=5))
        raise SystemExit(f"{error}; the names of some: {some}") from None


def _show(name: str, loss: str) -> int:
    """A stream's deeds, its verdict as `streamwitness show` prints it, and what is wrong with that."""
    one = _stream(name)
    verdict, score = verdict_on(one, loss)
    print(f"{one.name}, loss: {loss}; {', '.join(sorted(one.notes)) or 'nothing special'}")
    for deed in one.deeds:
        print(f"  {deed.component}: {deed.act} {list(deed.at)}")
    print(render(verdict, Style(colour=False, width=100, ascii=False)))
    against = [f"counts against the gate: {gate}" for gate in counts_against(score, loss)]
    print("\n".join(["", *(score.wrong + against or ["nothing is wrong with it"])]))
    return 1 if against else 0


if __name__ == "__main__":
    sys.exit(main())
