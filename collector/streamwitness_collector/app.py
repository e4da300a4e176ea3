"""The HTTP side: OTLP in at POST /v1/traces, answered 200 only after the sink has stored what was accepted.

Everything that can be wrong with a request ends in answers.KINDS and is counted; nothing a sender does ends the
process, or costs more than the configured bounds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from streamwitness.semconv import Role

from . import answers
from .answers import RequestRefusedError
from .body import READ_SECONDS, SMALL, inflate, read
from .budget import Budget, BudgetExceededError, Lease
from .config import CollectorSettings, RoleOf, role_lookup
from .decompress import BodyTooLargeError, CorruptBodyError, UnsupportedEncodingError
from .metrics import Metrics
from .otlp import Intake, UndecodableError, take
from .sink import Batch, Sink, SinkUnavailable

PATH: Final = "/v1/traces"
_THREADS: Final = 2
_CLIENT_CLOSED: Final = 499
_BEARER: Final = "bearer "

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def create_app(
    settings: CollectorSettings,
    sink: Sink,
    *,
    role_of: RoleOf | None = None,
    registry: CollectorRegistry | None = None,
    routes: Sequence[BaseRoute] = (),
    lifespan: Lifespan | None = None,
) -> Starlette:
    """The collector as an ASGI application.

    `role_of` tells the role of an ingest key (default: by `settings.keys`). `registry` takes the metrics (default:
    one of its own). `routes` come first, so they may replace /healthz and /metrics. `lifespan` replaces the default
    one, which closes the sink at the end.
    """
    receiver = Receiver(settings, sink, role_of or role_lookup(settings), Metrics(registry))

    @asynccontextmanager
    async def closing(app: Starlette) -> AsyncIterator[None]:
        yield
        await sink.close()

    return Starlette(routes=[*routes, *receiver.routes()], lifespan=lifespan or closing)


class Receiver:
    """Takes requests; for one event loop."""

    def __init__(self, settings: CollectorSettings, sink: Sink, role_of: RoleOf, metrics: Metrics) -> None:
        self._settings = settings
        self._sink = sink
        self._role_of = role_of
        self.metrics = metrics
        self._budget = Budget(settings.max_waiting_bytes)
        self._threads = asyncio.Semaphore(_THREADS)
        metrics.waiting.set_function(lambda: self._budget.used)

    def routes(self) -> list[Route]:
        """POST /v1/traces, GET /healthz, GET /metrics."""
        return [
            Route(PATH, self.traces, methods=["POST"]),
            Route("/healthz", _healthy, methods=["GET"]),
            Route("/metrics", self._show_metrics, methods=["GET"]),
            Route("/v1/{signal}", _only_traces, methods=["POST"]),
        ]

    async def traces(self, request: Request) -> Response:
        """POST /v1/traces."""
        outcome = "failed"  # stands only if an exception that nobody foresaw goes on to the server's log
        try:
            intake = await self._intake(request)
            outcome = "partial" if intake.refused else "ok"
            return answers.accepted(intake.refused.total(), intake.explanation)
        except RequestRefusedError as error:
            outcome = error.outcome
            return answers.refused(error, _content_type(request))
        except ClientDisconnect:
            outcome = "disconnected"
            return Response(status_code=_CLIENT_CLOSED)
        finally:
            self.metrics.requests.labels(outcome).inc()

    async def _intake(self, request: Request) -> Intake:
        role = self._role(request)
        if (kind := _content_type(request)) != answers.PROTOBUF:
            raise RequestRefusedError("content_type", f"Content-Type is {kind!r}; send {answers.PROTOBUF}")
        with self._budget.lease() as lease:
            body = await self._body(request, lease)
            received_ns = time.time_ns()
            intake = await self._take(body, role)
            if intake.messages:
                await self._write(Batch(role, received_ns, intake.messages))
        self.metrics.took(intake)
        return intake

    def _role(self, request: Request) -> Role:
        header = request.headers.get("authorization", "")
        key = header[len(_BEARER) :].strip() if header.lower().startswith(_BEARER) else ""
        role = self._role_of(key)
        if role is None:
            text = "the ingest key is unknown" if key else "no ingest key"
            raise RequestRefusedError("unauthorized", f"{text}; send Authorization: Bearer KEY (STREAMWITNESS_KEY)")
        return role

    async def _body(self, request: Request, lease: Lease) -> bytes:
        encoding = request.headers.get("content-encoding", "").strip().lower()
        try:
            body = await read(request, self._settings, lease)
            self.metrics.received.inc(len(body))
            body = await inflate(body, encoding, self._settings.max_decoded_bytes, self._threads)
            lease.resize(len(body))
            return body
        except BodyTooLargeError as error:
            raise RequestRefusedError("too_large", str(error)) from error
        except UnsupportedEncodingError as error:
            raise RequestRefusedError("encoding", str(error)) from error
        except CorruptBodyError as error:
            raise RequestRefusedError("undecodable", str(error)) from error
        except BudgetExceededError as error:
            raise RequestRefusedError("full", f"{error}; send again later", retry_after=1) from error
        except TimeoutError as error:
            text = f"the body did not arrive within {READ_SECONDS:.0f} s; send it again"
            raise RequestRefusedError("slow", text) from error

    async def _take(self, body: bytes, role: Role) -> Intake:
        try:
            if len(body) <= SMALL:
                return take(body, role, self._settings)
            async with self._threads:
                return await asyncio.to_thread(take, body, role, self._settings)
        except UndecodableError as error:
            raise RequestRefusedError("undecodable", str(error)) from error

    async def _write(self, batch: Batch) -> None:
        try:
            await self._sink.write(batch)
        except SinkUnavailable as error:
            if not error.retryable:
                raise RequestRefusedError("failed", str(error)) from error
            outcome = "full" if error.full else "unavailable"
            raise RequestRefusedError(outcome, f"{error}; send again later", retry_after=error.retry_after) from error

    async def _show_metrics(self, request: Request) -> Response:
        return Response(generate_latest(self.metrics.registry), media_type=CONTENT_TYPE_LATEST)


async def _healthy(request: Request) -> Response:
    """Alive: the process answers. A sink that is down shows in the metrics, restarting us would not help it."""
    return PlainTextResponse("ok\n")


async def _only_traces(request: Request) -> Response:
    return PlainTextResponse(f"only traces are taken here: POST {PATH}\n", 404)


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
