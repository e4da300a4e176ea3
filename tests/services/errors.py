"""The two ways a service can be unavailable: it is not here, or it does not come up."""

from __future__ import annotations


class ServiceMissing(Exception):
    """A program is not on this machine; `str()` names it and says how to get it."""

    def __init__(self, what: str, how: str) -> None:
        self.what = what
        self.how = how
        super().__init__(f"{what} is missing: {how}")


class ServiceFailed(Exception):
    """A service was started and did not become ready; `str()` ends with the tail of its log."""
