"""An upstream that another process of the gateway reads is a leg: a real queue between two real processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from streamwitness import faults
from streamwitness.blocks import Block
from streamwitness.gateway import edited, link, linked, upstream
from streamwitness.gateway.context import MAX_LEGS, MAX_REFUSALS, GatewayExchange, Refusal, bound, current
from streamwitness.gateway.linking import NOTHING, LinkedExchange
from streamwitness.runtime import ClientSettings, Runtime
from streamwitness.semconv import EDITED, STATUS_CODE
from streamwitness.testing import MemorySink, recording
from streamwitness_analyzer.judge import judge
from tests.clientsdk.export.receiver import Receiver
from tests.clientsdk.gateway.serving import PATH, chat, plain, serve
from tests.clientsdk.gateway.test_servers import served

TYPE = "text/event-stream"
ANSWER = chat(*(f"word {number} " for number in range(8)))
GATEWAY = ["uvicorn", "tests.clientsdk.gateway.worker:app", "--port", "{port}"]


def runtime(sink: MemorySink, **settings: Any) -> Runtime:
    return Runtime(ClientSettings(**settings), sink)


def read(exchange: Any, pieces: list[bytes], end: str = "eof") -> str:
    """Read an upstream response for an exchange; its recorder."""
    leg = exchange.leg(PATH, TYPE, "httpx")
    for piece in pieces:
        leg.feed(piece)
    leg.close(end)
    return str(leg.recorder.id)


def send(exchange: GatewayExchange, pieces: list[bytes]) -> None:
    """Give an answer to its end."""
    observer = exchange.egress(PATH, TYPE)
    assert observer is not None
    for piece in pieces:
        observer.feed(piece)
    observer.close("eof", legs=exchange.leg_ids(), extra=exchange.edits())


def verdict(blocks: list[Block]) -> Any:
    """The verdict, where every record came with a gateway's key."""
    return judge([replace(block, role="gateway") for block in blocks], settled=True)


def found(said: Any) -> list[tuple[str, list[str], str]]:
    return [(f["kind"], f["suspects"], f["confidence"]) for f in said["findings"]]


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink()


@pytest.fixture
def gateway(sink: MemorySink) -> Iterator[GatewayExchange]:
    """An exchange under which the test runs."""
    exchange = GatewayExchange(runtime(sink), None)
    with bound(exchange):
        yield exchange


def test_a_loss_between_worker_and_answer_is_the_gateways() -> None:
    """Two processes and a pipe: with both records it is proven, with one of them nobody is accused."""
    with Receiver() as receiver, serve(plain(ANSWER)) as provider:
        with served(GATEWAY, receiver.endpoint) as (port, process):
            ask = f"http://127.0.0.1:{port}{PATH}"
            url = provider.url + PATH
            whole = httpx.post(ask, params={"url": url}, trust_env=False)
            lossy = httpx.post(ask, params={"url": url, "lose": "3"}, trust_env=False)
            alone = httpx.post(ask, params={"url": url, "lose": "3", "alone": ""}, trust_env=False)
            process.terminate()
            process.wait(30)
        blocks = receiver.blocks()
    streams = [response.headers["stream-witness"].partition('id="')[2][:32] for response in (whole, lossy, alone)]
    of = [[block for block in blocks if block.stream == stream] for stream in streams]
    assert [len({(b.point, b.witness) for b in group}) for group in of] == [2, 2, 1]
    assert verdict(of[0])["integrity"] == "intact"
    assert found(verdict(of[1])) == [("gap", ["gateway"], "certain")]
    kept = [block for block in of[1] if block.point == "egress"]
    assert (found(verdict(kept)), verdict(kept)["integrity"]) == ([], "unproven")
    assert (found(verdict(of[2])), verdict(of[2])["integrity"]) == ([], "unproven")


