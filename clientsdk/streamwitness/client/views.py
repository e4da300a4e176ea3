"""Requests and responses as the hooks' logic sees them, for HTTP libraries whose own objects are spelled otherwise.

`ClientHook` and the gateway's `upstream()` read what httpx and httpx2 call `request.url`, `.headers`, `.extensions`
and `response.request`, `.status_code`, `.headers`, `.extensions`, `.is_success`. A hook for another library fills in
one of each, and ties what came of it to the library's own response.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from . import links


@dataclass(frozen=True, slots=True)
class Url:
    """What is asked of a URL; `host` without brackets, `port` None where it is the scheme's default."""

    scheme: str
    host: str
    port: int | None
    path: str

    @classmethod
    def of(cls, url: str) -> Url:
        """Taken from a text."""
        parts = urlsplit(url)
        return cls(parts.scheme, parts.hostname or "", parts.port, parts.path or "/")


@dataclass(slots=True)
class RequestView:
    """A request about to be sent; changes to `headers` are changes of the library's own."""

    url: Url
    headers: MutableMapping[str, str]
    extensions: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ResponseView:
    """A response whose body was not read yet; `headers` may be a copy that the hook takes back."""

    request: RequestView
    status_code: int
    headers: MutableMapping[str, str]
    extensions: dict[str, Any] = field(default_factory=dict)

    @property
    def is_success(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status_code < 300


def tie(view: ResponseView, response: Any) -> None:
    """Let `links.of` find on the library's response what the logic attached to its view."""
    if (link := links.of(view)) is not None:
        response._streamwitness_link = link
