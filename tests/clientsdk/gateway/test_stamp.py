"""Stamping in the gateway hook: when events are numbered, what the records say, and what real clients make of it."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

import streamwitness
from streamwitness import faults, rows
from streamwitness.gateway import StreamWitness, stamp
from streamwitness.headers import format_request, parse_response
from streamwitness.semconv import STAMPED
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.gateway.serving import PATH, SSE, body_of, chat, drive, pieces_of, plain, serve, until

pytestmark = pytest.mark.anyio

ANSWER = chat("Hel", "lo ", "wörld", " \u2028 ✓")
STREAM = "0123456789abcdef0123456789abcdef"
COMMENTED = [b": keep-alive\n\n", ANSWER[0], b": keep-alive\n\n", *ANSWER[1:3], b":\r\n\r\n", *ANSWER[3:]]
"""With the comment blocks that gateways send lest idle connections are cut."""


def asking(kind: Any) -> list[tuple[bytes, bytes]]:
    """The headers of a client that asks for this stamp."""
    return [(b"stream-witness", format_request(STREAM, ("wire",), kind).encode())]


def header_of(messages: list[Any]) -> Any:
    """What the response says of its stream."""
    return parse_response(dict(messages[0]["headers"])[b"stream-witness"].decode())


def sequences(sink: MemorySink, point: Any) -> list[int]:
    """The `sequence` column of a point's rows."""
    found: list[int] = []
    for block in sink.at(point):
        if block.rows is not None:
            found += rows.decode(block.rows, block.row_count).get("sequence", [])
    return found


@pytest.fixture
def sink() -> Any:
    with recording(mode="stamp") as memory:
        yield memory


async def test_ids_are_put_in_for_a_client_that_asks(sink: MemorySink) -> None:
    """One message out for each one in; the events carry their place, the rows as well, and the record says so."""
    messages = await drive(StreamWitness(plain(ANSWER)), headers=asking("id"))
    header = header_of(messages)
    assert header.stamp == "id"
    tag = header.exchange[:8].encode()
    assert [message["body"] for message in messages[1:]] == [
        *(b"id: %b.%d\n%b" % (tag, number, event) for number, event in enumerate(ANSWER)), b"",
    ]  # fmt: skip
    assert sequences(sink, "egress") == list(range(len(ANSWER)))
    assert sink.closing("egress").extra[STAMPED] == "id"


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/x-ndjson"])
async def test_fields_are_put_in_for_a_client_that_asks(sink: MemorySink, content_type: str) -> None:
    """The JSON objects carry them, of events and of lines; a terminator that is no object carries nothing."""
    lines = [b'{"message":{"content":"a"},"done":false}\n', b'{"done":true}\n']
    body = ANSWER if content_type == "text/event-stream" else lines
    head = [(b"content-type", content_type.encode())]
    messages = await drive(StreamWitness(plain(body, head)), headers=asking("field"))
    exchange = header_of(messages).exchange
    objects = [json.loads(line) for line in re.findall(rb"\{.*\}", body_of(messages))]
    assert [(o.pop("_stream"), o.pop("_seq")) for o in objects] == [(exchange[:8], i) for i in range(len(objects))]
    assert objects == [json.loads(line) for line in re.findall(rb"\{.*\}", b"".join(body))]
    assert sink.closing("egress").extra[STAMPED] == "field"


async def test_the_digests_of_what_an_event_says_are_those_without_a_stamp(sink: MemorySink) -> None:
    """The answer's text has the same digest as that of its upstream: a stamp is no content."""
    read = []
    for kind in ("none", "id", "field"):
        await drive(StreamWitness(plain(ANSWER)), headers=asking(kind))
        closing = [block for block in sink.at("egress") if block.final][-1]
        read.append((closing.totals["content"], closing.totals["judged"], closing.total_parts, closing.complete))
    assert read[0] == read[1] == read[2]


