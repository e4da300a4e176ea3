"""headers.py: what we write we read again; what others write never hurts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness import headers

STREAM, EXCHANGE = "ab" * 16, "cd" * 8


def test_request_round_trip():
    """A request header carries the proposed id and the points."""
    value = headers.format_request(STREAM, ("wire", "parsed"))
    assert headers.parse_request(value) == headers.RequestHeader(STREAM, ("wire", "parsed"))


def test_response_round_trip():
    """A response header carries stream, exchange, hop and whether it is sampled."""
    value = headers.format_response(STREAM, EXCHANGE, 1, sampled=False)
    assert headers.parse_response(value) == headers.ResponseHeader(STREAM, EXCHANGE, 1, sampled=False)


def test_what_a_client_asks_for_and_is_told_round_trips():
    """Stamps, a continued stream, one that could not be, a key that nobody would take off."""
    value = headers.format_request(STREAM, (), "field", key=False)
    assert headers.parse_request(value) == headers.RequestHeader(STREAM, (), "field", key=False)
    value = headers.format_response(STREAM, EXCHANGE, 0, sampled=True, stamp="id", attempt=2, first=12)
    assert headers.parse_response(value) == headers.ResponseHeader(STREAM, EXCHANGE, 0, True, "id", 2, 12)
    value = headers.format_response(STREAM, EXCHANGE, 0, sampled=True, linked="ef" * 16)
    assert headers.parse_response(value) == headers.ResponseHeader(STREAM, EXCHANGE, 0, True, linked="ef" * 16)


def test_words_of_a_later_version_are_none_of_ours():
    """An unknown stamp is none, a number that is none counts as 0, a malformed link is no link."""
    parsed = headers.parse_request(f'v=1, id="{STREAM}", accept-stamp=rune')
    assert parsed == headers.RequestHeader(STREAM, (), "none")
    parsed = headers.parse_response(
        f'v=1, id="{STREAM}", exchange="{EXCHANGE}", stamp=rune, attempt=x, first=-1, linked="no"'
    )
    assert parsed == headers.ResponseHeader(STREAM, EXCHANGE, 0, True)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("3f9a1c07.0", ("3f9a1c07", 0)),
        ("3f9a1c07.12", ("3f9a1c07", 12)),
        ("3f9a1c07.012", None),
        ("3f9a1c07.-1", None),
        ("3f9a1c07.1\n", None),
        ("3F9A1C07.1", None),
        ("3f9a1c0.1", None),
        ("42", None),
        ("", None),
    ],
)
def test_only_event_ids_of_ours_are_read(value, read):
    """What another server numbered its events with is that server's business."""
    assert headers.parse_event_id(value) == read


@pytest.mark.parametrize(
    "value",
    [
        "",
        'v=2, id="' + STREAM + '"',
        f'v=1, id="{STREAM[:-1]}"',
        f'v=1, id="{STREAM.upper()}"',
        f'v=1, id="{STREAM}',
        f'v=1 id="{STREAM}"',
        f'v=1, id="{STREAM}"' + " " * 2000,
        "\N{SNOWMAN}",
    ],
)
def test_malformed_requests_are_none(value):
    """A header that is malformed, too long, of another version or without a well-formed id is ignored whole."""
    assert headers.parse_request(value) is None


def test_points_are_put_in_path_order_and_unknown_ones_dropped():
    """Announced points are those that we know, in path order."""
    parsed = headers.parse_request(f'v=1, id="{STREAM}", points=(parsed nonsense wire);x=1')
    assert parsed == headers.RequestHeader(STREAM, ("wire", "parsed"))


def test_a_key_is_sixteen_bytes_in_hex():
    """Anything else is no key, and digests are then not made."""
    assert headers.parse_key("ab" * 16) == b"\xab" * 16
    assert [headers.parse_key(value) for value in ("", "ab" * 15, "ab" * 17, "xy" * 16)] == [None] * 4


@given(st.text(max_size=300))
def test_garbage_never_raises(value):
    """Any text is a header or None."""
    headers.parse_request(value)
    headers.parse_response(value)
    headers.parse_key(value)
