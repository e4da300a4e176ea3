"""The document of a stream that has no verdict yet: the same shape, so that every reader can show it. Pure."""

from __future__ import annotations

from typing import Any, Final

_WHY: Final = {
    "open": ("STILL RUNNING", "has not ended, or no closing record has arrived"),
    "failed": ("NOT JUDGED", "made the judge fail, which is a defect of streamwitness; the log has the details"),
}


def unjudged(stream: str, state: str, blocks: int) -> dict[str, Any]:
    """A verdict document that claims nothing; `blocks` is how many records have arrived."""
    headline, why = _WHY.get(state, _WHY["open"])
    summary = f"{blocks} record{'' if blocks == 1 else 's'} received. This stream {why}."
    return {
        "stream": stream,
        "judge_version": 0,
        "state": state,
        "revision": 0,
        "ending": {
            "class": None,
            "group": None,
            "by": None,
            "vouched": False,
            "finish": None,
            "after": None,
            "reason": why,
        }
        | dict.fromkeys(("at_point", "at_ms", "silent_ms", "at_bytes", "cost")),
        "integrity": "unproven",
        "headline": headline,
        "summary": summary,
        "short": headline.lower(),
        "confidence": None,
        "findings": [],
        "notes": [],
        "points": [],
        "why": {"seen": "", "missing": "", "cleared": [], "unknown": []},
        "telemetry": {
            "lost_blocks": 0,
            "missing_points": [],
            "conflicts": 0,
            "refused_blocks": 0,
            "observer_faults": 0,
            "dropped_blocks": 0,
            "excess_blocks": 0,
        },
        "labels": {},
        "counts": {"sent": None, "used": None},
        "started_ns": 0,
        "ended_ns": 0,
    }
