"""`streamwitness up`: collector and analyzer in one process on one port, with a database file and no broker.

The only module that may import the collector. A request is answered 200 only after its transaction has committed, so
the sender's retry is the queue.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette

from streamwitness.settings import load
from streamwitness_collector.app import PATH, create_app
from streamwitness_collector.config import CollectorSettings
from streamwitness_collector.sink import Batch, SinkUnavailable

from . import api
from .assemble import steps_of, wall
from .config import UpSettings
from .faults import passes
from .serve import PortTaken, complain, listen, serve, url
from .store import Received, Store
from .writer import Writer, WriterFull

_log: Final = logging.getLogger("streamwitness.analyzer")


class EmbeddedSink:
    """The collector's sink in this process; see streamwitness_collector.sink.Sink."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def write(self, batch: Batch) -> None:
        """Return when the batch is committed; raises SinkUnavailable."""
        received = [
            Received(block if block.role else replace(block, role=batch.role), batch.received_ns)
            for block in batch.blocks
        ]
        try:
            # Shielded: a sender that leaves does not take the batch of its neighbours with it.
            await asyncio.shield(asyncio.wrap_future(self._writer.put(received)))
        except WriterFull as error:
            raise SinkUnavailable(str(error), full=True) from error
        except SQLAlchemyError as error:
            _log.warning("a batch was not stored: %s", error)
            raise SinkUnavailable("the database did not take the batch", retryable=passes(error)) from error

    async def close(self) -> None:
        """Write what is waiting."""
        await asyncio.to_thread(self._writer.close)


def create_all_in_one(settings: UpSettings, store: Store, collector: CollectorSettings) -> Starlette:
    """The whole as one ASGI application: OTLP in, query API and metrics of both halves out."""
    registry = CollectorRegistry()
    sink = EmbeddedSink(Writer(steps_of(store, settings), wall))
    routes = api.routes(store, wall, settings.query_key, lambda: generate_latest(registry).decode())
    return create_app(collector, sink, registry=registry, routes=routes)


def run(settings: UpSettings) -> int:
    """Keep it running until SIGTERM or Ctrl-C; the exit status."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    overrides = {"host": settings.host, "port": settings.port}
    collector = load(CollectorSettings, environ=os.environ, overrides=overrides)
    try:
        listener = listen(settings.host, settings.port)
    except PortTaken as error:
        return complain("up", error)
    with listener:
        store = Store(settings.database)
        try:
            store.create()
        except SQLAlchemyError as error:
            return complain("up", f"the database {_shown(settings.database)} cannot be used: {_cause(error)}")
        print(_welcome(url(listener), settings), flush=True)
        try:
            serve(create_all_in_one(settings, store, collector), listener)
        finally:
            store.close()
    print("streamwitness has ended.", flush=True)
    return 0


def _welcome(base: str, settings: UpSettings) -> str:
    return f"""\
streamwitness is up; Ctrl-C ends it.
  records in  {base}{PATH}   (OTLP over HTTP; instrumented processes: STREAMWITNESS_ENDPOINT={base})
  questions   {base}/api/v1/streams
  metrics     {base}/metrics
  database    {_shown(settings.database)}
Next: instrument a client and a gateway (two lines each, see the README), or run `streamwitness demo`.
Then: `streamwitness streams` lists what was seen, `streamwitness show ID` explains one."""


def _shown(database: str) -> str:
    """The database without the password of its URL."""
    scheme, separator, rest = database.partition("://")
    if not separator:
        return str(Path(database).expanduser().resolve())
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _cause(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error)
