"""A client that comes back to a gateway that kept its answer, over real sockets: what is said of the stream."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import streamwitness
from streamwitness.blocks import Block
from streamwitness.client.resume import Checkpoint
from streamwitness.testing import recording
from streamwitness_analyzer.decode import decode_otlp
from streamwitness_analyzer.judge import judge
from tests.analyzer.kit import otlp
from tests.clientsdk.gateway.keeping import DATA, Gateway
from tests.clientsdk.gateway.serving import PATH, until


def read(client: httpx.Client, url: str, checkpoint: Checkpoint, events: int = 1000) -> list[str]:
    """Read so many events of one connection, then leave it."""
    seen: list[str] = []
    with client.stream("POST", url, headers=checkpoint.headers()) as response:
        checkpoint.opened(response.headers)
        for event in checkpoint.events(response.iter_raw()):
            seen.append(event.data)
            if len(seen) == events:
                break
    return seen


def verdict(blocks: list[Block]) -> dict[str, Any]:
    """What the analyzer says of them, after their way as OTLP."""
    decoded, refused = decode_otlp(otlp(blocks), "any")
    assert refused == []
    return judge(decoded, settled=True)


@pytest.mark.parametrize("left_after", [1, 3, 8])
def test_a_client_that_came_back_has_completed(left_after: int) -> None:
    """Two exchanges of one stream: both in order, the ending that of the second, nobody accused."""
    gateway = Gateway()
    with gateway.serve() as url, recording(mode="stamp", origins=(url.removesuffix(PATH),)) as sink:
        checkpoint = Checkpoint()
        with streamwitness.instrument(httpx.Client(timeout=30)) as client:
            gateway.go(left_after + 2)
            seen = read(client, url, checkpoint, left_after)
            until(lambda: len(gateway.closings()) == 1)
            gateway.go()
            seen += read(client, url, checkpoint)
            until(lambda: len(gateway.closings()) == 2)
    found = verdict([*gateway.sink.blocks, *sink.blocks])
    assert seen == DATA
    assert {point["attempt"] for point in found["points"]} == {0, 1}
    assert {(point["point"], point["attempt"]) for point in found["points"]} >= {("wire", 0), ("wire", 1)}
    assert (found["ending"]["class"], found["integrity"], found["findings"]) == ("completed", "intact", [])
