"""The query API: lists, one stream, health and `/metrics`, read off the database by whoever is asked.

    GET /api/v1/streams          filters.PARAMETERS; {"streams": […], "next": cursor or null}
    GET /api/v1/streams/{id}     any unique prefix of an id; the verdict document, with `limit` where others were cut so
    GET /api/v1/streams/{id}/history   {"stream", "state", "revisions": […]}, the oldest first
    GET /api/v1/cuts             `since`; {"cuts": […], "streams", "cut", "whole"}: limits on the way
    GET /healthz                 200 while the database answers
    GET /metrics                 Prometheus text

An error is {"error": what is wrong, "hint": what to do}. With a query key, the API and /metrics want it as
`Authorization: Bearer …`; /healthz does not.
"""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from . import answers, metrics
from .filters import PARAMETERS, FilterError, parse, since_only
from .store import Document, Store, queries

_log: Final = logging.getLogger("streamwitness.analyzer")
_PREFIX: Final = re.compile(r"[0-9a-f]{1,32}\Z")
_NO_STREAM: Final = "is it another database, or has nothing been sent yet? `streamwitness streams` lists what is known"

Handler = Callable[[Request], Awaitable[Response]]


def routes(
    store: Store, wall: Callable[[], int], query_key: str = "", more_metrics: Callable[[], str] = str
) -> list[Route]:
    """The routes of the API on one store; `wall` tells the time in Unix ns, `more_metrics` what else to show."""
    guarded: dict[str, Handler] = {
        "/api/v1/streams": partial(_list, store, wall),
        "/api/v1/streams/{stream}": partial(_one, store, answers.show),
        "/api/v1/streams/{stream}/history": partial(_one, store, answers.history),
        "/api/v1/cuts": partial(_cuts, store, wall),
        "/metrics": partial(_metrics, store, wall, more_metrics),
    }
    out = [Route(path, _answering(handler, query_key), methods=["GET"]) for path, handler in guarded.items()]
    return [*out, Route("/healthz", _answering(partial(_health, store), ""), methods=["GET"])]


def _answering(handler: Handler, query_key: str) -> Handler:
    """The handler behind the query key, with a database that does not answer told as 503."""

    async def answer(request: Request) -> Response:
        if query_key and not _has_key(request, query_key):
            return _error(401, "a query key is needed", "send it as `Authorization: Bearer …`")
        try:
            return await handler(request)
        except SQLAlchemyError as error:
            _log.warning("the database does not answer: %s", error)
            return _error(503, "the database does not answer", "see the analyzer's log; the request may be repeated")

    return answer


def _has_key(request: Request, query_key: str) -> bool:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), query_key.encode())


async def _list(store: Store, wall: Callable[[], int], request: Request) -> Response:
    try:
        chosen = parse(request.query_params.multi_items(), wall())
    except FilterError as error:
        return _error(400, str(error), "parameters: " + ", ".join(PARAMETERS))

    def read() -> queries.Page:
        with store.read() as connection:
            return queries.page(connection, chosen)

    page = await run_in_threadpool(read)
    return JSONResponse({"streams": page.rows, "next": page.next})


async def _one(store: Store, answer: Callable[[Connection, str], Document], request: Request) -> Response:
    prefix = request.path_params["stream"].lower()
    if not _PREFIX.match(prefix):
        return _error(400, f"{prefix[:40]!r} is no stream id", "give the first of its 32 hexadecimal digits")

    def read() -> Document:
        with store.read() as connection:
            return answer(connection, prefix)

    try:
        return JSONResponse(await run_in_threadpool(read))
    except queries.NotFound as error:
        return _error(404, str(error), _NO_STREAM)
    except queries.Ambiguous as error:
        return _error(409, str(error), "give more digits", candidates=error.candidates)


async def _cuts(store: Store, wall: Callable[[], int], request: Request) -> Response:
    try:
        since = since_only(request.query_params.multi_items(), wall())
    except FilterError as error:
        return _error(400, str(error), "parameters: since")

    def read() -> Document:
        with store.read() as connection:
            return answers.cuts(connection, since)

    return JSONResponse(await run_in_threadpool(read))


async def _metrics(store: Store, wall: Callable[[], int], more: Callable[[], str], _request: Request) -> Response:
    def read() -> str:
        with store.read() as connection:
            totals, states = queries.totals(connection), queries.states(connection)
            cut = answers.cut_now(connection, wall())
            return metrics.render(totals, states, queries.watermarks(connection), cut) + more()

    return Response(await run_in_threadpool(read), media_type=metrics.CONTENT_TYPE)


async def _health(store: Store, _request: Request) -> Response:
    def read() -> None:
        with store.read() as connection:
            queries.watermarks(connection)

    await run_in_threadpool(read)
    return PlainTextResponse("ok\n")


def _error(status: int, what: str, hint: str, **more: Any) -> Response:
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": what, "hint": hint, **more}, status_code=status, headers=headers)
