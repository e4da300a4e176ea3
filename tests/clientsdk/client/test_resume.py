"""Checkpoint: it moves with what the application was handed, and never glues two answers together."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamwitness
from streamwitness.client import instrument, watch
from streamwitness.client.resume import Checkpoint
from streamwitness.headers import format_response
from streamwitness.semconv import RESUMES
from streamwitness.testing import recording
from streamwitness_analyzer.judge import judge
from tests.clientsdk.client.raw_server import RawServer, hang_up, stream
from tests.clientsdk.client.raw_server import event as chunk
from tests.clientsdk.gateway.keeping import DATA, Gateway
from tests.clientsdk.gateway.serving import until

EXCHANGE = "3f9a1c0711223344"
TEXTS = ["Die ", "\u00e4lte ", "Am\u2028sel \U0001f426", "singt.", "[DONE]"]


def test_what_was_had_and_comes_again_is_no_loss_of_who_skips_it() -> None:
    """A server that begins with the last event again: the records of who asked to go on say so, and accuse nobody."""
    sent = [b"id: %d\n%s" % (i, chunk(text)) for i, text in enumerate(("a", "b", "c"))]
    checkpoint, said = Checkpoint("replays_last"), []
    with recording() as sink:
        for body in (stream(sent[:2], end=False, then=hang_up), stream(sent[1:])):
            with RawServer(body) as server, instrument(httpx.Client()) as client:
                url = server.url + "/v1/chat/completions"
                with client.stream("POST", url, headers=checkpoint.headers()) as response:
                    checkpoint.opened(response.headers)
                    with contextlib.suppress(httpx.TransportError):
                        events = watch(checkpoint.events(response.iter_bytes()), response=response)
                        said.extend(one.data for one in events)
        blocks = [replace(block, role="any") for block in sink.blocks]
    assert len(said) == len(set(said)) == 3
    assert [RESUMES in block.extra for block in sink.at("parsed") if block.final] == [False, True]
    assert judge(blocks, settled=True)["findings"] == []


class Relay:
    """A network that loses its first connection once the client was sent the bytes up to the end of `upto`."""

    def __init__(self, port: int, upto: bytes) -> None:
        self._port, self._upto = port, upto
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._relay, args=(client, self._upto))
            self._threads.append(thread)
            thread.start()
            self._upto = b""

    def _relay(self, client: socket.socket, upto: bytes) -> None:
        with client, socket.create_connection(("127.0.0.1", self._port)) as server:
            up = threading.Thread(target=_copy, args=(client, server))
            up.start()
            seen = b""
            with contextlib.suppress(OSError):
                while piece := server.recv(4096):
                    seen += piece
                    at = seen.find(upto) if upto else -1
                    client.sendall(piece if at < 0 else piece[: max(0, at + len(upto) - len(seen) + len(piece))])
                    if at >= 0:
                        break
            for end in (client, server):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            up.join()

    def close(self) -> None:
        """Take no more connections, and wait for those there are."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(20)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(4096):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def losing(url: str, upto: bytes) -> Iterator[str]:
    """The same URL by way of a network that loses the first connection."""
    origin, _, path = url.removeprefix("http://").partition("/")
    relay = Relay(int(origin.rpartition(":")[2]), upto)
    try:
        yield f"http://127.0.0.1:{relay.port}/{path}"
    finally:
        relay.close()


def connect(url: str, checkpoint: Checkpoint, client: httpx.Client | None = None) -> list[Any]:
    """One connection, read until it ends or is lost; the events that it handed out."""
    seen: list[Any] = []
    own = client or httpx.Client(timeout=30)
    try:
        with own.stream("POST", url, headers=checkpoint.headers()) as response:
            checkpoint.opened(response.headers)
            with contextlib.suppress(httpx.RemoteProtocolError, httpx.ReadError):
                seen.extend(checkpoint.events(response.iter_raw()))
    finally:
        if client is None:
            own.close()
    return seen


# --------------------------------------------------------------------------- with an instrumented gateway

CUTS = {
    "after an id line": (b".4\n", 4),
    "inside a field name": (b".4\nda", 4),
    "after data, before the blank line": (b'"word 4 "}, "finish_reason": null}]}\n', 4),
    "right after an event": (b'"word 4 "}, "finish_reason": null}]}\n\n', 5),
    "before the first event": (b"\r\n\r\n", 0),
    "before the completion": (b'"finish_reason": "stop"}]}\n\n', 13),
    "in the completion": (b"data: [DON", 13),
    "after the completion": (b"data: [DONE]\n\n", 14),
}


