"""What the rows of the matrix are made of: answers, gateways, clients, stops, all faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .clients import FORMATS, HELPERS
from .faults import TABLE, Fault
from .scenario import TRANSLATED, WRITERS

PROVIDERS: Final = tuple(WRITERS)
GATEWAYS: Final = ("pass", "reprint", "translate", "buffer", "chunked", "failover", "asks_again")

ANSWERS: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "plain", "plain:1", "equal", "pairs", "refrain", "nothing", "reasoning", "tools", "length", "filter", "unicode",
        "long:700",
    ),
    "openai_chat": ("empty", "choices", "pings", "usage", "no_terminator", "early_finish", "refusal", "error",
                    "error_within"),
    "openai_responses": ("empty", "refusal", "pings", "error", "error_within"),
    "anthropic": ("empty", "pings", "error", "error_within"),
    "gemini": ("empty", "choices", "usage", "early_finish", "error"),
    "gemini_array": ("usage", "error"),
    "ollama": ("error",),
}  # fmt: skip
"""Provider → answers that it can give; those of the empty name all can."""

STOPS: Final = ("break", "close", "cancel", "abort", "timeout", "limit")
SHOWN: Final = ("plain", "equal", "choices", "unicode", "tools", "reasoning", "refusal", "empty", "length", "error")
"""Answers of those streams of which the application shows what it kept."""
LEAVING: Final = ("", "break", "cancel", "early")
"""Stops of those clients of which no record comes."""
SYNC: Final = ("openai_sync", "requests")
BY_EVENT: Final = ("pass", "reprint", "translate")
"""Gateways that send each event at once."""


def faults() -> Iterator[Fault]:
    """Every fault at every place, and some of them to three events in a row."""
    for component, table in TABLE.items():
        for how, places in table.items():
            yield from (Fault(component, how, where) for where in places)
            if how in ("drop", "double", "move", "forget") and component != "source":
                yield Fault(component, how, "middle", 3)


def clients_of(provider: str) -> list[str]:
    """The clients that everything is tried with, of those that read this format."""
    return ["httpx", *(client for client, reads in FORMATS.items() if reads == provider)]


def more_clients(provider: str) -> list[str]:
    """Clients that some things are tried with."""
    return ["aiohttp", "requests", *(client for client, reads in HELPERS.items() if reads == provider)]


def clients_behind(provider: str, gateway: str) -> list[str]:
    """The clients that read what leaves this gateway."""
    return clients_of(TRANSLATED.get(provider, provider) if gateway == "translate" else provider)


def stops_of(client: str) -> Sequence[str]:
    """The stops that this client can make: a thread cannot be cancelled."""
    return ("break", "abort", "timeout") if client in SYNC else STOPS
