"""The query API over HTTP: answers, errors that say what to do, and the query key."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from starlette.applications import Starlette

from streamwitness_analyzer.api import routes
from streamwitness_analyzer.counting import METRICS
from streamwitness_analyzer.metrics import GAUGES
from streamwitness_analyzer.settle import Life, Patience
from streamwitness_analyzer.steps import Steps
from streamwitness_analyzer.store import Received, Store
from streamwitness_analyzer.store.schema import counters
from tests.analyzer.kit import START, PlainJudge, block, stream_id

pytestmark = pytest.mark.anyio


def fill(store: Store) -> None:
    """Stream 1 lost an event, 2 is provisional, 3 still open."""
    steps = Steps(store, Life(PlainJudge(), Patience()), lambda: START)
    steps.ingest(
        [Received(block(1, "egress", final=True), START), Received(block(1, "wire", rows=2, final=True), START)]
    )
    steps.ingest([Received(block(2, "egress", final=True), START + 1)])
    steps.ingest([Received(block(3, "egress"), START + 2)])


async def get(store: Store, path: str, key: str = "", send: dict[str, str] | None = None) -> httpx.Response:
    app = Starlette(routes=routes(store, lambda: START, key))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        return await client.get(path, headers=send)


async def test_a_list(store: Store) -> None:
    """Newest first, with the cursor of the page behind."""
    fill(store)
    page = (await get(store, "/api/v1/streams?limit=2")).json()
    assert [row["stream"] for row in page["streams"]] == [stream_id(3), stream_id(2)]
    rest = (await get(store, f"/api/v1/streams?limit=2&cursor={page['next']}")).json()
    assert ([row["stream"] for row in rest["streams"]], rest["next"]) == ([stream_id(1)], None)


async def test_one_stream_by_its_beginning(store: Store) -> None:
    """Its verdict document, upper case or lower."""
    fill(store)
    document = (await get(store, f"/api/v1/streams/{stream_id(1).upper()}")).json()
    assert (document["state"], document["short"]) == ("settled", "1 lost")


async def test_the_history_of_a_stream(store: Store) -> None:
    """Every revision of its verdict."""
    fill(store)
    history = (await get(store, f"/api/v1/streams/{stream_id(1)}/history")).json()
    assert [(item["revision"], item["short"]) for item in history["revisions"]] == [(1, "1 lost")]


async def test_limits_on_the_way(store: Store) -> None:
    """What was looked at, of a day unless told otherwise."""
    fill(store)
    assert (await get(store, "/api/v1/cuts")).json() == {"cuts": [], "streams": 1, "cut": 0, "whole": True}


async def test_a_stream_without_verdict(store: Store) -> None:
    """The same shape, claiming nothing."""
    fill(store)
    document = (await get(store, f"/api/v1/streams/{stream_id(3)}")).json()
    assert (document["state"], document["headline"], document["findings"]) == ("open", "STILL RUNNING", [])
    known = (await get(store, f"/api/v1/streams/{stream_id(1)}")).json()
    assert set(document) == set(known) - {"blocks"}


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/api/v1/streams/000", 409, "3 or more streams begin with '000'"),
        ("/api/v1/streams/000/history", 409, "3 or more streams begin with '000'"),
        ("/api/v1/cuts?until=1d", 400, "unknown parameter 'until'"),
        ("/api/v1/cuts?since=soon", 400, "since is 'soon'"),
        ("/api/v1/streams/f", 404, "no stream begins with 'f'"),
        ("/api/v1/streams/xyz", 400, "'xyz' is no stream id"),
        ("/api/v1/streams/" + "0" * 33, 400, "is no stream id"),
        ("/api/v1/streams?endign=completed", 400, "did you mean 'ending'?"),
        ("/api/v1/streams?limit=many", 400, "limit is 'many'"),
    ],
)
async def test_errors_say_what_is_wrong_and_what_to_do(store: Store, path: str, status: int, said: str) -> None:
    """As JSON with `error` and `hint`."""
    fill(store)
    response = await get(store, path)
    assert response.status_code == status
    assert said in response.json()["error"]
    assert response.json()["hint"]


async def test_an_ambiguous_beginning_lists_candidates(store: Store) -> None:
    """So that one can go on."""
    fill(store)
    candidates = (await get(store, "/api/v1/streams/0")).json()["candidates"]
    assert candidates == [stream_id(n) for n in (1, 2, 3)]


@pytest.mark.parametrize("path", ["/api/v1/streams", "/api/v1/streams/0", "/metrics"])
@pytest.mark.parametrize("header", [None, "Bearer wrong", "Bearer ", "s3cret"])
async def test_the_query_key_is_asked_for(store: Store, path: str, header: str | None) -> None:
    """Without it nothing is told."""
    response = await get(store, path, "s3cret", {"authorization": header} if header else {})
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")


async def test_the_query_key_opens(store: Store) -> None:
    """With it everything is as without one; health needs none."""
    assert (await get(store, "/api/v1/streams", "s3cret", {"authorization": "Bearer s3cret"})).status_code == 200
    assert (await get(store, "/healthz", "s3cret")).status_code == 200


async def test_metrics_begin_at_zero(store: Store) -> None:
    """Every metric with every label set, before anything has happened."""
    text = (await get(store, "/metrics")).text
    for metric in METRICS:
        for labels in metric.label_sets():
            assert f"{metric.name}{{{labels}}} 0\n" in text or f"{metric.name} 0\n" in text


async def test_metrics_count_settled_streams_only(store: Store) -> None:
    """The provisional one is not in it; the gauge knows all states."""
    fill(store)
    text = (await get(store, "/metrics")).text
    assert 'stream_endings_total{class="completed",group="ok"} 1\n' in text
    assert 'stream_findings_total{kind="gap",component="transport",confidence="certain"} 1\n' in text
    for state in ("open", "provisional", "settled"):
        assert f'streams{{state="{state}"}} 1\n' in text


async def test_metrics_are_well_formed(store: Store) -> None:
    """Each sample once, below the type of its family."""
    fill(store)
    with store.write() as transaction:
        transaction.take_over("t", 0)
    lines = (await get(store, "/metrics")).text.splitlines()
    samples = [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]
    assert len(samples) == len(set(samples))
    types = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {re.split(r"[{ ]", line)[0] for line in samples} == types == {m.name for m in METRICS} | set(GAUGES)


async def test_a_database_that_does_not_answer_is_503(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Health included: whoever balances load sends elsewhere."""

    def gone(*_: Any) -> Callable[[], None]:
        raise sa.exc.OperationalError("select", {}, Exception("gone"))

    monkeypatch.setattr(store, "read", gone)
    for path in ("/api/v1/streams", "/api/v1/streams/0", "/metrics", "/healthz"):
        assert (await get(store, path)).status_code == 503


async def test_the_metrics_of_two_analyzers_are_the_same(store: Store, database: str) -> None:
    """They are the database's, so a second process on it answers alike."""
    fill(store)
    other = Store(database)
    try:
        assert (await get(store, "/metrics")).text == (await get(other, "/metrics")).text
    finally:
        other.close()


async def test_counters_outside_the_table_are_not_shown(store: Store) -> None:
    """A newer analyzer on the same database may count more than this one knows."""
    with store.write() as transaction:
        transaction.count({("stream_of_the_future_total", ""): 1})
    with store.read() as connection:
        assert connection.execute(sa.select(counters.c.value)).scalar() == 1
    assert "future" not in (await get(store, "/metrics")).text
