"""Markdown as the documentation tests need it: code blocks, links, generated parts, rows of tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_GENERATED: Final = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def files() -> list[Path]:
    """Every Markdown file of the repository."""
    hidden = (path for path in ROOT.rglob("*.md") if not any(part.startswith(".") for part in path.parts))
    return sorted(path for path in hidden if path.relative_to(ROOT).parts[0] not in ("build", "dist"))


def code(text: str, language: str) -> list[str]:
    """The contents of the fenced blocks in a language."""
    return [body for found, body in _FENCE.findall(text) if found == language]


def links(text: str) -> list[str]:
    """Targets of the links outside code."""
    return _LINK.findall(_FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives the headings."""
    titles = _HEADING.findall(_FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def generated(text: str) -> dict[str, str]:
    """The parts between `<!-- generated: name -->` and `<!-- end -->`."""
    return {name: body for _, name, body, _ in _GENERATED.findall(text)}


def renewed(text: str, parts: dict[str, str]) -> str:
    """The text with its generated parts replaced."""
    return _GENERATED.sub(lambda found: found[1] + parts[found[2]] + found[4], text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; `|` in a cell is escaped."""
    return "\n".join(_lines(head, rows)) + "\n"


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def ticks(words: Iterable[str]) -> str:
    """Words as code, separated by commas."""
    return ", ".join(f"`{word}`" for word in words)
