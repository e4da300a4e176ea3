"""Bodies that are not what they were announced as: the ending says so, and no event is held against anybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from streamwitness.demo.scripts import chunk

from .parsers import json_per_read_and_skips, proper
from .pipeline import Play, Stream, spoken, told
from .table import Verdict

WORDS = ("The", " harbour", " was", " quiet", " when")
SSE = spoken(*WORDS)
LINES = [event.removeprefix(b"data: ").replace(b"\n\n", b"\n") for event in SSE[:-1]]
ERROR = [b'{\n  "error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}\n}\n']
HTML = [b"<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>\n"]
TEXT = [b"upstream connect error or disconnect/reset before headers\n"]
JSON = [b'{"id": "c1", "object": "chat.completion", "choices": [{"message": {"content": "whole"}}]}\n']
WRONG = {"ndjson": LINES, "json": JSON, "html": HTML, "text": TEXT}

BROKEN = "protocol_violation"


def played(upstream: list[bytes] | None, sent: list[bytes] | None, received: list[bytes], **more: Any) -> Verdict:
    """What is concluded of these three bodies, read by a proper client that gets nothing out of a wrong one."""
    return Verdict.of(Stream().play(Play(received, more.pop("parser", proper()), sent, upstream, **more)))


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_the_component_before_the_first_point_that_saw_it(wrong: list[bytes]) -> None:
    """Source, gateway, transport; nobody where the point before is not held. What left the gateway in order is lost."""
    assert played(wrong, wrong, wrong) == Verdict(BROKEN, "source", "unproven")
    assert played(SSE, wrong, wrong) == Verdict(BROKEN, "gateway", "unproven")
    assert played(SSE, SSE, wrong) == Verdict(BROKEN, "transport", "damaged", (("tail", ("transport",)),))
    assert played(None, wrong, wrong) == Verdict(BROKEN, None, "unproven")
    assert played(None, None, wrong) == Verdict(BROKEN, None, "unproven")


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("n", [1, 3])
def test_a_body_that_degrades(wrong: list[bytes], n: int) -> None:
    """It began as it should and then turned into something else: cut there, by the component that turned it."""
    body = [*SSE[:n], *wrong]
    assert played(body, body, body).by == "source"
    assert played(body, body, body).findings == ()
    assert {who for _, suspects in played(SSE, body, body).findings for who in suspects} <= {"gateway"}
    assert {who for _, suspects in played(SSE, SSE, body).findings for who in suspects} <= {"transport"}


def test_a_client_that_reads_it_all_the_same() -> None:
    """NDJSON under an SSE type, and a client that reads lines: completed, and the client invented nothing."""
    assert played(LINES, LINES, LINES, parser=json_per_read_and_skips) == Verdict("completed", "source", "unproven")


def test_a_gateway_that_reads_it_all_the_same() -> None:
    """What it made of it is not fabricated; that its source completed the answer, no record of that tells."""
    assert played(LINES, SSE, SSE) == Verdict("completed", None, "unproven")


@pytest.mark.parametrize("n", [1, 3, 8, 12])
def test_a_gateway_that_reads_on_where_the_body_degrades(n: int) -> None:
    """The same, of a body that turns into lines: what came behind that is not the gateway's invention."""
    long = [chunk({"content": f"word {i} "}) for i in range(14)]
    lines = [event.removeprefix(b"data: ").replace(b"\n\n", b"\n") for event in [*long[n:], SSE[-2]]]
    assert played([*long[:n], *lines], [*long, *SSE[-2:]], [*long, *SSE[-2:]]).findings == ()


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_bare_error_is_an_error(n: int) -> None:
    """In place of the answer, or behind its beginning: the source's where gateway in saw it, else nobody knows."""
    body = [*SSE[:n], *ERROR]
    assert played(body, body, body) == Verdict("upstream_error", "source")
    assert played(None, body, body) == Verdict("upstream_error", None)
    assert played(None, None, body) == Verdict("upstream_error", None)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_bare_error_that_the_gateway_wrote(n: int) -> None:
    """Its upstream was complete; or it had broken off, and the gateway only said so."""
    told_ = [*SSE[:n], *ERROR]
    found = played(SSE, told_, told_)
    assert found.by == ("gateway" if n else None)  # an answer without content may be made of anything
    assert {who for _, suspects in found.findings for who in suspects} <= {"gateway"}
    cut = played(SSE[:n], told_, told_, upstream_end="reset")
    assert (cut.ending, cut.by, cut.findings) == ("upstream_truncated", "source", ())


def test_a_bare_error_that_a_proxy_wrote() -> None:
    """The whole answer had left the gateway."""
    found = played(SSE, SSE, ERROR)
    assert (found.ending, found.by) == (BROKEN, "transport")
    assert {who for _, suspects in found.findings for who in suspects} <= {"transport"}


def raising(pieces: Iterator[bytes]) -> Iterator[Any]:
    """Takes the body for JSON, whatever it is."""
    for piece in pieces:
        raise ValueError(piece)
    yield


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_parser_that_raises_is_told_first(wrong: list[bytes]) -> None:
    """The most downstream stop: the records of both points say why."""
    found = played(SSE, wrong, wrong, parser=raising)
    assert (found.ending, found.findings) == ("client_parser_abort", ())


def test_findings_elsewhere_stay() -> None:
    """A bare error behind proper events hides none of them: what a hop lost of these is lost."""
    body, shorter = [*SSE[:5], *ERROR], [*SSE[:2], *SSE[3:5], *ERROR]
    verdict = Stream().play(Play(shorter, proper(), body, body)).verdict()
    assert told(verdict) == [("gap", ("transport",))]