def test_the_leg_is_listed_at_once(gateway: GatewayExchange, sink: MemorySink) -> None:
    """Its number is its place among the others, its record is another witness's of the same exchange."""
    read(gateway, ANSWER)
    token = link()
    with linked(token, runtime=runtime(sink)):
        worker = current()
        recorder = read(worker, ANSWER)
    send(gateway, ANSWER)
    assert sink.closing("egress").legs[1] == recorder
    first, second = [block for block in sink.at("ingress") if block.final]
    assert (second.leg, second.exchange, second.stream) == (1, first.exchange, first.stream)
    assert second.witness != first.witness
    assert second.semantic_o == first.semantic_o


def test_what_is_read_under_a_token_is_a_leg(sink: MemorySink, gateway: GatewayExchange) -> None:
    """By a client of upstream(); outside of the block nothing is recorded."""
    token = link()
    with serve(plain(ANSWER)) as provider, recording() as memory, upstream(httpx.Client(trust_env=False)) as client:
        with linked(token):
            client.post(provider.url + PATH)
        assert [block.recorder for block in memory.at("ingress") if block.final] == [gateway.leg_ids()[0]]
        with linked(NOTHING):
            client.post(provider.url + PATH)
        assert len({block.recorder for block in memory.at("ingress")}) == 1


def test_further_responses_of_a_worker_are_legs_too(gateway: GatewayExchange, sink: MemorySink) -> None:
    """A first attempt that broke off, and a fallback whose answer it is: the fallback can accuse the gateway."""
    with linked(link(), runtime=runtime(sink)):
        read(current(), chat("other ", "words ")[:2], "reset")
        assert not any(block.final for block in sink.blocks)  # what it must list is not known yet
        read(current(), ANSWER)
    send(gateway, [*ANSWER[:3], *ANSWER[4:]])
    said = verdict(sink.blocks)
    assert found(said) == [("gap", ["gateway"], "certain")]
    assert [note["kind"] for note in said["notes"]] == ["superseded"]
    fallback = max(block.recorder for block in sink.at("ingress"))
    assert found(verdict([block for block in sink.blocks if block.recorder != fallback])) == []


def test_a_whole_completion_of_a_worker_leaves_the_hop_unproven(gateway: GatewayExchange, sink: MemorySink) -> None:
    """Its text may be in the answer, and nobody read it."""
    with linked(link(), runtime=runtime(sink)):
        worker = current()
        assert worker is not None
        worker.unseen_leg()
        read(worker, ANSWER)
    send(gateway, [*ANSWER[:3], *ANSWER[4:]])
    assert (found(verdict(sink.blocks)), verdict(sink.blocks)["integrity"]) == ([], "unproven")


REFUSED = Refusal(429, "api.example", "httpx")


def test_a_worker_that_was_refused_and_then_answered(gateway: GatewayExchange, sink: MemorySink) -> None:
    """The refusal is a leg with its status, beside the one that answered it is nothing, and they are bounded."""
    with linked(link(), runtime=runtime(sink)):
        worker = current()
        assert worker is not None
        for _ in range(MAX_REFUSALS + 3):
            worker.refused(REFUSED)
        read(worker, ANSWER)
    send(gateway, [*ANSWER[:3], *ANSWER[4:]])
    legs = [block for block in sink.at("ingress") if block.final]
    assert [block.extra.get(STATUS_CODE) for block in legs].count(429) == len(legs) - 1 <= MAX_REFUSALS + 1
    assert found(verdict(sink.blocks)) == [("gap", ["gateway"], "certain")]


@pytest.mark.parametrize("unanswered", [True, False])
def test_a_worker_whose_last_request_got_no_response(
    unanswered: bool, gateway: GatewayExchange, sink: MemorySink
) -> None:
    """One upstream refused; of another that never answered nobody knows whether it was there: nobody ended it."""
    with linked(link(), runtime=runtime(sink)):
        worker = current()
        assert worker is not None
        worker.refused(REFUSED)
        if unanswered:
            worker.awaits(1)
    send(gateway, [b'data: {"error": {"message": "none of them"}}\n\n'])
    ending = verdict(sink.blocks)["ending"]
    assert (ending["class"], ending["by"]) == (
        ("upstream_error", None) if unanswered else ("upstream_rejected", "source")
    )


