"""Faults of our own observers: counted by place, logged once a minute, never raised in the host.

An observer fault is a bug of ours (or of a library we look into), met while a host's stream passes by. The host must
not notice. `fault()` is what every hook calls in its outermost `except`; only the exception's type is ever logged,
because its text may hold content. Under pytest the error is raised again, so that no test passes over a fault.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from typing import Final

LOG_EVERY_NS: Final = 60_000_000_000
"""A place is logged at most once in this time (ns, monotonic)."""

MAX_PLACES: Final = 256
"""Places counted by name; further ones are counted together as `OTHER_PLACES`."""

OTHER_PLACES: Final = "other"

_logger = logging.getLogger("streamwitness")
_counts: dict[str, int] = {}
_logged: dict[str, int] = {}
_quiet = 0


def fault(where: str, error: BaseException) -> None:
    """Count a fault of ours at `where` (a code place such as `observer.feed`, never anything from a stream).

    Never raises in a host, not even while the interpreter shuts down. Under pytest it raises `error`, unless inside
    `quiet()`.
    """
    with contextlib.suppress(Exception):  # nothing is left that could report it: modules are being torn down
        _count(where, error)
    if _under_test():
        raise error


def counts() -> dict[str, int]:
    """How many faults there were at each place since the process (or the fork) began."""
    return dict(_counts)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """For tests that plant faults: inside, `fault()` behaves as in a host, though pytest runs."""
    global _quiet
    _quiet += 1
    try:
        yield
    finally:
        _quiet -= 1


def limited(where: str, message: str, *args: object) -> None:
    """Log a warning at most once a minute per `where`; for trouble that is no fault of ours (a dead target).

    Never raises. `args` must hold no content.
    """
    with contextlib.suppress(Exception):  # as in fault()
        if _due(where):
            _logger.warning(message, *args)


def _count(where: str, error: BaseException) -> None:
    place = where if where in _counts or len(_counts) < MAX_PLACES else OTHER_PLACES
    _counts[place] = _counts.get(place, 0) + 1
    if _due(place):
        _logger.warning(
            "observer fault in %s: %s; the host is not affected, that point counts as unknown (%d so far)",
            place, type(error).__name__, _counts[place],
        )  # fmt: skip


def _due(place: str) -> bool:
    now = time.monotonic_ns()
    last = _logged.get(place)
    if last is not None and now - last < LOG_EVERY_NS:
        return False
    _logged[place] = now
    return True


def _under_test() -> bool:
    try:
        return not _quiet and "PYTEST_CURRENT_TEST" in os.environ
    except Exception:
        return False


def _reset() -> None:
    """Forget all counts (a forked child starts from zero; tests)."""
    _counts.clear()
    _logged.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)
