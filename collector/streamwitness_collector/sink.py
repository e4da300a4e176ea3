"""Where accepted blocks go: the batch of one request, and what a sink must keep.

A request is answered 200 only after `write` has returned, so a sink returns when the batch is safe (Kafka has
acknowledged it, the transaction has committed), and the sender's retry is the queue. The same blocks may come twice:
whoever reads them drops repetitions by block key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from streamwitness.blocks import Block
from streamwitness.semconv import Role


@dataclass(frozen=True, slots=True)
class Message:
    """Blocks of one stream out of one request: what becomes one Kafka message.

    `body` is a serialized ExportTraceServiceRequest that holds exactly `blocks`, in this order.
    """

    stream: str
    body: bytes
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """The accepted blocks of one request. `received_ns` is when its body was complete, in Unix nanoseconds."""

    role: Role
    received_ns: int
    messages: tuple[Message, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all message bodies."""
        return sum(len(message.body) for message in self.messages)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, message by message."""
        return tuple(block for message in self.messages for block in message.blocks)


class SinkUnavailable(Exception):
    """The batch could not be stored; the text says why and what an operator can do.

    `retryable`: the same batch may succeed later, after `retry_after` seconds at the earliest. `full`: nothing is
    broken, too much is under way.
    """

    def __init__(self, reason: str, *, retryable: bool = True, full: bool = False, retry_after: int = 1) -> None:
        super().__init__(reason)
        self.retryable = retryable
        self.full = full
        self.retry_after = retry_after


class Sink(Protocol):
    """Stores batches. Called on the event loop, many writes at a time; must never block it."""

    async def write(self, batch: Batch) -> None:
        """Store the whole batch and return when it is safe; raises SinkUnavailable (then part of it may be stored)."""

    async def close(self) -> None:
        """Finish the writes under way and let go of everything; called once, after the last write."""