@pytest.mark.parametrize("instrumented", [False, True], ids=["plain httpx", "instrumented httpx"])
@pytest.mark.parametrize(("upto", "had"), CUTS.values(), ids=CUTS)
def test_wherever_the_connection_is_lost_each_event_is_handed_out_once(
    upto: bytes, had: int, instrumented: bool
) -> None:
    """The application sees the whole answer, in order, though its connection broke; the app was called once."""
    gateway = Gateway()
    gateway.go()
    with gateway.serve() as url, losing(url, upto) as lossy, recording(origins=(lossy.rpartition("/v1")[0],)):
        client = httpx.Client(timeout=30)
        checkpoint = Checkpoint()
        seen = connect(lossy, checkpoint, streamwitness.instrument(client) if instrumented else client)
        assert [event.data for event in seen] == DATA[:had]
        if had == 0:
            return client.close()  # there is nothing to go on from: that is a new request
        seen += connect(lossy, checkpoint, client)
        client.close()
    assert [event.data for event in seen] == DATA
    assert {event.generation for event in seen} == {0}
    assert (checkpoint.outcome, gateway.calls) == ("resumed", 1)
    return None


def test_a_request_that_brought_nothing_is_sent_again_as_a_new_one() -> None:
    """Nothing was handed out: there is nothing to continue, and nothing to glue."""
    gateway = Gateway()
    gateway.go(100)
    with gateway.serve() as url, losing(url, b"\r\n\r\n") as lossy:
        checkpoint = Checkpoint()
        assert connect(lossy, checkpoint) == []
        before = checkpoint.stream
        assert [event.data for event in connect(lossy, checkpoint)] == DATA
    assert (checkpoint.outcome, checkpoint.generation) == ("began", 0)
    assert checkpoint.stream != before


def test_numbers_in_the_objects_do_as_well() -> None:
    """The stamp `field`; the terminator, which carries none, is not handed out twice."""
    gateway = Gateway()
    gateway.go()
    with gateway.serve() as url, losing(url, b"data: [DONE]\n\n") as lossy:
        checkpoint = Checkpoint(stamp="field")
        seen = [event.data for event in connect(lossy, checkpoint)]
        seen += [event.data for event in connect(lossy, checkpoint)]
    assert seen == DATA
    assert checkpoint.outcome == "resumed"


@pytest.mark.parametrize("cut", ["after data, before the blank line", "before the completion", "after the completion"])
def test_nobody_is_accused_where_a_client_resumed(cut: str) -> None:
    """The exchanges are one stream's: the answer is complete and intact, though one connection was lost."""
    upto, had = CUTS[cut]
    gateway = Gateway()
    gateway.go(had + 1)
    with (
        gateway.serve() as url,
        losing(url, upto) as lossy,
        recording(mode="stamp", origins=(lossy.rpartition("/v1")[0],)) as sink,
        streamwitness.instrument(httpx.Client(timeout=30)) as client,
    ):
        checkpoint = Checkpoint()
        seen = connect(lossy, checkpoint, client)
        gateway.go()
        seen += connect(lossy, checkpoint, client)
        until(lambda: len(gateway.closings()) == 1 + (had < len(DATA)))
    assert [event.data for event in seen] == DATA
    blocks = [*gateway.sink.blocks, *sink.blocks]
    assert len({block.stream for block in blocks}) == 1
    verdict = judge(blocks, settled=True)
    assert (verdict["ending"]["class"], verdict["integrity"], verdict["findings"]) == ("completed", "intact", [])


def test_the_rest_of_an_answer_does_not_call_it_incomplete() -> None:
    """The client's record of the rest does not know; the gateway's does, for it has seen the whole."""
    upto, had = CUTS["before the completion"]
    gateway = Gateway()
    gateway.go(had)
    with gateway.serve() as url, losing(url, upto) as lossy, recording(origins=(lossy.rpartition("/v1")[0],)) as sink:
        checkpoint = Checkpoint()
        with streamwitness.instrument(httpx.Client(timeout=30)) as client:
            connect(lossy, checkpoint, client)
            gateway.go()
            connect(lossy, checkpoint, client)
        until(lambda: len(gateway.closings()) == 2)
    known = {(b.point, b.attempt): b.complete for b in [*gateway.sink.blocks, *sink.blocks] if b.final and b.attempt}
    assert known == {("egress", 1): True, ("wire", 1): None}


