"""Where `streams` and `show` read: a server over HTTP (nothing but the standard library), or a database."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from typing import Any, Final, Protocol

from .config import DatabaseNameError, is_missing

_TIMEOUT: Final = 30
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

Parameters = Iterable[tuple[str, str]]


class ReadFailed(Exception):
    """The question could not be answered; the text says why and what to do."""


class Unreachable(ReadFailed):
    """Nothing answers where the server should be."""


class Unknown(ReadFailed):
    """The server answers, and knows no such stream."""


class Reader(Protocol):
    """Answers the questions of the query API, with its documents."""

    def streams(self, parameters: Parameters) -> dict[str, Any]:
        """A page of rows: {"streams": […], "next": cursor or None}. Raises ReadFailed."""

    def show(self, prefix: str) -> dict[str, Any]:
        """The document of the one stream that begins like this. Raises ReadFailed."""

    def history(self, prefix: str) -> dict[str, Any]:
        """The revisions of the one stream that begins like this. Raises ReadFailed."""

    def cuts(self, parameters: Parameters) -> dict[str, Any]:
        """Streams that were cut at one moment: {"cuts": […], …}. Raises ReadFailed."""


class ServerReader:
    """Asks `streamwitness up` or an analyzer."""

    def __init__(self, server: str, query_key: str = "") -> None:
        self._server = server.rstrip("/")
        self._headers = {"authorization": f"Bearer {query_key}"} if query_key else {}
        # A proxy for the world outside has no business with our own machine.
        local = urllib.parse.urlsplit(server).hostname in _LOOPBACK
        handlers = [urllib.request.ProxyHandler({})] if local else []
        self._opener = urllib.request.build_opener(*handlers)

    def streams(self, parameters: Parameters) -> dict[str, Any]:
        """See Reader."""
        return self._get("/api/v1/streams", parameters)

    def show(self, prefix: str) -> dict[str, Any]:
        """See Reader."""
        return self._get(f"/api/v1/streams/{urllib.parse.quote(prefix, safe='')}")

    def history(self, prefix: str) -> dict[str, Any]:
        """See Reader."""
        return self._get(f"/api/v1/streams/{urllib.parse.quote(prefix, safe='')}/history")

    def cuts(self, parameters: Parameters) -> dict[str, Any]:
        """See Reader."""
        return self._get("/api/v1/cuts", parameters)

    def _get(self, path: str, parameters: Parameters = ()) -> dict[str, Any]:
        query = urllib.parse.urlencode(list(parameters))
        path += f"?{query}" if query else ""
        try:
            with self._opener.open(
                urllib.request.Request(self._server + path, headers=self._headers), timeout=_TIMEOUT
            ) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise (Unknown if error.code == 404 else ReadFailed)(_told(error)) from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise Unreachable(
                f"nothing answers at {self._server} ({reason}). Start it with `streamwitness up`, name another with "
                "--server URL, or read a database without a server with --database FILE"
            ) from error
        if not isinstance(answer, dict):
            raise ReadFailed(f"{self._server} is no streamwitness server")
        return answer


def _told(error: urllib.error.HTTPError) -> str:
    """What the server said about a request that it refused."""
    try:
        body = json.load(error)
        said = [body["error"], *body.get("candidates", ()), body["hint"]]
    except (ValueError, KeyError, TypeError):
        return f"{error.url} answers {error.code} {error.reason}: is it a streamwitness server?"
    if error.code == 401:
        said.append("(--query-key or STREAMWITNESS_QUERY_KEY)")
    return "\n  ".join(said)


class DatabaseReader:
    """Reads a database directly; needs the extra `analyzer`."""

    def __init__(self, name: str) -> None:
        try:
            from . import answers
            from .store import Store, queries
        except ModuleNotFoundError as error:
            raise ReadFailed(
                f"--database needs {error.name}, which the extra 'analyzer' brings: pip install '.[analyzer]' in a "
                "checkout; with --server URL nothing more is needed"
            ) from error
        if is_missing(name):
            raise ReadFailed(f"there is no database file {name!r}")
        try:
            self._store = Store(name)
        except (DatabaseNameError, ValueError) as error:
            raise ReadFailed(str(error)) from error
        self._queries, self._answers = queries, answers

    def streams(self, parameters: Parameters) -> dict[str, Any]:
        """See Reader."""
        import time

        from .filters import FilterError, parse

        try:
            chosen = parse(parameters, time.time_ns())
        except FilterError as error:
            raise ReadFailed(str(error)) from error
        page = self._read(lambda connection: self._queries.page(connection, chosen))
        return {"streams": page.rows, "next": page.next}

    def show(self, prefix: str) -> dict[str, Any]:
        """See Reader."""
        return self._one(self._answers.show, prefix)

    def history(self, prefix: str) -> dict[str, Any]:
        """See Reader."""
        return self._one(self._answers.history, prefix)

    def cuts(self, parameters: Parameters) -> dict[str, Any]:
        """See Reader."""
        import time

        from .filters import FilterError, since_only

        try:
            since = since_only(parameters, time.time_ns())
        except FilterError as error:
            raise ReadFailed(str(error)) from error
        return dict(self._read(lambda connection: self._answers.cuts(connection, since)))

    def _one(self, answer: Any, prefix: str) -> dict[str, Any]:
        try:
            return dict(self._read(lambda connection: answer(connection, prefix.lower())))
        except self._queries.NotFound as error:
            raise ReadFailed(f"{error}\n  `streamwitness streams` lists what is known") from error
        except self._queries.Ambiguous as error:
            raise ReadFailed("\n  ".join((str(error), *error.candidates, "give more digits"))) from error

    def _read(self, question: Any) -> Any:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._store.read() as connection:
                return question(connection)
        except SQLAlchemyError as error:
            raise ReadFailed(f"the database cannot be read: {getattr(error, 'orig', None) or error}") from error
        finally:
            self._store.close()
