"""What these tests share: a real uvicorn in a thread, chat streams as bytes, and waiting for a condition."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import uvicorn

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
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        until(lambda: self._server.started or not self._thread.is_alive())
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

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