# --------------------------------------------------------------------------- with other servers


def event(number: int, text: str) -> bytes:
    return f"id: e{number}\nevent: delta\ndata: {text}\n\n".encode()


EVENTS = [event(number, text) for number, text in enumerate(TEXTS)]
CUT_INSIDE = {
    "after an id line": (b"".join(EVENTS[:2]) + b"id: e2\n", 2),
    "inside a multibyte character": (b"".join(EVENTS[:2]) + EVENTS[2][:-6], 2),
    "after data": (b"".join(EVENTS[:2]) + EVENTS[2][:-1], 2),
    "right after an event": (b"".join(EVENTS[:3]), 3),
    "before the completion": (b"".join(EVENTS[:4]), 4),
    "after the completion": (b"".join(EVENTS), 5),
}


@contextlib.contextmanager
def cut_at(body: bytes, *then: bytes) -> Iterator[RawServer]:
    """A server that loses its first connection behind `body`; the others get what follows."""
    with RawServer(stream((body,), end=False, then=hang_up), *(stream((rest,)) for rest in then)) as server:
        yield server


@pytest.mark.parametrize(("body", "had"), CUT_INSIDE.values(), ids=CUT_INSIDE)
@pytest.mark.parametrize("policy", ["resumes_after", "replays_last", "starts_anew"])
def test_each_declared_policy_at_each_cut(body: bytes, had: int, policy: Any) -> None:
    """The server is told the last event handed out; what it sends is continued, de-duplicated, or kept apart."""
    rest = {"resumes_after": EVENTS[had:], "replays_last": EVENTS[had - 1 :], "starts_anew": EVENTS}[policy]
    with cut_at(body, b"".join(rest)) as server:
        checkpoint = Checkpoint(policy)
        before = connect(server.url, checkpoint)
        assert [event.data for event in before] == TEXTS[:had]
        after = connect(server.url, checkpoint)
        assert server.header("last-event-id", 1) == f"e{had - 1}"
    if policy == "starts_anew":
        assert [event.data for event in after] == TEXTS
        assert {event.generation for event in after} == {1}
        assert checkpoint.outcome == "new_generation"
    else:
        assert [event.data for event in before + after] == TEXTS
        assert {event.generation for event in after} <= {0}
        resumed = "resumed" if rest else None  # nothing came that could tell
        assert checkpoint.outcome == ("replayed_last" if policy == "replays_last" else resumed)


@pytest.mark.parametrize(
    ("policy", "first", "outcome"),
    [
        ("resumes_after", EVENTS[1], "replayed_last"),
        ("replays_last", EVENTS[2], "new_generation"),
        ("replays_last", b"data: x\n\n", "new_generation"),
        ("resumes_after", b"data: x\n\n", "new_generation"),
        ("resumes_after", b"id: 3f9a1c07.2\ndata: x\n\n", "new_generation"),
    ],
)
def test_a_server_that_does_not_do_what_it_is_said_to(policy: Any, first: bytes, outcome: str) -> None:
    """What is not known to continue the answer counts as another one."""
    with cut_at(b"".join(EVENTS[:2]), first) as server:
        checkpoint = Checkpoint(policy)
        connect(server.url, checkpoint)
        after = connect(server.url, checkpoint)
    assert checkpoint.outcome == outcome
    assert checkpoint.generation == (outcome == "new_generation")
    assert len(after) == (outcome != "replayed_last")


@pytest.mark.parametrize(
    ("number", "tag", "outcome"),
    [(2, "3f9a1c07", "resumed"), (1, "3f9a1c07", "replayed_last"), (3, "3f9a1c07", "gap"), (0, "3f9a1c07", None),
     (2, "00000000", None)],
)  # fmt: skip
def test_numbers_of_ours_are_checked_whoever_sends_them(number: int, tag: str, outcome: str | None) -> None:
    """By way of something that drops our header: the number after the last one continues, a later one leaves a gap."""
    first = b"".join(b"id: 3f9a1c07.%d\ndata: x\n\n" % n for n in range(2))
    with cut_at(first, f"id: {tag}.{number}\ndata: y\n\n".encode()) as server:
        checkpoint = Checkpoint()
        connect(server.url, checkpoint)
        connect(server.url, checkpoint)
    assert checkpoint.outcome == (outcome or "new_generation")


