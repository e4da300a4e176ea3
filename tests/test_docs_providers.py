"""What the documentation says of providers and of the envelope is what the code does."""

from __future__ import annotations

import re

import pytest

from streamwitness.envelope import PROBLEMS, Reader
from streamwitness.providers import PROFILES
from streamwitness.providers.envelope import KINDS, SHAPE, TRANSITIONS
from tests.docs import markdown, profiles
from tests.docs.markdown import ROOT

PROVIDERS = (ROOT / "docs" / "providers.md").read_text()
ENVELOPE = (ROOT / "docs" / "envelope.md").read_text()


@pytest.mark.parametrize("name", PROFILES)
def test_each_profile_says_what_it_reads_when_an_answer_is_whole_and_what_it_leaves_out(name: str) -> None:
    """In the first lines of its file, from where the documentation has them."""
    assert profiles.rule(name)
    assert profiles.missing(name)
    assert f"`{name}`" in PROVIDERS


def test_every_field_of_the_envelope_is_described() -> None:
    """The table of fields has all of them and no others."""
    section = ENVELOPE.partition("## An event")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]

    assert {field for row in rows for field in re.findall(r"`(\w+)`", row)} == SHAPE.names


def test_the_documented_stream_is_a_whole_answer() -> None:
    """The example on the page is one that its reader accepts."""
    (body,) = (text for text in markdown.code(ENVELOPE, "text") if text.startswith("data: "))
    reader = Reader()
    deltas = reader.feed(body.encode()) + reader.finish()

    assert (reader.complete, reader.problems) == (True, [])
    assert [(delta.text, delta.upstream) for delta in deltas] == [("The", "c1"), (" sky", "c2")]


def test_the_documented_code_runs() -> None:
    """The first Python block of the page, as it stands; the others are parts of a program."""
    block, *others = markdown.code(ENVELOPE, "python")
    exec(compile(block, "docs/envelope.md", "exec"), {})
    for other in others:
        compile(other, "docs/envelope.md", "exec")


def test_the_table_of_kinds_is_total() -> None:
    """Every kind has its row, every successor is a kind, and all problems are described."""
    assert set(KINDS) >= {kind for row in TRANSITIONS.values() for kind in row}
    assert set(KINDS) >= set(TRANSITIONS) - {""}
    assert all(f"`{what}`" in ENVELOPE for what in PROBLEMS)
