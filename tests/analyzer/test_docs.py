"""The README of the part names every setting, metric, parameter and alert; so it cannot go stale."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import streamwitness_analyzer
from streamwitness.settings import options
from streamwitness_analyzer.config import AnalyzerSettings, ReaderSettings, UpSettings
from streamwitness_analyzer.counting import METRICS
from streamwitness_analyzer.filters import PARAMETERS
from streamwitness_analyzer.metrics import GAUGES

PACKAGE = Path(streamwitness_analyzer.__file__).parent
README = (PACKAGE.parent / "README.md").read_text()


@pytest.mark.parametrize("cls", [AnalyzerSettings, UpSettings, ReaderSettings])
def test_every_setting_is_there(cls: type) -> None:
    """By its option."""
    for option in options(cls):
        assert f"`{option.flag}`" in README, option.flag


def test_every_metric_is_there_with_its_labels() -> None:
    """And none that does not exist."""
    rows = dict(re.findall(r"^\| `(streams?\w*)` \|([^|]*)\|", README, re.MULTILINE))
    assert set(rows) == {metric.name for metric in METRICS} | set(GAUGES)
    for metric in METRICS:
        labels = list(metric.labels) or [name for chosen in metric.sets[:1] for name in chosen]
        assert ", ".join(labels) == rows[metric.name].strip(), metric.name


def test_every_parameter_is_there() -> None:
    """Of the list of streams."""
    for name in PARAMETERS:
        assert f"`{name}`" in README, name


def test_every_alert_is_there() -> None:
    """By its name."""
    rules = (PACKAGE / "alerts" / "streamwitness.rules.yml").read_text()
    for name in re.findall(r"alert: (\w+)", rules):
        assert f"`{name}`" in README, name


def test_every_file_is_there() -> None:
    """With its one idea."""
    for path in PACKAGE.glob("*.py"):
        if path.name not in ("__init__.py", "config.py", "vocabulary.py", "documents.py", "faults.py", "serve.py"):
            assert f"`{path.name}`" in README or path.name == "assemble.py", path.name
