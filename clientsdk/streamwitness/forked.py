"""Whether this process is a forked child of the one that made an object: such objects stay silent here."""

from __future__ import annotations

import os

generation = 0
"""Grows by one in each forked child; an object that remembers another number was made before the fork."""


def _grow() -> None:
    global generation
    generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_grow)
