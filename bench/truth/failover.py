"""Gateways whose upstream breaks off: they ask again, and send of the second answer what it takes, or all of it."""

from __future__ import annotations

from random import Random
from typing import Final

from .labels import Deed
from .mediator import Scene
from .said import UNNUMBERED
from .sockets.acts import Act
from .sockets.scenario import written
from .ways import sorts

_SEVERAL: Final = frozenset(("several answers",))


def _asks_again(rng: Random) -> Scene:
    """A gateway whose answer is some texts, each of its own."""
    one = Scene(rng, rng.choice(UNNUMBERED))
    texts = (Act("text", f"word{i} {rng.randrange(1000)} ") for i in range(rng.randint(8, 30)))
    one.answer = written(one.provider, [Act("role"), *texts, Act("finish", "stop"), Act("terminal")])
    return one


def _skips_what_it_sent(one: Scene) -> None:
    """The second answer begins with the same two texts the other way round; of it goes out what had not been sent."""
    first, second = [i for i, event in enumerate(one.answer) if one.has(event, "text")][:2]
    again = list(one.answer)
    again[first], again[second] = again[second], again[first]
    one.leg(one.answer[: second + 1], "reset")
    one.leg(again)
    one.send(one.answer)
    one.notes = _SEVERAL


def _begins_anew(one: Scene) -> None:
    """The second answer goes out as it is, behind what was sent of the first one: the beginning is there twice."""
    texts = [i for i, event in enumerate(one.answer) if one.has(event, "text") and one.tokens([event])]
    at = one.rng.choice(texts[2:-1]) + 1
    one.leg(one.answer[:at], one.rng.choice(("reset", "eof", "protocol_error")))
    one.leg(one.answer)
    one.deeds += [Deed("gateway", "double", (i,)) for i in texts if i < at]
    one.send([*one.answer[:at], *one.answer], one.answer)


SORTS: Final = sorts("failover", 1, (_skips_what_it_sent, _begins_anew), _asks_again)
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
