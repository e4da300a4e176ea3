"""sums.py: the public mix and its powers, as every language must compute them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamwitness.sums import P, R, Sums, mix, mixes, power, unmix

VECTORS = {
    0x0: 0x10127F95D5ACA180,
    0x1: 0x1A34CE6380FC0BC6,
    0xDEADBEEF: 0x5631857364FF5A9,
    0xFFFFFFFF: 0x16E3911217D1736A,
}
"""Digest → mix; the same numbers stand in every implementation."""


def order_sum(digests):
    return sum(mix(digest) * power(i) for i, digest in enumerate(digests)) % P


def test_vectors():
    """The mix is the published one."""
    assert {digest: mix(digest) for digest in VECTORS} == VECTORS


@given(st.integers(0, 0xFFFFFFFF))
def test_mix_is_a_nonzero_residue(digest):
    """A mixed digest lies in 1 … P−1, so that no event is invisible in a sum."""
    assert 1 <= mix(digest) < P


DIGESTS = st.lists(st.integers(0, 0xFFFFFFFF) | st.sampled_from([0, 1, 0xFFFFFFFF]), max_size=30)


@given(DIGESTS)
def test_many_are_mixed_as_one_by_one(digests):
    """Mixing side by side gives what mixing each alone gives."""
    assert mixes(digests) == [mix(digest) for digest in digests]


@given(st.lists(DIGESTS, max_size=4))
def test_sums_grow_run_by_run(runs):
    """However the digests are cut into runs, S and O are those of the whole."""
    sums = Sums()
    for run in runs:
        sums.extend(run)
    whole = [digest for run in runs for digest in run]
    assert (sums.s, sums.o) == (sum(map(mix, whole)) % P, order_sum(whole))


def test_a_run_longer_than_a_block_is_summed():
    """Runs of any length are taken."""
    sums, digests = Sums(), list(range(1300))
    sums.extend(digests)
    assert (sums.s, sums.o) == (sum(map(mix, digests)) % P, order_sum(digests))


@given(st.lists(st.integers(0, 0xFFFFFFFF), max_size=30), st.lists(st.integers(0, 0xFFFFFFFF), max_size=30))
def test_runs_subtract_and_shift(head, run):
    """A run's order sum is the difference of its ends, shifted by the run's place."""
    assert (order_sum(head + run) - order_sum(head)) % P == order_sum(run) * power(len(head)) % P


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.randoms())
def test_order_is_seen(digests, random):
    """Two different orders of the same digests have different order sums."""
    other = digests[:]
    random.shuffle(other)
    assert (order_sum(digests) == order_sum(other)) == (digests == other)


def test_powers_agree_with_pow_beyond_the_cache():
    """Powers beyond the cache are the same as within."""
    assert power(1_000_001) == pow(R, 1_000_001, P)
    assert power(1000) == pow(R, 1000, P)


@given(st.integers(0, 0xFFFFFFFF))
def test_unmix_is_the_way_back(digest):
    """A mixed digest, or the sum that it is alone in, tells the digest."""
    assert unmix(mix(digest)) == unmix(mix(digest) - P) == digest


def test_hardly_any_number_is_a_mixed_digest():
    """A sum of several digests is taken for none of them."""
    assert [unmix(mix(a) + mix(b)) for a in range(20) for b in range(20)] == [None] * 400
