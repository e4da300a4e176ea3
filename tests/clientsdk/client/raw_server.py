"""A server on a real socket that sends exactly the bytes, cuts and endings that a test scripts."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Handler = Callable[[socket.socket, bytes], None]

DONE = b"data: [DONE]\n\n"
CANARY = "kanarienvogel-7f3a"


def event(text: str | None = None, finish: str | None = None, **extra: Any) -> bytes:
    """One Chat Completions chunk as an SSE event."""
    delta = {} if text is None else {"content": text}
    chunk = {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **extra,
    }  # fmt: skip
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


TEXTS = ("Die ", "alte ", CANARY, " singt", " \u2028 ", "ja ", "ja ", "\u00e4\U0001f426.")
BODY = b"".join(event(text) for text in TEXTS) + event(finish="stop") + DONE
"""Ten events: eight texts (two equal ones in a row), the finish, the terminator."""


def head(*headers: str, status: str = "200 OK", content_type: str = "text/event-stream") -> bytes:
    """A response head."""
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {content_type}", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def chunked(pieces: Iterable[bytes], *, end: bool = True) -> list[bytes]:
    """Pieces in chunked transfer coding; without `end` the body is cut off."""
    out = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece]
    return [*out, b"0\r\n\r\n"] if end else out


def cut(body: bytes, size: int) -> list[bytes]:
    """The body in pieces of `size` bytes."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def stream(pieces: Sequence[bytes] = (BODY,), *headers: str, end: bool = True, then: Handler | None = None) -> Handler:
    """A handler that streams pieces, and at the end does `then` (else the connection stays usable or is closed)."""

    def handle(connection: socket.socket, request: bytes) -> None:
        connection.sendall(head("Transfer-Encoding: chunked", *headers))
        for piece in chunked(pieces, end=end):
            connection.sendall(piece)
        if then is not None:
            then(connection, request)

    return handle


def reset(connection: socket.socket, _request: bytes) -> None:
    """Tear the connection down with RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def hang_up(connection: socket.socket, _request: bytes) -> None:
    """Close the connection in order, whatever was announced."""
    connection.shutdown(socket.SHUT_WR)
    connection.close()


def wait_for_client(connection: socket.socket, _request: bytes) -> None:
    """Send nothing more until the client goes."""
    try:
        while connection.recv(4096):
            pass
    except OSError:
        pass
    connection.close()


class RawServer:
    """Serves one request a connection or more, each by the next handler (the last one again and again)."""

    def __init__(self, *handlers: Handler) -> None:
        self.handlers = list(handlers)
        self.requests: list[bytes] = []
        self.connections = 0
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> RawServer:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        for thread in self._threads:
            thread.join(5)

    def header(self, name: str, request: int = 0) -> str | None:
        """A header of a request received."""
        for line in self.requests[request].decode("latin-1").split("\r\n")[1:]:
            key, _, value = line.partition(": ")
            if key.lower() == name:
                return value
        return None

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            while (request := _read_request(connection)) is not None:
                self.requests.append(request)
                handler = self.handlers.pop(0) if len(self.handlers) > 1 else self.handlers[0]
                handler(connection, request)
        except OSError:
            pass
        finally:
            connection.close()


def _read_request(connection: socket.socket) -> bytes | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    top, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in top.split(b"\r\n") if line.lower().startswith(b"content-length")), 0
    )
    while len(body) < length:
        body += connection.recv(65536)
    return top
