"""What is particular to requests; the rest is in the contract of all adapters (`test_contract.py`)."""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import pickle
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.auth import HTTPDigestAuth

from streamwitness.client import instrument
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.client.raw_server import (
    BODY,
    Handler,
    RawServer,
    cut,
    event,
    head,
    reset,
    stream,
    wait_for_client,
)
from tests.clientsdk.gateway.serving import until

PATH = "/v1/chat/completions"


@pytest.fixture
def session() -> Iterator[requests.Session]:
    """An instrumented session."""
    with instrument(requests.Session()) as made:
        yield made


def sized(connection: socket.socket, _request: bytes) -> None:
    """The answer with its length announced."""
    connection.sendall(head(f"Content-Length: {len(BODY)}") + BODY)


def _copied(response: requests.Response) -> bytes:
    target = io.BytesIO()
    shutil.copyfileobj(response.raw, target, 11)
    return target.getvalue()


def _by_read(response: requests.Response) -> bytes:
    pieces = []
    while piece := response.raw.read(9):
        pieces.append(piece)
    return b"".join(pieces)


WAYS: dict[str, Callable[[requests.Response], bytes]] = {
    "content": lambda response: response.content,
    "iter_content": lambda response: b"".join(response.iter_content(7)),
    "iter_content as it comes": lambda response: b"".join(response.iter_content(None)),
    "iter_lines": lambda response: b"\n".join([*response.iter_lines(delimiter=b"\n")]),
    "raw.read": lambda response: response.raw.read(),
    "raw.read by pieces": _by_read,
    "raw.stream": lambda response: b"".join(response.raw.stream(5)),
    "raw as a file": _copied,
    "iter(raw)": lambda response: b"".join(response.raw),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("handler", [stream(cut(BODY, 50)), sized], ids=["chunked", "sized"])
def test_every_way_of_reading(session: requests.Session, handler: Handler, way: str, sink: MemorySink) -> None:
    """The bytes are those that were sent, and the record is that of the whole body."""
    with RawServer(handler) as server, session.post(server.url + PATH, stream=True) as response:
        assert WAYS[way](response) == BODY
    block = sink.closing("wire")
    assert (block.totals["events"], block.end, block.complete) == (10, "eof", True)


@pytest.mark.parametrize("decoded", [True, False])
def test_compressed_bodies(session: requests.Session, decoded: bool, sink: MemorySink) -> None:
    """Decoded by urllib3 or read as they were sent, the record is that of the content."""
    sent = gzip.compress(BODY)
    handler = stream(cut(sent, 13), "Content-Encoding: gzip")
    with RawServer(handler) as server, session.post(server.url + PATH, stream=True) as response:
        read = b"".join(response.raw.stream(10, decode_content=decoded))
    assert read == (BODY if decoded else sent)
    block = sink.closing("wire")
    assert (block.totals["events"], block.end) == (10, "eof")
    assert "stream.observer_fault" not in block.extra


def _moved(url: str) -> Handler:
    def handle(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(head("Content-Length: 0", f"Location: {url}{PATH}", status="307 Moved"))

    return handle


@pytest.mark.parametrize("followed", ["by the session", "by hand"])
def test_a_redirect_does_not_take_the_announcement_along(followed: str) -> None:
    """What was announced to a gateway is not told to the next origin; history is as it was."""
    with (
        RawServer(stream()) as other,
        RawServer(_moved(other.url)) as gateway,
        recording(origins=(gateway.url,)) as sink,
        instrument(requests.Session()) as session,
    ):
        if followed == "by hand":
            response = session.post(gateway.url + PATH, allow_redirects=False)
            assert response.next is not None
            response = session.send(response.next)
        else:
            response = session.post(gateway.url + PATH)
            assert [hop.status_code for hop in response.history] == [307]
        assert response.content == BODY
        assert gateway.header("stream-witness") is not None
        assert other.header("stream-witness") is None
    assert sink.closing("wire").totals["events"] == 10


def test_a_second_response_for_digest_authentication(session: requests.Session, sink: MemorySink) -> None:
    """The response that takes the place of the refused one is the one that is recorded."""

    def refuse(connection: socket.socket, _request: bytes) -> None:
        challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth"'
        connection.sendall(head("Content-Length: 0", challenge, status="401 No"))

    with RawServer(refuse, stream()) as server:
        response = session.get(server.url + PATH, auth=HTTPDigestAuth("u", "p"))
    assert (response.content, len(server.requests)) == (BODY, 2)
    assert sink.closing("wire").totals["events"] == 10


def test_the_applications_own_hooks(session: requests.Session, sink: MemorySink) -> None:
    """A hook that reads the body reads through ours, and the request's hooks are its own again afterwards."""
    bodies: list[bytes] = []

    def own(response: requests.Response, *_: Any, **__: Any) -> None:
        bodies.append(response.content)

    with RawServer(stream()) as server:
        response = session.post(server.url + PATH, hooks={"response": own})
    assert bodies == [BODY]
    assert response.request.hooks == {"response": [own]}
    assert sink.closing("wire").totals["events"] == 10


def test_responses_can_be_pickled(sink: MemorySink) -> None:
    """With the request that was announced to a gateway; what comes out knows nothing of us."""
    with RawServer(stream()) as server, recording(origins=(server.url,)), instrument(requests.Session()) as session:
        response = session.post(server.url + PATH)
    copy = pickle.loads(pickle.dumps(response))
    assert copy.content == BODY
    assert type(copy.request.headers["stream-witness"]) is str


def test_adapters_stay_and_pools_are_not_leaked(session: requests.Session, sink: MemorySink) -> None:
    """The application's adapter is asked as before; bodies read to their end give their connection back."""
    adapter = HTTPAdapter(pool_maxsize=1, pool_block=True)
    session.mount("http://", adapter)
    with RawServer(stream()) as server:
        for _ in range(3):
            response = session.post(server.url + PATH, stream=True)
            assert response.connection is adapter
            assert b"".join(response.iter_content(None)) == BODY
        assert server.connections == 1
    assert len([block for block in sink.blocks if block.final]) == 3


def test_a_body_that_is_not_urllib3s_is_unknown(session: requests.Session, sink: MemorySink) -> None:
    """An adapter that answers by itself is served as before, and the point says that it cannot look."""

    class Canned(BaseAdapter):
        def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
            response = requests.Response()
            response.status_code, response.raw, response.request = 200, io.BytesIO(BODY), request
            response.headers["content-type"] = "text/event-stream"
            return response

        def close(self) -> None:
            """Nothing is open."""

    session.mount("canned://", Canned())
    assert session.get("canned://here" + PATH).content == BODY
    assert "stream.observer_fault" in sink.closing("wire").extra


def test_a_forgotten_generator_still_closes_its_response(session: requests.Session, sink: MemorySink) -> None:
    """Code of the application that is finalized by the garbage collector can close as it could before."""

    def lines(url: str) -> Iterator[bytes]:
        with session.post(url, stream=True) as response:
            yield from response.iter_lines()

    gone = threading.Event()

    def wait(connection: socket.socket, request: bytes) -> None:
        wait_for_client(connection, request)
        gone.set()

    with RawServer(stream([event("a")], end=False, then=wait)) as server:
        cycle: list[Any] = [lines(server.url + PATH)]
        cycle.append(cycle)
        next(cycle[0])
        del cycle
        gc.collect()
        assert gone.wait(10)
    assert sink.closing("wire").end == "abandoned"


def test_the_error_is_the_same_where_requests_wraps_it(session: requests.Session, sink: MemorySink) -> None:
    """`iter_content` turns urllib3's error into its own, of the same message."""
    with RawServer(stream([event("a")], end=False, then=reset)) as server:
        response = session.post(server.url + PATH, stream=True)
        with pytest.raises(requests.exceptions.ChunkedEncodingError, match="ConnectionResetError"):
            list(response.iter_content(None))
        assert isinstance(response.raw.closed, bool)
    assert sink.closing("wire").end == "reset"


@pytest.mark.parametrize("stop", ["shutdown", "close"])
def test_a_reader_that_another_thread_stops_was_stopped_by_its_application(
    stop: str, session: requests.Session, sink: MemorySink
) -> None:
    """To the reader it looks like a connection that broke, or it waits until its time is up: neither is the cause."""

    def read(pieces: Iterator[bytes]) -> None:
        with contextlib.suppress(requests.RequestException, ValueError, AttributeError):
            list(pieces)

    with RawServer(stream([event("a")], end=False, then=wait_for_client)) as server:
        response = session.post(server.url + PATH, stream=True, timeout=1)
        pieces = response.iter_content(None)
        next(pieces)
        reading = threading.Thread(target=read, args=(pieces,))
        reading.start()
        until(lambda: response.raw._streamwitness.reading)
        (response.raw.shutdown if stop == "shutdown" else response.close)()
        reading.join()
        response.close()
    assert sink.closing("wire").end == "cancelled"
