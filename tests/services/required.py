"""Which services must be there: STREAMWITNESS_REQUIRE, `all` or names with commas. What is not required is skipped."""

from __future__ import annotations

from collections.abc import Mapping

from tests.services import NAMES

VARIABLE = "STREAMWITNESS_REQUIRE"


def required(environ: Mapping[str, str]) -> frozenset[str]:
    """Names of the services whose absence is a failure. ValueError names what is unknown."""
    words = [word.strip() for word in environ.get(VARIABLE, "").split(",") if word.strip()]
    if words == ["all"]:
        return frozenset(NAMES)
    if unknown := sorted(set(words) - set(NAMES)):
        raise ValueError(f"{VARIABLE} names {', '.join(unknown)}; known are all, {', '.join(NAMES)}")
    return frozenset(words)
