"""The two headers by which a client hook and a gateway hook find each other (dictionaries of RFC 9651).

    stream-witness: v=1, id="…", points=(wire parsed), accept-stamp=none, sdk="python/0.1.0"       in a request
    stream-witness: v=1, id="…", exchange="…", hop=0, stamp=none, sampled=?1                       in a response

Only the subset that we write is read (strings, tokens, integers, booleans, inner lists; parameters are skipped over),
because a whole structured-field library would be loaded into every host. Malformed input is None, never an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .semconv import POINTS, VERSION, Point

_MAX_BYTES: Final = 1024
_MEMBER: Final = re.compile(
    r"""[ ]*(?P<key>[a-z*][a-z0-9_.*-]*)(?:=(?:
        "(?P<string>[\x20\x21\x23-\x5b\x5d-\x7e]*)"
      | \?(?P<boolean>[01])
      | (?P<integer>-?\d{1,15})(?![\w.])
      | (?P<token>[A-Za-z*][\w!#$%&'*+.^`|~:/-]*)
      | \((?P<list>[A-Za-z0-9_ -]*)\)
    ))?(?:;[^,]*)?[ \t]*(?:,|\Z)""",
    re.VERBOSE,
)
_ID32: Final = re.compile(r"[0-9a-f]{32}\Z")
_ID16: Final = re.compile(r"[0-9a-f]{16}\Z")

Member = str | int | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """What a client hook announces: the stream id that it proposes, and which points it will testify for."""

    id: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class ResponseHeader:
    """What a gateway hook answers: the stream, this response's exchange id, and whether the stream is sampled."""

    id: str
    exchange: str
    hop: int
    sampled: bool


def format_request(stream: str, points: tuple[Point, ...]) -> str:
    """The request header's value."""
    return f'v=1, id="{stream}", points=({" ".join(points)}), accept-stamp=none, sdk="python/{VERSION}"'


def format_response(stream: str, exchange: str, hop: int, sampled: bool) -> str:
    """The response header's value."""
    return f'v=1, id="{stream}", exchange="{exchange}", hop={hop}, stamp=none, sampled=?{int(sampled)}'


def parse_request(value: str) -> RequestHeader | None:
    """Read a request header; None where it is malformed, of another version or without a well-formed id."""
    members = parse_dictionary(value)
    stream, points = members.get("id"), members.get("points", ())
    if members.get("v") != 1 or not isinstance(stream, str) or not _ID32.match(stream):
        return None
    announced = points if isinstance(points, tuple) else ()
    return RequestHeader(stream, tuple(point for point in POINTS if point in announced))


def parse_response(value: str) -> ResponseHeader | None:
    """Read a response header; None where it is malformed, of another version or lacks one of its ids."""
    members = parse_dictionary(value)
    stream, exchange, hop = members.get("id"), members.get("exchange"), members.get("hop", 0)
    if members.get("v") != 1 or not isinstance(stream, str) or not _ID32.match(stream):
        return None
    if not isinstance(exchange, str) or not _ID16.match(exchange) or type(hop) is not int or hop < 0:
        return None
    return ResponseHeader(stream, exchange, hop, members.get("sampled", True) is True)


def parse_dictionary(value: str) -> dict[str, Member]:
    """A structured-field dictionary of our subset; empty where any of it is malformed or it is over 1 KiB."""
    members: dict[str, Member] = {}
    at = 0
    if len(value) > _MAX_BYTES:
        return {}
    while at < len(value):
        match = _MEMBER.match(value, at)
        if match is None:
            return {}
        members[match["key"]] = _member(match)
        at = match.end()
    return members


def _member(match: re.Match[str]) -> Member:
    if match["string"] is not None:
        return match["string"]
    if match["boolean"] is not None:
        return match["boolean"] == "1"
    if match["integer"] is not None:
        return int(match["integer"])
    if match["list"] is not None:
        return tuple(match["list"].split())
    return match["token"] if match["token"] is not None else True
