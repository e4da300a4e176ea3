"""OTLP/HTTP answers: one table of how a request can be refused, and the bodies that say why."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.responses import Response

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"

_INVALID_ARGUMENT, _DEADLINE_EXCEEDED, _RESOURCE_EXHAUSTED = 3, 4, 8
_INTERNAL, _UNAVAILABLE, _UNAUTHENTICATED = 13, 14, 16
"""google.rpc.Code"""


@dataclass(frozen=True, slots=True)
class _Kind:
    status: int
    code: int


KINDS: Final[dict[str, _Kind]] = {
    "undecodable": _Kind(400, _INVALID_ARGUMENT),
    "unauthorized": _Kind(401, _UNAUTHENTICATED),
    "slow": _Kind(408, _DEADLINE_EXCEEDED),
    "too_large": _Kind(413, _INVALID_ARGUMENT),
    "content_type": _Kind(415, _INVALID_ARGUMENT),
    "encoding": _Kind(415, _INVALID_ARGUMENT),
    "full": _Kind(429, _RESOURCE_EXHAUSTED),
    "failed": _Kind(500, _INTERNAL),
    "unavailable": _Kind(503, _UNAVAILABLE),
}
"""Outcome of a refused request → HTTP status and google.rpc code. OTLP senders retry 429, 502, 503 and 504 only."""


class RequestRefusedError(Exception):
    """A request is refused as a whole; `outcome` is a key of KINDS, the text tells the sender what to do."""

    def __init__(self, outcome: str, text: str, *, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.outcome = outcome
        self.retry_after = retry_after


def accepted(refused: int, explanation: str) -> Response:
    """200: the request is stored; `refused` of its spans were not, for the reasons of `explanation`."""
    answer = ExportTraceServiceResponse()
    if refused:
        answer.partial_success.rejected_spans = refused
        answer.partial_success.error_message = explanation
    return Response(answer.SerializeToString(), media_type=PROTOBUF)


def refused(error: RequestRefusedError, content_type: str) -> Response:
    """A google.rpc.Status in the encoding of the request."""
    kind = KINDS[error.outcome]
    headers: dict[str, str] = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.outcome == "unauthorized":
        headers["WWW-Authenticate"] = "Bearer"
    if content_type == JSON:
        body = json.dumps({"code": kind.code, "message": str(error)}).encode()
        return Response(body, kind.status, headers, JSON)
    status = Status(code=kind.code, message=str(error))
    return Response(status.SerializeToString(), kind.status, headers, PROTOBUF)
