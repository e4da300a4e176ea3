"""The README of the collector says what the code does: settings, outcomes, reasons, metrics."""

from __future__ import annotations

from pathlib import Path

from streamwitness.settings import options
from streamwitness_collector.answers import KINDS
from streamwitness_collector.config import CollectorSettings
from streamwitness_collector.metrics import OUTCOMES, Metrics
from streamwitness_collector.otlp import REASONS

README = (Path(__file__).parents[2] / "collector" / "README.md").read_text(encoding="utf-8")


def test_every_setting_has_its_row() -> None:
    """Option, variable, default and meaning are the code's."""
    rows = []
    for option in options(CollectorSettings):
        default = f"`{option.default_text}` " if option.default_text else ""
        rows.append(f"| `{option.flag}` | `{option.variable}` | {default}| {option.help} |")
    assert [row for row in rows if row not in README] == []


def test_every_outcome_and_reason_is_listed() -> None:
    """What /metrics and answers can show is explained, with its status."""
    assert [word for word in (*OUTCOMES, *REASONS) if f"`{word}`" not in README] == []
    for outcome, kind in KINDS.items():
        assert any(line.startswith(f"| {kind.status} |") and f"`{outcome}`" in line for line in README.splitlines())


def test_every_metric_is_listed() -> None:
    """Each metric family of the registry has its row."""
    names = [
        sample.name
        for family in Metrics().registry.collect()
        for sample in family.samples
        if not sample.name.endswith("_created")
    ]
    assert [name for name in names if f"`{name}" not in README] == []
