"""Blocks to an OTLP/HTTP endpoint through OpenTelemetry's exporter, deaf to the host's OpenTelemetry settings.

The exporter reads `OTEL_EXPORTER_OTLP_*` also where arguments are given: it adds the host's headers (its vendor's API
key), its CA and client certificate, its credential provider and its MeterProvider. None of these are meant for us, so
everything is passed explicitly, and the session that is ours puts its own headers and certificates in their place.
Loads the OpenTelemetry SDK and requests.
"""

from __future__ import annotations

import inspect
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from requests.utils import get_environ_proxies

from streamwitness.blocks import Block
from streamwitness.semconv import VERSION

from .span import SpanMaker

TRACES_PATH: Final = "/v1/traces"
TIMEOUT: Final = 10.0
"""Seconds that one batch is tried for, the exporter's own retries included (OTLP's default)."""

_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_EXPORTER_LOGGERS: Final = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.otlp.proto.http._common",
    "opentelemetry.exporter.otlp.common.http",
    "opentelemetry.exporter.otlp.proto.common._internal",
)


class OtlpExporter:
    """Sends blocks to `endpoint` (`http://host:4318`; `/v1/traces` is added) with `key` as bearer token.

    `export` is for one thread at a time; `shutdown` may be called from any, and interrupts the wait before a retry.
    """

    def __init__(self, endpoint: str, key: str = "", service: str = "", timeout: float = TIMEOUT) -> None:
        self._maker = SpanMaker(service)
        self._closed = False
        url = traces_url(endpoint)
        self._session = _Session(_headers(key), url)
        self._exporter = OTLPSpanExporter(
            endpoint=url,
            headers={},
            timeout=timeout,
            compression=Compression.Gzip,
            session=self._session,
            **_arguments_of_newer_versions(),
        )
        self._session.own()

    def export(self, blocks: Sequence[Block]) -> bool:
        """Send the blocks in one request; True if they were taken. Blocks until then, at most `timeout` or so."""
        if self._closed:
            return False
        spans = [self._maker.span(block) for block in blocks]
        with _silence:
            try:
                return self._exporter.export(spans) is SpanExportResult.SUCCESS
            except requests.RequestException:  # versions before 1.33 let some of them through
                return False

    def shutdown(self) -> None:
        """Give up waiting and close the connections; a second call does nothing."""
        if not self._closed:
            self._closed = True
            with _silence:
                self._exporter.shutdown()  # type: ignore[no-untyped-call]


def traces_url(endpoint: str) -> str:
    """The URL that spans are posted to, from a base URL (or from the whole URL itself)."""
    base = endpoint.rstrip("/")
    return base if base.endswith(TRACES_PATH) else base + TRACES_PATH


class _Session(requests.Session):
    """Carries our headers and certificates, whatever its user puts in.

    The environment is not trusted as a whole: requests would let a `.netrc` entry replace the bearer token. The
    machine's proxies and CA bundle are read from it, except for this machine itself, which no proxy can reach.
    """

    def __init__(self, headers: Mapping[str, str], url: str) -> None:
        super().__init__()
        self._ours = dict(headers)
        self._proxies = {} if urlsplit(url).hostname in _LOOPBACK else get_environ_proxies(url)
        self.own()

    def own(self) -> None:
        """Undo what the exporter's constructor put into the session from the host's variables."""
        self.trust_env = False
        self.headers.clear()
        self.cert = None
        self.proxies = dict(self._proxies)
        self.verify = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True

    def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> requests.Response:
        """Send with our headers instead of those given, and with the session's certificates."""
        kwargs.update(headers=self._ours, verify=None, cert=None)
        response = super().request(method, url, *args, **kwargs)
        if response.is_redirect:
            raise requests.TooManyRedirects("the OTLP endpoint redirects")  # the exporter takes any 3xx for success
        return response


def _headers(key: str) -> dict[str, str]:
    headers = {
        "User-Agent": f"streamwitness-python/{VERSION}",
        "Accept": "*/*",
        "Content-Type": "application/x-protobuf",
        "Content-Encoding": "gzip",
    }
    return headers | ({"Authorization": f"Bearer {key}"} if key else {})


def _arguments_of_newer_versions() -> dict[str, Any]:
    """Arguments that only some supported versions have: without a meter provider, newer ones use the host's."""
    known = inspect.signature(OTLPSpanExporter.__init__).parameters
    return {"meter_provider": NoOpMeterProvider()} if "meter_provider" in known else {}


class _Silence(logging.Filter):
    """Drops what the exporter logs in a thread that is exporting for us.

    A host with an exporter of its own shares these loggers; its messages pass. Ours are counted, and said once a
    minute, by the worker.
    """

    def __init__(self) -> None:
        super().__init__()
        self._threads: dict[int, int] = {}
        for name in _EXPORTER_LOGGERS:
            logging.getLogger(name).addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        return threading.get_ident() not in self._threads

    def forget(self) -> None:
        """In a forked child: its parent's exporting threads are not here."""
        self._threads.clear()

    def __enter__(self) -> None:
        ident = threading.get_ident()
        self._threads[ident] = self._threads.get(ident, 0) + 1

    def __exit__(self, *unused: object) -> None:
        ident = threading.get_ident()
        self._threads[ident] -= 1
        if not self._threads[ident]:
            del self._threads[ident]


_silence: Final = _Silence()

"".encode("idna")  # what the first connection would load, and a fork at that moment would find half loaded

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_silence.forget)
