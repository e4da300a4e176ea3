"""The Chat Completions profile: vectors of many servers, read from bytes, dicts and the openai package's objects."""

from __future__ import annotations

import json
import math
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamwitness import semconv as sc
from streamwitness.events import Piece, Reading
from streamwitness.framing import SSEFramer
from streamwitness.providers import Unreadable
from streamwitness.providers.openai_chat import FINISHES, OpenAIChat
from streamwitness.providers.openai_chunk import CHUNK as SHAPE

VECTORS = Path(__file__).parents[2] / "vectors" / "openai_chat"


def _streams() -> list[Any]:
    return [
        pytest.param(stream, id=f"{path.stem}/{stream['name']}")
        for path in sorted(VECTORS.glob("*.json"))
        for stream in json.loads(path.read_text())
    ]


def _reading(event: dict[str, Any]) -> Reading:
    pieces = tuple(Piece(slot, part, text.encode(), finish) for slot, part, text, finish in event["pieces"])
    return Reading(sum(sc.PART[name] for name in event["parts"]), pieces)


def _from_raw(profile: OpenAIChat, data: str) -> Reading:
    return profile.read(b"", data.encode())


def _from_dict(profile: OpenAIChat, data: str) -> Reading:
    try:
        return profile.read_object(json.loads(data))
    except ValueError:
        return profile.read_object(data)


def _sdk_object(value: Any) -> Any:
    """What `openai` hands to the application for a decoded chunk."""
    models = import_module("openai._models")
    chat = import_module("openai.types.chat")
    return models.construct_type(type_=chat.ChatCompletionChunk, value=value)


def _from_sdk(profile: OpenAIChat, data: str) -> Reading:
    try:
        value = json.loads(data)
    except ValueError:
        return profile.read_object(data)
    return profile.read_object(_sdk_object(value))


def _state(profile: OpenAIChat) -> dict[str, Any]:
    names = ("complete", "finish_reasons", "model", "response_id", "usage")
    return {name: getattr(profile, name) for name in names}


@pytest.mark.parametrize("stream", _streams())
def test_a_vector_reads_from_the_sdks_object_as_it_says(stream: dict[str, Any]) -> None:
    """The SDK's object of each event gives the parts and pieces of the vector, and the same end."""
    profile = OpenAIChat()

    readings = [_from_sdk(profile, event["data"]) for event in stream["events"]]

    assert readings == [_reading(event) for event in stream["events"]]
    assert _state(profile) == {
        "complete": stream["complete"],
        "finish_reasons": tuple(stream["finish_reasons"]),
        "model": stream["model"],
        "response_id": stream["response_id"],
        "usage": tuple(stream["usage"]),
    }


def test_the_sdk_itself_hands_on_what_was_on_the_wire() -> None:
    """Through the real `openai` client, each chunk that it yields reads as the event it was made from."""
    openai = import_module("openai")
    httpx2 = import_module("httpx2")
    wanted = {"tool-calls", "two-choices", "reasoning", "refusal", "prompt-filter-first", "typed-content", "abort"}
    events = [
        event["data"].encode()
        for parameters in _streams()
        for stream in parameters.values
        if stream["name"] in wanted
        for event in stream["events"]
        if event["data"] != "[DONE]"
    ]
    body = b"".join(b"data: " + data + b"\n\n" for data in (*events, b"[DONE]"))

    def answer(_: object) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    wire, parsed = OpenAIChat(), OpenAIChat()
    with (
        httpx2.Client(transport=httpx2.MockTransport(answer)) as http,
        openai.OpenAI(api_key="none", base_url="http://127.0.0.1", http_client=http) as client,
    ):
        chunks = client.chat.completions.create(model="m", messages=[], stream=True)
        readings = [parsed.read_object(chunk) for chunk in chunks]

    assert readings == [wire.read(b"", data) for data in events]
    assert _state(parsed) == _state(wire)


