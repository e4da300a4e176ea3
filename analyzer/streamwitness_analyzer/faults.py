"""Which database errors pass by themselves: the one place that tells an outage from a defect."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, TimeoutError


def passes(error: Exception) -> bool:
    """Whether the same work may succeed later: the database is away, busy, or chose us as a deadlock's victim."""
    if isinstance(error, (OperationalError, InterfaceError, TimeoutError)):
        return True
    return isinstance(error, DBAPIError) and error.connection_invalidated
