"""Whose class is a client's? Told by name, so that no library is imported to find out."""

from __future__ import annotations

from collections.abc import Collection


def base_of(client: object, packages: Collection[str], names: Collection[str]) -> tuple[str, str] | None:
    """Package and name of the class that a client is of, or its own was made from; None: it is of none of these."""
    for base in type(client).__mro__:
        package = base.__module__.partition(".")[0]
        if package in packages and base.__name__ in names:
            return package, base.__name__
    return None
