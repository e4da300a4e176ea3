"""Running the scenarios over real sockets, and fetching the verdicts as any user of the query API would."""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import streamwitness

from .clients import CLIENTS, Call, Outcome
from .gateway import FAULT_HEADER
from .relay import relay
from .scenarios import Scenario
from .serving import free_port, process, wait_for


@dataclass(frozen=True, slots=True)
class Product:
    """Where streamwitness listens: OTLP ingest, and the query API."""

    endpoint: str
    server: str


@dataclass(frozen=True, slots=True)
class Result:
    """One scenario, what its client saw, and the settled verdict."""

    scenario: Scenario
    outcome: Outcome
    verdict: dict[str, Any]


@contextlib.contextmanager
def embedded(database: str) -> Iterator[Product]:
    """Collector and analyzer in one process on the given database."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with process(["streamwitness", "up", "--port", str(port), "--database", database], ready=f"{url}/healthz"):
        yield Product(url, url)


@contextlib.contextmanager
def distributed(kafka: str, database: str) -> Iterator[Product]:
    """Collector and analyzer as two processes with Kafka between them."""
    ingest, query = free_port(), free_port()
    endpoint, server = f"http://127.0.0.1:{ingest}", f"http://127.0.0.1:{query}"
    collector = ["streamwitness", "collector", "--port", str(ingest), "--kafka", kafka]
    analyzer = ["streamwitness", "analyzer", "--port", str(query), "--kafka", kafka, "--database", database]
    with process(collector, ready=f"{endpoint}/healthz"), process(analyzer, ready=f"{server}/healthz"):
        yield Product(endpoint, server)


def run(scenarios: Sequence[Scenario], product: Product, step: Callable[[str], None]) -> list[Result]:
    """Run each scenario once, then wait until every verdict is settled; `step` is told of each one done."""
    with contextlib.ExitStack() as stack:
        gateway = stack.enter_context(_path(product))
        urls = [_url(scenario, gateway, stack) for scenario in scenarios]
        streamwitness.configure(endpoint=product.endpoint, origins=tuple(set(urls)))
        stack.callback(streamwitness.shutdown)
        outcomes = []
        for scenario, url in zip(scenarios, urls, strict=True):
            outcomes.append(_read(scenario, url))
            step(scenario.name)
        streamwitness.flush(10)
        verdicts = [fetch(product.server, outcome.stream, step) for outcome in outcomes]
    return [Result(*row) for row in zip(scenarios, outcomes, verdicts, strict=True)]


def fetch(server: str, stream: str, step: Callable[[str], None]) -> dict[str, Any]:
    """The verdict of one stream, once it is settled."""
    found: dict[str, Any] = {}

    def settled() -> bool:
        found.update(_get(f"{server}/api/v1/streams/{stream}"))
        return found.get("state") in ("settled", "corrected")

    wait_for(settled, f"the verdict on stream {stream[:4]} to settle", seconds=90)
    step(stream[:4])
    return found


@contextlib.contextmanager
def _path(product: Product) -> Iterator[str]:
    """Provider and gateway; gives the gateway's URL."""
    provider, gateway = free_port(), free_port()
    environ = {"DEMO_PROVIDER": f"http://127.0.0.1:{provider}", "STREAMWITNESS_ENDPOINT": product.endpoint}
    ready = "http://127.0.0.1:{}/v1/chat/completions"
    with (
        process(["streamwitness.demo.provider", str(provider)], ready=ready.format(provider)),
        process(["streamwitness.demo.gateway", str(gateway)], ready=ready.format(gateway), environ=environ),
    ):
        yield f"http://127.0.0.1:{gateway}"


def _url(scenario: Scenario, gateway: str, stack: contextlib.ExitStack) -> str:
    if scenario.network is None:
        return gateway
    port = stack.enter_context(relay(int(gateway.rpartition(":")[2]), scenario.network))
    return f"http://127.0.0.1:{port}"


def _read(scenario: Scenario, url: str) -> Outcome:
    headers = {FAULT_HEADER: scenario.gateway} if scenario.gateway else {}
    _, read = CLIENTS[scenario.client]
    return read(Call(url, scenario.script, headers, scenario.client_fault))


def _get(url: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return dict(json.load(response))
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return {}
        raise
