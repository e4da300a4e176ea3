"""`streamwitness analyzer`: the consumer on a thread, the query API on the main one, ended together."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Final

import uvicorn
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette

from . import api
from .assemble import steps_of, wall
from .config import AnalyzerSettings
from .consumer import Consumer
from .faults import passes
from .serve import PortTaken, complain, listen, serve, url
from .store import Store

_log: Final = logging.getLogger("streamwitness.analyzer")
_RETRY_SECONDS: Final = 1.0


def run(settings: AnalyzerSettings) -> int:
    """Analyze until SIGTERM or Ctrl-C; the exit status."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    _log.setLevel(logging.INFO)
    try:
        listener = listen(settings.host, settings.port)
    except PortTaken as error:
        return complain("analyzer", error)
    stop = threading.Event()
    with listener:
        store = Store(settings.database)
        try:
            _create(store, stop)
        except SQLAlchemyError as error:
            return complain("analyzer", f"the database cannot be used: {error}")
        worker = _Worker(Consumer(settings, store, steps_of(store, settings), wall, stop))
        brokers = ",".join(settings.kafka)
        print(f"streamwitness analyzer reads {settings.topic} from {brokers}, answers on {url(listener)}", flush=True)
        try:
            serve(Starlette(routes=api.routes(store, wall, settings.query_key)), listener, worker.start)
        finally:
            stop.set()
            worker.join()
            store.close()
    return worker.status


class _Worker:
    """Runs the consumer; if that dies, the whole process ends, for a supervisor to start it anew."""

    def __init__(self, consumer: Consumer) -> None:
        self.status = 0
        self._consumer = consumer
        self._thread: threading.Thread | None = None

    def start(self, server: uvicorn.Server) -> None:
        self._thread = threading.Thread(target=self._run, args=(server,), name="streamwitness-consumer")
        self._thread.start()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _run(self, server: uvicorn.Server) -> None:
        try:
            self._consumer.run()
        except Exception:  # logged, and the process ends with a failure
            _log.exception("the consumer has failed; ending")
            self.status = 1
            server.should_exit = True


def _create(store: Store, stop: threading.Event) -> None:
    """Make the tables, waiting for a database that is not up yet."""
    while not stop.is_set():
        try:
            return store.create()
        except SQLAlchemyError as error:
            if not passes(error):
                raise
            _log.warning("the database does not answer, trying again: %s", error)
            stop.wait(_RETRY_SECONDS)
    return None
