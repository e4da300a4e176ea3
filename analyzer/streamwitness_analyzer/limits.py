"""Limits that are known to end streams, as data: identical cuts close to one of them have a name to ask for.

Each is a default that its maker documents, or one that public bug reports show; where it is written stands beside it.
A product that stands on the way may be set otherwise: a known limit is where to look first, never a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Measure = Literal["time", "silence", "bytes"]
MEASURES: Final[tuple[Measure, ...]] = ("time", "silence", "bytes")
"""From the beginning to the end (ms), from the last event to the end (ms), size of all events."""

_S: Final = 1_000
_KIB: Final = 1_024


@dataclass(frozen=True, slots=True)
class Limit:
    """A known limit: between `low` and `high` of a measure (ms or bytes); `name` completes "known as …".

    `sources`: public addresses, one for each product that is named.
    """

    measure: Measure
    low: int
    high: int
    name: str
    sources: tuple[str, ...]


def _at(measure: Measure, value: int, name: str, *sources: str) -> Limit:
    return Limit(measure, value, value, name, sources)


KNOWN: Final = (
    _at(
        "silence", 5 * _S, "the time that httpx waits for a read by default",
        "https://www.python-httpx.org/advanced/timeouts/",
    ),
    _at(
        "time", 15 * _S, "the time that Envoy gives a whole response by default",
        "https://www.envoyproxy.io/docs/envoy/latest/faq/configuration/timeouts",
    ),
    _at(
        "time", 29 * _S, "the longest response of AWS API Gateway by default",
        "https://aws.amazon.com/about-aws/whats-new/2024/06/amazon-api-gateway-integration-timeout-limit-29-seconds/",
    ),
    _at(
        "time", 30 * _S, "the time that Google Cloud's load balancer gives a whole response by default",
        "https://gcpdiag.dev/rules/lb/BP/2025_002/",
    ),
    _at(
        "silence", 30 * _S, "the time that AWS CloudFront waits for its origin by default",
        "https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_VpcOriginConfig.html",
    ),
    _at(
        "silence", 55 * _S, "the time between two bytes that Heroku's router allows",
        "https://devcenter.heroku.com/articles/request-timeout#long-polling-and-streaming-responses",
    ),
    _at(
        "time", 60 * _S, "the time that Google's Cloud Functions (1st generation) have for a response by default",
        "https://cloud.google.com/functions/1stgendocs/configuring/timeout",
    ),
    _at(
        "silence", 60 * _S, "the time between two reads that nginx and AWS load balancers allow by default",
        "https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_read_timeout",
        "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html",
    ),
    Limit(
        "silence", 100 * _S, 120 * _S, "the time between two reads from its origin that Cloudflare allows by default",
        (
            "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/error-524/",
            "https://developers.cloudflare.com/fundamentals/reference/connection-limits/",
        ),
    ),
    _at(
        "silence", 240 * _S, "the idle time of Azure's load balancer by default",
        "https://azure.microsoft.com/en-us/blog/new-configurable-idle-timeout-for-azure-load-balancer/",
    ),
    _at(
        "time", 300 * _S, "the time that aiohttp's client, Google's Cloud Run and Vercel give a response by default",
        "https://docs.aiohttp.org/en/stable/client_quickstart.html#timeouts",
        "https://cloud.google.com/run/docs/configuring/request-timeout",
        "https://vercel.com/docs/functions/limitations",
    ),
    _at(
        "silence", 300 * _S, "the time between two chunks that undici (Node's fetch) and Envoy allow by default",
        "https://github.com/nodejs/undici/blob/main/docs/docs/api/Client.md",
        "https://www.envoyproxy.io/docs/envoy/latest/faq/configuration/timeouts",
    ),
    _at(
        "silence", 600 * _S, "the time that the openai and anthropic packages wait for a read by default",
        "https://github.com/openai/openai-python#timeouts",
        "https://github.com/anthropics/anthropic-sdk-python#timeouts",
    ),
    _at(
        "bytes", 64 * _KIB - 1, "the window of HTTP/2 before the reader must ask for more",
        "https://www.rfc-editor.org/rfc/rfc9113#section-6.9.2",
    ),
    _at(
        "bytes", 128 * _KIB, "the longest line that older versions of aiohttp read",
        "https://github.com/aio-libs/aiohttp/issues/4453",
    ),
    _at(
        "bytes", 512 * _KIB, "the longest line that aiohttp reads",
        "https://github.com/microsoft/Agents-for-python/issues/507",
    ),
)  # fmt: skip

_EARLY, _LATE, _LATE_MS = 0.005, 0.02, 500
"""A timer is never early, and what it ends is seen a little later; a witness's clock begins later, too."""


def near(measure: Measure, value: float) -> Limit | None:
    """The known limit that a cut at this value is closest to; None where no known limit is near."""
    late = _LATE_MS if measure != "bytes" else 0
    found = (
        limit
        for limit in KNOWN
        if limit.measure == measure and limit.low * (1 - _EARLY) - late <= value <= limit.high * (1 + _LATE) + late
    )
    return next(iter(sorted(found, key=lambda limit: abs(limit.low - value))), None)
