"""How an answer says that it ended: by the finishes of its choices, or by telling that it failed."""

from __future__ import annotations

from streamwitness.semconv import FINISH_REASONS_ATTRIBUTE, STATUS_CODE

from .records import Record


def finishes(record: Record) -> int:
    """How many choices finished; several may do so in one event."""
    told = record.told(FINISH_REASONS_ATTRIBUTE)
    if not record.part("finish"):
        return 0
    return len(told) if isinstance(told, (list, tuple)) and told else 1


def failed_openly(leg: Record, egress: Record) -> bool:
    """Whether the upstream's answer is not whole, and the gateway's says so: then it owes no finish."""
    return not leg.complete and (bool(egress.part("error")) or tells_error(egress))


def tells_error(egress: Record) -> bool:
    """Whether the answer says by its finish or its status that something failed."""
    told = egress.told(FINISH_REASONS_ATTRIBUTE)
    status = egress.told(STATUS_CODE)
    failed = isinstance(status, int) and status >= 400
    return failed or (isinstance(told, (list, tuple)) and "error" in told and bool(egress.part("finish")))
