"""The byte order mark that may stand before a body, and may be cut between reads."""

from __future__ import annotations

from typing import Final

BOM: Final = b"\xef\xbb\xbf"


def after_bom(start: bytes, data: bytes) -> tuple[bytes | None, bytes]:
    """The start of a body without its mark; `start` is what was kept of earlier pieces.

    Returns what may still be the beginning of a mark (None: that question is answered) and what can be read.
    """
    data = start + data
    if len(data) < len(BOM) and BOM.startswith(data):
        return data, b""
    return None, data.removeprefix(BOM)
