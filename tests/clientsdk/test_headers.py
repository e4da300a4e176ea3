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


@given(st.text(max_size=300))
def test_garbage_never_raises(value):
    """Any text is a header or None."""
    headers.parse_request(value)
    headers.parse_response(value)
