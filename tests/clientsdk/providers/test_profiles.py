"""What holds for every profile: its vectors in every form, events of any shape, any bytes, bounded memory."""

from __future__ import annotations

import json
import tracemalloc
import types
import typing
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamwitness import semconv as sc
from streamwitness.events import Reading
from streamwitness.framing import SSEFramer
from streamwitness.providers import PROFILES, Profile, Unreadable, profile
from streamwitness.providers.shapes import Shape
from tests.clientsdk.providers.vectors import end, reading, state, streams

STREAMS = [pytest.param(name, stream, id=place) for name, place, stream in streams()]
SHAPES: dict[str, Shape[Any]] = {
    name: made.shape for name in PROFILES if (made := PROFILES[name]) and hasattr(made, "shape")
}
HUGE = 10**4299


def _from_raw(profile: Profile, event: dict[str, Any]) -> Reading:
    return profile.read(event.get("name", "").encode(), event["data"].encode())


def _from_text(profile: Profile, event: dict[str, Any]) -> Reading:
    return profile.read_object(SimpleNamespace(data=event["data"], event=event.get("name")))


def _from_decoded(profile: Profile, event: dict[str, Any]) -> Reading:
    try:
        value = json.loads(event["data"])
    except ValueError:
        return _from_text(profile, event)
    under_its_name = profile.name == "bedrock" and event.get("name")  # as boto3 unwraps a message
    return profile.read_object({event["name"]: value} if under_its_name else value)


@pytest.mark.parametrize(("name", "stream"), STREAMS)
def test_a_vector_reads_as_it_says(name: str, stream: dict[str, Any]) -> None:
    """Bytes, a server-sent event object and the decoded value of each event give what its vector says."""
    for read in (_from_raw, _from_text, _from_decoded):
        made = profile(name)
        for event in stream["events"]:
            assert read(made, event) == reading(event), read
            if "sequence" in event:
                assert made.sequence == event["sequence"], read
        assert state(made) == end(stream), read


@pytest.mark.parametrize("stream", [pytest.param(p.values[1], id=p.id) for p in STREAMS if "body" in p.values[1]])
def test_a_body_holds_the_events_of_its_vector(stream: dict[str, Any]) -> None:
    """Comments, field lines that the standard ignores, spaces left out: framing, and no events."""
    frames = SSEFramer().feed(stream["body"].encode())

    assert [frame.data.decode() for frame in frames] == [event["data"] for event in stream["events"]]


def test_every_profile_has_vectors() -> None:
    """A profile without samples of its provider is a guess."""
    assert {name for name, _, _ in streams()} == set(PROFILES)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_has_all_that_a_recorder_asks(name: str) -> None:
    """Fresh, it knows nothing, and claims no answer."""
    made = profile(name)

    assert made.name == name
    assert made is not profile(name)
    assert made.delivers & sc.TEXT
    assert state(made) in [
        {"complete": known, "finish_reasons": (), "model": None, "response_id": None, "usage": (None, None)}
        for known in (False, None)
    ]
    assert made.sequence is None


# --------------------------------------------------------------------------- any shape, any bytes

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([HUGE, -(1 << 63), 1 << 64]),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.sampled_from(["stop", "error", "null", "text", "start", "completion", "0/text/0"]),
)


def _values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field with this type, and others."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return st.one_of(*(_values(option) for option in typing.get_args(hint)))
    if typing.get_origin(hint) is list:
        return st.lists(_values(typing.get_args(hint)[0]), max_size=3) | SCALARS
    if typing.get_origin(hint) is dict:
        return st.dictionaries(st.text(max_size=2), SCALARS, max_size=2) | SCALARS
    if hasattr(hint, "__struct_fields__"):
        return _objects(hint) | SCALARS
    return SCALARS


def _objects(struct: Any) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(struct)
    names = zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
    return st.fixed_dictionaries({}, optional={sent: _values(hints[own]) for sent, own in names} | {"x": SCALARS})


EVENTS = {name: st.lists(_objects(shape._struct), max_size=4) for name, shape in SHAPES.items()}


