"""The history of a verdict, and limits that cut streams, as text for people. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from .config import NANOSECONDS
from .style import Style

Answer = Mapping[str, Any]

_EXAMPLES: Final = 3
_DIGITS: Final = 8
_STATES: Final = {"provisional": "provisional", "settled": "final", "corrected": "corrected"}


def render_history(history: Answer, style: Style) -> str:
    """Each revision in a line, and what it changed; ends without a line feed."""
    revisions: Sequence[Answer] = history["revisions"]
    if not revisions:
        return f"Stream {history['stream']} has no verdict yet."
    count = f"{len(revisions)} revision{'' if len(revisions) == 1 else 's'}"
    lines = [style.dress(f"Stream {history['stream']}: {count} of its verdict", "bold")]
    for before, now in zip((None, *revisions), revisions, strict=False):
        lines += _revision(before, now, style)
    return "\n".join(line.rstrip() for line in lines)


def _revision(before: Answer | None, now: Answer, style: Style) -> Iterator[str]:
    when = datetime.fromtimestamp(now["judged_ns"] // NANOSECONDS, UTC).isoformat(sep=" ", timespec="seconds")[:19]
    state = _STATES.get(now["state"], str(now["state"]))
    yield f" {now['revision']}  {when} UTC  {style.plain(now['headline'])}   {state}, judge {now['judge_version']}"
    if before is None:
        yield from style.wrap(str(now["summary"]), " " * 4, " " * 4)
        return
    for change in _changes(before, now):
        yield from style.wrap(style.plain(change), "    - ", "      ")


def _changes(before: Answer, now: Answer) -> Iterator[str]:
    """In words, what a revision says otherwise than the one before it."""
    if before["judge_version"] != now["judge_version"]:
        yield f"judged anew: judge {now['judge_version']} instead of {before['judge_version']}"
    else:
        yield "a record came late"
    for name in ("ending", "integrity"):
        if before[name] != now[name]:
            yield f"{name} was {before[name]}, is {now[name]}"
    yield from (f"no longer said: {text}" for text in before["findings"] if text not in now["findings"])
    yield from (f"found: {text}" for text in now["findings"] if text not in before["findings"])


NO_LIMIT: Final = (
    "no limit on the way shows. It would by three or more of a service that ended"
    " at one moment (after 1 s) or size (above 4 KiB), and more than meet by chance."
)


def render_cuts(found: Answer, since: str, style: Style, place: Sequence[str] = ()) -> str:
    """Each limit as a sentence with streams to look at; ends without a line feed. `place`: options to read there."""
    seen = f"{found['cut']} of {found['streams']} streams since {since} were cut"
    newest = "" if found["whole"] else " (the newest of them are all that was looked at)"
    clusters: Sequence[Answer] = found["cuts"]
    if not clusters:
        return f"{seen}{newest}; {NO_LIMIT}"
    lines = [f"{seen}{newest}."]
    for number, cluster in enumerate(clusters, start=1):
        lines += style.wrap(style.plain(cluster["sentence"]), f" {number}  ", "    ")
        first, *others = (stream[:_DIGITS] for stream in cluster["streams"][:_EXAMPLES])
        lines += [style.dress(f"    That limit: {source}", "dim") for source in cluster["sources"]]
        command = style.plain(shlex.join(["streamwitness", "show", first, *place]))
        lines.append(style.dress(f"    Look: {command}" + (f"  (or {', '.join(others)})" if others else ""), "dim"))
    return "\n".join(line.rstrip() for line in lines)