@pytest.mark.parametrize(
    ("settings", "headers", "head"),
    [
        ({"mode": "observe"}, asking("id"), SSE),
        ({"mode": "stamp", "stamp_paths": ("/v2/*",)}, asking("id"), SSE),
        ({"mode": "stamp"}, asking("none"), SSE),
        ({"mode": "stamp"}, [], SSE),
        ({"mode": "stamp"}, asking("id"), [*SSE, (b"Content-Length", b"1000")]),
        ({"mode": "stamp"}, asking("id"), [*SSE, (b"content-encoding", b"identity")]),
        ({"mode": "stamp"}, asking("id"), [(b"content-type", b"application/x-ndjson")]),
    ],
    ids=["not allowed", "not here", "not wanted", "not announced", "length given", "encoded", "no ids in lines"],
)
async def test_otherwise_nothing_is_put_in(settings: Any, headers: Any, head: Any) -> None:
    """The body passes as it is, and the response says so."""
    with recording(**settings) as sink, faults.quiet():
        messages = await drive(StreamWitness(plain(ANSWER, head)), headers=headers)
    assert body_of(messages) == b"".join(ANSWER)
    assert header_of(messages).stamp == "none"
    assert STAMPED not in sink.closing("egress").extra


async def test_an_upstream_with_ids_of_its_own_is_left_alone(sink: MemorySink) -> None:
    """The header had promised stamps by then; the record says that there were none."""
    body = [b"id: 7\n" + ANSWER[0], *ANSWER[1:]]
    messages = await drive(StreamWitness(plain(body)), headers=asking("id"))
    assert body_of(messages) == b"".join(body)
    assert STAMPED not in sink.closing("egress").extra


async def test_an_unsampled_stream_may_be_numbered(sink: MemorySink) -> None:
    """Who resumes by numbers does not depend on who records."""
    with recording(mode="stamp", sample=0.0) as unsampled:
        messages = await drive(StreamWitness(plain(ANSWER)), headers=asking("id"))
    assert body_of(messages).count(b"\nid: ") == len(ANSWER) - 1
    assert unsampled.blocks == []


async def test_an_error_of_ours_harms_nobody(sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    """The body passes whole; the point stays known, the exchange does not count as stamped."""

    def fail(*_: Any) -> None:
        raise RuntimeError("canary")

    monkeypatch.setattr(stamp.SSERewriter, "_data", fail)
    with faults.quiet():
        messages = await drive(StreamWitness(plain(ANSWER)), headers=asking("id"))
    assert body_of(messages) == b"".join(ANSWER)
    closing = sink.closing("egress")
    assert STAMPED not in closing.extra
    assert closing.totals["events"] == len(ANSWER)


@pytest.mark.parametrize("inside", [True, False])
async def test_compression_outside_is_none_of_our_business_and_inside_rules_stamps_out(
    sink: MemorySink, inside: bool
) -> None:
    """A body that is compressed already passes as it is."""
    layers = [Middleware(StreamWitness), Middleware(GZipMiddleware, minimum_size=1, exclude_content_types=())]

    async def endpoint(request: Request) -> StreamingResponse:
        return StreamingResponse(pieces_of(ANSWER), media_type="text/event-stream")

    app = Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], middleware=layers if inside else layers[::-1])
    messages = await drive(app, headers=[*asking("id"), (b"accept-encoding", b"gzip")])
    content = gzip.decompress(body_of(messages))
    numbered = [] if inside else list(range(len(ANSWER)))
    assert [int(number) for number in re.findall(rb"^id: [0-9a-f]{8}\.(\d+)$", content, re.MULTILINE)] == numbered
    assert sequences(sink, "egress") == numbered


# --------------------------------------------------------------------------- real clients


def commented(body: list[bytes] = COMMENTED) -> Any:
    """A gateway whose answer has comment blocks in it."""

    async def pieces() -> AsyncIterator[bytes]:
        for piece in body:
            yield piece

    async def endpoint(request: Request) -> StreamingResponse:
        return StreamingResponse(pieces(), media_type="text/event-stream")

    return Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], middleware=[Middleware(StreamWitness)])


