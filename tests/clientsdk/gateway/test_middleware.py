"""The egress hook without a server: what passes, in which order, and what is written down of it."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamwitness import faults, semconv
from streamwitness.framing import SSEFramer
from streamwitness.gateway import Replay, StreamWitness, middleware
from streamwitness.headers import format_request, parse_response
from streamwitness.runtime import ClientSettings, Runtime
from streamwitness.testing import MemorySink, recording
from tests.clientsdk.gateway.serving import SSE, body_of, chat, chunk, drive, pieces_of, plain

pytestmark = pytest.mark.anyio

ANSWER = chat("Hel", "lo ", "wörld", " \u2028 ✓")
STREAM = "0123456789abcdef0123456789abcdef"
ANNOUNCED = [(b"Stream-Witness", format_request(STREAM, ("wire", "parsed")).encode())]


def cut(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


async def closed(sink: MemorySink) -> None:
    """Let the loop go round until a record has closed."""
    for _ in range(1000):
        if any(block.final for block in sink.blocks):
            return
        await asyncio.sleep(0)
    raise AssertionError("nothing closed")


@pytest.fixture
def sink() -> Any:
    with recording() as memory:
        yield memory


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1 << 20])
async def test_any_cut_passes_unchanged_and_reads_the_same(sink: MemorySink, size: int) -> None:
    """However the app cuts its body, the client gets those very pieces, and the record is the same."""
    pieces = cut(b"".join(ANSWER), size)
    messages = await drive(StreamWitness(plain(pieces)))
    assert [m["body"] for m in messages[1:-1]] == pieces
    closing = sink.closing("egress")
    assert (closing.end, closing.complete, closing.totals["events"]) == ("eof", True, len(ANSWER))
    assert closing.totals["bytes"] == len(b"".join(ANSWER))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
async def test_pieces_may_be_any_buffer(sink: MemorySink, kind: Any) -> None:
    """The server gets the very object that the app gave."""
    pieces = [kind(piece) for piece in ANSWER]
    messages = await drive(StreamWitness(plain(pieces)))
    assert all(m["body"] is piece for m, piece in zip(messages[1:-1], pieces, strict=True))
    assert sink.closing("egress").totals["events"] == len(ANSWER)


async def test_a_piece_is_passed_on_before_it_is_looked_at(sink: MemorySink) -> None:
    """While a piece is being sent, its event is not recorded yet; the one before is, by the next tick at the latest."""
    counts = []

    async def send(message: Any) -> None:
        if message.get("body"):
            sink.tick(0)
            counts.append(next(iter(sink.tracked)).events)

    await drive(StreamWitness(plain(ANSWER)), send=send)
    assert counts == list(range(len(ANSWER)))


async def test_how_long_the_server_took_pieces_is_told(sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server takes none while its client does not read: the gateway holds nothing then."""
    now = [10**12]
    monkeypatch.setattr(middleware, "time", SimpleNamespace(monotonic_ns=lambda: now[0]))

    async def send(message: Any) -> None:
        if message.get("body") in ANSWER[1:3]:
            now[0] += 3_000_000_000 if message["body"] == ANSWER[1] else 500_000_000

    await drive(StreamWitness(plain(ANSWER)), send=send)
    told = sink.closing("egress").extra
    assert (told[semconv.HOLD_TOTAL_MS], told[semconv.HOLD_MS], told[semconv.HOLD_AFTER]) == (3_500, 3_000, 0)


