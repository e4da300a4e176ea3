"""OTLP/HTTP against real sockets: what arrives, what a bad target does, and that the host's settings are not ours."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

from streamwitness.export import otlp
from streamwitness.export.otlp import OtlpExporter, traces_url
from streamwitness.export.span import SpanMaker
from tests.clientsdk.export.receiver import WAIT, Mute, Receiver, closed_port, closing, make_block


def export(endpoint: str, *, key: str = "", timeout: float = WAIT) -> bool:
    exporter = OtlpExporter(endpoint, key, timeout=timeout)
    try:
        return exporter.export([make_block()])
    finally:
        exporter.shutdown()


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://h:4318", "http://h:4318/v1/traces"),
        ("http://h:4318/", "http://h:4318/v1/traces"),
        ("https://h/base", "https://h/base/v1/traces"),
        ("http://h:4318/v1/traces", "http://h:4318/v1/traces"),
    ],
)
def test_url(endpoint: str, url: str) -> None:
    """The endpoint is a base URL; the whole URL is understood as well."""
    assert traces_url(endpoint) == url


def test_arrives() -> None:
    """Blocks reach the receiver in one gzipped protobuf request, equal to what was sent, with the key as bearer."""
    blocks = [make_block(1), closing(2, context=(1 << 100, 1 << 50))]
    with Receiver() as receiver:
        exporter = OtlpExporter(receiver.endpoint, "ingest-key", "shop")
        assert exporter.export(blocks)
        exporter.shutdown()
    (request,) = receiver.requests
    assert request.path == "/v1/traces"
    assert request.headers["authorization"] == "Bearer ingest-key"
    assert request.headers["content-encoding"] == "gzip"
    assert request.headers["content-type"] == "application/x-protobuf"
    assert request.resource()["service.name"] == "shop"
    blocks[1].context = None
    assert request.blocks() == blocks


def test_without_key_no_authorization() -> None:
    """No key, no header."""
    with Receiver() as receiver:
        assert export(receiver.endpoint)
    assert "authorization" not in receiver.requests[0].headers


def test_the_hosts_exporter_settings_are_not_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No header, endpoint, compression, timeout, certificate or switch meant for the host's exporter is used."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login someone password secret\n")
    for name, value in {
        "OTEL_EXPORTER_OTLP_ENDPOINT": closed_port(),
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": closed_port(),
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=vendor-secret,x-vendor=secret,content-encoding=br",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=vendor-secret,x-vendor=secret",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "deflate",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "0",
        "OTEL_EXPORTER_OTLP_CERTIFICATE": str(tmp_path / "nowhere.pem"),
        "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(tmp_path / "nowhere.pem"),
        "OTEL_EXPORTER_OTLP_CLIENT_KEY": str(tmp_path / "nowhere.key"),
        "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER": "nonexistent",
        "OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED": "true",
        "OTEL_SDK_DISABLED": "true",
        "OTEL_TRACES_EXPORTER": "none",
        "OTEL_TRACES_SAMPLER": "always_off",
        "HTTP_PROXY": closed_port(),
        "http_proxy": closed_port(),
        "NETRC": str(tmp_path / "netrc"),
    }.items():
        monkeypatch.setenv(name, value)
    with Receiver() as receiver:
        assert export(receiver.endpoint, key="ours")
    (request,) = receiver.requests
    assert request.headers["authorization"] == "Bearer ours"
    assert request.headers["content-encoding"] == "gzip"
    assert not [value for value in request.headers.values() if "secret" in value]
    assert request.blocks() == [make_block()]


def test_the_hosts_certificates_are_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CA and client certificate of the host's exporter are taken out of our session again."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/vendor/ca.pem")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/vendor/client.pem")
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    exporter = OtlpExporter("https://127.0.0.1:1")
    session = exporter._session
    exporter.shutdown()
    assert (session.verify, session.cert) == (True, None)


def test_a_machines_ca_bundle_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's CA bundle, as for any request of this library."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/machine/ca.pem")
    exporter = OtlpExporter("https://127.0.0.1:1")
    session = exporter._session
    exporter.shutdown()
    assert session.verify == "/machine/ca.pem"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 500])
def test_refused(status: int) -> None:
    """A refusal is final: one request, False, nothing raised."""
    with Receiver(status) as receiver:
        assert not export(receiver.endpoint)
    assert len(receiver.requests) == 1


def test_redirects_are_no_delivery() -> None:
    """A login page somewhere on the way took nothing, whatever its status says."""
    with Receiver(302, {"Location": "http://127.0.0.1/login"}) as receiver:
        assert not export(receiver.endpoint)
    assert len(receiver.requests) == 1


def test_nobody_listens() -> None:
    """A closed port is False, not an exception."""
    assert not export(closed_port(), timeout=0.05)


def test_never_answers() -> None:
    """A target that accepts and never answers is given up after the timeout."""
    with Mute() as endpoint:
        assert not export(endpoint, timeout=0.05)


def test_retries_what_may_pass() -> None:
    """A busy collector is tried again."""
    with Receiver(503, {"Retry-After": "0"}) as receiver:
        exporter = OtlpExporter(receiver.endpoint, timeout=WAIT)
        results: list[bool] = []
        thread = threading.Thread(target=lambda: results.append(exporter.export([make_block()])))
        thread.start()
        receiver.wait(lambda: len(receiver.requests) >= 2)
        receiver.status = 200
        thread.join(WAIT)
        exporter.shutdown()
    assert results == [True]


def test_shutdown_interrupts_the_wait_for_a_retry() -> None:
    """Who shuts down does not sit out a server's Retry-After."""
    with Receiver(503, {"Retry-After": "3000"}) as receiver:
        exporter = OtlpExporter(receiver.endpoint, timeout=6000.0)
        results: list[bool] = []
        thread = threading.Thread(target=lambda: results.append(exporter.export([make_block()])), daemon=True)
        thread.start()
        receiver.wait(lambda: bool(receiver.requests))
        exporter.shutdown()
        exporter.shutdown()
        thread.join(WAIT)
        assert not thread.is_alive()
    assert results == [False]
    assert not exporter.export([make_block()])


def test_the_hosts_log_is_not_spammed(caplog: pytest.LogCaptureFixture) -> None:
    """The exporter's own messages about our target are dropped; those about the host's target pass."""
    with caplog.at_level(logging.DEBUG, "opentelemetry"):
        assert not export(closed_port(), timeout=0.05)
        assert caplog.messages == []
        hosts = OTLPSpanExporter(closed_port(), timeout=0.05)
        hosts.export([SpanMaker().span(make_block())])
        hosts.shutdown()  # type: ignore[no-untyped-call]
    assert caplog.messages


def test_silence_is_per_thread_and_nests() -> None:
    """Silence begins and ends with our export, in that thread only."""
    record = logging.makeLogRecord({})
    with otlp._silence, otlp._silence:
        assert not otlp._silence.filter(record)
        elsewhere: list[bool] = []
        thread = threading.Thread(target=lambda: elsewhere.append(otlp._silence.filter(record)))
        thread.start()
        thread.join(WAIT)
        assert elsewhere == [True]
    assert otlp._silence.filter(record)


def test_the_hosts_sessions_are_untouched() -> None:
    """Headers and certificates are put into our session only."""
    exporter = OtlpExporter("http://127.0.0.1:1", "ours")
    exporter.shutdown()
    with requests.Session() as hosts:
        assert "Authorization" not in hosts.headers
        assert hosts.trust_env
