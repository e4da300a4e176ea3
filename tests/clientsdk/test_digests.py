"""digests.py: the byte layout that every language must reproduce, and that nothing collides by concatenation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamwitness.digests import Contents, Digester
from streamwitness.events import Piece
from streamwitness.providers import profile

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "digests" / "digests.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["payload"], ids=lambda vector: vector["name"])
def test_payload_vectors(vector):
    """The payload digest of each shared vector."""
    digester = Digester(bytes.fromhex(VECTORS["key"]))
    assert digester.payload(vector["event"].encode(), vector["data"].encode()) == vector["digest"]


@pytest.mark.parametrize("vector", VECTORS["semantic"], ids=lambda vector: vector["name"])
def test_semantic_vectors(vector):
    """The semantic digest of each shared vector."""
    pieces = [Piece(p["slot"], p["part"], p["content"].encode(), p["finish"]) for p in vector["pieces"]]
    assert Digester(bytes.fromhex(VECTORS["key"])).semantic(pieces) == vector["digest"]


def test_lengths_keep_fields_apart():
    """Moving a byte from the event name to the data changes the digest."""
    digester = Digester(b"k")
    assert digester.payload(b"ab", b"c") != digester.payload(b"a", b"bc")
    assert digester.semantic([Piece("s", "text", b"ab")]) != digester.semantic(
        [Piece("s", "text", b"a"), Piece("s", "text", b"b")]
    )


def test_slots_beyond_the_bound_are_not_followed():
    """Sixteen slots are followed; a stream with more costs no more memory."""
    contents = Contents(b"k")
    for n in range(40):
        contents.add(f"0/tool/{n}", b"x")
    assert len(contents.slots()) == 16


@pytest.mark.parametrize("cut", [(), (2,), (3,), (1, 2, 3, 4)], ids=str)
@pytest.mark.parametrize(
    "text", ["ab\ud83d\ude00c", "ab\ud83d", "\ude00\ud83d", "ab한\ud83dc", "\ud83d\ud83d\ude00"], ids=ascii
)
@pytest.mark.parametrize("batched", [False, True])
def test_a_character_that_is_told_in_halves(text: str, cut: tuple[int, ...], batched: bool) -> None:
    """Wherever a text is cut, also within a surrogate pair, its whole is the same as in one piece."""
    once, pieces = Contents(b"k"), Contents(b"k")
    once.add(
        "0/text/0",
        text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass").encode("utf-8", "surrogatepass"),
    )
    parts = [text[low:high] for low, high in zip((0, *cut), (*cut, len(text)), strict=True)]
    told = [(Piece("0/text/0", "text", part.encode("utf-8", "surrogatepass")),) for part in parts]
    for batch in [told] if batched else [[each] for each in told]:
        pieces.extend(batch)
    assert pieces.slots() == once.slots()


CALL_AND_END = {
    "ollama": (
        '{"model":"m","message":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}',
        '{"model":"m","message":{"content":""},"done":true,"done_reason":"stop"}',
    ),
    "gemini": (
        '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}',
        '{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}',
    ),
    "openai_chat": (
        '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}}]}',
        '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    ),
}


@pytest.mark.parametrize("name", CALL_AND_END)
def test_a_finish_is_the_same_event_whether_or_not_the_calls_before_it_came(name: str) -> None:
    """Where `stop` behind calls means that tools are wanted, a reader that lost the calls has the finish whole."""
    call, end = (text.encode() for text in CALL_AND_END[name])
    with_calls, without = profile(name), profile(name)
    with_calls.read(b"", call)
    digester = Digester(b"k")
    assert digester.semantic(with_calls.read(b"", end).pieces) == digester.semantic(without.read(b"", end).pieces)
    assert (with_calls.finish_reasons, without.finish_reasons) == (("tool_calls",), ("stop",))


def _call(name: str, number: int) -> bytes:
    """An event that begins the call `f{number}`, as this format says it."""
    function = {"name": f"f{number}", "arguments": {}}
    chat = {"index": number, "id": f"c{number}", "function": function | {"arguments": "{}"}}
    item = {"type": "function_call", "name": f"f{number}"}
    block = {"type": "tool_use", "name": f"f{number}", "input": {}}
    event: dict[str, object] = {
        "openai_chat": {"choices": [{"index": 0, "delta": {"tool_calls": [chat]}}]},
        "anthropic": {"type": "content_block_start", "index": number, "content_block": block},
        "openai_responses": {"type": "response.output_item.added", "output_index": number, "item": item},
        "bedrock": {"contentBlockStart": {"contentBlockIndex": number, "start": {"toolUse": {"name": f"f{number}"}}}},
        "gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"name": f"f{number}", "args": {}}}]}}]},
        "ollama": {"model": "m", "message": {"tool_calls": [{"function": function}]}, "done": False},
    }
    return json.dumps(event[name]).encode()


@pytest.mark.parametrize("name", ["openai_chat", "anthropic", "openai_responses", "bedrock", "gemini", "ollama"])
def test_a_call_is_the_same_event_whether_or_not_the_call_before_it_came(name: str) -> None:
    """A reader that lost the first of two calls has the second one whole; and two calls are not the same."""
    both, second = profile(name), profile(name)
    digester = Digester(b"k")
    first = digester.semantic(both.read(b"", _call(name, 0)).pieces)
    assert digester.semantic(both.read(b"", _call(name, 1)).pieces) == digester.semantic(
        second.read(b"", _call(name, 1)).pieces
    )
    assert digester.semantic(profile(name).read(b"", _call(name, 1)).pieces) != first


def test_which_choice_a_call_is_of_is_digested() -> None:
    """Only the number of a call is left out: choices are numbered by the provider, and other slots have but one."""
    digester = Digester(b"k")
    slots = ("0/tool/0", "1/tool/0", "0/text/0", "0/text/1")
    assert len({digester.semantic([Piece(slot, "tool_args", b"{}")]) for slot in slots}) == len(slots)
