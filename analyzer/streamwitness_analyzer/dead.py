"""Where messages go that cannot be used: a topic of their own, with the reason and the place they came from."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from kafka import KafkaProducer
from kafka.errors import KafkaError

from .decode import Message

_log: Final = logging.getLogger("streamwitness.analyzer")

REASON_HEADER: Final = "sw-dead-reason"
PLACE_HEADER: Final = "sw-dead-from"
_TIMEOUT: Final = 10
_MAX_REASON: Final = 500


class DeadLetters:
    """Writes to the dead topic; connects when the first message dies."""

    def __init__(self, bootstrap: Sequence[str], topic: str) -> None:
        self._bootstrap = list(bootstrap)
        self._topic = topic
        self._producer: Any = None

    def send(self, message: Message, reason: str) -> None:
        """Copy a message there. A failure is logged and no more: the original stays where the log says it is."""
        headers = [
            *((name, value or b"") for name, value in message.headers),
            (REASON_HEADER, reason[:_MAX_REASON].encode()),
            (PLACE_HEADER, f"{message.topic}/{message.partition}/{message.offset}".encode()),
        ]
        try:
            if self._producer is None:
                self._producer = KafkaProducer(bootstrap_servers=self._bootstrap, acks="all")
            self._producer.send(self._topic, value=message.value, headers=headers).get(timeout=_TIMEOUT)
        except KafkaError as error:
            _log.error("not copied to %s: %s", self._topic, error)

    def close(self) -> None:
        """Let go of the broker."""
        if self._producer is not None:
            self._producer.close(timeout=_TIMEOUT)
