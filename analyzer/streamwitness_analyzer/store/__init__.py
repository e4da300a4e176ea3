"""Where blocks, verdicts and offsets live: one implementation for SQLite and PostgreSQL."""

from __future__ import annotations

from .records import Change, Counts, Document, Move, Offset, Received, Seen, StreamState, Superseded
from .store import ForeignTablesError, Store, Transaction

__all__ = [
    "Change",
    "Counts",
    "Document",
    "ForeignTablesError",
    "Move",
    "Offset",
    "Received",
    "Seen",
    "Store",
    "StreamState",
    "Superseded",
    "Transaction",
]
