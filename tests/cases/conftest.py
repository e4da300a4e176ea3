"""What the judge cannot conclude yet is listed at the end of every run that had the cases in it."""

from __future__ import annotations

import pytest

_NAME = "open case"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a case: what is due, what comes instead, and why."""
    reports = terminalreporter.getreports("passed")
    lines = [text for report in reports for name, text in report.user_properties if name == _NAME]
    if lines:
        terminalreporter.section("reported cases that are not judged yet")
        for line in lines:
            terminalreporter.write_line(str(line))
