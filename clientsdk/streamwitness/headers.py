"""The two headers by which a client hook and a gateway hook find each other (dictionaries of RFC 9651).

    stream-witness: v=1, id="…", points=(wire parsed), accept-stamp=none, sdk="python/0.1.0"       in a request
    stream-witness: v=1, id="…", exchange="…", hop=0, stamp=none, sampled=?1                       in a response

A response that continues a stream says besides which exchange of it this is and what its first event is numbered
(`attempt=1, first=12`); one that could not continue it names the stream that was asked for (`linked="…"`).

Only the subset that we write is read (strings, tokens, integers, booleans, inner lists; parameters are skipped over),
because a whole structured-field library would be loaded into every host. Malformed input is None, never an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .semconv import KEY_BYTES, POINTS, STAMPS, VERSION, Point, Stamp

LAST_EVENT_ID: Final = "Last-Event-ID"
"""Request header of who has had an event, and asks to go on behind it."""
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
_EVENT_ID: Final = re.compile(r"([0-9a-f]{8})\.(0|[1-9][0-9]{0,9})\Z")

Member = str | int | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """What a client hook announces: the stream id that it proposes, which points it will testify for, and how the
    events may be numbered. `key` is false where nobody would take the stream's key off the response."""

    id: str
    points: tuple[Point, ...]
    stamp: Stamp = "none"
    key: bool = True


@dataclass(frozen=True, slots=True)
class ResponseHeader:
    """What a gateway hook answers: the stream, this response's exchange id, and whether the stream is sampled.

    `stamp` is how the events are numbered, where they are; `attempt` and `first` the number of this exchange within
    its stream and of its first event; `linked` the stream that was to be continued and could not be.
    """

    id: str
    exchange: str
    hop: int
    sampled: bool
    stamp: Stamp = "none"
    attempt: int = 0
    first: int = 0
    linked: str = ""


def format_request(stream: str, points: tuple[Point, ...], stamp: Stamp = "none", *, key: bool = True) -> str:
    """The request header's value; the words are those of RequestHeader."""
    value = f'v=1, id="{stream}", points=({" ".join(points)}), accept-stamp={stamp}, sdk="python/{VERSION}"'
    return value if key else f"{value}, key=?0"


def format_response(
    stream: str,
    exchange: str,
    hop: int,
    sampled: bool,
    *,
    stamp: Stamp = "none",
    attempt: int = 0,
    first: int = 0,
    linked: str = "",
) -> str:
    """The response header's value; the words are those of ResponseHeader."""
    value = f'v=1, id="{stream}", exchange="{exchange}", hop={hop}, stamp={stamp}'
    if attempt:
        value += f", attempt={attempt}, first={first}"
    if linked:
        value += f', linked="{linked}"'
    return f"{value}, sampled=?{int(sampled)}"


def parse_request(value: str) -> RequestHeader | None:
    """Read a request header; None where it is malformed, of another version or without a well-formed id."""
    members = parse_dictionary(value)
    stream, points = members.get("id"), members.get("points", ())
    if members.get("v") != 1 or not isinstance(stream, str) or not _ID32.match(stream):
        return None
    announced = points if isinstance(points, tuple) else ()
    known = tuple(point for point in POINTS if point in announced)
    return RequestHeader(stream, known, _stamp(members.get("accept-stamp")), members.get("key", True) is True)


def parse_response(value: str) -> ResponseHeader | None:
    """Read a response header; None where it is malformed, of another version or lacks one of its ids."""
    members = parse_dictionary(value)
    stream, exchange, hop = members.get("id"), members.get("exchange"), _count(members, "hop")
    if members.get("v") != 1 or not isinstance(stream, str) or not _ID32.match(stream):
        return None
    if not isinstance(exchange, str) or not _ID16.match(exchange) or hop is None:
        return None
    linked = members.get("linked")
    return ResponseHeader(
        stream,
        exchange,
        hop,
        members.get("sampled", True) is True,
        _stamp(members.get("stamp")),
        _count(members, "attempt") or 0,
        _count(members, "first") or 0,
        linked if isinstance(linked, str) and _ID32.match(linked) else "",
    )


def parse_key(value: str) -> bytes | None:
    """The stream's key (`stream-witness-key`, hex digits); None where it is none."""
    try:
        key = bytes.fromhex(value)
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None


def parse_event_id(value: str) -> tuple[str, int] | None:
    """Tag (8 hex digits) and number in an event id of ours (`Last-Event-ID` brings it back); None: not one of ours."""
    match = _EVENT_ID.match(value)
    return (match[1], int(match[2])) if match is not None else None


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


def _stamp(member: Member | None) -> Stamp:
    return next((stamp for stamp in STAMPS if stamp == member), "none")


def _count(members: dict[str, Member], name: str) -> int | None:
    """A member that counts from 0; 0 where it is absent, None where it is no such number."""
    value = members.get(name, 0)
    return value if type(value) is int and value >= 0 else None


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
