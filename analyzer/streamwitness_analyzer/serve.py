"""An ASGI application on a port: takes the port it was told or says why not, and ends cleanly on SIGTERM and Ctrl-C.

The collector has its own: neither may import the other, and what both may import opens no sockets.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

import uvicorn

from streamwitness.settings import label

_DRAIN_SECONDS: Final = 15


class PortTaken(OSError):
    """The port is not free; the message says so and names the options."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; raises PortTaken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = f"cannot listen on {host}:{port}: {os.strerror(error.errno) if error.errno else error}"
        raise PortTaken(f"{why}; choose another with {label('port')} or {label('host')}") from error


def url(listener: socket.socket) -> str:
    """Where a listening socket is reached from this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: Any, listener: socket.socket, on_server: Callable[[uvicorn.Server], None] | None = None) -> None:
    """Serve until SIGTERM or SIGINT, letting the requests under way finish; `on_server` gets the running server."""
    # uvicorn raises the signal again when it is done; by then it must not end the process before us.
    signal.signal(signal.SIGTERM, _leave)
    # h11 bounds the head of a request; httptools takes an endless one into memory.
    config = uvicorn.Config(
        app, http="h11", log_level="warning", timeout_graceful_shutdown=_DRAIN_SECONDS, server_header=False
    )
    server = uvicorn.Server(config)
    if on_server is not None:
        on_server(server)
    try:
        server.run(sockets=[listener])
    except (KeyboardInterrupt, _Terminated):
        pass  # the ordinary end
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _Terminated(BaseException):
    """SIGTERM has come."""


def _leave(*_: object) -> None:
    raise _Terminated


def complain(command: str, problem: object) -> int:
    """Say on stderr what stopped a command; the exit status."""
    print(f"streamwitness {command}: {problem}", file=sys.stderr)
    return 1
