"""What these tests share: a real uvicorn in a thread, chat streams as bytes, and waiting for a condition."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import uvicorn

from tests.quick import QuickServer

PATH = "/v1/chat/completions"
SSE = [(b"content-type", b"text/event-stream; charset=utf-8")]


def chunk(text: str, finish: str | None = None) -> bytes:
    """One event of an OpenAI chat stream."""
    choice = {"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def chat(*texts: str) -> list[bytes]:
    """The events of a whole answer."""
    return [*(chunk(text) for text in texts), chunk("", "stop"), b"data: [DONE]\n\n"]


def plain(pieces: Sequence[bytes], headers: Any = SSE, status: int = 200) -> Any:
    """An ASGI app that only sends: never asks whether its client is still there."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})

    return app


async def pieces_of(body: Sequence[bytes]) -> AsyncIterator[bytes]:
    """The pieces as an app's generator gives them."""
    for piece in body:
        yield piece


class Server:
    """A uvicorn on a free port; `url` is its origin. `stop()` ends it as a signal would."""

    def __init__(self, app: Any, **options: Any) -> None:
        settings = {"lifespan": "off", "timeout_graceful_shutdown": 1, **options}
        config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", ws="none", **settings)
        self._server = QuickServer(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        until(lambda: self._server.started or not self._thread.is_alive())
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """How many clients it has."""
        return len(self._server.server_state.connections)

    def stop(self) -> None:
        """Stop serving, and wait for it."""
        self._server.should_exit = True
        self._thread.join()


@contextlib.contextmanager
def serve(app: Any, **options: Any) -> Iterator[Server]:
    """Serve an app while inside."""
    server = Server(app, **options)
    try:
        yield server
    finally:
        server.stop()


def until(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    """Wait until a condition holds; AssertionError when it does not come about."""
    over = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        if time.monotonic() > over:
            raise AssertionError(f"did not come about in {seconds} s")
        pause.wait(0.005)


class Gate:
    """An app on a server's loop waits here until the test, in its own thread, lets it go on."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened: asyncio.Event | None = None

    async def wait(self) -> None:
        """Wait; for the app."""
        self._opened = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        await self._opened.wait()

    def wait_for_somebody(self) -> None:
        """Until the app waits here; for the test."""
        until(lambda: self._loop is not None)

    def open(self) -> None:
        """Let go; for the test."""
        self.wait_for_somebody()
        if self._loop is not None and self._opened is not None:
            self._loop.call_soon_threadsafe(self._opened.set)


def leave_after(port: int, text: bytes, *, reset: bool, query: str = "") -> None:
    """A client that goes away once it has read `text`: with a FIN, or with a RST."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(20)
        client.sendall(f"POST {PATH}{query} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{{}}".encode())
        seen = b""
        while text not in seen:
            seen += client.recv(65536)
        if reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def drive(
    app: Any,
    *,
    headers: Sequence[tuple[bytes, bytes]] = (),
    method: str = "POST",
    path: str = PATH,
    receive: Any = None,
    send: Any = None,
) -> list[Any]:
    """Run an ASGI app without a server; the messages that it sent. The client stays until the answer is whole."""
    messages: list[Any] = []
    request = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def patient() -> Any:
        if request:
            return request.pop()
        await asyncio.Event().wait()
        return None

    async def keep(message: Any) -> None:
        messages.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": method,
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "http",
        "headers": list(headers), "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    await app(scope, receive or patient, send or keep)
    return messages


def body_of(messages: Sequence[Any]) -> bytes:
    """The body in the messages of an app."""
    return b"".join(bytes(message.get("body", b"")) for message in messages if message["type"] == "http.response.body")
