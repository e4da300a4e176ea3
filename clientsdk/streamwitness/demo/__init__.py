"""The demo: real sockets, real clients, one known fault a stream, and the verdicts laid beside the faults."""

from __future__ import annotations

from typing import Final

DATABASE: Final = "streamwitness.db"
"""Where verdicts are kept unless told otherwise: the file that `streamwitness up` and `show` use as well."""
