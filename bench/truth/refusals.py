"""Upstreams that refuse, and answers of which no upstream that was seen brought anything.

As a gateway records them: a leg with an error status, and nothing else; or one that broke before its first event.
"""

from __future__ import annotations

from typing import Final

from .ends import SSE, Journey, told_of_a_refusal
from .ways import sorts

_STATUSES: Final = (400, 401, 403, 404, 408, 429, 500, 502, 503, 529)
_BROKEN: Final = ("reset", "protocol_error", "timeout", "eof")
_UNPROVABLE: Final = frozenset(("unprovable",))


def _turned_away(one: Journey, least: int = 1) -> tuple[int, ...]:
    """The statuses of a few refusals."""
    return tuple(one.rng.choice(_STATUSES) for _ in range(one.rng.randint(least, 3)))


def _given_up(one: Journey) -> None:
    """All refused, and the gateway says so: nothing of an answer ever was."""
    one.refused = _turned_away(one)
    told_of_a_refusal(one)


def _given_up_silently(one: Journey) -> None:
    """All refused, and the gateway raises, or ends an answer that has nothing in it."""
    one.refused = _turned_away(one)
    sent, came = one.rng.choice((("raised", "protocol_error"), ("eof", "eof")))
    one.at("egress", (), sent)
    one.at("wire", (), came)
    one.used(came)
    one.did("source", "cut", 0)
    one.by("upstream_rejected", "source")


def _asked_again(one: Journey) -> None:
    """Some refused, one answered, and of what it said the gateway loses something in half of the streams."""
    one.refused, one.refused_behind = _turned_away(one), _turned_away(one, 0)[:1]
    one.at("ingress", one.answer)
    sent = list(one.answer)
    if one.rng.random() < 0.5:
        at = one.midst()
        one.did("gateway", "drop", at)
        del sent[at]
    one.at("egress", sent)
    one.at("wire", sent)
    one.used()
    one.by("completed", "source")


def _asked_again_in_vain(one: Journey) -> None:
    """It broke off in its midst, and all that were asked then refused: the breaking ended it."""
    at = one.midst()
    one.refused, one.refused_behind = _turned_away(one, 0)[:1], _turned_away(one)
    one.at("ingress", one.answer[:at], one.rng.choice(_BROKEN[:2]))
    one.at("egress", [*one.answer[:at], *one.error])
    one.at("wire", [*one.answer[:at], *one.error])
    one.used("raised")
    one.did("source", "cut", *range(at, len(one.answer)))
    one.by("upstream_truncated", "source")


def _left_while_asking_again(one: Journey) -> None:
    """A client that goes while its gateway waits before it asks once more."""
    one.refused = _turned_away(one)
    one.at("egress", (), "disconnected")
    one.at("wire", (), "cancelled")
    one.used("cancelled")
    one.stopped = frozenset(("gateway", "transport", "parser", "reducer"))
    one.by("client_cancelled", "client")


def _played_from_a_store(one: Journey) -> None:
    """An answer that no upstream gave, though some may have been asked, and refused."""
    one.refused = _turned_away(one, 0)
    one.announced = one.announced if one.refused else one.announced[1:]
    one.at("egress", one.answer)
    one.at("wire", one.answer)
    one.used()
    one.by("completed", None)


def _played_for_a_broken_one(one: Journey) -> None:
    """The same for an upstream that broke before its first event."""
    one.refused = _turned_away(one, 0)[:1]
    one.at("ingress", (), one.rng.choice(_BROKEN))
    one.at("egress", one.answer)
    one.at("wire", one.answer)
    one.used()
    one.by("completed", None)
    one.notes = _UNPROVABLE


def _read_unseen(one: Journey) -> None:
    """After a refusal the gateway reads another upstream by a client without a hook, and that one fails."""
    at = one.midst()
    one.refused = _turned_away(one)
    one.at("egress", [*one.answer[:at], *one.error])
    one.at("wire", [*one.answer[:at], *one.error])
    one.used("raised")
    one.by("upstream_error", None, "upstream_truncated")
    one.notes = _UNPROVABLE


_WAYS: Final = (
    _given_up, _given_up_silently, _asked_again, _asked_again_in_vain, _left_while_asking_again, _played_from_a_store,
    _played_for_a_broken_one, _read_unseen,
)  # fmt: skip

SORTS: Final = sorts("refusals", 1, _WAYS, lambda rng: Journey(rng, rng.choice(SSE)))
"""Name → what makes such a stream, and how often beside the others; each of the ways can be had alone."""
