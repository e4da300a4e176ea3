"""The generic profile: opaque events that still compare between the bytes and what an application decoded."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamwitness import semconv as sc
from streamwitness.events import Piece, Reading
from streamwitness.providers import Unreadable
from streamwitness.providers.generic import Generic

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


def _piece(content: bytes) -> Reading:
    return Reading(sc.OTHER, (Piece("0/other/0", "other", content),))


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b'{"b": 1, "a": [1.50, true, null]}', b'{"a":[1.5,true,null],"b":1}'),
        (b'{"k":"\\u00fc"}', '{"k":"ü"}'.encode()),
        (b"[1, 2]", b"[1,2]"),
        (b"5", b"5"),
        (b"plain text", b"plain text"),
        (b'"a string"', b"a string"),
        (b'"{\\"a\\": 1}"', b'{"a":1}'),
        (b'{"a":', b'{"a":'),
        (b"\xff", b"\xef\xbf\xbd"),
        (b'{"k":"\\ud800", "a":[1]}', b'{"a":[1],"k":"\xed\xa0\x80"}'),
    ],
)
def test_content_is_the_canonical_data_field(data: bytes, content: bytes) -> None:
    """JSON counts in one spelling, anything else as it was sent."""
    assert Generic().read(b"name", data) == _piece(content)


@pytest.mark.parametrize("data", [b"[DONE]", b"[DONE] ", b'"[DONE]"'])
def test_the_common_end_marker_is_terminal_and_no_content(data: bytes) -> None:
    """Most readers keep `[DONE]` to themselves: counted as content, it would look lost."""
    assert Generic().read(b"", data) == Reading(sc.TERMINAL)


@pytest.mark.parametrize("data", [b"", b'""'])
def test_an_empty_event_has_no_content(data: bytes) -> None:
    """Nothing was in it that could be lost."""
    assert Generic().read(b"", data) == Reading(sc.OTHER)


def test_completion_is_unknown() -> None:
    """No rule of an unknown format is known, so neither yes nor no is said."""
    profile = Generic()
    profile.read(b"", b"[DONE]")

    assert profile.complete is None


@settings(deadline=None)
@given(value=JSON, indent=st.sampled_from([None, 2]), ascii_only=st.booleans())
def test_a_decoded_value_reads_as_the_bytes_it_came_from(value: Any, indent: int | None, ascii_only: bool) -> None:
    """However the JSON was spelled, the event reads the same from bytes, text and the decoded value."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    wire = Generic().read(b"", text.encode("utf-8", "surrogatepass"))

    assert Generic().read_object(json.loads(text)) == wire
    assert Generic().read_object(text) == wire


@settings(deadline=None)
@given(data=st.binary())
def test_raw_data_handed_on_reads_as_on_the_wire(data: bytes) -> None:
    """Arbitrary bytes read alike as bytes and as the text that a client decodes them to, never with an exception."""
    wire = Generic().read(b"", data)

    assert Generic().read_object(data) == wire
    assert Generic().read_object(data.decode("utf-8", "replace")) == wire


def test_a_server_sent_event_object_reads_as_its_data() -> None:
    """An object with data and event is what most SSE libraries hand on."""
    assert Generic().read_object(SimpleNamespace(data='{"b":1,"a":2}', event=None)) == _piece(b'{"a":2,"b":1}')


def test_deep_nesting_is_opaque_never_an_exception() -> None:
    """What no JSON reader can follow is content as it was sent."""
    data = b"[" * 100_000 + b"]" * 100_000

    assert Generic().read(b"", data) == _piece(data)


@pytest.mark.parametrize("obj", [object(), SimpleNamespace(a=1), {"a": object()}, {1, 2}])
def test_an_object_of_unknown_shape_is_refused(obj: object) -> None:
    """Nothing can be said about an event that something unknown was made from."""
    with pytest.raises(Unreadable):
        Generic().read_object(obj)
