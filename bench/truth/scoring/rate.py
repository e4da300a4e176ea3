"""How many of all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """How many were `found` of `all`; 0 of 0 where there was nothing to find."""

    found: int = 0
    all: int = 0

    @classmethod
    def of(cls, found: bool) -> Rate:
        """One that was, or was not."""
        return cls(int(found), 1)

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.found + other.found, self.all + other.all)

    @property
    def missed(self) -> int:
        """How many were not."""
        return self.all - self.found

    @property
    def percent(self) -> float:
        """The share in percent; 0 where there was nothing to find."""
        return 100 * self.found / max(1, self.all)
