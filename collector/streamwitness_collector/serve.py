"""An ASGI application on a port, with uvicorn: it takes the port it was told or says why not, and ends cleanly.

The analyzer has its own: neither may import the other, and what both may import opens no sockets.
"""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

import uvicorn

from streamwitness.settings import label

_FAILED: Final = 1
_DRAIN_SECONDS: Final = 15


def serve(app: Any, host: str, port: int, *, name: str, to: str, ready: Callable[[], None]) -> int:
    """Serve until SIGTERM or SIGINT, then let the requests under way finish; the exit status.

    `ready` is called once the port is ours.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    try:
        listener = socket.create_server((host, port), family=_family(host), backlog=2048)
    except OSError as error:
        print(f"streamwitness {name}: cannot listen on {host}:{port}: {error.strerror or error}; "
              f"choose another with {label('port')} or {label('host')}", file=sys.stderr)  # fmt: skip
        return _FAILED
    with listener:
        # uvicorn raises the signal again when it is done; by then this ends the process with 0.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        print(f"streamwitness {name} listens on {_url(listener)}, writes to {to}", file=sys.stderr, flush=True)
        ready()
        # h11 bounds the head of a request; httptools, which uvicorn prefers where it is installed, does not.
        config = uvicorn.Config(
            app, http="h11", log_level="warning", timeout_graceful_shutdown=_DRAIN_SECONDS, server_header=False
        )
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