@pytest.mark.parametrize(
    ("sent", "canonical"), [*FINISHES.items(), *((word.upper(), to) for word, to in FINISHES.items()), ("x", "other")]
)
def test_every_finish_reason_has_a_canonical_one(sent: str, canonical: str) -> None:
    """The table holds in any case of letters; a word that it lacks is `other`; an error is no completion."""
    profile = OpenAIChat()
    reading = profile.read(b"", json.dumps({"choices": [{"delta": {}, "finish_reason": sent}]}).encode())

    assert canonical in sc.FINISH_REASONS
    assert reading.pieces == (Piece("0/finish/0", "finish", b"", canonical),)
    assert reading.parts == sc.FINISH | (sc.ERROR if canonical == "error" else 0)
    assert profile.complete is (canonical != "error")


def test_half_a_surrogate_pair_reads_alike_everywhere() -> None:
    """JSON may carry half a pair, and Python's reader hands it on: it has bytes, the same at every point."""
    delta = r'{"content":"a\ud83d","tool_calls":[{"function":{"arguments":{"k":"\ude00"}}}]}'
    data = '{"choices":[{"index":0,"delta":' + delta + "}]}"
    readings = [read(OpenAIChat(), data) for read in (_from_raw, _from_dict, _from_sdk)]

    assert readings[0].pieces == (
        Piece("0/text/0", "text", b"a\xed\xa0\xbd"),
        Piece("0/tool/0", "tool_args", b'{"k":"\xed\xb8\x80"}'),
    )
    assert readings == [readings[0]] * 3


def test_invalid_utf8_is_replaced_as_the_standard_says() -> None:
    """Malformed bytes become U+FFFD, as in every client that decodes by the standard."""
    reading = OpenAIChat().read(b"", b'{"choices":[{"index":0,"delta":{"content":"a\xff\xe2\x80"}}]}')

    assert reading == Reading(sc.TEXT, (Piece("0/text/0", "text", "a\ufffd\ufffd".encode()),))


@pytest.mark.parametrize("inside", ["%s", '"error":%s', '"choices":[%s]', '"choices":[{"delta":{"content":%s}}]'])
@pytest.mark.parametrize("bracket", ["[]", '{"":}'])
def test_deep_nesting_is_malformed_or_other_never_an_exception(inside: str, bracket: str) -> None:
    """A chunk nested deeper than any reader can follow is data, not an exception."""
    depth = 100_000
    middle = bracket[:-1] * depth + "0" + bracket[-1] * depth
    data = inside % middle if inside == "%s" else "{" + inside % middle + "}"

    assert OpenAIChat().read(b"", data.encode()).parts in (sc.MALFORMED, sc.OTHER)


