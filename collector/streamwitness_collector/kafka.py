"""The Kafka sink: one message for the blocks of one stream, written when every in-sync replica has it.

kafka-python blocks (for metadata, and while connecting), so one worker thread talks to it; acknowledgements come back
through callbacks. Its own buffer has no bound, ours has: bytes count from `write` until the broker has answered.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from kafka import KafkaProducer
from kafka.codec import has_gzip, has_lz4, has_zstd
from kafka.errors import KafkaConnectionError, KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from streamwitness import semconv as sc
from streamwitness.settings import SettingsError, label

from .config import CollectorSettings
from .sink import Batch, SinkUnavailable

_log: Final = logging.getLogger("streamwitness.collector.kafka")

_CODECS: Final = {"none": lambda: True, "gzip": has_gzip, "lz4": has_lz4, "zstd": has_zstd}
_TOO_LARGE: Final = (MessageSizeTooLargeError, RecordListTooLargeError)
_HEADROOM: Final = 1 << 14
"""Bytes that key, headers and Kafka's own framing add to a message at most."""
_PAUSE: Final = 1.0
"""Seconds for which writes are refused at once after a failure, so that they do not queue up behind a dead broker."""
_CLOSE_SECONDS: Final = 10.0
_KNOCK_SECONDS: Final = 2.0
_DISCARD_SECONDS: Final = 1.0


class KafkaSink:
    """Writes batches to one topic: acks=all, idempotent. For one event loop."""

    def __init__(self, settings: CollectorSettings) -> None:
        """Connects at the first write; raises SettingsError when the compression is not available here."""
        if not _CODECS[settings.kafka_compression]():
            what = settings.kafka_compression
            raise SettingsError(f"{label('kafka_compression')} is {what!r}, whose package is not installed here")
        self._settings = settings
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="streamwitness-kafka")
        self._producer: Any = None
        self._lock = threading.Lock()
        self._waiting = 0
        self._refuse_until = 0.0
        self._down = False
        self._closing = False

    @property
    def waiting_bytes(self) -> int:
        """Bytes that the broker has not acknowledged yet."""
        return self._waiting

    def connect(self) -> None:
        """Begin to connect, in the worker thread; a failure is logged, and the next write tries again."""
        self._worker.submit(self._try_to_connect)

    async def write(self, batch: Batch) -> None:
        """Return when Kafka has acknowledged every message; raises SinkUnavailable."""
        if time.monotonic() < self._refuse_until:
            raise SinkUnavailable(f"Kafka at {self._servers} is not reachable")
        self._reserve(batch.size)
        task = self._worker.submit(self._send, batch)
        task.add_done_callback(lambda done: self._release(batch.size) if done.cancelled() else None)
        try:
            async with asyncio.timeout(self._settings.kafka_timeout):
                await _acknowledged(await asyncio.wrap_future(task))
        except _TOO_LARGE as error:
            raise SinkUnavailable(f"Kafka takes no message of this size: {error}", retryable=False) from error
        except TimeoutError as error:
            raise self._failed(f"no acknowledgement within {self._settings.kafka_timeout:g} s") from error
        except KafkaError as error:
            raise self._failed(f"{type(error).__name__}: {error}") from error
        self._succeeded()

    async def close(self) -> None:
        """Flush what is under way (bounded) and close the producer."""
        self._closing = True
        self._refuse_until = float("inf")
        await asyncio.get_running_loop().run_in_executor(self._worker, self._close)
        self._worker.shutdown(wait=False)

    # ----------------------------------------------------------------------- in the worker thread

    def _send(self, batch: Batch) -> list[Any]:
        """Hand every message to the producer; what it does not take is no longer waiting."""
        headers = [
            (sc.KAFKA_VERSION_HEADER, str(sc.WIRE_VERSION).encode()),
            (sc.KAFKA_ROLE_HEADER, batch.role.encode()),
            (sc.KAFKA_RECEIVED_HEADER, str(batch.received_ns).encode()),
        ]
        unsent = batch.size
        sent: list[Any] = []
        try:
            producer = self._connected()
            for message in batch.messages:
                size = len(message.body)
                future = producer.send(self._settings.topic, message.body, message.stream.encode(), headers)
                unsent -= size
                future.add_both(lambda _, size=size: self._release(size))
                sent.append(future)
        finally:
            self._release(unsent)
        return sent

    def _try_to_connect(self) -> None:
        try:
            self._connected()
        except KafkaError as error:
            self._failed(f"{type(error).__name__}: {error}")

    def _connected(self) -> KafkaProducer:
        if self._producer is None:
            settings = self._settings
            _knock(settings.kafka)
            patience = int(settings.kafka_timeout * 1000)
            self._producer = KafkaProducer(
                bootstrap_servers=list(settings.kafka),
                client_id="streamwitness-collector",
                acks="all",
                enable_idempotence=True,
                compression_type=None if settings.kafka_compression == "none" else settings.kafka_compression,
                max_request_size=settings.max_message_bytes + _HEADROOM,
                linger_ms=2,
                max_block_ms=patience // 2,
                bootstrap_timeout_ms=patience // 2,
                request_timeout_ms=patience // 2,
                delivery_timeout_ms=patience,
                reconnect_backoff_max_ms=1000,
            )
        return self._producer

    def _discard(self, producer: KafkaProducer) -> None:
        """Begin anew: an idempotent producer whose messages have expired may never send again (kafka-python 3.0)."""
        if producer is self._producer:
            self._producer = None
            # close() alone gives up while something is unsent, and leaves its thread running.
            producer._sender.force_close()
            _close(producer, _DISCARD_SECONDS)

    def _close(self) -> None:
        if self._producer is not None and not _close(self._producer, _CLOSE_SECONDS):
            _log.error("Kafka did not take everything before the end; its senders were not answered 200")
            self._discard(self._producer)

    # ----------------------------------------------------------------------- bookkeeping

    @property
    def _servers(self) -> str:
        return ",".join(self._settings.kafka)

    def _reserve(self, size: int) -> None:
        with self._lock:
            if self._waiting + size > self._settings.max_waiting_bytes:
                raise SinkUnavailable(f"{self._waiting} bytes wait for Kafka", full=True)
            self._waiting += size

    def _release(self, size: int) -> None:
        with self._lock:
            self._waiting -= size

    def _failed(self, why: str) -> SinkUnavailable:
        self._refuse_until = max(self._refuse_until, time.monotonic() + _PAUSE)
        if not self._down:
            self._down = True
            _log.error("Kafka at %s does not acknowledge: %s", self._servers, why)
        if self._producer is not None and not self._closing:
            self._worker.submit(self._discard, self._producer)
        return SinkUnavailable(f"Kafka at {self._servers} does not acknowledge ({why})")

    def _succeeded(self) -> None:
        if self._down:
            self._down = False
            _log.warning("Kafka at %s acknowledges again", self._servers)


