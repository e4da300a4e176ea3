"""The demo's table over real sockets: every verdict right, nobody innocent blamed, no content in any telemetry."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

import pytest

from streamwitness.demo import check
from streamwitness.demo.run import distributed, embedded, run
from streamwitness.demo.scenarios import BREAKABLE, BROKEN, HEALTHY, SCENARIOS
from streamwitness.demo.scripts import CANARIES
from tests.e2e import golden
from tests.e2e.recording import recording

NAMES = [scenario.name for scenario in SCENARIOS]


def quiet(_: str) -> None:
    """No progress bar."""


@pytest.fixture(scope="module")
def embedded_run(tmp_path_factory):
    """The whole table once, with all exported bytes and the database they became."""
    database = tmp_path_factory.mktemp("demo") / "demo.db"
    with embedded(f"sqlite:///{database}") as product, recording(product.endpoint) as (endpoint, bodies):
        results = run(SCENARIOS, replace(product, endpoint=endpoint), quiet)
    return {result.scenario.name: result for result in results}, bodies, database


@pytest.mark.parametrize("name", NAMES)
def test_verdict(embedded_run, name):
    """The verdict is the one that the table expects, and accuses nobody else."""
    result = embedded_run[0][name]
    assert check.differences(result.scenario, result.verdict) == []
    assert check.blamed_innocents(result.scenario, result.verdict) == set()


@pytest.mark.parametrize("name", NAMES)
def test_golden_document(embedded_run, name):
    """The whole document is the one that was kept, sentences included."""
    difference = golden.difference(embedded_run[0][name])
    assert not difference, difference


def test_every_status_was_200(embedded_run):
    """No log of any client would have told."""
    assert {result.outcome.status for result in embedded_run[0].values()} == {200}


@pytest.mark.parametrize("canary", CANARIES)
def test_no_content_in_telemetry(embedded_run, canary):
    """Neither an answer nor a prompt stands in any exported byte, nor in the database."""
    _, bodies, database = embedded_run
    stored = b"".join(file.read_bytes() for file in database.parent.iterdir())
    needles = (canary.encode(), json.dumps(canary).strip('"').encode())
    assert bodies
    assert not [needle for needle in needles if needle in stored or any(needle in body for body in bodies)]


def test_the_database_holds_every_stream(embedded_run):
    """A database file alone is enough to ask later."""
    with sqlite3.connect(embedded_run[2]) as database:
        known = {row[0] for row in database.execute("SELECT id FROM streams")}
    database.close()
    assert {result.outcome.stream for result in embedded_run[0].values()} <= known


def test_the_checker_sees_a_wrong_verdict(embedded_run):
    """A verdict laid beside another scenario is told apart: the comparison can fail."""
    results = embedded_run[0]
    swallowed, plain = results["gateway_swallows"], results["plain_openai"]
    assert check.differences(plain.scenario, swallowed.verdict) != []
    assert check.blamed_innocents(plain.scenario, swallowed.verdict) == {"gateway"}
    assert check.differences(swallowed.scenario, plain.verdict) != []


def test_through_kafka_and_postgres(kafka, postgres_database):
    """Collector, a real broker, analyzer and PostgreSQL come to the same verdicts."""
    with distributed(kafka, postgres_database) as product:
        results = run(SCENARIOS, product, quiet)
    assert {r.scenario.name: check.differences(r.scenario, r.verdict) for r in results} == {name: [] for name in NAMES}


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    """The embedded product, for one stream after the other."""
    with embedded(f"sqlite:///{tmp_path_factory.mktemp('one')}/one.db") as started:
        yield started


@pytest.mark.parametrize("component", BREAKABLE)
def test_break_one(product, component):
    """`--break component:6` accuses that component, or says that the source stopped."""
    scenario = BREAKABLE[component](6)
    (result,) = run([scenario], product, quiet)
    accused = {suspect for finding in result.verdict["findings"] for suspect in finding["suspects"]}
    assert accused == (set() if component == "source" else {component})
    assert result.verdict["ending"]["class"] == (
        "upstream_truncated" if component == "source" else result.verdict["ending"]["class"]
    )


def test_the_table_breaks_every_component():
    """Healthy streams are there in numbers, and each component is broken at least once."""
    assert len(HEALTHY) >= len(SCENARIOS) / 3
    assert {finding.component for scenario in BROKEN for finding in scenario.findings} == {
        "gateway",
        "transport",
        "parser",
        "reducer",
    }
