"""How text is dressed for where it goes: colour, width, and glyphs that the terminal can show. Pure."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Final

_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}

_GLYPHS: Final = {
    "o": ("●", "o"),
    "F": ("◆", "#"),
    "x": ("✗", "X"),
    "m": ("↷", "m"),
    "c": ("●", "o"),
    "r": ("○", "r"),
    "u": ("·", "."),
    "e": ("∅", "0"),
    "?": ("?", "?"),
    "+": ("+", "+"),
    "~": ("≠", "*"),
    "…": ("…", "~"),
    "→": ("→", ">"),
    "–": ("–", "-"),
}
"""A cell of the verdict document → what stands in the picture, and where only ASCII can be shown."""

_CELL_COLOURS: Final = {
    "x": "red",
    "m": "yellow",
    "+": "red",
    "~": "red",
    "?": "yellow",
    "r": "yellow",
    "e": "yellow",
    "u": "dim",
}


@dataclass(frozen=True, slots=True)
class Style:
    """Where text goes; `width` in columns."""

    colour: bool = False
    width: int = 100
    ascii: bool = False

    def dress(self, text: str, *names: str) -> str:
        """The text in these colours, or as it is where there are none."""
        if not self.colour or not names or not text:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"

    def glyph(self, cell: str) -> str:
        """The picture of one cell, without colour; an unknown one stands for itself."""
        return _GLYPHS.get(cell, (cell, cell))[self.ascii]

    def cells(self, cells: str) -> str:
        """The picture of a row of cells."""
        out: list[str] = []
        for cell in cells:
            names = (_CELL_COLOURS[cell],) if cell in _CELL_COLOURS else ()
            out.append(self.dress(self.glyph(cell), *names))
        return "".join(out)

    def plain(self, text: str) -> str:
        """Text as this place can show it: no control characters, and ASCII where it must be."""
        clean = "".join(char if char.isprintable() else "�" for char in text)
        for glyph, plain in _GLYPHS.values():
            clean = clean.replace(glyph, plain) if self.ascii else clean
        return clean.encode("ascii", "replace").decode() if self.ascii else clean

    def wrap(self, text: str, first: str = "", rest: str = "") -> list[str]:
        """Lines no wider than the place; `first` stands before the first, `rest` before the others."""
        width = max(40, self.width)
        return textwrap.wrap(
            self.plain(text), width, initial_indent=first, subsequent_indent=rest, break_long_words=False
        ) or [first.rstrip()]
