"""What is answered to who asks about streams, the same over HTTP and from a database: reads, and never judges."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from . import cuts as _cuts
from .config import NANOSECONDS
from .counting import NOBODY
from .documents import unjudged
from .store import Document, queries

_DAY: Final = 86_400 * NANOSECONDS
_HOUR: Final = 3_600 * NANOSECONDS
_REVISION: Final = ("state", "headline", "integrity", "confidence", "short", "summary")


def show(connection: sa.Connection, prefix: str) -> Document:
    """The document of the one stream that begins like this; raises NotFound or Ambiguous.

    Where it was cut as others of its service were in the day around it, `limit` says so.
    """
    found = queries.find(connection, prefix)
    if found.document is None or found.state == "failed":  # what was said provisionally rests on fewer blocks
        return unjudged(found.stream, found.state, found.block_count)
    limit = _limit(connection, found.stream) if found.document["ending"]["class"] in _cuts.CUT else None
    return found.document | ({"limit": limit} if limit else {})


def _limit(connection: sa.Connection, stream: str) -> Document | None:
    """The cluster that a stream is in, with the line about it; the stream is left out of neither side."""
    first, own = queries.ending(connection, stream)
    others = queries.ended(connection, first - _DAY, first + _DAY, like=own)
    inside = (cluster for cluster in _cuts.clusters(others) if stream in cluster.streams)
    cluster = next(inside, None)
    return None if cluster is None else cluster.document() | {"line": _cuts.about(cluster, "within a day")}


def history(connection: sa.Connection, prefix: str) -> Document:
    """Every revision of a stream's verdict, the oldest first; raises NotFound or Ambiguous."""
    found = queries.find(connection, prefix)
    revisions = [_revision(item) for item in queries.history(connection, found.stream)]
    return {"stream": found.stream, "state": found.state, "revisions": revisions}


def _revision(item: queries.Revision) -> Document:
    document = item.document
    return {
        "revision": item.revision,
        "judge_version": item.judge_version,
        "judged_ns": item.judged_at,
        "ending": document["ending"]["class"],
        "findings": [_told(finding) for finding in document["findings"]],
        "document": document,
        **{name: document[name] for name in _REVISION},
    }


def _told(finding: Document) -> str:
    """With its place: two of a kind have the same sentence."""
    return f"{finding['short']}: {finding['sentence']}" if "short" in finding else str(finding["sentence"])


def cuts(connection: sa.Connection, since: int) -> Document:
    """The clusters of cut streams first seen since then (Unix ns), and how many streams were looked at."""
    ended = queries.ended(connection, since)
    return {
        "cuts": [cluster.document() for cluster in _cuts.clusters(ended)],
        "streams": len(ended),
        "cut": sum(item.cut for item in ended),
        "whole": len(ended) < queries.MOST_ENDED,
    }


def cut_now(connection: sa.Connection, now: int) -> dict[tuple[str, str], int]:
    """For `/metrics`: (measure, by) → streams first seen in the last hour that were cut at one moment with others."""
    out: dict[tuple[str, str], int] = {}
    for cluster in _cuts.clusters(queries.ended(connection, now - _HOUR)):
        key: tuple[str, str] = cluster.measure, cluster.by or NOBODY
        out[key] = out.get(key, 0) + len(cluster.streams)
    return out
