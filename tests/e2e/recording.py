"""An OTLP endpoint that keeps every byte it is sent and passes it on: what really leaves a host."""

from __future__ import annotations

import contextlib
import threading
import urllib.request
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextlib.contextmanager
def recording(target: str) -> Iterator[tuple[str, list[bytes]]]:
    """Listen on loopback and forward to `target`; gives the URL and the list of decompressed bodies."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            zipped = self.headers.get("content-encoding") == "gzip"
            bodies.append(zlib.decompress(body, wbits=31) if zipped else body)
            request = urllib.request.Request(target + self.path, data=body, headers=dict(self.headers))
            with urllib.request.urlopen(request, timeout=30) as response:
                answer = response.read()
            self.send_response(response.status)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