@pytest.mark.parametrize("name", SHAPES)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_fields_of_any_type_read_alike_from_bytes_and_dict(name: str, data: st.DataObject) -> None:
    """Whatever a server puts into the fields, both ways of reading give the same, and never an exception."""
    wire, parsed = profile(name), profile(name)
    for event in data.draw(EVENTS[name]):
        raw = json.dumps(event).encode()
        assert wire.read(b"", raw) == parsed.read_object(json.loads(raw))
        assert all(number is None or 0 <= number < 1 << 63 for number in (*wire.usage, wire.sequence))

    assert state(wire) == state(parsed)


@pytest.mark.parametrize("name", SHAPES)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_the_fast_and_the_lenient_way_agree(name: str, data: st.DataObject) -> None:
    """Where the fields have the documented types, both ways make the same of them."""
    for event in data.draw(EVENTS[name]):
        raw = json.dumps(event).encode()
        try:
            fast = SHAPES[name].decode(raw)
        except ValueError:
            continue
        assert SHAPES[name].lenient(json.loads(raw)) == fast


@pytest.mark.parametrize("name", PROFILES)
@settings(deadline=None, max_examples=50)
@given(event_name=st.binary(max_size=9), data=st.binary() | st.text().map(str.encode))
@example(event_name=b"", data=b"9" * 5000)
@example(event_name=b"", data=b'{"x":' + b"9" * 5000 + b"}")
@example(event_name=b"", data=b"\xff")
def test_any_bytes_give_a_reading(name: str, event_name: bytes, data: bytes) -> None:
    """Nothing that a provider sends raises, here or in detection."""
    assert profile(name).read(event_name, data).parts
    PROFILES[name].matches("/x", "text/event-stream", data)


def _odd(event: dict[str, Any], name: str) -> bytes:
    """One field of a vector's event replaced by something that few expect."""
    deep = "[" * 100_000 + "]" * 100_000
    odd = {"deep": deep, "twice": '1,"x":2', "surrogate": '"\\ud800"', "nan": "NaN", "huge": "9" * 4000}[name]
    return (event["data"][:-1] + f',"x":{odd}}}').encode()


@pytest.mark.parametrize("oddity", ["deep", "twice", "surrogate", "nan", "huge"])
@pytest.mark.parametrize("name", [name for name in PROFILES if name != "generic"])
def test_an_odd_field_that_nobody_reads_changes_nothing_or_is_malformed(name: str, oddity: str) -> None:
    """Beside the fields that are read, anything may stand; what no reader can decode is malformed as a whole."""
    for found, _, stream in streams():
        for event in stream["events"] if found == name else ():
            if event["data"].startswith('{"'):
                fresh = profile(name).read(b"", event["data"].encode())
                assert profile(name).read(b"", _odd(event, oddity)) in (fresh, Reading(sc.MALFORMED))


@pytest.mark.parametrize("name", SHAPES)
def test_half_a_surrogate_pair_and_invalid_utf8_read_alike_everywhere(name: str) -> None:
    """JSON may carry half a pair, and bytes that are no UTF-8 become U+FFFD, as in every client."""
    for found, _, stream in streams():
        for event in stream["events"] if found == name else ():
            for put in (b"\\ud83d", b"\xff\xe2"):
                raw = event["data"].encode().replace(b"The", b"T" + put)
                try:
                    value = json.loads(raw.decode("utf-8", "replace"))
                except ValueError:
                    continue
                assert profile(name).read(b"", raw) == profile(name).read_object(value)


@pytest.mark.parametrize("name", PROFILES)
def test_memory_is_bounded_whatever_is_sent(name: str) -> None:
    """The same answers, over and over and with other numbers, leave no more behind than a few of them."""
    made = profile(name)
    events = [event["data"].encode() for found, _, stream in streams() if found == name for event in stream["events"]]
    events = events[:: len(events) // 60 + 1]

    def run(turns: range) -> int:
        tracemalloc.start()
        for turn in turns:
            for data in events:
                made.read(b"", data.replace(b'"index":0', b'"index":%d' % turn).replace(b'"m1"', b'"m%d"' % turn))
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size

    run(range(200))
    assert run(range(200, 260)) < 200_000


@pytest.mark.parametrize("obj", [object(), SimpleNamespace(q=1), {1, 2}, (1,), Reading])
@pytest.mark.parametrize("name", PROFILES)
def test_an_object_of_unknown_shape_is_refused_not_read_as_nothing(name: str, obj: object) -> None:
    """To record nothing for it would look like a loss."""
    with pytest.raises(Unreadable, match="cannot read an event from "):
        profile(name).read_object(obj)
