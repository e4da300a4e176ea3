"""The one table of what the demo breaks and what must be concluded; the demo and the tests read the same rows.

The analyzer never sees it: a fault is switched on by a request header, a relay or the client's own code, and the
verdict comes back from the query API as for anybody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PLAIN_EVENTS: Final = 15
"""Events of the script `plain`: role, 12 texts, finish, `[DONE]`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding that must be there. `sequence` is (first, last); last None: as far as was sent."""

    kind: str
    component: str
    sequence: tuple[int, int | None]
    count: int | None = 1
    confidence: str = "certain"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One stream: who reads it, what breaks, and the verdict that must come out.

    `client` names a function of `clients.py`, `script` one of `provider.py`, `gateway` a fault of `gateway.py` with
    its position, `network` the number of events after which the relay resets the connection.
    """

    name: str
    client: str
    broke: str
    script: str = "plain"
    gateway: str = ""
    network: int | None = None
    client_fault: int | None = None
    ending: str = "completed"
    integrity: str = "intact"
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    used: tuple[int, int] | None = (PLAIN_EVENTS, PLAIN_EVENTS)
    """Events (sent by the provider, used by the application); None where timing decides."""

    @property
    def healthy(self) -> bool:
        """Whether nothing was broken on purpose."""
        return not self.broke


HEALTHY: Final = (
    Scenario("plain_openai", "openai", ""),
    Scenario("plain_openai_async", "openai_async", ""),
    Scenario("plain_httpx", "httpx", ""),
    Scenario("compressed_httpx_async", "httpx_async", "", gateway="gzip"),
    Scenario("keep_alive_comments", "openai", "", script="keep_alive"),
    Scenario("equal_deltas", "openai", "", script="equal"),
    Scenario("usage_after_finish", "openai_async", "", script="usage", used=(16, 16)),
    Scenario("slow_reader", "openai_slow", ""),
)

BROKEN: Final = (
    Scenario(
        "source_cut", "openai", "provider stops mid-text", script="cut:9",
        ending="upstream_truncated", used=(9, 9),
    ),
    Scenario(
        "source_error", "openai", "provider sends an error", script="error:6",
        ending="upstream_error", used=(7, 6),
    ),
    Scenario(
        "gateway_swallows", "openai", "gateway swallows 7", gateway="swallow:7",
        integrity="damaged", findings=(Finding("gap", "gateway", (7, 7)),), used=(15, 14),
    ),
    Scenario(
        "gateway_doubles", "httpx", "gateway sends 5 twice", gateway="double:5",
        integrity="damaged", findings=(Finding("duplicate", "gateway", (5, 5)),), used=(15, 16),
    ),
    Scenario(
        "gateway_swaps", "openai_async", "gateway swaps 6 and 7", gateway="swap:6",
        integrity="damaged", findings=(Finding("reorder", "gateway", (6, 7)),),
    ),
    Scenario(
        "gateway_invents_done", "openai", "provider cut, fake DONE", script="cut:9", gateway="invent",
        ending="upstream_truncated", integrity="damaged",
        findings=(Finding("fabricated", "gateway", (9, 9)),), used=(9, 10),
    ),
    Scenario(
        "gateway_reads_on", "openai_cancel", "gateway reads on alone", script="long", gateway="readon", client_fault=6,
        ending="client_cancelled",
        findings=(Finding("upstream_kept_running", "gateway", (6, None), count=None),), used=None,
    ),
    Scenario("gateway_fails_over", "openai", "first upstream breaks", gateway="failover:cut:4", notes=("superseded",)),
    Scenario(
        "network_reset", "httpx", "network resets after 6", network=6,
        ending="network_lost", integrity="damaged",
        findings=(Finding("tail", "transport", (6, None), count=None),), used=None,
    ),
    Scenario(
        "client_times_out", "httpx_impatient", "client gives up on stall", script="stall:6",
        ending="client_timeout", used=(6, 6),
    ),
    Scenario(
        "parser_splits", "httpx_iter_lines", "parser splits at U+2028", script="separator:12",
        integrity="damaged", findings=(Finding("gap", "parser", (12, 12)),), used=(15, 14),
    ),
    Scenario(
        "reducer_raises", "openai_reducer", "reducer raises at 9", client_fault=9,
        integrity="damaged", findings=(Finding("gap", "reducer", (9, 9)),), used=(15, 14),
    ),
    Scenario(
        "user_cancels", "openai_cancel", "user cancels", script="long", client_fault=6,
        ending="client_cancelled", notes=("undelivered",), used=None,
    ),
)  # fmt: skip

SCENARIOS: Final = HEALTHY + BROKEN

BREAKABLE: Final = {
    "source": lambda n: Scenario("source", "openai", f"provider stops after {n} events", script=f"cut:{n}"),
    "gateway": lambda n: Scenario("gateway", "openai", f"gateway swallows {n}", gateway=f"swallow:{n}"),
    "transport": lambda n: Scenario("transport", "httpx", f"network resets after {n} events", network=n),
    "parser": lambda n: Scenario("parser", "httpx_iter_lines", f"parser loses {n}", script=f"separator:{n}"),
    "reducer": lambda n: Scenario("reducer", "openai_reducer", f"reducer raises at {n}", client_fault=n),
}
"""`--break component:n`: the component to break and where."""