async def test_a_piece_that_the_server_still_has_in_hand_counts(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection dies while it takes one."""
    now = [10**12]
    monkeypatch.setattr(middleware, "time", SimpleNamespace(monotonic_ns=lambda: now[0]))

    async def send(message: Any) -> None:
        if message.get("body") == ANSWER[1]:
            now[0] += 7_000_000_000
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        await drive(StreamWitness(plain(ANSWER)), send=send)
    assert sink.closing("egress").extra[semconv.HOLD_TOTAL_MS] == 7_000


async def test_the_head_of_a_response_is_not_held_back(sink: MemorySink) -> None:
    """The server has the head before the app makes its first event."""
    messages: list[Any] = []
    had: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        had.append(len(messages))
        await send({"type": "http.response.body", "body": ANSWER[0]})

    async def send(message: Any) -> None:
        messages.append(message)

    await drive(StreamWitness(app), send=send)
    assert had == [1]


async def test_a_clients_stream_id_is_adopted_and_its_points_expected(sink: MemorySink) -> None:
    """The response names stream and exchange, tells the announced client the key, and expects its records."""
    messages = await drive(StreamWitness(plain(ANSWER)), headers=ANNOUNCED)
    headers = dict(messages[0]["headers"])
    header = parse_response(headers[b"stream-witness"].decode())
    closing = sink.closing("egress")
    assert header is not None
    assert (header.id, header.exchange, header.sampled) == (STREAM, closing.exchange, True)
    assert closing.stream == STREAM
    assert len(bytes.fromhex(headers[b"stream-witness-key"].decode())) == 16
    expected = [point for bit, point in enumerate(semconv.POINTS) if closing.expected >> bit & 1]
    assert expected == ["egress", "wire", "parsed"]


@pytest.mark.parametrize("header", [b"", b"v=1", b'v=1, id="xyz"', b'v=2, id="' + STREAM.encode() + b'"', b"\xff\x00"])
async def test_a_client_that_did_not_announce_itself_well_is_told_no_key(sink: MemorySink, header: bytes) -> None:
    """The stream gets an id of the gateway's, the client no secret, and nothing of it is expected."""
    messages = await drive(StreamWitness(plain(ANSWER)), headers=[(b"stream-witness", header)] if header else [])
    names = [name for name, _ in messages[0]["headers"]]
    assert b"stream-witness" in names
    assert b"stream-witness-key" not in names
    closing = sink.closing("egress")
    assert closing.stream != STREAM
    assert closing.expected == 1 << semconv.POINTS.index("egress")


async def test_headers_of_an_inner_gateway_are_replaced(sink: MemorySink) -> None:
    """A proxy that copies its upstream's headers does not hand the upstream's key to its own clients."""
    inner = [*SSE, (b"Stream-Witness", b"v=1"), (b"stream-witness-key", b"secret")]
    messages = await drive(StreamWitness(plain(ANSWER, inner)))
    assert b"secret" not in dict(messages[0]["headers"]).values()
    assert [name for name, _ in messages[0]["headers"]].count(b"stream-witness") == 1
    messages = await drive(StreamWitness(plain([b"{}"], [(b"stream-witness-key", b"secret")])))
    assert messages[0]["headers"] == []


async def test_headers_may_be_tuples_or_absent(sink: MemorySink) -> None:
    """ASGI says iterables of two; what the app gave is not changed."""
    given = tuple((name, value) for name, value in SSE)
    messages = await drive(StreamWitness(plain(ANSWER, given)))
    assert len(messages[0]["headers"]) == 2
    assert given == tuple(SSE)

    async def bare(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    assert (await drive(StreamWitness(bare)))[0] == {"type": "http.response.start", "status": 204}


@pytest.mark.parametrize(
    ("settings", "request_of", "answer"),
    [
        ({"mode": "off"}, {}, plain(ANSWER)),
        ({"exclude": ("/v1/*",)}, {}, plain(ANSWER)),
        ({"include": ("/v2/*",)}, {}, plain(ANSWER)),
        ({}, {"method": "HEAD"}, plain(ANSWER)),
    ],
)
async def test_what_is_not_to_be_witnessed_passes_untouched(settings: Any, request_of: Any, answer: Any) -> None:
    """The app is called with the server's own receive and send, and nothing is recorded."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.extend((receive, send, "streamwitness.gateway" in scope))

    async def receive() -> Any: ...

    async def send(message: Any) -> None: ...

    with recording(**settings) as sink:
        await drive(StreamWitness(answer), **request_of)
        await drive(StreamWitness(app), receive=receive, send=send, **request_of)
    assert seen == [receive, send, False]
    assert sink.blocks == []


@pytest.mark.parametrize(
    "answer",
    [plain([b"{}"], [(b"content-type", b"application/json")]), plain(ANSWER, SSE, 502), plain([b"x"], [])],
)
async def test_responses_that_are_no_streams_pass_as_they_are(sink: MemorySink, answer: Any) -> None:
    """The very messages of the app reach the server."""
    assert await drive(StreamWitness(answer)) == await drive(answer)
    assert sink.blocks == []


@pytest.mark.parametrize("kind", ["websocket", "something.new"])
async def test_other_scopes_pass_untouched(sink: MemorySink, kind: str) -> None:
    """Receive and send are the server's own."""
    seen: list[Any] = []

    async def app(*given: Any) -> None:
        seen.extend(given)

    given = [{"type": kind}, object(), object()]
    await StreamWitness(app)(*given)  # type: ignore[arg-type]
    assert all(a is b for a, b in zip(seen, given, strict=True))


async def test_an_unsampled_stream_says_so_and_leaves_no_record() -> None:
    """The client learns that it need not testify; it gets no key."""
    with recording(sample=0.0) as sink:
        messages = await drive(StreamWitness(plain(ANSWER)), headers=ANNOUNCED)
    headers = dict(messages[0]["headers"])
    header = parse_response(headers[b"stream-witness"].decode())
    assert header is not None
    assert header.sampled is False
    assert b"stream-witness-key" not in headers
    assert sink.blocks == []


async def test_two_of_them_make_one_record(sink: MemorySink) -> None:
    """A mounted app that carries the hook as well is not counted twice."""
    messages = await drive(StreamWitness(StreamWitness(plain(ANSWER))))
    assert sink.closing("egress").totals["events"] == len(ANSWER)
    assert [name for name, _ in messages[0]["headers"]].count(b"stream-witness") == 1


async def test_a_runtime_of_its_own() -> None:
    """A given runtime is used instead of the process-wide one."""
    own = MemorySink()
    with recording() as shared:
        await drive(StreamWitness(plain(ANSWER), runtime=Runtime(ClientSettings(), own)))
    assert own.closing("egress").end == "eof"
    assert shared.blocks == []


async def test_modes_switch_while_running(sink: MemorySink) -> None:
    """A change reaches the next request."""
    runtime = Runtime(ClientSettings(), sink)
    app = StreamWitness(plain(ANSWER), runtime=runtime)
    runtime.settings = ClientSettings(mode="off")
    await drive(app)
    assert sink.blocks == []
    runtime.settings = ClientSettings(level="counters")
    await drive(app)
    assert sink.closing("egress").rows is None


async def test_an_exception_of_the_app_reaches_the_server_unchanged(sink: MemorySink) -> None:
    """The answer ended because the app raised; its text, which may hold content, is not recorded."""
    error = RuntimeError("canary")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await plain(ANSWER[:2])(scope, receive, stop_at(send))

    def stop_at(send: Any) -> Any:
        async def sending(message: Any) -> None:
            await send(message)
            if message.get("body") == ANSWER[1]:
                raise error

        return sending

    with pytest.raises(RuntimeError) as raised:
        await drive(StreamWitness(app))
    assert raised.value is error
    closing = sink.closing("egress")
    assert (closing.end, closing.end_detail, closing.totals["events"]) == ("raised", "RuntimeError", 2)


async def test_an_exception_after_an_unfinished_answer_counts(sink: MemorySink) -> None:
    """Some middleware ends the body of a crashed app cleanly and raises afterwards: the crash is the end."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await plain(ANSWER[:2])(scope, receive, send)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await drive(StreamWitness(app))
    assert sink.closing("egress").end == "raised"


async def test_an_exception_after_a_whole_answer_does_not(sink: MemorySink) -> None:
    """A background task that fails has not harmed the answer."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await plain(ANSWER)(scope, receive, send)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await drive(StreamWitness(app))
    assert sink.closing("egress").end == "eof"


async def test_an_unfinished_answer_is_not_kept_open_by_a_background_task(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app goes on working after the final body: the record closes without waiting for it."""
    monkeypatch.setattr(middleware, "GRACE_SECONDS", 0.0)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await plain(ANSWER[:2])(scope, receive, send)
        await closed(sink)

    await drive(StreamWitness(app))
    assert sink.closing("egress").end == "eof"


async def test_an_app_that_returns_without_a_final_body(sink: MemorySink) -> None:
    """The server will cut the connection: the app's doing."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        await send({"type": "http.response.body", "body": ANSWER[0], "more_body": True})

    await drive(StreamWitness(app))
    closing = sink.closing("egress")
    assert (closing.end, closing.end_detail) == ("raised", "no final body")


async def test_a_cancelled_app_was_shut_down(sink: MemorySink) -> None:
    """A server that stops cancels what still runs; the cancellation goes on to the app's caller."""
    started = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(drive(StreamWitness(app)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sink.closing("egress").end == "shutdown"


async def test_a_send_that_fails_is_a_disconnect(sink: MemorySink) -> None:
    """ASGI 2.4 servers tell a lost client by an OSError; the app still gets it."""

    async def send(message: Any) -> None:
        if message.get("body") == ANSWER[1]:
            raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - the very error of the server, which says no more
        await drive(StreamWitness(plain(ANSWER)), send=send)
    closing = sink.closing("egress")
    assert (closing.end, closing.totals["events"]) == ("disconnected", 1)


@pytest.mark.parametrize(("whole", "end"), [(True, "eof"), (False, "disconnected")])
async def test_a_terminal_beats_a_later_disconnect(sink: MemorySink, whole: bool, end: str) -> None:
    """A client that closes at `[DONE]`, before the final body, has had everything."""
    gone = asyncio.Event()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        for piece in ANSWER if whole else ANSWER[:-1]:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        gone.set()
        await closed(sink)
        await send({"type": "http.response.body"})

    await drive(StreamWitness(app), receive=receive)
    assert sink.closing("egress").end == end


async def test_a_disconnect_while_the_final_body_is_sent_is_nothing(sink: MemorySink) -> None:
    """Servers report one as soon as the answer is out."""
    gone = asyncio.Event()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body"):
            gone.set()
            for _ in range(5):
                await asyncio.sleep(0)

    await drive(StreamWitness(plain(ANSWER[:2])), receive=receive, send=send)
    assert sink.closing("egress").end == "eof"


async def test_when_the_app_has_returned_nothing_is_left_waiting(sink: MemorySink) -> None:
    """The call of the server's receive that was kept pending is taken back."""
    over = asyncio.Event()

    async def receive() -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            over.set()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await plain(ANSWER)(scope, receive, send)
        await asyncio.sleep(0)
        assert not over.is_set()

    await drive(StreamWitness(app), receive=receive)
    await asyncio.wait_for(over.wait(), 20)


async def test_what_is_sent_to_nobody_is_not_recorded(sink: MemorySink) -> None:
    """After the disconnect servers swallow what an app still sends."""

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        await closed(sink)
        for piece in ANSWER:
            await send({"type": "http.response.body", "body": piece, "more_body": True})

    await drive(StreamWitness(app), receive=receive)
    assert sink.closing("egress").totals["events"] == 0


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br-not-known"])
async def test_an_encoded_body_is_looked_through(sink: MemorySink, coding: str) -> None:
    """A middleware inside compressed: events are read from the content, or the point is unknown, never empty."""
    body = b"".join(ANSWER)
    encoded = {"gzip": gzip.compress(body), "deflate": zlib.compress(body)}.get(coding, body)
    headers = [*SSE, (b"content-encoding", coding.encode())]
    messages = await drive(StreamWitness(plain(cut(encoded, 5), headers)))
    assert body_of(messages) == encoded
    closing = sink.closing("egress")
    if coding == "br-not-known":
        assert closing.extra[semconv.OBSERVER_FAULT] == "UnknownEncodingError"
    else:
        assert closing.totals["events"] == len(ANSWER)


async def test_a_body_that_is_not_in_the_coding_it_names(sink: MemorySink) -> None:
    """The point is unknown from there on; the body passes."""
    headers = [*SSE, (b"content-encoding", b"gzip")]
    messages = await drive(StreamWitness(plain(ANSWER, headers)))
    assert body_of(messages) == b"".join(ANSWER)
    assert semconv.OBSERVER_FAULT in sink.closing("egress").extra


async def test_a_body_sent_as_a_file_is_unknown(sink: MemorySink) -> None:
    """Where the body does not pass through us, the point says so."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        await send({"type": "http.response.pathsend", "path": "/dev/null"})

    with faults.quiet():
        await drive(StreamWitness(app))
    assert sink.closing("egress").extra[semconv.OBSERVER_FAULT] == "NotImplementedError"


@pytest.mark.parametrize("inside", [True, False])
async def test_a_gzip_middleware_on_either_side(sink: MemorySink, inside: bool) -> None:
    """The client's content and the record are the same, whether it compresses before us or behind us."""
    layers = [Middleware(StreamWitness), Middleware(GZipMiddleware, minimum_size=1, exclude_content_types=())]

    async def endpoint(request: Any) -> StreamingResponse:
        return StreamingResponse(pieces_of(ANSWER), media_type="text/event-stream")

    app = Starlette(
        routes=[Route("/v1/chat/completions", endpoint, methods=["POST"])],
        middleware=layers if inside else layers[::-1],
    )
    messages = await drive(app, headers=[(b"accept-encoding", b"gzip")])
    assert gzip.decompress(body_of(messages)) == b"".join(ANSWER)
    closing = sink.closing("egress")
    assert (closing.end, closing.totals["events"]) == ("eof", len(ANSWER))


@pytest.mark.parametrize("inside", [True, False])
async def test_a_browser_may_read_the_headers(sink: MemorySink, inside: bool) -> None:
    """With CORS on either side of us, the names are exposed to a client that announced itself."""
    layers = [Middleware(StreamWitness), Middleware(CORSMiddleware, allow_origins=["https://a.example"])]

    async def endpoint(request: Any) -> StreamingResponse:
        return StreamingResponse(pieces_of(ANSWER), media_type="text/event-stream")

    app = Starlette(
        routes=[Route("/v1/chat/completions", endpoint, methods=["POST"])],
        middleware=layers if inside else layers[::-1],
    )
    messages = await drive(app, headers=[*ANNOUNCED, (b"origin", b"https://a.example")])
    headers = dict(messages[0]["headers"])
    assert headers[b"access-control-allow-origin"] == b"https://a.example"
    assert headers[b"access-control-expose-headers"] == b"stream-witness, stream-witness-key"


@pytest.mark.parametrize("broken", ["feed", "finish"])
async def test_an_observer_that_raises_harms_nobody(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """The body passes whole, the fault is counted, and the record says that it cannot be relied on."""

    def fail(*_: Any) -> None:
        raise RuntimeError("canary")

    monkeypatch.setattr(SSEFramer, broken, fail)
    before = sum(faults.counts().values())
    with faults.quiet():
        messages = await drive(StreamWitness(plain(ANSWER)))
    assert body_of(messages) == b"".join(ANSWER)
    assert sum(faults.counts().values()) == before + 1
    assert sink.closing("egress").extra[semconv.OBSERVER_FAULT] == "RuntimeError"


@pytest.mark.parametrize(
    "broken",
    [
        "middleware.asked_for",
        "middleware.announced",
        "numbering.rewriter",
        "middleware.Shelf.keep",
        "middleware.stamp_reader",
        "middleware.decoder",
        "middleware.SharedReceive.watch",
    ],
)
async def test_a_fault_of_the_hook_itself_harms_nobody(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """Whichever of our steps fails, the app is called and its answer passes."""

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("canary")

    monkeypatch.setattr(f"streamwitness.gateway.{broken}", fail)
    asking = [(b"stream-witness", format_request(STREAM, ("wire", "parsed"), "id").encode())]
    with faults.quiet():
        for mode, headers in (("observe", ANNOUNCED), ("stamp", asking)):
            with recording(mode=mode):
                messages = await drive(StreamWitness(plain(ANSWER), replay=Replay()), headers=headers)
            stamped = b"stamp=id" in dict(messages[0].get("headers", ())).get(b"stream-witness", b"")
            assert (body_of(messages) == b"".join(ANSWER)) is not stamped


async def test_no_text_of_the_answer_is_in_the_record(sink: MemorySink) -> None:
    """Numbers and digests only."""
    await drive(StreamWitness(plain([chunk("canary-text"), *ANSWER, b": canary comment\n\n", b"data: {canary"])))
    assert sink.blocks
    assert not [block for block in sink.blocks if "canary" in repr(block)]


async def test_no_key_is_in_the_record(sink: MemorySink) -> None:
    """Who holds the telemetry cannot make the digests of a guess."""
    messages = await drive(StreamWitness(plain(ANSWER)), headers=ANNOUNCED)
    key = dict(messages[0]["headers"])[b"stream-witness-key"].decode()
    assert not [block for block in sink.blocks if key in repr(block) or repr(bytes.fromhex(key)) in repr(block)]


async def test_other_tasks_run_as_often_as_without_the_hook() -> None:
    """Between two pieces the loop gets round as often as it does without us: nothing in here waits or blocks."""

    async def rounds(wrap: Any) -> int:
        count = 0
        running = True

        async def ticker() -> None:
            nonlocal count
            while running:
                count += 1
                await asyncio.sleep(0)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": SSE})
            for piece in ANSWER * 200:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                await asyncio.sleep(0)
            await send({"type": "http.response.body"})

        ticking = asyncio.create_task(ticker())
        await drive(wrap(app))
        running = False
        await ticking
        return count

    with recording():
        without, with_hook = await rounds(lambda app: app), await rounds(StreamWitness)
    assert abs(with_hook - without) <= 3
