"""What a list of streams can be narrowed by: query parameters → a checked Filter. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from streamwitness import semconv as sc
from streamwitness.settings import nearest

from . import vocabulary as words
from .config import NANOSECONDS

MAX_LIMIT: Final = 500
DEFAULT_LIMIT: Final = 50
SINCE: Final = "1d"
"""How far back a question looks that has to end somewhere, unless it says."""
WHEN: Final = "an age (30s, 15m, 2h, 7d) or an ISO 8601 time"
"""The forms of a time, as people are told them."""

WORDS: Final[dict[str, Sequence[str]]] = {
    "ending": tuple(words.ENDINGS),
    "group": words.GROUPS,
    "integrity": words.INTEGRITIES,
    "confidence": words.CONFIDENCES,
    "component": sc.COMPONENTS,
    "kind": words.KINDS,
    "state": words.STATES,
}
"""Parameter → the words it takes; several are separated by commas and mean any of them."""

OTHERS: Final = ("client", "since", "limit", "cursor")
PARAMETERS: Final = (*WORDS, *OTHERS)

_AGE: Final = re.compile(r"(\d{1,6})([smhd])\Z")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LATEST: Final = 1 << 62
_MAX_WORD: Final = 128


class FilterError(ValueError):
    """A parameter is unknown or has an impossible value; the message names it."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A checked query. `words` is parameter → allowed values; `since` Unix ns; `after` the last row of a page."""

    words: Mapping[str, tuple[str, ...]]
    client: str | None = None
    since: int | None = None
    limit: int = DEFAULT_LIMIT
    after: tuple[int, str] | None = None


def parse(parameters: Iterable[tuple[str, str]], now: int) -> Filter:
    """Check query parameters; `now` (Unix ns) is what an age like `15m` counts from. Raises FilterError."""
    given: dict[str, str] = {}
    for name, value in parameters:
        if name not in PARAMETERS:
            near = nearest(name, PARAMETERS)
            raise FilterError(f"unknown parameter {name!r}; " + (f"did you mean {near!r}?" if near else _known()))
        if name in given:
            raise FilterError(f"{name} stands twice; several values are separated by commas")
        given[name] = value
    return Filter(
        words={name: _words(name, given[name]) for name in WORDS if name in given},
        client=_client(given["client"]) if "client" in given else None,
        since=moment("since", given["since"], now) if "since" in given else None,
        limit=_limit(given.get("limit", str(DEFAULT_LIMIT))),
        after=_cursor(given["cursor"]) if "cursor" in given else None,
    )


def since_only(parameters: Iterable[tuple[str, str]], now: int) -> int:
    """`since` of a question that takes no other parameter, Unix ns; without one, `SINCE` ago. Raises FilterError."""
    given = dict(parameters)
    if unknown := next((name for name in given if name != "since"), None):
        raise FilterError(f"unknown parameter {unknown!r}; known: since")
    return moment("since", given.get("since", SINCE), now)


def cursor(first_received: int, stream: str) -> str:
    """The text that goes on after this row."""
    return base64.urlsafe_b64encode(f"{first_received}.{stream}".encode()).decode().rstrip("=")


def _known() -> str:
    return f"known: {', '.join(PARAMETERS)}"


def _words(name: str, text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    for word in chosen:
        if word not in WORDS[name]:
            near = nearest(word, WORDS[name])
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(WORDS[name])}"
            raise FilterError(f"{name} is {word[:_MAX_WORD]!r}; {hint}")
    return chosen


def _client(text: str) -> str:
    if not 0 < len(text) <= _MAX_WORD or "\x00" in text:
        raise FilterError(f"client must be 1 to {_MAX_WORD} characters")
    return text


def moment(name: str, text: str, now: int) -> int:
    """The time (Unix ns) that a parameter tells, as in `WHEN`; an age counts from `now`. Raises FilterError."""
    if age := _AGE.match(text):
        return max(0, now - int(age[1]) * _UNITS[age[2]] * NANOSECONDS)
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise FilterError(f"{name} is {text[:_MAX_WORD]!r}; give {WHEN}") from error
    return min(max(0, int(seconds * NANOSECONDS)), _LATEST)


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MAX_LIMIT):
        raise FilterError(f"limit is {text[:_MAX_WORD]!r}; give 1 to {MAX_LIMIT}")
    return int(text)


def _cursor(text: str) -> tuple[int, str]:
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode("ascii")
    except ValueError as error:
        raise FilterError("cursor is not one that this API gave out") from error
    when, _, stream = decoded.partition(".")
    if not re.fullmatch(r"\d{1,18}|[1-8]\d{18}", when) or not re.fullmatch(r"[0-9a-f]{32}", stream):
        raise FilterError("cursor is not one that this API gave out")
    return int(when), stream