def told(url: str, kind: Any) -> str:
    """What the real `openai` client makes of it, asking for stamps by hand."""
    header = {"stream-witness": format_request(STREAM, (), kind)}
    with openai.OpenAI(base_url=url + "/v1", api_key="x", max_retries=0, default_headers=header) as client:
        stream = client.chat.completions.create(model="m", messages=[], stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream)


@pytest.mark.parametrize("kind", ["none", "id", "field"])
def test_the_openai_client_reads_on_through_comment_blocks(sink: MemorySink, kind: Any) -> None:
    """Whatever the stamp, it gets the whole text."""
    with serve(commented()) as server:
        assert told(server.url, kind) == "Hello wörld \u2028 ✓"
        until(lambda: any(block.final for block in sink.at("egress")))
    assert sink.closing("egress").totals["events"] == len(ANSWER)


def test_without_the_omission_the_openai_client_raises(sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the blank line behind a comment for an event, once it has seen an id."""
    kept = stamp.SSERewriter._blank

    def keep(self: Any, line: bytes) -> bytes:
        kept(self, line)
        return line

    monkeypatch.setattr(stamp.SSERewriter, "_blank", keep)
    with serve(commented()) as server, pytest.raises(json.JSONDecodeError):
        told(server.url, "id")


def test_wire_and_egress_agree_on_every_number() -> None:
    """The instrumented client's rows name the very events of the gateway's."""
    with serve(commented()) as server, recording(mode="stamp", origins=(server.url,)) as sink:
        client = streamwitness.instrument(openai.OpenAI(base_url=server.url + "/v1", api_key="x", max_retries=0))
        stream = client.chat.completions.create(model="m", messages=[], stream=True)
        text = "".join(part.choices[0].delta.content or "" for part in stream)
        client.close()
        until(lambda: any(block.final for block in sink.at("egress")))
    assert text == "Hello wörld \u2028 ✓"
    assert sink.closing("egress").extra[STAMPED] in ("id", "field")
    assert sequences(sink, "wire")[: len(ANSWER) - 1] == sequences(sink, "egress")[: len(ANSWER) - 1]
    assert sink.closing("wire").exchange == sink.closing("egress").exchange


# --------------------------------------------------------------------------- browsers


@pytest.mark.parametrize(("allowed", "status"), [(["stream-witness", "last-event-id"], 200), ([], 400)])
async def test_a_browsers_preflight_is_the_operators_to_allow(
    sink: MemorySink, allowed: list[str], status: int
) -> None:
    """A browser asks before it sends our header; the hook does not widen what the operator's CORS allows."""
    cors = Middleware(
        CORSMiddleware, allow_origins=["https://a.example"], allow_methods=["POST"], allow_headers=allowed
    )

    async def endpoint(request: Request) -> StreamingResponse:
        return StreamingResponse(pieces_of(ANSWER), media_type="text/event-stream")

    app = Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], middleware=[cors, Middleware(StreamWitness)])
    asks = [
        (b"origin", b"https://a.example"),
        (b"access-control-request-method", b"POST"),
        (b"access-control-request-headers", b"last-event-id, stream-witness"),
    ]
    messages = await drive(app, headers=asks, method="OPTIONS")
    assert messages[0]["status"] == status
    messages = await drive(app, headers=[*asks[:1], *asking("id")])
    exposed = dict(messages[0]["headers"])[b"access-control-expose-headers"]
    assert exposed == b"stream-witness, stream-witness-key"
    assert header_of(messages).stamp == "id"


def test_an_answer_that_dribbles_is_numbered_all_the_same(sink: MemorySink) -> None:
    """Three bytes at a time."""
    body = b"".join(COMMENTED)
    with serve(commented([body[at : at + 3] for at in range(0, len(body), 3)])) as server:
        assert told(server.url, "id") == "Hello wörld \u2028 ✓"