def test_ids_are_cut() -> None:
    """An id may be as long as an event: as much of it is kept as of every label, whether the call goes by it or not."""
    profile = OpenAIChat()
    long = "x" * 100_000
    for n in range(3):
        calls = [{"id": f"{n}{long}", "function": {"name": "f"}}, {"index": n, "id": f"{n}{long}"}]
        profile.read_object({"id": long, "model": long, "choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
    choice = profile._choices[0]
    assert len(choice._calls) == 6
    kept = [profile.model, profile.response_id, *choice._calls, *(tool.id for tool in choice._calls.values())]
    assert {len(text) for text in kept if isinstance(text, str)} == {256}


def test_memory_is_bounded_whatever_the_provider_numbers() -> None:
    """Endless choices and tool calls are read, but not told apart for ever; completion is then never claimed."""
    profile = OpenAIChat()
    for i in range(3000):
        call = {"index": i, "function": {"name": "f"}}
        choices = [{"index": i, "delta": {"tool_calls": [call]}, "finish_reason": "stop"}]
        choices.append({"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "stop"})
        assert len(profile.read(b"", json.dumps({"model": "m" * 9999, "choices": choices}).encode()).pieces) >= 2

    assert len(profile._choices) == len(profile._choices[0]._calls) == 1024
    assert len(profile.model or "") == 256
    assert profile.complete is False


@pytest.mark.parametrize("obj", [object(), SimpleNamespace(content="text"), {1, 2}, (1,), Reading])
def test_an_object_of_unknown_shape_is_refused_not_read_as_nothing(obj: object) -> None:
    """To record nothing for it would look like a loss."""
    with pytest.raises(Unreadable, match="cannot read an event from "):
        OpenAIChat().read_object(obj)


@pytest.mark.parametrize("data", ['{"choices":[{"index":0,"delta":{"content":"a"}}]}', "[DONE]", "oops"])
def test_a_server_sent_event_object_reads_as_its_data(data: str) -> None:
    """What SSE libraries hand on (an object with data and event) reads as the raw field that it holds."""
    event = SimpleNamespace(data=data, event="message", id="", retry=None)

    assert OpenAIChat().read_object(event) == OpenAIChat().read(b"message", data.encode())


@pytest.mark.parametrize("obj", [bytes, bytearray, memoryview])
def test_the_raw_field_may_be_in_any_buffer(obj: type) -> None:
    """Bytes-like objects are the raw field."""
    assert OpenAIChat().read_object(obj(b"[DONE]")) == Reading(sc.TERMINAL)


# --------------------------------------------------------------------------- properties

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.sampled_from(["", "a", "stop", "error", "null", "assistant", "chat.completion.chunk"]),
)


def _object(**known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with some of these fields, a list of the wrong kind, or something else altogether."""
    return st.fixed_dictionaries({}, optional=known | {"x": SCALARS}) | SCALARS


def _list(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=3) | SCALARS


FUNCTION = _object(name=SCALARS, arguments=SCALARS | st.dictionaries(st.text(max_size=2), SCALARS, max_size=3))
CALL = _object(index=SCALARS | st.integers(0, 2), id=SCALARS, function=FUNCTION)
CONTENT = SCALARS | _list(_object(type=SCALARS, text=SCALARS, thinking=_list(_object(text=SCALARS))))
DELTA = _object(
    role=SCALARS,
    content=CONTENT,
    reasoning_content=SCALARS,
    reasoning=SCALARS,
    refusal=SCALARS,
    tool_calls=_list(CALL),
    function_call=FUNCTION,
)
CHOICE = _object(index=SCALARS | st.integers(0, 2), delta=DELTA, finish_reason=SCALARS)
USAGE = _object(prompt_tokens=SCALARS, completion_tokens=SCALARS)
CHUNK = st.fixed_dictionaries(
    {},
    optional={
        "id": SCALARS,
        "object": SCALARS,
        "model": SCALARS,
        "choices": _list(CHOICE),
        "usage": USAGE,
        "error": SCALARS,
        "x_groq": _object(usage=USAGE, error=SCALARS),
    },
)


@settings(deadline=None)
@given(chunks=st.lists(CHUNK, max_size=4))
def test_fields_of_any_type_read_alike_from_bytes_dict_and_sdk_object(chunks: list[dict[str, Any]]) -> None:
    """Whatever a server puts into the fields, every way of reading gives the same, and never an exception."""
    wire, parsed, sdk = OpenAIChat(), OpenAIChat(), OpenAIChat()
    for chunk in chunks:
        data = json.dumps(chunk).encode()
        reading = wire.read(b"", data)
        assert parsed.read_object(json.loads(data)) == reading
        assert sdk.read_object(_sdk_object(json.loads(data))) == reading

    assert _state(parsed) == _state(wire) == _state(sdk)


FIRST = {"id": "r", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
ODDITIES = st.one_of(
    st.just({}),
    *(
        st.fixed_dictionaries({place: st.fixed_dictionaries({field: values})})
        for place, field, values in (
            ("chunk", "object", SCALARS),
            ("chunk", "usage", USAGE),
            ("chunk", "error", SCALARS),
            ("chunk", "x_groq", SCALARS),
            ("choice", "index", SCALARS | st.integers(0, 1)),
            ("choice", "finish_reason", SCALARS),
            ("choice", "text", SCALARS),
            ("delta", "content", CONTENT),
            ("delta", "role", SCALARS),
            ("delta", "reasoning", SCALARS),
            ("delta", "refusal", SCALARS),
            ("delta", "reasoning_content", SCALARS),
            ("delta", "tool_calls", _list(CALL)),
            ("delta", "function_call", FUNCTION),
            ("delta", "x", SCALARS),
        )
    ),
)
PLAIN = st.builds(
    lambda text, odd: {
        "id": "r", "object": "chat.completion.chunk", "model": "m", **odd.get("chunk", {}),
        "choices": [
            {
                "index": 0, "finish_reason": None, **odd.get("choice", {}),
                "delta": {"content": text, **odd.get("delta", {})},
            }
        ],
    },
    st.sampled_from(["", "a", "b"]),
    ODDITIES,
)  # fmt: skip
"""What could be taken for a chunk that says nothing but a text."""


@settings(deadline=None)
@given(chunks=st.lists(PLAIN, max_size=4))
def test_a_snapshot_says_what_reading_at_once_says(chunks: list[dict[str, Any]]) -> None:
    """A chunk that is only noted when it is handed on reads later as it would have then, and leaves the same state."""
    at_once, later = OpenAIChat(), OpenAIChat()
    for chunk in (FIRST, *chunks):
        noted = _sdk_object(json.loads(json.dumps(chunk)))
        reading = at_once.read_object(json.loads(json.dumps(chunk)))
        said = later.snapshot(noted)
        assert (later.read_object(noted) if said is None else later.read_snapshot(said)) == reading
    assert _state(later) == _state(at_once)


TEXT = FIRST | {"choices": [{"index": 0, "delta": {"content": "a"}}]}


def _alike_behind_a_text(chunks: list[dict[str, Any]]) -> list[Reading]:
    """The readings of these, each behind a mere text, from which the next is guessed; from bytes and dict alike."""
    wire, parsed = OpenAIChat(), OpenAIChat()
    readings = []
    for chunk in (FIRST, *chunks):
        for sent in (TEXT, chunk):
            data = json.dumps(sent).encode()
            readings.append(wire.read(b"", data))
            assert readings[-1] == parsed.read_object(json.loads(data))
    assert _state(wire) == _state(parsed)
    return readings


@settings(deadline=None)
@given(chunks=st.lists(PLAIN, max_size=4))
def test_what_may_look_like_a_mere_text_is_read_whole(chunks: list[dict[str, Any]]) -> None:
    """However a text is guessed to be all that the next chunk says, what else it says is read."""
    _alike_behind_a_text(chunks)


@pytest.mark.parametrize(
    ("place", "more"),
    [
        ("chunk", {"object": "error"}),
        ("chunk", {"usage": {"prompt_tokens": 3}}),
        ("chunk", {"error": {"message": "x"}}),
        ("chunk", {"x_groq": {"error": "x"}}),
        ("chunk", {"x_groq": {"usage": {"prompt_tokens": 3}}}),
        ("choice", {"index": 1}),
        ("choice", {"text": "b"}),
        *(("choice", {"finish_reason": reason}) for reason in ("stop", "error")),
        *(("delta", {field: "b"}) for field in ("role", "reasoning_content", "reasoning", "refusal")),
        ("delta", {"tool_calls": [{"index": 0, "function": {"name": "f"}}]}),
        ("delta", {"function_call": {"arguments": "{"}}),
    ],
)
def test_what_stands_beside_a_text_is_read(place: str, more: dict[str, Any]) -> None:
    """Each field that says something is read behind any number of mere texts."""
    chunk = json.loads(json.dumps(TEXT))
    (choice,) = chunk["choices"]
    {"chunk": chunk, "choice": choice, "delta": choice["delta"]}[place].update(more)
    *_, text, said = _alike_behind_a_text([TEXT, chunk])
    assert text == Reading(sc.TEXT, (Piece("0/text/0", "text", b"a"),))
    assert said != text


def test_ordinary_chunks_have_a_snapshot() -> None:
    """All but the first of an answer's texts are noted; what the application then does with the chunk is its own."""
    profile = OpenAIChat()
    chunk = {"id": "r", "model": "m", "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}
    assert profile.snapshot(_sdk_object(chunk)) is None
    profile.read_object(chunk)
    obj = _sdk_object(chunk)
    said = profile.snapshot(obj)
    obj.choices[0].delta.content = "b"
    assert profile.read_snapshot(said) == Reading(sc.TEXT, (Piece("0/text/0", "text", b"a"),))


@settings(deadline=None)
@given(chunk=CHUNK)
def test_the_fast_and_the_lenient_way_agree(chunk: dict[str, Any]) -> None:
    """Where the fields have the expected types, both ways make the same chunk of them."""
    data = json.dumps(chunk).encode()
    try:
        fast = SHAPE.decode(data)
    except ValueError:
        return

    assert SHAPE.lenient(json.loads(data)) == fast


@settings(deadline=None)
@given(data=st.binary() | st.text().map(str.encode))
@example(data=b"9" * 5000)
@example(data=b'{"x":' + b"9" * 5000 + b"}")
def test_garbage_is_malformed_never_an_exception(data: bytes) -> None:
    """Arbitrary bytes give a reading."""
    assert OpenAIChat().read(b"", data).parts


@settings(deadline=None)
@given(stream=st.sampled_from([p.values[0] for p in _streams()]), cuts=st.lists(st.integers(0, 4000), max_size=9))
def test_how_the_body_is_cut_never_shows(stream: dict[str, Any], cuts: list[int]) -> None:
    """Framed and read in any split, a response gives the readings of its events."""
    events = [event for event in stream["events"] if "\n" not in event["data"]]
    body = b"".join(b"data: " + event["data"].encode() + b"\n\n" for event in events)

    def readings(places: list[int]) -> tuple[list[Reading], dict[str, Any]]:
        framer, profile = SSEFramer(), OpenAIChat()
        pieces = [body[a:b] for a, b in pairwise([0, *sorted(places), len(body)])]
        frames = [frame for piece in pieces for frame in framer.feed(piece)]
        return [profile.read(frame.name, frame.data) for frame in frames], _state(profile)

    whole = readings([])
    assert len(whole[0]) == len(events)
    assert readings([cut for cut in cuts if cut <= len(body)]) == whole
    assert readings(list(range(1, len(body)))) == whole


def test_numbers_that_are_no_integers_are_no_index() -> None:
    """Infinity is a number in some JSON, and no place in a list."""
    choices = [{"index": number} for number in (math.inf, math.nan, 2.5, 2.0)]

    assert [choice.index for choice in SHAPE.lenient({"choices": choices}).choices or ()] == [None, None, None, 2]


@pytest.mark.parametrize(("numbers", "shared"), [((0, 1), 0), ((0, 0), 1), ((None, None), 0)])
def test_calls_that_share_a_number_are_counted(numbers: tuple[int | None, int | None], shared: int) -> None:
    """Each with an id of its own: two calls all the same, which some readers would join by their number."""
    profile = OpenAIChat()
    for place, number in enumerate(numbers):
        call = {"index": number, "id": f"call_{place}", "function": {"name": "look", "arguments": "{}"}}
        profile.read_object({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
        profile.read_object({"choices": [{"index": 0, "delta": {"tool_calls": [{**call, "id": None}]}}]})
    assert profile.shared_numbers == shared
