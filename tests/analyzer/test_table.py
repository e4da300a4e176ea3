"""The table of streams: golden texts."""

from __future__ import annotations

from typing import Any

from streamwitness_analyzer.style import Style
from streamwitness_analyzer.table import Asked, render
from tests.analyzer.kit import SECOND, START


def row(stream: str, **changes: Any) -> dict[str, Any]:
    values = {
        "stream": stream.ljust(32, "0"), "state": "settled", "revision": 1, "ending": "completed", "group": "ok",
        "integrity": "intact", "confidence": None, "short": "completed, intact", "client": "openai", "sent": 15,
        "used": 15, "first_received_ns": START,
    }  # fmt: skip
    return values | changes


def test_a_page() -> None:
    """What happened to each, how sure that is, and how to go on."""
    rows = [
        row("3fa1"),
        row("71c0", integrity="damaged", confidence="certain", short="PARSER lost event 12", client="httpx", used=14),
        row("9b2e", state="provisional", integrity="unproven", used=None, short="cut at the source after 8"),
        row("c418", state="open", ending=None, integrity=None, short=None, client=None, sent=None, used=None),
    ]
    assert render({"streams": rows, "next": "abc"}, Style(), START + 125 * SECOND) == (
        """\
ID        AGE  CLIENT  SENT→USED  ENDING     INTEGRITY  VERDICT
3fa10000  2m   openai  15→15      completed  intact     completed, intact
71c00000  2m   httpx   15→14      completed  damaged    PARSER lost event 12  proven
9b2e0000  2m   openai  15→?       completed  unproven   cut at the source after 8  provisional
c4180000  2m                                            still running
Explain one: streamwitness show 71c00000
More: streamwitness streams --cursor abc"""
    )


def test_an_ending_that_somebody_made_is_told_how_sure_it_is() -> None:
    """One that nobody is known to have made claims nothing, and an integrity says it by itself."""
    rows = [
        row("3fa1", ending="upstream_truncated", ended_by="source", short="SOURCE cut after event 8"),
        row("71c0", ending="network_lost", ended_by=None, short="the connection broke after event 8"),
        row("9b2e", ending="client_cancelled", ended_by="client", short="cancelled by the client, intact"),
    ]
    _, *listed, _ = render({"streams": rows, "next": None}, Style(), START).splitlines()
    assert [line.endswith("  proven") for line in listed] == [True, False, False]


def test_the_next_command_asks_the_same_place() -> None:
    """Whole, so that it can be pasted: with the database, the filters and the length of a page."""
    asked = Asked(["--database", "a b.db"], ["--integrity", "damaged"], ["--limit", "1"])
    *_, explain, more = render({"streams": [row("3fa1")], "next": "x"}, Style(), START, asked).splitlines()
    assert explain == "Explain one: streamwitness show 3fa10000 --database 'a b.db'"
    assert more == "More: streamwitness streams --integrity damaged --limit 1 --database 'a b.db' --cursor x"


def test_filters_that_match_none_are_named() -> None:
    """A full database of which none fits is not told to be empty."""
    said = render({"streams": [], "next": None}, Style(), START, Asked(narrowed=["--state", "corrected"]))
    assert said == "No stream matches --state corrected; without that there may be some."


def test_an_empty_page_says_what_to_do() -> None:
    """Instead of a bare head."""
    assert "streamwitness demo" in render({"streams": [], "next": None}, Style(), START)


def test_ids_are_as_long_as_it_takes_to_tell_them_apart() -> None:
    """So that each can be given to `show`."""
    text = render({"streams": [row("0" * 11 + "1"), row("0" * 11 + "2")], "next": None}, Style(), START)
    assert "000000000001  " in text


def test_labels_cannot_play_with_the_terminal() -> None:
    """What a client sent is shown, not obeyed."""
    text = render({"streams": [row("1", client="\x1b[2J\n")], "next": None}, Style(), START)
    assert "\x1b" not in text
    assert len(text.splitlines()) == 3
