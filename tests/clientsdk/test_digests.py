"""digests.py: the byte layout that every language must reproduce, and that nothing collides by concatenation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamwitness.digests import Contents, Digester
from streamwitness.events import Piece

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
