"""The announcement to gateways, and whose word about the stream's identity is believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from streamwitness.client import instrument
from streamwitness.client.links import WITNESS
from streamwitness.digests import Digester
from streamwitness.headers import format_response, parse_request
from streamwitness.providers import profile
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.raw_server import BODY, RawServer, event, head, stream

STREAM, EXCHANGE, KEY = "ab" * 16, "cd" * 8, bytes(range(16))
PATH = "/v1/chat/completions"


def gateway(*, sampled: bool = True, key: str | None = KEY.hex(), value: str | None = None) -> Callable[..., None]:
    """A gateway that answers with its identity of the stream."""
    headers = [f"Stream-Witness: {value or format_response(STREAM, EXCHANGE, 2, sampled)}"]
    if key is not None:
        headers.append(f"Stream-Witness-Key: {key}")
    return stream([BODY], *headers)


def ask(server: RawServer, path: str = PATH, **settings: Any) -> tuple[MemorySink, httpx.Response]:
    """One request of an instrumented client with these settings."""
    with recording(**settings) as sink, httpx.Client() as client:
        return sink, instrument(client).post(server.url + path)


def test_the_announcement_goes_to_configured_origins_only() -> None:
    """A listed origin gets the header, another port of the same host does not."""
    with RawServer(stream()) as listed, RawServer(stream()) as other:
        ask(listed, origins=(listed.url,))
        ask(other, origins=(listed.url,))
        header = parse_request(listed.header("stream-witness") or "")
        assert header is not None
        assert header.points == ("wire",)
        assert other.header("stream-witness") is None


@pytest.mark.parametrize(
    ("configured", "is_sent"),
    [
        ("http://localhost:80", True),
        ("HTTP://LOCALHOST", True),
        ("https://localhost", False),
        ("http://localhost:81", False),
    ],
)
def test_origins_are_scheme_host_and_port(configured: str, is_sent: bool) -> None:
    """Default ports and letter case do not matter, everything else does."""
    request = httpx.Request("GET", "http://localhost/x")
    with recording(origins=(configured,)):
        from streamwitness.client.hook import ClientHook

        ClientHook("httpx").on_request(request)
    assert ("stream-witness" in request.headers) is is_sent


def test_a_redirect_to_another_origin_takes_the_announcement_back() -> None:
    """What one origin was told is not carried to the next, as a redirect would."""
    with RawServer(stream()) as target:

        def redirect(connection: Any, _request: bytes) -> None:
            connection.sendall(head("Content-Length: 0", f"Location: {target.url}/x", status="307 Elsewhere"))

        with RawServer(redirect) as first, recording(origins=(first.url,)) as sink:
            with httpx.Client(follow_redirects=True) as client:
                instrument(client).get(first.url)
            assert first.header("stream-witness") is not None
            assert target.header("stream-witness") is None
    assert sink.closing("wire").end == "eof"


def test_traceparent_is_left_alone() -> None:
    """The hook neither makes nor replaces one."""
    with RawServer(stream()) as server, recording(origins=(server.url,)), httpx.Client() as client:
        instrument(client).get(server.url)
        client.get(server.url, headers={"traceparent": "00-1-2-01"})
        assert [server.header("traceparent", n) for n in (0, 1)] == [None, "00-1-2-01"]


def test_the_gateways_identity_and_key_are_taken() -> None:
    """Ids, hop and digests are the gateway's; the key is gone before the application looks."""
    with RawServer(gateway()) as server:
        sink, response = ask(server, origins=(server.url,))
    block = sink.closing("wire")
    assert (block.stream, block.exchange, block.hop) == (STREAM, EXCHANGE, 2)
    first = BODY.partition(b"\n\n")[0].removeprefix(b"data: ")
    assert block.columns()["payload"][0] == Digester(KEY).payload(b"", first)
    assert block.columns()["semantic"][0] == Digester(KEY).semantic(profile("openai_chat").read(b"", first).pieces)
    assert "stream-witness-key" not in response.headers
    assert "stream-witness" in response.headers
    assert KEY.hex() not in repr([block.attributes() for block in sink.blocks])
    assert response.extensions[WITNESS].identity.stream == STREAM


