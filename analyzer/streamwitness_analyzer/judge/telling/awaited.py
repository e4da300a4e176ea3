"""A verdict that is not final yet: whose records are still to come, and how that is told."""

from __future__ import annotations

from typing import Final

from streamwitness_analyzer.judge.path import Path

from . import words

_GATEWAY: Final = ("ingress", "egress")


def awaited(main: Path | None) -> tuple[str, ...]:
    """Who has not told all that it announced, before anybody's silence says anything: the gateway, the client."""
    if main is None:
        return ()
    exchange = main.exchange
    heard = {record.point for record in exchange.records}
    points = (exchange.expected - heard) | {record.point for record in exchange.records if not record.closed}
    sides = {"gateway" if point in _GATEWAY else "client" for point in points}
    return tuple(sorted(sides, reverse=True))  # the way of the answer


def in_short(who: tuple[str, ...]) -> str:
    """What a list says of a verdict that nothing was found for so far."""
    return f"{_named(who)} not reported yet" if who else "no fault so far"


def in_full(who: tuple[str, ...]) -> str:
    """The same as a sentence."""
    what = "Whether anything was lost on the way is not known yet"
    return f"{what}: {_named(who)} not told all." if who else f"{what}."


def _named(who: tuple[str, ...]) -> str:
    names = " and ".join(f"the {name}" for name in who)
    return f"{names} {'has' if len(who) == 1 else 'have'}"


def record_of(point: str, settled: bool) -> str:
    """That the record of a point is not there."""
    return f"{words.label(point)}: its record {'never came' if settled else 'has not come yet'}"
