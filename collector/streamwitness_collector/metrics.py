"""What the collector counts, in its own registry; every label value exists from the start, with 0."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from .otlp import REASONS, Intake

OUTCOMES: Final[dict[str, str]] = {
    "ok": "answered 200, every span accepted",
    "partial": "answered 200, some or all spans refused",
    "undecodable": "answered 400: no trace request, or not what its Content-Encoding says",
    "unauthorized": "answered 401: no ingest key, or an unknown one",
    "slow": "answered 408: the body did not arrive in time",
    "too_large": "answered 413: body too large, as received or inflated",
    "content_type": "answered 415: not application/x-protobuf",
    "encoding": "answered 415: unknown Content-Encoding",
    "full": "answered 429: too much under way",
    "failed": "answered 500: the sink refuses this batch for good, or a defect of ours",
    "unavailable": "answered 503: the sink cannot store now",
    "disconnected": "the sender left before its request was complete",
}
"""How a request to /v1/traces can end."""


class Metrics:
    """The collector's metrics; `registry` may be another part's, to be shown together with its own."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = CollectorRegistry() if registry is None else registry
        self.requests = Counter(
            "streamwitness_collector_requests_total", "OTLP requests by outcome", ["outcome"], registry=self.registry
        )
        self.refused = Counter(
            "streamwitness_collector_spans_refused_total", "Spans refused by reason", ["reason"], registry=self.registry
        )
        self.accepted = self._counter("spans_accepted", "Spans (blocks) accepted and stored")
        self.attributes = self._counter("attributes_dropped", "Attributes taken out because they are not allowed")
        self.received = self._counter("received_bytes", "Bytes of request bodies as received")
        self.messages = self._counter("messages", "Messages written to the sink")
        self.waiting = Gauge(
            "streamwitness_collector_waiting_bytes", "Bytes being taken in or written", registry=self.registry
        )
        for outcome in OUTCOMES:
            self.requests.labels(outcome)
        for reason in REASONS:
            self.refused.labels(reason)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(f"streamwitness_collector_{name}_total", text, registry=self.registry)

    def took(self, intake: Intake) -> None:
        """Count the spans of a request that is answered 200."""
        self.accepted.inc(intake.accepted)
        self.attributes.inc(intake.dropped_attributes)
        self.messages.inc(len(intake.messages))
        for reason, count in intake.refused.items():
            self.refused.labels(reason).inc(count)
