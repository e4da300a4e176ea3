"""Observer faults: counted, logged without content, never raised in a host."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from streamwitness import faults


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No counts from other tests, none left for them."""
    faults._reset()
    yield
    faults._reset()


def test_counts_by_place() -> None:
    """Each place has its own count."""
    with faults.quiet():
        for where in ("a", "b", "a"):
            faults.fault(where, ValueError())
    assert faults.counts() == {"a": 2, "b": 1}


def test_counts_are_a_copy() -> None:
    """Who reads the counts cannot change them."""
    faults.counts()["a"] = 7
    assert faults.counts() == {}


def test_raises_under_pytest() -> None:
    """A fault that nobody planted fails the test in which it happens, and is counted as well."""
    error = ValueError("planted")
    with pytest.raises(ValueError, match="planted") as caught:
        faults.fault("a", error)
    assert caught.value is error
    assert faults.counts() == {"a": 1}


def test_quiet_ends() -> None:
    """After `quiet()` faults are raised again, also when it was nested or left by an exception."""
    with pytest.raises(KeyError), faults.quiet(), faults.quiet():
        raise KeyError
    with pytest.raises(ValueError, match="x"):
        faults.fault("a", ValueError("x"))


def test_never_raises_in_a_host() -> None:
    """Outside pytest a fault is only counted and logged."""
    code = "from streamwitness import faults; faults.fault('a', ValueError('SECRET')); print(faults.counts())"
    environ = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout == "{'a': 1}\n"
    assert "observer fault in a: ValueError" in done.stderr
    assert "SECRET" not in done.stderr


def test_log_has_no_content(caplog: pytest.LogCaptureFixture) -> None:
    """The log names place and type, never the error's text."""
    with faults.quiet(), caplog.at_level(logging.WARNING, "streamwitness"):
        faults.fault("observer.wire", ValueError("CANARY"))
    assert [record.name for record in caplog.records] == ["streamwitness"]
    assert "observer.wire: ValueError" in caplog.text
    assert "CANARY" not in caplog.text


def test_logs_once_a_minute_and_place(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place speaks at most once a minute, and then says how often it happened."""
    now = [1]
    monkeypatch.setattr(faults, "time", SimpleNamespace(monotonic_ns=lambda: now[0]))
    with faults.quiet(), caplog.at_level(logging.WARNING, "streamwitness"):
        for later in (0, 30, 29, 1):
            now[0] += later * 10**9
            faults.fault("a", ValueError())
        faults.fault("b", ValueError())
    assert [message.split()[3].rstrip(":") for message in caplog.messages] == ["a", "a", "b"]
    assert "(4 so far)" in caplog.text


def test_places_are_bounded() -> None:
    """However many places there are, the table stays small and no fault is lost from the sum."""
    with faults.quiet():
        for number in range(3 * faults.MAX_PLACES):
            faults.fault(f"place {number}", ValueError())
    counts = faults.counts()
    assert len(counts) == faults.MAX_PLACES + 1
    assert sum(counts.values()) == 3 * faults.MAX_PLACES


def test_broken_logging_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose logging raises is not hit by our message."""

    def broken(record: logging.LogRecord) -> bool:
        raise RuntimeError("host's filter")

    logger = logging.getLogger("streamwitness")
    logger.addFilter(broken)
    try:
        with faults.quiet():
            faults.fault("a", ValueError())
        faults.limited("b", "message")
    finally:
        logger.removeFilter(broken)
    assert faults.counts() == {"a": 1}


def test_limited_messages_are_no_faults(caplog: pytest.LogCaptureFixture) -> None:
    """Trouble outside of us is said once a minute and not counted as a fault of ours."""
    with caplog.at_level(logging.WARNING, "streamwitness"):
        faults.limited("export", "no answer from %s", "here")
        faults.limited("export", "no answer from %s", "here")
    assert caplog.messages == ["no answer from here"]
    assert faults.counts() == {}
