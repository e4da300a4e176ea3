"""The picture: columns under their positions, elision, and notes beside a row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness_analyzer.picture import draw
from streamwitness_analyzer.style import Style


def point(cells: str, **changes: Any) -> dict[str, Any]:
    values = {"label": "gateway out", "events": len(cells), "cells": cells, "end": "eof", "held": "full"}
    return values | changes


def test_no_points_no_picture() -> None:
    """Nothing to draw."""
    assert draw([], Style()) == []


def test_the_ruler_stands_over_its_columns() -> None:
    """Each number begins where its event is."""
    ruler, row = draw([point("o" * 35)], Style())
    start = row.index("●")
    for position in (0, 10, 20, 30):
        assert ruler[start + position :].startswith(str(position))


@pytest.mark.parametrize("at", [0, 40, 250, 499])
def test_the_fault_is_shown_under_its_position(at: int) -> None:
    """However long the stream, and wherever it is: the nearest number on the ruler leads to the column."""
    cells = "o" * at + "x" + "o" * (499 - at)
    ruler, row, legend = draw([point(cells)], Style(width=80))
    assert legend.strip() == "✗ not there"
    assert len(row) <= 80
    column = row.index("✗")
    number = next(word for word in ruler.split() if abs(int(word) - at) <= 10)
    assert column - ruler.index(number) == at - int(number)


def test_a_long_stream_without_fault_shows_its_end() -> None:
    """There is where something can have happened."""
    row = draw([point("o" * 499 + "F")], Style(width=60))[1]
    assert row.endswith("●◆")


def test_a_long_stream_without_fault_shows_where_a_reader_stopped() -> None:
    """All that follows is unread, and the end says nothing of where that began."""
    rows = draw([point("o" * 499 + "F"), point("o" * 200 + "u" * 300)], Style(width=80))[1:3]
    assert "●●●···" in rows[1]


def test_a_shorter_row_has_no_ellipsis_behind() -> None:
    """A point that saw less simply ends."""
    rows = draw([point("o" * 300), point("o" * 40 + "x", events=40)], Style(width=80))[1:]
    assert rows[0].endswith("…")
    assert not rows[1].endswith("…")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"end": "reset"}, "connection reset"),
        ({"end": "disconnected"}, "reader gone"),
        ({"end": "eof", "held": "partial"}, "records missing"),
        ({"end": None, "held": "none", "cells": "", "events": 0}, "no record"),
        ({"end": "stopped_at_terminal"}, "●●"),
    ],
)
def test_what_is_worth_a_word(changes: dict[str, Any], said: str) -> None:
    """Unusual ends and incomplete records; an ordinary end says nothing."""
    assert draw([point("oo"), point("oo") | changes], Style())[2].endswith(said)


def test_a_record_that_never_came_has_no_count() -> None:
    """Nobody counted nothing there: 0 would be a statement."""
    row = draw([point("oo"), point("", events=0, end=None, held="none")], Style())[2]
    assert row.split() == ["gateway", "out", "2", "–", "no", "record"]


@given(st.lists(st.text("oFxmcu?+", max_size=200), min_size=1, max_size=6), st.integers(1, 250))
def test_any_cells_can_be_drawn(rows: list[str], width: int) -> None:
    """One line a point, a ruler where there is something to count, and at most a legend."""
    lines = draw([point(cells) for cells in rows], Style(width=width))
    assert len(lines) - len(rows) - any(rows) in (0, 1)


def test_several_rows_of_one_point_are_numbered() -> None:
    """Upstream attempts in the order in which they were made."""
    lines = draw([point("oo"), point("ooo"), point("ooo", label="client received")], Style())
    assert [line.split("  ")[0].strip() for line in lines[1:]] == ["gateway out 1", "gateway out 2", "client received"]


@pytest.mark.parametrize("first", [0, 4, 10, 123])
def test_an_exchange_that_goes_on_is_numbered_on(first: int) -> None:
    """The number over a column is the event's in the stream."""
    ruler, row, *_ = draw([point("o" * 24 + "x", first=first), point("o" * 25, first=first)], Style())
    start = row.index("●")
    for number in ruler.split():
        assert ruler.index(number) - start == int(number) - first
    assert ruler.split()


def test_what_came_more_has_no_number() -> None:
    """The ruler counts the events of the point whose numbers the findings give, not the columns."""
    rows = [point("oooooo     " + "o" * 14, point="ingress"), point("oooooo+++++ooo" + "x" + "o" * 10, point="egress")]
    ruler, row, *_ = draw(rows, Style(), "ingress")
    assert ruler.index("10") - row.index("●") == 15
    ruler, row, *_ = draw(rows, Style())
    assert ruler.index("10") - row.index("●") == 15
    ruler, row, *_ = draw(rows, Style(), "egress")
    assert (ruler.index("10") - row.index("●"), ruler.index("20") - row.index("●")) == (10, 21)


def test_a_refused_event_is_seen_and_not_applied() -> None:
    """It has its own mark, and a word under the picture."""
    _, row, legend = draw([point("ooro")], Style())
    assert row.endswith("●●○●")
    assert legend.strip() == "○ refused by the application"


def test_a_number_is_what_was_used() -> None:
    """Not what an application was told of, and raised at."""
    assert draw([point("ooxo", failed=1)], Style())[1].split()[2] == "3"


def test_an_end_without_a_finish_has_a_word_beside_its_row() -> None:
    """As a connection that broke has; a format that is not known has no finish to miss."""
    rows = [draw([point("ooo", complete=complete)], Style())[1] for complete in (False, True, None)]
    assert [row.endswith("  ended without a finish") for row in rows] == [True, False, False]


def test_an_application_that_had_no_event_is_not_said_to_have_raised() -> None:
    """What it asked did, for all that is known; one that had events did so itself."""
    rows = [draw([point(cells, point="applied", end="raised")], Style())[-1] for cells in ("", "oo")]
    assert [row.split("  ")[-1].strip() for row in rows] == ["ended by an exception", "raised"]
