"""vLLM's demonstration server: whole texts, never taken for deltas, and no rule of completion."""

from __future__ import annotations

import json

from streamwitness import semconv as sc
from streamwitness.framing import FRAMINGS, framing_of
from streamwitness.providers.vllm_raw import VllmRaw


def test_a_whole_text_has_a_slot_that_no_delta_has() -> None:
    """Snapshots equal snapshots, and are never compared with the deltas that a gateway makes of them."""
    reading = VllmRaw().read(b"", b'{"text":["a","b"]}')

    assert reading.parts == sc.SNAPSHOT
    assert [piece.slot for piece in reading.pieces] == ["0/snapshot/0", "1/snapshot/0"]
    assert {piece.part for piece in reading.pieces} == {"snapshot"}


def test_lines_as_the_server_writes_them() -> None:
    """ASCII-escaped JSON and a line feed, the last line too."""
    body = b"".join(json.dumps({"text": ["ÿ" * n]}).encode() + b"\n" for n in (1, 2, 3))
    profile = VllmRaw()
    readings = [profile.read(frame.name, frame.data) for frame in FRAMINGS["ndjson"]().feed(body)]

    assert [reading.pieces[0].content.decode() for reading in readings] == ["ÿ", "ÿÿ", "ÿÿÿ"]
    assert profile.complete is None


def test_a_body_without_a_type_is_lines_at_its_path_only() -> None:
    """The server names no content type; elsewhere a body without one is no stream."""
    assert framing_of("/generate?x=1", "") == "ndjson"
    assert framing_of("/generate", "application/json") is None
    assert framing_of("/other", "") is None


def test_more_texts_than_are_plausible_are_read_all_the_same() -> None:
    """Nothing is remembered of them."""
    reading = VllmRaw().read(b"", json.dumps({"text": ["a"] * 5000}).encode())

    assert reading.pieces[-1].slot == "4999/snapshot/0"
