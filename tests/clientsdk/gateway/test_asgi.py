"""Headers of a response: ours in, foreign ones of ours out, everything else as it was."""

from __future__ import annotations

from streamwitness.gateway.asgi import announced, stripped, value_of
from streamwitness.headers import parse_response
from streamwitness.witness import Identity

IDENTITY = Identity.new()


def test_the_identity_is_added_behind_the_headers_of_the_app() -> None:
    """A client finds stream, exchange and sampling in the response header; the key is not there unasked."""
    head = announced([(b"x-a", b"1")], IDENTITY, with_key=False, cross_origin=False)
    assert head[0] == (b"x-a", b"1")
    assert [name for name, _ in head] == [b"x-a", b"stream-witness"]
    header = parse_response(head[1][1].decode())
    assert header is not None
    assert (header.id, header.exchange, header.sampled) == (IDENTITY.stream, IDENTITY.exchange, True)


def test_the_key_goes_in_a_header_of_its_own() -> None:
    """A client that announced itself is told the key as hex digits."""
    head = dict(announced([], IDENTITY, with_key=True, cross_origin=False))
    assert bytes.fromhex(head[b"stream-witness-key"].decode()) == IDENTITY.key


def test_both_headers_are_exposed_where_the_response_is_for_another_origin() -> None:
    """The names join an existing list, whatever its case, and are not repeated."""
    cors = [(b"Access-Control-Allow-Origin", b"*"), (b"Access-Control-Expose-Headers", b"x-a, Stream-Witness")]
    head = dict(announced(cors, IDENTITY, with_key=True, cross_origin=False))
    assert head[b"access-control-expose-headers"] == b"x-a, Stream-Witness, stream-witness-key"
    assert b"Access-Control-Expose-Headers" not in head


def test_a_cors_middleware_outside_is_provided_for() -> None:
    """A request of another origin has the names exposed before the CORS middleware adds its own headers."""
    head = dict(announced([], IDENTITY, with_key=False, cross_origin=True))
    assert head[b"access-control-expose-headers"] == b"stream-witness"


def test_without_cors_nothing_is_exposed() -> None:
    """A response for its own origin gets no CORS header."""
    head = dict(announced([(b"x-a", b"1")], IDENTITY, with_key=True, cross_origin=False))
    assert b"access-control-expose-headers" not in head


def test_headers_that_a_proxy_re_exposed_are_stripped() -> None:
    """Whatever their case: the key of an upstream is none of our clients' business."""
    headers = [(b"Stream-Witness", b"v=1"), (b"x-a", b"1"), (b"STREAM-WITNESS-KEY", b"00")]
    assert stripped(headers) == [(b"x-a", b"1")]


def test_repeated_headers_are_joined() -> None:
    """As RFC 9110 §5.3 reads them."""
    assert value_of([(b"A", b"1"), (b"b", b"2"), (b"a", b"3")], b"a") == "1, 3"
