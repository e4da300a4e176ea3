"""Gateways of Chat Completions, or of another format: bytes through the real recorders, and what is found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streamwitness.blocks import Block
from streamwitness.gateway.stamp import rewriter
from streamwitness.semconv import EDITED, FIRST_NUMBER, STAMPED
from streamwitness.stamping import stamp_reader
from streamwitness.testing import MemorySink
from streamwitness.witness import Identity, Witness
from streamwitness_analyzer.judge import judge

IDENTITY = Identity("5" * 32, "e" * 16, b"k" * 16)
CHAT = ("/v1/chat/completions", "text/event-stream", "sse")
OLLAMA = ("/api/chat", "application/x-ndjson", "ndjson")
"""Formats: path, content type, framing."""


def piece(delta: dict[str, Any], name: str = "r", finish: str | None = None) -> bytes:
    """An event of Chat Completions."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": name, "choices": [choice]}).encode() + b"\n\n"


def said(*words: str, name: str = "r") -> list[bytes]:
    """An event for each of these texts."""
    return [piece({"content": word}, name) for word in words]


def called(*arguments: str, index: int = 0) -> list[bytes]:
    """A call: its name, and an event for each piece of its arguments."""
    functions = [{"name": "f", "arguments": ""}, *({"arguments": text} for text in arguments)]
    return [piece({"tool_calls": [{"index": index, "function": function}]}) for function in functions]


def ends(name: str = "r", finish: str = "stop") -> list[bytes]:
    """A finish, and the terminator."""
    return [piece({}, name, finish), b"data: [DONE]\n\n"]


@dataclass
class Leg:
    """What was read of one upstream, and how that ended."""

    events: Sequence[bytes]
    end: str = "eof"


def gateway(
    sent: Sequence[bytes],
    *legs: Leg,
    kind: tuple[str, str, str] = CHAT,
    stamp: bool = False,
    edited: Sequence[str] = (),
) -> list[Block]:
    """The blocks of a gateway that read these and sent that, with numbers in the events or without.

    `edited`: what it says that it does on purpose.
    """
    path, content, framing = kind
    sink = MemorySink()
    witness = Witness(IDENTITY, sink, expected=("ingress", "egress"))
    recorders = []
    for number, leg in enumerate(legs):
        body = witness.body("ingress", path=path, content_type=content, leg=number)
        body.feed(b"".join(leg.events))
        body.close(leg.end)
        recorders.append(body.recorder.id)
    egress = witness.body("egress", path=path, content_type=content)
    numbers = rewriter(IDENTITY.exchange, "field", framing) if stamp else None
    egress.stamp = stamp_reader(IDENTITY.exchange, "field") if stamp else None
    whole = b"".join(sent)
    egress.feed(whole if numbers is None else numbers.feed(whole, last=True))
    told = {EDITED: list(edited)} | ({STAMPED: "field", FIRST_NUMBER: 0} if stamp else {})
    egress.close("eof", legs=tuple(recorders), extra=told)
    return sink.blocks


def found(blocks: Sequence[Block]) -> list[tuple[Any, ...]]:
    """Kind, suspects and count of each finding."""
    verdict = judge(blocks, settled=True)
    return [(finding["kind"], finding["suspects"], finding["count"]) for finding in verdict["findings"]]


def without_rows(blocks: Sequence[Block], point: str) -> list[Block]:
    """The same, the rows of one point lost."""
    for block in blocks:
        if block.point == point:
            block.rows, block.summary = None, True
    return list(blocks)


def anew(events: Sequence[bytes]) -> list[bytes]:
    """The same events in other bytes."""
    return [event.replace(b'": ', b'":', 1) for event in events]
