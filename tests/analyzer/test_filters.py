"""Query parameters: what they mean, and how a wrong one is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness_analyzer.filters import PARAMETERS, FilterError, cursor, parse
from tests.analyzer.kit import SECOND, START, stream_id


def test_nothing_given_is_the_newest_fifty() -> None:
    """No condition, the default limit."""
    chosen = parse([], START)
    assert (dict(chosen.words), chosen.client, chosen.since, chosen.limit, chosen.after) == ({}, None, None, 50, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", START - 90 * SECOND),
        ("15m", START - 900 * SECOND),
        ("2h", START - 7200 * SECOND),
        ("7d", START - 7 * 86400 * SECOND),
        ("2023-11-14T22:13:20+00:00", START),
        ("2023-11-14T22:13:20", START),
        ("2023-11-14T23:13:20+01:00", START),
        ("0001-01-01", 0),
        ("999999d", 0),
    ],
)
def test_since_is_an_age_or_a_time(text: str, expected: int) -> None:
    """A time without a zone is UTC."""
    assert parse([("since", text)], START).since == expected


def test_a_cursor_goes_there_and_back() -> None:
    """What the API gave out it takes again."""
    assert parse([("cursor", cursor(START, stream_id(7)))], START).after == (START, stream_id(7))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("endign", "completed", "unknown parameter 'endign'; did you mean 'ending'"),
        ("colour", "red", "unknown parameter 'colour'; known: ending"),
        ("ending", "complete", "ending is 'complete'; did you mean 'completed'"),
        ("component", "gateway,browser", "component is 'browser'; known: source, gateway"),
        ("limit", "0", "limit is '0'; give 1 to 500"),
        ("limit", "501", "limit is '501'"),
        ("limit", "٣", "limit is"),
        ("since", "yesterday", "since is 'yesterday'; give an age"),
        ("since", "2023-99-99", "since is"),
        ("cursor", "###", "cursor is not one"),
        ("cursor", "YWJj", "cursor is not one"),
        ("client", "", "client must be 1 to 128"),
        ("client", "a\x00", "client must be 1 to 128"),
    ],
)
def test_a_wrong_parameter_is_named(name: str, value: str, said: str) -> None:
    """With what is possible, or the nearest known one."""
    with pytest.raises(FilterError) as error:
        parse([(name, value)], START)
    assert said in str(error.value)


def test_a_parameter_stands_once() -> None:
    """Two would leave open which one counts."""
    with pytest.raises(FilterError, match="state stands twice"):
        parse([("state", "open"), ("state", "settled")], START)


@given(st.sampled_from(PARAMETERS), st.text(max_size=40))
def test_any_text_is_a_filter_or_our_error(name: str, value: str) -> None:
    """No parameter reaches the database unchecked."""
    try:
        chosen = parse([(name, value)], START)
    except FilterError:
        return
    assert chosen.limit <= 500
    assert chosen.since is None or 0 <= chosen.since < 1 << 63
