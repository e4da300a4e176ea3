"""A block as one column of the database, and the hash that tells equal content from a contradiction."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Final

import msgspec

from streamwitness.blocks import Block

_encoder: Final = msgspec.msgpack.Encoder(order="sorted")
_decoder: Final = msgspec.msgpack.Decoder(Block)


def encode(block: Block) -> bytes:
    """The whole block, role and resource included."""
    return _encoder.encode(block)


def decode(body: bytes) -> Block:
    """The block that `encode` stored."""
    return _decoder.decode(body)


def content_hash(block: Block) -> bytes:
    """16 bytes over what the recorder testified.

    Without role and resource: the same block that comes again by another road (a stock collector adds resource
    attributes, and has no role to give) is the same testimony, not a contradiction.
    """
    testimony = replace(block, role=None, resource={})
    return blake2b(_encoder.encode(testimony), digest_size=16).digest()
