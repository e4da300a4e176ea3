"""Which requests are observed: paths by pattern, gateways by origin. Both hooks ask here, so that they agree."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from .framing import framing_of

Origin = tuple[str, str, int | None]
"""Scheme, host and port, as RFC 6454 compares them: lower case, the scheme's default port made explicit."""

_PORTS: Final = {"http": 80, "https": 443}


def is_stream(status: int, path: str, content_type: str) -> bool:
    """Whether a response is a stream of events: a success, of a type that a framing exists for."""
    return 200 <= status < 300 and framing_of(path, content_type) is not None


def profile_named(path: str, profiles: tuple[str, ...]) -> str | None:
    """The profile that the setting `profiles` (`pattern=name`) names for a path; the first that matches."""
    named = (item.rpartition("=") for item in profiles)
    return next((name.strip() for pattern, _, name in named if matches(path, pattern.strip())), None)


def matches(path: str, pattern: str) -> bool:
    """Whether a path (its query left out) matches a pattern with `*` and `?`."""
    return _pattern((pattern,)).fullmatch(path.partition("?")[0]) is not None


def chosen(path: str, include: tuple[str, ...], exclude: tuple[str, ...]) -> bool:
    """Whether a path matches a pattern of `include` (or there is none), and none of `exclude`.

    In a pattern `*` stands for any text and `?` for any character.
    """
    return (not include or _pattern(include).fullmatch(path) is not None) and not (
        exclude and _pattern(exclude).fullmatch(path)
    )


def is_gateway(url: Any, origins: tuple[str, ...]) -> bool:
    """Whether a request's URL (of httpx or httpx2) leads to one of the configured origins."""
    return bool(origins) and _origin(url.scheme, url.host, url.port) in _origins(origins)


def origin_of(url: Any) -> str:
    """The origin of a request's URL as one would configure it."""
    port = "" if url.port in (None, _PORTS.get(url.scheme)) else f":{url.port}"
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}{port}"


@lru_cache(maxsize=64)
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """The patterns as one expression."""
    wild = {"*": ".*", "?": "."}
    each = ("".join(wild.get(char) or re.escape(char) for char in pattern) for pattern in patterns)
    return re.compile("|".join(each), re.DOTALL)


@lru_cache(maxsize=16)
def _origins(configured: tuple[str, ...]) -> frozenset[Origin]:
    parts = (urlsplit(origin) for origin in configured)
    return frozenset(_origin(part.scheme, part.hostname or "", part.port) for part in parts)


def _origin(scheme: str, host: str, port: int | None) -> Origin:
    return scheme.lower(), host.lower().strip("[]"), port or _PORTS.get(scheme.lower())
