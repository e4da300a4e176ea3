"""What docs/providers.md and docs/envelope.md say of the profiles, from their tables and their files' first lines."""

from __future__ import annotations

import importlib
import re
import textwrap
from collections.abc import Iterator
from typing import Final

from streamwitness.envelope import PROBLEMS
from streamwitness.providers import KNOWN, PROFILES
from streamwitness.providers.envelope import ASIDE, CONTENT, KINDS, TRANSITIONS
from tests.docs.markdown import table, ticks

_RULE: Final = re.compile(r"[Cc]omplete when|[Cc]ompletion is unknown")
_SENTENCE: Final = re.compile(r"(?<=[.:;])\s+(?=[A-Z`])")
_FIRST: Final = {
    "vllm_raw": "and a first line of nothing but texts",
    "ollama": "in NDJSON",
    "tgi_raw": "not below Triton's models",
    "anthropic": "of Anthropic's models",
}
"""What else must be seen where a path alone is not telling."""


def profiles() -> str:
    """Every profile: what it reads, by which paths it is found, and whether the provider numbers its events."""
    return table(("profile", "reads", "found by the path", "by the first event", "numbered"), map(_row, KNOWN))


def _row(name: str) -> tuple[str, ...]:
    known, made = KNOWN[name], PROFILES[name]
    paths = ticks(f"…{path}" for path in known.paths if path)
    also = f" {_FIRST[name]}" if name in _FIRST and paths else ""
    by_event = "by name only" if not known.paths and not known.marks else "yes" if known.marks else "–"
    if name == "generic":
        by_event = "whatever no other claims"
    return f"`{name}`", _paragraphs(name)[0], paths + also or "–", by_event, "yes" if made.numbered else "–"


def details() -> str:
    """Of every profile: what an event is read as, when a response is complete, what is not understood."""
    return "\n".join(_detail(name) for name in KNOWN if name != "dashscope_delta")


def _detail(name: str) -> str:
    heading = "`dashscope`, `dashscope_delta`" if name == "dashscope" else f"`{name}`"
    listing = textwrap.dedent("\n".join(_listing(name)))
    return (
        f"### {heading}\n\n{_paragraphs(name)[0]}\n\n```text\n{listing}\n```\n\n"
        f"- **Complete:** {rule(name).removeprefix('Complete ')}\n- **Not understood:** {missing(name)}\n"
    )


def rule(name: str) -> str:
    """The sentence about completion in a profile's file."""
    for paragraph in _paragraphs(name):
        for sentence in _SENTENCE.split(paragraph):
            if _RULE.search(sentence):
                return sentence[:1].upper() + sentence[1:]
    raise LookupError(f"{name} does not say when a response is complete")


def missing(name: str) -> str:
    """The paragraph about what is not understood, without its source."""
    for paragraph in _paragraphs(name):
        if paragraph.startswith("Not understood"):
            return paragraph.partition(": ")[2].partition(" Source: ")[0]
    raise LookupError(f"{name} does not say what is not understood")


def _text(name: str) -> str:
    module = importlib.import_module(PROFILES[name].__module__)
    return module.__doc__ or ""


def _paragraphs(name: str) -> list[str]:
    """Prose of a profile's file, each paragraph in one line."""
    parts = (part for part in _text(name).strip().split("\n\n") if not part.startswith("    "))
    return [" ".join(part.split()) for part in parts]


def _listing(name: str) -> Iterator[str]:
    """The indented table of a profile's file."""
    for part in _text(name).split("\n\n"):
        if part.startswith("    "):
            yield from part.rstrip().splitlines()


def kinds() -> str:
    """Kinds of the envelope: with a text or without, and what may follow."""
    rows = [(f"`{kind}`", _carries(kind), _next(kind)) for kind in KINDS]
    return table(("kind", "has a delta", "may be followed by"), [("(nothing yet)", "–", _next("")), *rows])


def _carries(kind: str) -> str:
    return f"yes, of slot `0/{CONTENT[kind]}/0` or another of the kind `{CONTENT[kind]}`" if kind in CONTENT else "–"


def _next(kind: str) -> str:
    if kind in ASIDE:
        return "whatever might have stood in its place"
    return ticks(TRANSITIONS[kind]) or "nothing"


def problems() -> str:
    """What a reader of the envelope may find."""
    return table(("problem", "meaning"), [(f"`{what}`", meaning) for what, meaning in PROBLEMS.items()])
