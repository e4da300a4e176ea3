"""A stream that got no byte leaves its record: the gateway's hook begins with the request, not with the first piece."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from streamwitness.gateway import StreamWitness
from streamwitness.headers import format_request
from streamwitness.semconv import HEADER
from streamwitness.testing import recording
from streamwitness_analyzer.decode import decode_otlp
from streamwitness_analyzer.judge import judge
from tests.analyzer.kit import otlp

pytestmark = pytest.mark.anyio


async def never_entered(scope: Any, receive: Any, send: Any) -> None:
    """Starts an answer whose body nobody ever asks for, as a server does whose client is gone by then."""

    async def body() -> AsyncIterator[bytes]:
        raise AssertionError("nobody drives this generator")
        yield b""

    body()
    head = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
    await send(head)
    await receive()  # the request's body
    await receive()  # the client's departure


async def test_a_stream_without_a_byte_has_a_record_and_a_verdict() -> None:
    """One closing block without events; the client that had announced itself has vanished."""
    announced = format_request("5" * 32, ("wire", "parsed")).encode()
    scope = {
        "type": "http", "method": "POST", "path": "/v1/chat/completions", "query_string": b"", "http_version": "1.1",
        "headers": [(HEADER.encode(), announced)], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        "scheme": "http", "root_path": "",
    }  # fmt: skip
    messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    async def send(_: Any) -> None:
        """Handed to the server."""

    with recording() as sink:
        await StreamWitness(never_entered)(scope, receive, send)
    closing = sink.closing("egress")
    assert (closing.totals["events"], closing.end) == (0, "disconnected")
    blocks, refused = decode_otlp(otlp(sink.blocks), "gateway")
    verdict = judge(blocks, settled=True)
    assert refused == []
    assert (verdict["ending"]["class"], verdict["integrity"]) == ("client_vanished", "unproven")
