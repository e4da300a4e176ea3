"""A page of streams as a table: what to look at first, and how to go on from there. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .config import NANOSECONDS
from .report import confidence_word
from .style import Style

_HEAD: Final = ("ID", "AGE", "CLIENT", "SENT→USED", "ENDING", "INTEGRITY", "VERDICT")
_EMPTY: Final = (
    "No stream is known yet. `streamwitness demo` makes some; see the README for two lines that make your own."
)
_NONE_MATCHES: Final = "No stream matches {}; without that there may be some."
_SHORTEST: Final = 8
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_COLOURS: Final = {"damaged": ("red",), "unproven": ("yellow",)}
_OPEN: Final = {"open": "still running", "failed": "not judged", "provisional": "provisional"}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the list was asked with, as words of a command line: the next command must ask the same place."""

    place: Sequence[str] = ()
    """Where it was read, if not where every command reads."""
    narrowed: Sequence[str] = ()
    """The filters."""
    page: Sequence[str] = ()
    """The length of a page, if it was given."""


def render(page: Mapping[str, Any], style: Style, now: int, asked: Asked = Asked()) -> str:
    """The table of a page of the query API; `now` in Unix ns. Ends without a line feed."""
    rows: Sequence[Row] = page["streams"]
    if not rows:
        return style.plain(_NONE_MATCHES.format(shlex.join(asked.narrowed))) if asked.narrowed else _EMPTY
    digits = _digits([row["stream"] for row in rows])
    texts = [_HEAD, *(_texts(row, digits, now) for row in rows)]
    widths = [max(len(text[column]) for text in texts) for column in range(len(_HEAD))]
    lines = [style.dress(_line(style, _HEAD, widths), "dim")]
    lines += [
        style.dress(_line(style, text, widths), *_COLOURS.get(row["integrity"], ()))
        for text, row in zip(texts[1:], rows, strict=True)
    ]
    worth = next((row for row in rows if row["integrity"] == "damaged"), rows[0])
    explain = ["streamwitness", "show", worth["stream"][:digits], *asked.place]
    lines.append(style.plain(f"Explain one: {shlex.join(explain)}"))
    if page["next"]:
        more = ["streamwitness", "streams", *asked.narrowed, *asked.page, *asked.place, "--cursor", page["next"]]
        lines.append(style.plain(f"More: {shlex.join(more)}"))
    return "\n".join(lines)


def _texts(row: Row, digits: int, now: int) -> tuple[str, ...]:
    sent, used = ("?" if row[name] is None else str(row[name]) for name in ("sent", "used"))
    said = [row["short"] or "", _sure(row), _OPEN.get(row["state"], "")]
    return (
        row["stream"][:digits],
        _age(now - row["first_received_ns"]),
        row["client"] or "",
        f"{sent}→{used}" if (sent, used) != ("?", "?") else "",
        row["ending"] or "",
        row["integrity"] or "",
        "  ".join(word for word in said if word),
    )


def _sure(row: Row) -> str:
    """How sure its findings are, else who ended it; an integrity says that by itself."""
    if row["confidence"]:
        return confidence_word(row["confidence"])
    whole = str(row["short"] or "").endswith(str(row["integrity"]))
    return "proven" if row.get("ended_by") and not whole else ""


def _line(style: Style, text: Sequence[str], widths: Sequence[int]) -> str:
    cells = [f"{style.plain(cell):<{width}}" for cell, width in zip(text, widths, strict=True)]
    return "  ".join(cells).rstrip()


def _age(nanoseconds: int) -> str:
    seconds = max(0, nanoseconds // NANOSECONDS)
    return next((f"{seconds // size}{unit}" for size, unit in _UNITS if seconds >= size), "0s")


def _digits(ids: Sequence[str]) -> int:
    """As many digits as tell these ids apart."""
    wanted = len(set(ids))
    return next((n for n in range(_SHORTEST, 32) if len({id_[:n] for id_ in ids}) == wanted), 32)