def test_a_body_that_outlives_the_block_closes_at_its_end(gateway: GatewayExchange, sink: MemorySink) -> None:
    """Only the request must be made inside."""
    with linked(link(), runtime=runtime(sink)):
        leg = current().leg(PATH, TYPE)  # type: ignore[union-attr]
    assert leg is not None
    assert not sink.blocks
    leg.close("eof")
    leg.close("reset")
    assert sink.closing("ingress").end == "eof"


def test_a_job_that_is_done_twice_accuses_nobody(gateway: GatewayExchange, sink: MemorySink) -> None:
    """Two processes under one token contradict each other."""
    token = link()
    for end in (3, len(ANSWER)):
        with linked(token, runtime=runtime(sink)):
            read(current(), ANSWER[:end])
    send(gateway, [*ANSWER[:3], *ANSWER[4:]])
    assert (found(verdict(sink.blocks)), verdict(sink.blocks)["integrity"]) == ([], "unproven")


def test_what_the_worker_leaves_out_on_purpose(gateway: GatewayExchange, sink: MemorySink) -> None:
    """It declares where it is, and its leg says so."""
    with linked(link(), runtime=runtime(sink)):
        edited("filter")
        read(current(), ANSWER)
    send(gateway, [*ANSWER[:3], *ANSWER[4:]])
    assert sink.closing("ingress").extra[EDITED] == ["filter"]
    assert [note["kind"] for note in verdict(sink.blocks)["notes"]] == ["edited"]


@pytest.mark.parametrize("token", ["sw1.AAAA", "from another queue", "sw2." + "A" * 80, None, 7, b"sw1.", {}])
def test_what_is_no_token_is_counted_and_ignored(token: Any) -> None:
    """The worker does its job all the same."""
    before = faults.counts().get("gateway.linked", 0)
    with linked(token):
        assert current() is None
    assert faults.counts()["gateway.linked"] == before + 1


def test_where_there_is_nothing_to_link(sink: MemorySink) -> None:
    """Outside of a request, after its answer, of a stream that is not sampled, and with the worker's mode off."""
    assert link() == NOTHING
    assert link(scope={}) == NOTHING
    ended, unsampled = GatewayExchange(runtime(sink), None), GatewayExchange(runtime(sink, sample=0.0), None)
    ended.leg_ids()
    for exchange in (ended, unsampled):
        with bound(exchange):
            assert link() == NOTHING
    with bound(GatewayExchange(runtime(sink), None)):
        token = link()
    with linked(token, runtime=runtime(sink, mode="off")):
        assert current() is None


def test_a_linked_worker_links_nothing_itself(gateway: GatewayExchange, sink: MemorySink) -> None:
    """The list of legs is the answering process's."""
    with linked(link(), runtime=runtime(sink)):
        assert link() == NOTHING


def test_an_error_of_the_block_goes_on(gateway: GatewayExchange, sink: MemorySink) -> None:
    """And the leg says how it ended."""

    def job() -> None:
        with linked(link(), runtime=runtime(sink)):
            read(current(), ANSWER[:2], "reset")
            raise KeyError

    with pytest.raises(KeyError):
        job()
    assert sink.closing("ingress").end == "reset"
    assert current() is gateway


def test_legs_are_bounded_in_a_worker(gateway: GatewayExchange, sink: MemorySink) -> None:
    """Beyond that only that there was something unseen."""
    with linked(link(), runtime=runtime(sink)):
        worker = current()
        assert isinstance(worker, LinkedExchange)
        legs = [worker.leg(PATH, TYPE) for _ in range(MAX_LEGS + 9)]
        for leg in legs:
            if leg is not None:
                leg.close("eof")
    assert len(next(block for block in sink.blocks if block.legs).legs) == MAX_LEGS + 1


def test_a_worker_that_may_say_less_says_less(gateway: GatewayExchange, sink: MemorySink) -> None:
    """The lower of two levels holds."""
    with linked(link(), runtime=runtime(sink, level="rows")):
        read(current(), ANSWER)
    block = sink.closing("ingress")
    assert (block.semantic_o, block.rows is None) == (None, False)