def _knock(servers: tuple[str, ...]) -> None:
    """Raise KafkaConnectionError unless a server can be connected to: a producer that cannot start leaks sockets.

    The analyzer has its own: neither may import the other, and what both may import opens no sockets.
    """
    refusals = []
    for server in servers:
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_SECONDS).close()
            return
        except OSError as error:
            refusals.append(f"{server}: {error.strerror or error}")
    raise KafkaConnectionError("; ".join(refusals))


async def _acknowledged(sent: list[Any]) -> None:
    """Return when every message is acknowledged; raises the first failure."""
    loop = asyncio.get_running_loop()
    waiters = [_waiter(loop, future) for future in sent]
    await asyncio.gather(*waiters)


def _waiter(loop: asyncio.AbstractEventLoop, sent: Any) -> asyncio.Future[None]:
    """kafka-python's future, which is settled in its thread, as one of the event loop."""
    waiter: asyncio.Future[None] = loop.create_future()
    sent.add_callback(lambda _: loop.call_soon_threadsafe(_settle, waiter, None))
    sent.add_errback(lambda error: loop.call_soon_threadsafe(_settle, waiter, error))
    return waiter


def _settle(waiter: asyncio.Future[None], error: Exception | None) -> None:
    if waiter.done():  # given up
        return
    if error is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(error)


def _close(producer: KafkaProducer, seconds: float) -> bool:
    """Flush and close; False when not everything could be sent in time."""
    try:
        producer.close(timeout=seconds)
    except KafkaError:
        return False
    return True
