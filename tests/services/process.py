"""A program that runs while we do: started under guard.py, waited for until it is ready, stopped with us."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.services.errors import ServiceFailed

_GUARD = str(Path(__file__).with_name("guard.py"))
_POLL = 0.05
"""Seconds between two looks at a condition outside this process."""


def free_port() -> int:
    """A TCP port of 127.0.0.1 that was free a moment ago; whoever starts a service on it tries again if it is lost."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def scratch(name: str) -> Path:
    """A fresh folder for one service's data."""
    return Path(tempfile.mkdtemp(prefix=f"streamwitness-{name}-"))


class Process:
    """One guarded program. `folder` is its scratch folder and is removed when it ends."""

    def __init__(
        self,
        command: list[str],
        *,
        folder: Path,
        polite: str = "SIGTERM",
        user: str = "-",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._name = Path(command[0]).name
        # Unlinked at once: the log needs no cleaning, and outlives the folder as long as we look at it.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._guard = subprocess.Popen(
            [sys.executable, "-I", _GUARD, polite, user, str(folder), *command],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, **(environ or {})},
            start_new_session=True,
        )

    def wait_until(self, ready: Callable[[], bool], *, seconds: float) -> None:
        """Returns once `ready()` says so; raises ServiceFailed when the program ends or the time is over before."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._guard.poll() is not None:
                raise ServiceFailed(f"{self._name} ended with {self._guard.returncode} while starting\n{self.log()}")
            if time.monotonic() > deadline:
                raise ServiceFailed(f"{self._name} was not ready within {seconds:g} s\n{self.log()}")
            time.sleep(_POLL)

    def log(self, lines: int = 30) -> str:
        """The last lines that the program printed."""
        self._log.seek(0)
        return "\n".join(self._log.read().decode(errors="replace").splitlines()[-lines:])

    def stop(self) -> None:
        """Ends the program and waits until it and its folder are gone. Twice is once."""
        if self._guard.stdin is not None and not self._guard.stdin.closed:
            self._guard.stdin.close()
        # A forked child of ours may hold the other end of that pipe still, so say it as well.
        self._guard.terminate()
        self._guard.wait()
        # A guard that was stopped before it began has removed nothing.
        shutil.rmtree(self._folder, ignore_errors=True)
        self._log.close()
