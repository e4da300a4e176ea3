"""Starting the demo's servers: each in a process of its own, on a port that the system chose."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import ASGIApp

READY_SECONDS: Final = 60.0
STOP_SECONDS: Final = 10.0


class NotReadyError(RuntimeError):
    """A server of the demo ended or did not answer in time; the message holds what it printed."""


def free_port() -> int:
    """A port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def port(arguments: Sequence[str], program: str) -> int:
    """The port that a server of the demo was given; raises SystemExit with how to call it."""
    if len(arguments) == 1 and arguments[0].isdecimal():
        return int(arguments[0])
    raise SystemExit(f"usage: python -m {program} PORT")


def serve(app: ASGIApp, port: int) -> None:
    """Run an ASGI app on loopback until the process is told to end."""
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", lifespan="on")


@contextlib.contextmanager
def process(arguments: Sequence[str], *, ready: str, environ: dict[str, str] | None = None) -> Iterator[None]:
    """Run `python -m …` while the block lasts; enters once `ready` (a URL) answers, ends it by its own id."""
    child = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env={**os.environ, **(environ or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        wait_for(lambda: _answers(ready) or _ended(child, arguments), f"{' '.join(arguments)} to answer at {ready}")
        yield
    finally:
        child.terminate()
        try:
            child.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()


def wait_for(condition: Callable[[], bool], what: str, seconds: float = READY_SECONDS) -> None:
    """Ask again until the condition holds; NotReadyError after `seconds`."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise NotReadyError(f"gave up after {seconds:.0f} s waiting for {what}")
        time.sleep(0.02)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def _ended(child: subprocess.Popen[bytes], arguments: Sequence[str]) -> bool:
    if child.poll() is None:
        return False
    printed = child.stdout.read().decode(errors="replace") if child.stdout else ""
    raise NotReadyError(f"{' '.join(arguments)} ended with {child.returncode}:\n{printed}")


async def pause(seconds: float) -> None:
    """A pause that belongs to a script (what a provider does, not a wait for a condition)."""
    await asyncio.sleep(seconds)
