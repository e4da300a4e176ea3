"""What an operator can set on the collector: addresses, keys and bounds."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from streamwitness import semconv as sc
from streamwitness.semconv import Role
from streamwitness.settings import SettingsError, label, require, setting

RoleOf = Callable[[str], Role | None]
"""Ingest key of a request ("" where it sent none) → its role; None: refused with 401."""

MIB: Final = 1 << 20


@dataclass(frozen=True)
class CollectorSettings:
    """Settings of `streamwitness collector`; each is an option, and a variable `STREAMWITNESS_<NAME>`."""

    host: str = setting("127.0.0.1", "address to listen on")
    port: int = setting(4318, "port to listen on; 0 takes a free one")
    kafka: tuple[str, ...] = setting(("127.0.0.1:9092",), "Kafka bootstrap servers, host:port, separated by commas")
    topic: str = setting(sc.TOPIC, "Kafka topic that blocks are written to")
    kafka_compression: Literal["none", "gzip", "lz4", "zstd"] = setting(
        "zstd", "compression of Kafka messages; every consumer must be able to read it"
    )
    kafka_timeout: float = setting(8.0, "seconds to wait for Kafka's acknowledgement before the sender must retry")
    max_body_bytes: int = setting(4 * MIB, "largest request body as received")
    max_decoded_bytes: int = setting(16 * MIB, "largest request body after decompression")
    max_span_bytes: int = setting(MIB // 4, "largest single block; larger ones are refused alone")
    max_message_bytes: int = setting(
        MIB * 3 // 4, "largest Kafka message; the blocks of a stream are split over several (broker: message.max.bytes)"
    )
    max_waiting_bytes: int = setting(64 * MIB, "bytes being taken in or written at one time; beyond: 429")
    keys: tuple[str, ...] = setting(
        (), "ingest keys as role:key (roles gateway, client, any), separated by commas; none: no key is asked for",
        secret=True,
    )  # fmt: skip
    default_role: Role = setting("any", "what a request may testify for while no keys are configured")

    def __post_init__(self) -> None:
        require(0 <= self.port <= 65535, "port", self.port, "0 to 65535")
        require(self.kafka_timeout > 0, "kafka_timeout", self.kafka_timeout, "a number above 0")
        require(bool(self.topic), "topic", self.topic, "a name")
        servers = bool(self.kafka) and all(server.rpartition(":")[2].isdigit() for server in self.kafka)
        require(servers, "kafka", ",".join(self.kafka), "host:port, several separated by commas")
        bounds = ("max_body_bytes", "max_decoded_bytes", "max_span_bytes", "max_message_bytes", "max_waiting_bytes")
        for name in bounds:
            require(getattr(self, name) > 0, name, getattr(self, name), "a number above 0")
        fits = self.max_span_bytes <= self.max_message_bytes
        require(fits, "max_span_bytes", self.max_span_bytes, f"at most {label('max_message_bytes')}")
        enough = self.max_waiting_bytes >= self.max_decoded_bytes
        require(enough, "max_waiting_bytes", self.max_waiting_bytes, f"at least {label('max_decoded_bytes')}")
        roles_of_keys(self)


def roles_of_keys(settings: CollectorSettings) -> dict[str, Role]:
    """Configured key → its role; raises SettingsError (which never shows a key)."""
    roles: dict[str, Role] = {}
    for number, entry in enumerate(settings.keys, start=1):
        role, _, key = entry.partition(":")
        if role not in sc.ROLES or not key:
            raise SettingsError(f"{label('keys')}: entry {number} is not role:key with a role of {', '.join(sc.ROLES)}")
        if key in roles:
            raise SettingsError(f"{label('keys')}: entry {number} repeats the key of another entry")
        roles[key] = role
    return roles


def role_lookup(settings: CollectorSettings) -> RoleOf:
    """How the collector tells the role of an ingest key, compared in constant time."""
    roles = [(key.encode(), role) for key, role in roles_of_keys(settings).items()]

    def role_of(key: str) -> Role | None:
        if not roles:
            return settings.default_role
        given = key.encode()
        found: Role | None = None
        for known, role in roles:
            if hmac.compare_digest(known, given):
                found = role
        return found

    return role_of
