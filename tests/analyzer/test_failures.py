"""What the log hears of a failing judge."""

from __future__ import annotations

import logging

import pytest

from streamwitness_analyzer.failures import MOST_KINDS, Failures

LOG = logging.getLogger("tests.failures")


def fail(failures: Failures, code: str, stream: str = "ab") -> None:
    """Raise in code that stands in a file of its own name, and tell it."""
    try:
        exec(compile(code, f"/judge/{code[:30]}.py", "exec"), {})
    except Exception as error:
        failures.happened(error, stream)


def test_the_first_of_a_kind_has_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """It says on what stream, what was raised and where, what becomes of the stream, and what to do."""
    fail(Failures(LOG), "{}['x']", "cafe")
    (record,) = caplog.records
    said = record.getMessage()
    assert all(words in said for words in ("stream cafe", "KeyError at {}['x'].py:1", "blocks are kept", "rejudge"))
    assert record.exc_info is not None
    assert "Traceback" in caplog.text


def test_more_of_a_kind_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    """The 10th, the 100th, the 1000th failure is a line without a traceback, and no other is."""
    failures = Failures(LOG)
    for number in range(2500):
        fail(failures, "1 % 0", f"{number}")
    first, *others = caplog.records
    assert first.exc_info
    assert [record.args[0] for record in others if record.args and not record.exc_info] == [10, 100, 1000]  # type: ignore[index]
    assert len(others) == 3
    assert "on stream 999;" in others[-1].getMessage()
    assert failures.total == 2500


def test_kinds_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    """Another error, or the same at another place, is another defect."""
    failures = Failures(LOG)
    for code in ("1 % 0", "{}['x']", "2 % 0", "1 % 0"):
        fail(failures, code)
    assert [bool(record.exc_info) for record in caplog.records] == [True, True, True]


def test_kinds_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """However many places fail: those beyond the bound share one kind, told once."""
    failures = Failures(LOG)
    for number in range(MOST_KINDS + 9):
        fail(failures, f"{number} % 0")
    assert len(caplog.records) == MOST_KINDS + 1
    assert "of yet another kind" in caplog.records[-1].getMessage()
    assert failures.total == MOST_KINDS + 9


def test_an_error_without_traceback_is_a_kind_as_well(caplog: pytest.LogCaptureFixture) -> None:
    """Telling a failure never fails."""
    Failures(LOG).happened(KeyError("x"), "ab")
    assert "(KeyError)" in caplog.text
