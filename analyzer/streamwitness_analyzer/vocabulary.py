"""The closed word lists of a verdict, as lists, metrics and filters need them."""

from __future__ import annotations

from typing import Final

KINDS: Final = (
    "gap",
    "tail",
    "reorder",
    "gap_or_late",
    "duplicate",
    "fabricated",
    "extra",
    "mismatch",
    "corrupt",
    "altered",
    "partial",
    "misapplied",
    "cross_stream",
    "after_terminal",
    "malformed",
    "delayed",
    "upstream_kept_running",
)
"""Kinds of finding (docs/design.md §7.3)."""

HARMLESS: Final = frozenset(("delayed", "upstream_kept_running"))
"""Kinds that cost time or money, and damage no answer."""

ENDINGS: Final = {
    "completed": "ok",
    "client_cancelled": "cancellation",
    "client_timeout": "cancellation",
    "client_abandoned": "cancellation",
    "client_gone": "cancellation",
    "client_vanished": "client",
    "client_parser_abort": "client",
    "client_reducer_abort": "client",
    "network_lost": "network",
    "upstream_error": "upstream",
    "upstream_truncated": "upstream",
    "upstream_timeout": "upstream",
    "upstream_rejected": "upstream",
    "gateway_error": "gateway",
    "gateway_truncated": "gateway",
    "gateway_shutdown": "gateway",
    "protocol_violation": "protocol",
    "stalled_before_first": "stall",
    "stalled": "stall",
    "unwitnessed": "unknown",
}
"""Ending class → group (docs/design.md §7.4)."""

GROUPS: Final = ("ok", "cancellation", "client", "upstream", "gateway", "network", "protocol", "stall", "unknown")
INTEGRITIES: Final = ("intact", "damaged", "unproven")
CONFIDENCES: Final = ("certain", "narrowed", "inconsistent")
STATES: Final = ("open", "provisional", "settled", "corrected", "failed")
"""Of a stream's row. `open`: nothing has closed yet. `failed`: the judge raised, a defect of ours."""
