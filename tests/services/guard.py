"""Runs one program and ends it when our parent goes away, however that dies: its end of our stdin closes.

    guard.py SIGNAL USER FOLDER PROGRAM [ARGUMENT ...]

Sends SIGNAL to stop the program politely, kills its process group if that does not help in time, then removes FOLDER.
USER is who the program runs as, `-` for the caller. Started by process.py; knows nothing of the rest.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
from typing import Any

PATIENCE = 20.0
"""Seconds between asking and killing."""


def main(arguments: list[str]) -> int:
    """Exit code of the program (128 + n for signal n)."""
    polite, user, folder, *command = arguments
    identity: dict[str, Any] = {} if user == "-" else {"user": user, "group": user, "extra_groups": []}
    woken = wake_up_on(signal.SIGCHLD, signal.SIGTERM)
    try:
        child: subprocess.Popen[bytes] = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True, cwd=folder, **identity
        )
        wait_for_end(child, woken)
        stop(child, signal.Signals[polite])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def wake_up_on(*signals: signal.Signals) -> int:
    """A file descriptor that becomes readable when one of the signals arrives."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in signals:
        signal.signal(number, lambda *_: None)
    return woken


def wait_for_end(child: subprocess.Popen[bytes], woken: int) -> None:
    """Returns when the program ended, our parent closed stdin, or it sent SIGTERM, whichever is first."""
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        if child.poll() is None:
            selector.select()


def stop(child: subprocess.Popen[bytes], polite: signal.Signals) -> None:
    """Asks the program to end, and ends its whole process group if it does not."""
    if child.poll() is None:
        child.send_signal(polite)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(PATIENCE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
