"""A real OTLP/HTTP receiver on a free port, and blocks to send to it."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from streamwitness import rows
from streamwitness import semconv as sc
from streamwitness.blocks import Block

WAIT = 30.0
"""Seconds after which a condition counts as never coming; a bound for broken code, no expected duration."""


class Request(NamedTuple):
    """One export request as it arrived."""

    path: str
    headers: Mapping[str, str]
    message: ExportTraceServiceRequest

    def spans(self) -> list[Any]:
        return [span for rs in self.message.resource_spans for ss in rs.scope_spans for span in ss.spans]

    def resource(self) -> dict[str, Any]:
        return plain(self.message.resource_spans[0].resource.attributes)

    def blocks(self) -> list[Block]:
        return [
            Block.parse(plain(span.attributes), start_ns=span.start_time_unix_nano, end_ns=span.end_time_unix_nano)
            for span in self.spans()
        ]


class Receiver:
    """Answers every request with `status` and `answer` headers; a context manager."""

    def __init__(self, status: int = 200, answer: Mapping[str, str] | None = None) -> None:
        self.status, self.answer = status, dict(answer or {})
        self.requests: list[Request] = []
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def blocks(self) -> list[Block]:
        return [block for request in list(self.requests) for block in request.blocks()]

    def wait(self, holds: Callable[[], bool]) -> None:
        """Wait until the condition holds; fails if it never does."""
        with self._changed:
            assert self._changed.wait_for(holds, WAIT), f"never came; {len(self.requests)} requests"

    def received(self, request: Request) -> None:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received(Request(self.path, headers, ExportTraceServiceRequest.FromString(body)))
            self.send_response(receiver.status)
            for name, value in receiver.answer.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    return Handler


class Mute:
    """A target that accepts connections and never answers; a context manager."""

    def __enter__(self) -> str:
        self._socket = socket.create_server(("127.0.0.1", 0))
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __exit__(self, *unused: object) -> None:
        self._socket.close()


def closed_port() -> str:
    """An endpoint that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


def make_block(number: int = 0, events: int = 3, **fields: Any) -> Block:
    """A valid block; `number` makes it a recorder of its own."""
    columns = {"bytes": list(range(100, 100 + events)), "t": [7 * i * i for i in range(events)]}
    values: dict[str, Any] = {
        "stream": f"{number + 1:032x}", "exchange": f"{number + 2:016x}", "witness": f"{number + 3:016x}",
        "recorder": f"{number + 4:016x}", "point": "wire", "index": 0, "position": 0, "row_count": events,
        "rows": rows.encode(columns, events) if events else None,
        "totals": {name: events if name == "events" else 1 for name in sc.TOTALS},
        "payload_s": 2**60 + 1, "payload_o": 2**60 + 2, "semantic_s": 3, "semantic_o": 4,
        "start_ns": 1_700_000_000_000_000_000 + number, "end_ns": 1_700_000_001_000_000_000 + number,
    }  # fmt: skip
    return Block(**(values | fields))


def closing(number: int = 0, **fields: Any) -> Block:
    """A closing block."""
    values: dict[str, Any] = {"final": True, "end": "eof", "complete": True} | fields
    return make_block(number, **values)


def plain(attributes: Any) -> dict[str, Any]:
    """Protobuf attributes as Python values."""
    return {pair.key: _value(pair.value) for pair in attributes if isinstance(pair, KeyValue)}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return tuple(_value(item) for item in value.array_value.values)
    return getattr(value, kind) if kind else None
