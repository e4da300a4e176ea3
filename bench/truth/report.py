"""What a run found, as a table for the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from shlex import quote
from textwrap import wrap
from typing import Any, Final

from streamwitness.semconv import COMPONENTS

from .gates import GATES, Tally
from .loss import LOSSES, WHOLE
from .score import OUTCOMES

_STAYS: Final = "\N{NO-BREAK SPACE}"
"""Between a name and its count no line is broken."""


def text(tally: Tally) -> Iterator[str]:
    """The lines for a terminal."""
    hidden = f"{tally.invisible:,} streams with deeds that nobody can see"
    yield f"{tally.streams:,} streams, {tally.verdicts:,} verdicts"
    yield f"{hidden}; {tally.ambiguous:,} in which equal neighbours leave the place open"
    yield f"{tally.outcomes('unknowable', LOSSES):,} times a deed that no record can tell from something else"
    yield ""
    yield from _tried(tally)
    yield from _confusion(tally)
    yield ""
    yield from _components(tally)
    yield ""
    yield from _losses(tally)
    yield ""
    yield from _whom(tally)
    yield ""
    yield from _endings(tally)
    yield ""
    yield from _gates(tally)


def _tried(tally: Tally) -> Iterator[str]:
    """What the streams over sockets are made of."""
    if not tally.tried:
        return
    yield f"over sockets: {sum(count for (what, _), count in tally.tried.items() if what == 'done'):,} streams"
    for what in dict.fromkeys(what for what, _ in tally.tried):
        counts = sorted(((name, count) for (of, name), count in tally.tried.items() if of == what), key=_often)
        line = ", ".join(f"{name} {count:,}".replace(" ", _STAYS) for name, count in counts)
        told = f"{what} ({len(counts)})" if what.startswith("faults of") else what
        indented = wrap(line, 125, initial_indent=f"  {told:<26}", subsequent_indent=" " * 28, break_long_words=False)
        yield from (part.replace(_STAYS, " ") for part in indented)
    yield ""


def _often(count: tuple[str, int]) -> tuple[int, str]:
    """The most frequent first."""
    return -count[1], count[0]


def _gates(tally: Tally) -> Iterator[str]:
    """Each gate; of one that is red some streams, as `--only` and `--loss` take them, with what is wrong of each."""
    for gate in GATES:
        rate, holds = tally.rate(gate.figure), gate.holds(tally)
        share = f"{rate.percent:.3f} %" if rate.all else "nothing to look at"
        counts = f"{rate.found:,} of {rate.all:,} ({share}; at least {100 * gate.least:g} %)"
        yield f"{'green' if holds else 'RED  '}  {gate.name}: {counts}"
        for name, (loss, why) in tally.against.get(gate.name, {}).items() if not holds else ():
            yield f"       --only {quote(name)} --loss {quote(loss)}{why and f': {why}'}"


def _confusion(tally: Tally) -> Iterator[str]:
    """Who did it (rows) and who was named, without telemetry loss and with all sorts of it."""
    names = (*COMPONENTS, "narrowed", "nobody")
    for title, losses in (
        ("no telemetry loss", ("none",)),
        ("with telemetry loss", [n for n in LOSSES if n != "none"]),
    ):
        yield f"{title + ': did, named':<30}" + "".join(f"{name:>11}" for name in names)
        for did in (*COMPONENTS, "nobody"):
            row = [sum(tally.confused[loss, did, named] for loss in losses) for named in names]
            if any(row):
                yield f"  {did:<28}" + "".join(f"{count:>11,}" for count in row)


def _components(tally: Tally) -> Iterator[str]:
    yield "without telemetry loss        " + "".join(f"{outcome:>11}" for outcome in OUTCOMES)
    for component in COMPONENTS:
        row = [tally.matrix["none", component, outcome] for outcome in OUTCOMES]
        if any(row):
            yield f"  {component:<28}" + "".join(f"{count:>11,}" for count in row)


def _losses(tally: Tally) -> Iterator[str]:
    yield (
        "all components                " + "".join(f"{outcome:>11}" for outcome in OUTCOMES) + "   suspects exact count"
    )
    for loss in LOSSES:
        row = [tally.outcomes(outcome, (loss,)) for outcome in OUTCOMES]
        if any(row):
            more = f"{mean_suspects(tally, loss):>11.3f}{tally.rate('exact', (loss,)).percent:>9.1f} %"
            yield f"  loss: {loss:<22}" + "".join(f"{n:>11,}" for n in row) + more


def _whom(tally: Tally) -> Iterator[str]:
    names = sorted({name for name, _, _ in tally.by})
    yield "without telemetry loss        " + "".join(f"{outcome:>11}" for outcome in OUTCOMES) + "   suspects"
    for name in names:
        row = "".join(f"{tally.by[name, 'none', outcome]:>11,}" for outcome in OUTCOMES)
        yield f"  {name:<28}{row}{mean_suspects(tally, name):>11.3f}"


def _endings(tally: Tally) -> Iterator[str]:
    yield "endings without telemetry loss (true → told)"
    for (loss, real, told), count in sorted(tally.endings.items()):
        if loss == "none":
            yield f"  {real:<24} {told:<24} {count:>9,}{'' if real == told else '   differs'}"
    scored, whole = _scored(tally)
    yield f"endings scored: {scored:,} of {whole:,} whole verdicts"


def _scored(tally: Tally) -> tuple[int, int]:
    """Of how many verdicts for which all records were held the true ending is known, and of how many in all."""
    return tally.rate("ended", WHOLE).all, tally.rate("third", WHOLE).all


def mean_suspects(tally: Tally, whose: str) -> float:
    """How many components a finding names on average, for a loss, provider, gateway or client; 0 without findings."""
    sizes = {size: count for (of, size), count in tally.suspects.items() if of == whose}
    return sum(size * count for size, count in sizes.items()) / max(1, sum(sizes.values()))


def document(tally: Tally, **about: Any) -> dict[str, Any]:
    """The same in JSON types."""
    return about | {
        "streams": tally.streams,
        "verdicts": tally.verdicts,
        "invisible": tally.invisible,
        "ambiguous": tally.ambiguous,
        "tried": {what: {n: c for (of, n), c in sorted(tally.tried.items()) if of == what} for what, _ in tally.tried},
        "confusion": _nested(tally.confused.items()),
        "gates": [gate.document(tally) for gate in GATES],
        "components": _nested(tally.matrix.items()),
        "by": _nested(tally.by.items()),
        "endings": _nested(tally.endings.items()),
        "endings_scored": dict(zip(("scored", "whole"), _scored(tally), strict=True)),
        "unknowable": tally.outcomes("unknowable", LOSSES),
        "mean_suspects": {
            of: round(mean_suspects(tally, of), 4) for of in (*LOSSES, *sorted({b for b, _, _ in tally.by}))
        },
        "exact": {loss: round(tally.rate("exact", (loss,)).percent / 100, 4) for loss in LOSSES},
        "against": {
            gate: [{"only": name, "loss": loss, "why": why} for name, (loss, why) in streams.items()]
            for gate, streams in sorted(tally.against.items())
        },
    }


def dumped(tally: Tally, **about: str) -> str:
    """The same as the text of a file."""
    return json.dumps(document(tally, **about), indent=1) + "\n"


def _nested(items: Iterable[tuple[tuple[str, str, str], int]]) -> dict[str, dict[str, dict[str, int]]]:
    out: dict[str, dict[str, dict[str, int]]] = {}
    for (a, b, c), count in sorted(items):
        out.setdefault(a, {}).setdefault(b, {})[c] = count
    return out
