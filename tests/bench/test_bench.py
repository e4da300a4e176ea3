"""bench: the table is whole, and what is counted rather than timed meets its target everywhere."""

from __future__ import annotations

import json

import pytest

from bench import __main__ as bench
from bench import memory, sizes
from bench.measure import QUICK, Figure

KEYS = ["name", "figure", "unit", "peer", "peer_figure", "ratio", "target", "met", "exact"]


@pytest.fixture(scope="module")
def counted() -> list[Figure]:
    """The figures that do not depend on the machine."""
    return [*sizes.figures(QUICK), *memory.figures(QUICK)]


@pytest.mark.slow
def test_every_section_gives_its_figures(tmp_path, capsys):
    """A quick run of everything prints a line a figure, and the JSON says the same."""
    path = tmp_path / "results.json"
    assert bench.main(["--quick", "--json", str(path)]) == 0
    found = json.loads(path.read_text())
    printed = capsys.readouterr().out
    assert all(list(figure) == KEYS for figure in found)
    assert [figure["name"] for figure in found if figure["name"] not in printed] == []
    assert all(f"-- {section}" in printed for section in bench.SECTIONS)


def test_rows_fit_in_sixteen_bytes_an_event(counted):
    """At every point of an ordinary stream a row takes at most 16 bytes, egress with its legs included."""
    rows = {figure.name: figure.figure for figure in counted if figure.name.startswith("stream.rows")}
    assert len(rows) == 5
    assert [name for name, size in rows.items() if size > 16] == []


def test_a_stream_in_kafka_is_smaller_than_its_spans(counted):
    """All five points of a stream take less room in Kafka than a span an event, compressed or not."""
    ratios = {figure.name: figure.ratio for figure in counted if "in Kafka" in figure.name}
    assert len(ratios) == 3
    assert min(ratios.values()) > 2


def test_every_exact_target_is_met(counted):
    """Exact figures are the same on every machine, so their targets are held here."""
    assert [figure.name for figure in counted if figure.exact and figure.met is False] == []


@pytest.mark.parametrize(
    ("figure", "met"),
    [
        (Figure("ratio reached", 2.0, "µs", "peer", 40.0, target=20.0), True),
        (Figure("ratio missed", 2.1, "µs", "peer", 40.0, target=20.0), False),
        (Figure("bound kept", 16.0, "B", target=16.0), True),
        (Figure("bound passed", 16.1, "B", target=16.0), False),
        (Figure("for information", 1.0, "B"), None),
    ],
    ids=lambda value: value.name if isinstance(value, Figure) else "",
)
def test_what_meets_a_target(figure, met):
    """A ratio must reach its target, a figure without a peer must not exceed it."""
    assert figure.met is met
    assert ("MISSED" in bench.row(figure)) is (met is False)


def test_a_missed_target_is_named(monkeypatch, capsys):
    """A miss is said by name; whoever wants it to fail a run asks for that."""
    missed = Figure("too large", 2.0, "B", target=1.0)
    monkeypatch.setattr(bench, "SECTIONS", {"one": lambda _: [missed]})
    assert bench.main([]) == 0
    assert "missed: too large" in capsys.readouterr().err
    assert bench.main(["--strict"]) == 1


def test_an_unknown_section_is_named(capsys):
    """A section that does not exist ends with exit 2 and the known ones."""
    with pytest.raises(SystemExit) as stop:
        bench.main(["byte"])
    assert stop.value.code == 2
    assert "known: recording, bytes" in capsys.readouterr().err
