"""The token of a linked leg: what another process must know to record an upstream response as a leg of an exchange.

    sw1.<base64url of 60 bytes>

16 bytes stream, 8 exchange, 8 recorder, 16 key, then big-endian u16 leg, u16 attempt, u16 hop, u8 level, u8 0, and the
first 4 bytes of BLAKE2s over all before them, against what is no such token. The key is the stream's secret: the token
is for the gateway's own queue, and for nobody else's eyes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from typing import Final

from streamwitness.semconv import Level
from streamwitness.witness import Identity

from .context import LinkedLeg

_PREFIX: Final = "sw1."
_LAYOUT: Final = struct.Struct(">16s8s8s16sHHHBx")
_CHECK_BYTES: Final = 4
_LEVELS: Final[tuple[Level, ...]] = ("counters", "rows", "digests")
_MOST: Final = 0xFFFF


class TokenError(ValueError):
    """A text is no token of a linked leg; it never says more, because the text may be a secret."""


def write(leg: LinkedLeg) -> str:
    """The token; raises TokenError where the leg's numbers do not fit."""
    identity = leg.identity
    numbers = (leg.number, identity.attempt, identity.hop)
    if max(numbers) > _MOST:
        raise TokenError("its numbers are too large")
    ids = (bytes.fromhex(text) for text in (identity.stream, identity.exchange, leg.recorder))
    body = _LAYOUT.pack(*ids, identity.key, *numbers, _LEVELS.index(leg.level))
    return _PREFIX + base64.urlsafe_b64encode(body + _check(body)).decode("ascii")


def read(token: object) -> LinkedLeg:
    """What a token says; raises TokenError for anything that is none."""
    if not isinstance(token, str) or not token.startswith(_PREFIX):
        raise TokenError("not of this form")
    try:
        data = base64.b64decode(token[len(_PREFIX) :], altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise TokenError("not base64url") from None
    body, check = data[: _LAYOUT.size], data[_LAYOUT.size :]
    if len(body) < _LAYOUT.size or check != _check(body):
        raise TokenError("cut short, or changed on the way")
    stream, exchange, recorder, key, number, attempt, hop, level = _LAYOUT.unpack(body)
    if level >= len(_LEVELS):
        raise TokenError("of a later version")
    identity = Identity(stream.hex(), exchange.hex(), key, attempt=attempt, hop=hop)
    return LinkedLeg(identity, number, recorder.hex(), _LEVELS[level])


def less(one: Level, two: Level) -> Level:
    """The level that says less."""
    return min(one, two, key=_LEVELS.index)


def _check(body: bytes) -> bytes:
    return hashlib.blake2s(body, digest_size=_CHECK_BYTES).digest()