def test_without_a_gateway_the_evidence_is_the_clients_own() -> None:
    """The proposed stream id stays, exchange and key are made here."""
    with RawServer(stream()) as server:
        sink, _ = ask(server, origins=(server.url,))
        header = parse_request(server.header("stream-witness") or "")
    assert header is not None
    assert sink.closing("wire").stream == header.id


def test_an_identity_that_nobody_asked_for_is_not_believed() -> None:
    """A server that is no configured gateway cannot put its stream id into our telemetry; its key is removed."""
    with RawServer(gateway()) as server:
        sink, response = ask(server)
    assert sink.closing("wire").stream != STREAM
    assert "stream-witness-key" not in response.headers


@pytest.mark.parametrize("key", [None, "zz", "00"])
def test_without_the_gateways_key_there_are_no_digests(key: str | None) -> None:
    """Digests under another key would differ everywhere and accuse the transport; counting still works."""
    with RawServer(gateway(key=key)) as server:
        sink, _ = ask(server, origins=(server.url,))
    block = sink.closing("wire")
    assert (block.stream, block.payload_o, block.semantic_o, block.totals["events"]) == (STREAM, None, None, 10)


def test_a_malformed_answer_is_no_answer() -> None:
    """The client goes on with an identity of its own."""
    with RawServer(gateway(value='v=1, id="x"')) as server:
        sink, _ = ask(server, origins=(server.url,))
    assert sink.closing("wire").stream not in ("", "x", STREAM)


def test_what_the_gateway_does_not_sample_is_not_recorded() -> None:
    """Its answer says so, and then the client is silent as well."""
    with RawServer(gateway(sampled=False)) as server:
        assert ask(server, origins=(server.url,))[0].blocks == []
    with RawServer(stream()) as server:
        assert ask(server, sample=0.0)[0].blocks == []


@pytest.mark.parametrize(
    ("settings", "is_observed"),
    [
        ({"include": ("/v1/*",)}, True),
        ({"include": ("/v2/*",)}, False),
        ({"include": ("/v1/*",), "exclude": ("*/completions",)}, False),
    ],
)
def test_paths_are_included_and_excluded(settings: dict[str, Any], is_observed: bool) -> None:
    """Patterns decide about header and record; exclude wins."""
    with RawServer(stream()) as server:
        sink, _ = ask(server, origins=(server.url,), **settings)
        assert (server.header("stream-witness") is not None) is is_observed
    assert bool(sink.blocks) is is_observed


@pytest.mark.parametrize(("level", "rows", "digests"), [("counters", False, False), ("rows", True, False)])
def test_levels(level: str, rows: bool, digests: bool) -> None:
    """The level decides what a block holds."""
    with RawServer(stream([event("a")])) as server:
        sink, _ = ask(server, level=level)
    block = sink.closing("wire")
    assert (block.rows is not None, block.payload_o is not None) == (rows, digests)


def test_a_gateway_that_was_not_named_is_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    """Client and gateway would testify on two streams: the log says which setting brings them together, once."""
    with RawServer(gateway(value=f'v=1, id="{"ab" * 16}", exchange="{"cd" * 8}"')) as server:
        for _ in range(2):
            ask(server, origins=())
        assert [record.getMessage().count(server.url) for record in caplog.records] == [1]
    assert "STREAMWITNESS_ORIGINS" in caplog.text


def test_a_client_samples_before_its_gateway() -> None:
    """What is not in the client's own sample is neither announced nor recorded, whatever the gateway says."""
    with RawServer(gateway()) as server:
        sink, _ = ask(server, origins=(server.url,), sample=0.0)
        assert server.header("stream-witness") is None
    assert sink.blocks == []


def test_a_named_gateway_that_does_not_answer_as_one_is_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    """It was named for a reason: the log says what is missing there, once."""
    with RawServer(stream()) as server:
        for _ in range(2):
            ask(server, origins=(server.url,))
        assert [record.getMessage().count(server.url) for record in caplog.records] == [1]
    assert "does not answer as an instrumented gateway" in caplog.text