def test_an_id_of_anothers_among_stamps_is_no_place_to_go_on_from() -> None:
    """An event that upstream had numbered itself is handed out, and the place stays at the last stamp."""
    checkpoint = Checkpoint()
    checkpoint.headers()
    checkpoint.opened({"stream-witness": format_response(checkpoint.stream, EXCHANGE, 0, sampled=True, stamp="id")})
    seen = [event.data for event in checkpoint.take(b"id: 3f9a1c07.0\ndata: a\n\nid: x\ndata: b\n\n")]
    assert (seen, checkpoint.last) == (["a", "b"], "3f9a1c07.0")


def test_events_without_an_id_of_their_own_are_not_handed_out_again() -> None:
    """A server that numbers only some of its events replays the others behind the last number."""
    body = EVENTS[0] + b"data: a\n\ndata: b\n\n"
    with cut_at(body, body + EVENTS[1]) as server:
        checkpoint = Checkpoint("replays_last")
        before = connect(server.url, checkpoint)
        after = connect(server.url, checkpoint)
    assert [event.data for event in before] == [TEXTS[0], "a", "b"]
    assert [event.data for event in after] == [TEXTS[1]]


def test_an_answer_without_ids_cannot_be_continued() -> None:
    """What comes on the next connection is another answer."""
    with cut_at(b"data: a\n\n", b"data: a\n\ndata: b\n\n") as server:
        checkpoint = Checkpoint()
        connect(server.url, checkpoint)
        after = connect(server.url, checkpoint)
        assert server.header("last-event-id", 1) is None
    assert [event.generation for event in after] == [1, 1]


def test_what_was_read_and_not_handed_out_comes_again() -> None:
    """The application stops in the midst of a read that held several events."""
    with RawServer(stream((b"".join(EVENTS[:4]),)), stream((b"".join(EVENTS[2:]),))) as server:
        checkpoint = Checkpoint()
        with httpx.Client() as client:
            with client.stream("POST", server.url, headers=checkpoint.headers()) as response:
                checkpoint.opened(response.headers)
                events = checkpoint.events(response.iter_raw())
                seen = [next(events).data, next(events).data]
            assert checkpoint.last == "e1"
            seen += [event.data for event in connect(server.url, checkpoint, client)]
    assert seen == TEXTS


@pytest.mark.anyio
async def test_an_async_body_is_read_the_same() -> None:
    """With httpx's async client."""
    with RawServer(stream((b"".join(EVENTS),))) as server:
        checkpoint = Checkpoint()
        asking = checkpoint.headers()
        async with httpx.AsyncClient() as client, client.stream("POST", server.url, headers=asking) as response:
            checkpoint.opened(response.headers)
            seen = [event.data async for event in checkpoint.aevents(response.aiter_raw())]
    assert (seen, checkpoint.last) == (TEXTS, "e4")


@given(st.lists(st.integers(0, 200), max_size=4), st.lists(st.integers(1, 9), max_size=4))
def test_any_cuts_and_any_reads_give_each_event_once(cuts: list[int], sizes: list[int]) -> None:
    """Sans-IO: however often and wherever the connection is lost, and however it was read."""
    stamped = [b"id: 3f9a1c07.%d\ndata: %b\n\n" % (n, text.encode()) for n, text in enumerate(TEXTS)]
    checkpoint, seen = Checkpoint(), []
    for attempt, cut in enumerate([*cuts, 1 << 20]):
        asked = checkpoint.headers().get("Last-Event-ID", "3f9a1c07.-1")
        place = int(asked.rpartition(".")[2]) + 1
        again = attempt if place else 0
        said = format_response(
            checkpoint.stream, EXCHANGE, 0, sampled=True, stamp="id", attempt=again, first=place if again else 0
        )
        checkpoint.opened({"Stream-Witness": said})
        body, size = b"".join(stamped[place:])[:cut], (sizes or [7])[attempt % len(sizes or [7])]
        for at in range(0, len(body), size):
            seen += [event.data for event in checkpoint.take(body[at : at + size])]
    assert seen == TEXTS
    assert checkpoint.generation == 0
