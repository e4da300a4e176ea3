"""The alert rules: promtool's own tests of them, and that every metric and label they use exists."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import streamwitness_analyzer
from streamwitness_analyzer.metrics import render

ALERTS = Path(streamwitness_analyzer.__file__).parent / "alerts"
RULES = ALERTS / "streamwitness.rules.yml"

METRIC = re.compile(r"\b(streams?(?:_[a-z_]+)?)(?:\{([^}]*)\})?\[")
"""A metric with its matchers where a range is taken of it, as every rule of ours does."""
MATCHER = re.compile(r'(\w+)(=~|=)"([^"]*)"')
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? ", re.MULTILINE)


def run(promtool: str, *words: str) -> None:
    """promtool says nothing is wrong."""
    done = subprocess.run([promtool, *words], cwd=ALERTS, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def series() -> dict[str, list[dict[str, str]]]:
    """What a fresh analyzer shows: metric → its label sets."""
    out: dict[str, list[dict[str, str]]] = {}
    for name, labels in SAMPLE.findall(render({}, {}, {})):
        out.setdefault(name, []).append(dict(re.findall(r'(\w+)="([^"]*)"', labels)))
    return out


def used() -> list[tuple[str, list[tuple[str, str, str]]]]:
    """What the rules use: metric and matchers."""
    return [(name, MATCHER.findall(labels)) for name, labels in METRIC.findall(RULES.read_text())]


def test_the_rules_are_valid(promtool: str) -> None:
    """promtool reads them."""
    run(promtool, "check", "rules", RULES.name)


def test_the_rules_do_what_they_say(promtool: str) -> None:
    """promtool's unit tests pass."""
    run(promtool, "test", "rules", "streamwitness.test.yml")


def test_every_metric_and_label_exists() -> None:
    """What a rule asks for is there from the start, with each label value it names."""
    known = series()
    assert len(used()) >= 8
    for name, matchers in used():
        assert name in known, name
        for label, operator, value in matchers:
            there = {labels.get(label) for labels in known[name]}
            assert there >= set(value.split("|") if operator == "=~" else [value]), (name, label)


def test_grouped_labels_exist() -> None:
    """`max by (…)` keeps labels that at least one metric of ours has."""
    labels = set(itertools.chain.from_iterable(labels for sets in series().values() for labels in sets))
    kept = {name.strip() for names in re.findall(r"by \(([^)]*)\)", RULES.read_text()) for name in names.split(",")}
    assert kept <= labels
