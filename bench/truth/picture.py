"""What a run found, as one picture: for each sort of telemetry loss, how many were found, and how many cleared."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from .gates import Tally
from .loss import LOSSES
from .score import OUTCOMES

_TITLE: Final = "What verdicts say of components that did damage (above), of all others (below), by telemetry loss"
_GUILTY: Final = ("found", "narrowed", "unknown", "unknowable", "beside")
_INNOCENT: Final = ("cleared", "suspected")
_COLOURS: Final = {
    "found": "#2f7d4f", "narrowed": "#c9a227", "unknown": "#9a9a9a", "unknowable": "#c8c8c8", "beside": "#e4e4e4",
    "cleared": "#4c7fb0", "suspected": "#d9c27a", "wrong": "#c0392b",
}  # fmt: skip


def drawn(tally: Tally) -> str:
    """An SVG: for each sort of loss, what became of the guilty (above) and of the innocent (below)."""
    rows = [loss for loss in LOSSES if tally.outcomes("cleared", (loss,))]
    height = 110 + 44 * len(rows)
    box = f'width="860" height="{height}" font-family="sans-serif" font-size="12"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {box}>']
    parts.append('<rect width="100%" height="100%" fill="white"/>')
    parts.append(f'<text x="20" y="24" font-size="15">{_TITLE}</text>')
    for i, outcome in enumerate(OUTCOMES):
        parts.append(f'<rect x="{20 + 103 * i}" y="42" width="12" height="12" fill="{_COLOURS[outcome]}"/>')
        parts.append(f'<text x="{36 + 103 * i}" y="53">{outcome}</text>')
    for i, loss in enumerate(rows):
        top = 78 + 44 * i
        parts.append(f'<text x="20" y="{top + 20}">{escape(loss)}</text>')
        parts += _bar(tally, loss, (*_GUILTY, "wrong"), top)
        parts += _bar(tally, loss, _INNOCENT, top + 17)
    return "\n".join([*parts, "</svg>\n"])


def _bar(tally: Tally, loss: str, outcomes: tuple[str, ...], top: int) -> Iterator[str]:
    counts = [tally.outcomes(outcome, (loss,)) for outcome in outcomes]
    left, scale = 170.0, 670 / max(1, sum(counts))
    for outcome, count in zip(outcomes, counts, strict=True):
        if count:
            yield (f'<rect x="{left:.1f}" y="{top}" width="{count * scale:.1f}" height="14" fill="{_COLOURS[outcome]}">'
                   f"<title>{outcome}: {count}</title></rect>")  # fmt: skip
            left += count * scale
