"""What a run found, as a table for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Any

from streamwitness.semconv import COMPONENTS

from .gates import Tally, gates
from .loss import LOSSES
from .score import OUTCOMES


def text(tally: Tally) -> Iterator[str]:
    """The lines for a terminal."""
    hidden = f"{tally.invisible:,} streams with deeds that nobody can see"
    yield f"{tally.streams:,} streams, {tally.verdicts:,} verdicts"
    yield f"{hidden}; {tally.ambiguous:,} in which equal neighbours leave the place open"
    yield f"{tally.outcomes('unknowable', LOSSES):,} times a deed that no record can tell from something else"
    yield ""
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
    for gate in gates(tally):
        share = f"{100 * gate.good / gate.all:.3f} %" if gate.all else "nothing to look at"
        counts = f"{gate.good:,} of {gate.all:,} ({share}; at least {100 * gate.least:g} %)"
        yield f"{'green' if gate.holds else 'RED  '}  {gate.name}: {counts}"
        if not gate.holds:
            yield from _against(tally, gate.name)


def _against(tally: Tally, gate: str) -> Iterator[str]:
    """Streams that a gate falls by, as `--only` and `--loss` take them, with what is wrong where something is said."""
    wrong = {(name, loss): f": {text}" for name, loss, text in tally.examples}
    for name, loss in tally.against.get(gate, ()):
        yield f"       --only {quote(name)} --loss {quote(loss)}{wrong.get((name, loss), '')}"


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
            more = f"{mean_suspects(tally, loss):>11.3f}{100 * exact(tally, loss):>9.1f} %"
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


def exact(tally: Tally, loss: str) -> float:
    """The share of findings of a loss or surplus whose count is exact."""
    counts = [tally.exact[loss, sure] for sure in (True, False)]
    return counts[0] / max(1, sum(counts))


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
        "confusion": _nested(tally.confused.items()),
        "gates": [gate.document() for gate in gates(tally)],
        "components": _nested(tally.matrix.items()),
        "by": _nested(tally.by.items()),
        "endings": _nested(tally.endings.items()),
        "unknowable": tally.outcomes("unknowable", LOSSES),
        "mean_suspects": {
            of: round(mean_suspects(tally, of), 4) for of in (*LOSSES, *sorted({b for b, _, _ in tally.by}))
        },
        "exact": {loss: round(exact(tally, loss), 4) for loss in LOSSES},
        "wrong": [list(example) for example in tally.examples],
        "against": {gate: [list(stream) for stream in streams] for gate, streams in sorted(tally.against.items())},
    }


def _nested(items: Iterable[tuple[tuple[str, str, str], int]]) -> dict[str, dict[str, dict[str, int]]]:
    out: dict[str, dict[str, dict[str, int]]] = {}
    for (a, b, c), count in sorted(items):
        out.setdefault(a, {}).setdefault(b, {})[c] = count
    return out
