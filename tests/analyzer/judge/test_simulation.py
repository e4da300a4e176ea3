"""Thousands of random hops and paths: no innocent is ever accused, and what is called exact is right."""

from __future__ import annotations

import pytest

from tests.analyzer.judge.simulate import failure

CHUNKS = 20
HOPS = 2_000
PATHS = 500


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_innocent_is_accused_on_one_hop(chunk: int) -> None:
    """Random faults, alphabets, lost blocks and own stops on one hop."""
    for seed in range(chunk, HOPS, CHUNKS):
        assert failure("hop", str(seed)) == [], f"seed: hop {seed}"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_innocent_is_accused_on_a_path(chunk: int) -> None:
    """The same over whole paths, with faults in several components at once."""
    for seed in range(chunk, PATHS, CHUNKS):
        assert failure("path", str(seed)) == [], f"seed: path {seed}"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_gateway_is_accused_for_what_another_attempt_explains(chunk: int) -> None:
    """Several upstream attempts, answers from elsewhere, lost records of any of them."""
    for seed in range(chunk, PATHS, CHUNKS):
        assert failure("attempts", str(seed)) == [], f"seed: attempts {seed}"
