"""How many bytes may be under way at one time: leases that grow, and a limit that refuses instead of queueing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class BudgetExceededError(Exception):
    """More bytes are under way than allowed; the sender comes back later."""


class Lease:
    """One request's share of a budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.size = 0

    def resize(self, size: int) -> None:
        """Hold `size` bytes from now on; raises BudgetExceededError and keeps the old size when there is no room."""
        self._budget.change(size - self.size)
        self.size = size


class Budget:
    """Bytes under way, never more than `limit`. For one event loop."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    def change(self, by: int) -> None:
        """Add to (or take from) the bytes under way."""
        if by > 0 and self.used + by > self.limit:
            raise BudgetExceededError(f"{self.used} bytes are under way, at most {self.limit}")
        self.used += by

    @contextmanager
    def lease(self) -> Iterator[Lease]:
        """A share that ends with the block."""
        lease = Lease(self)
        try:
            yield lease
        finally:
            lease.resize(0)
