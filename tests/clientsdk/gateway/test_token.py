"""The token of a linked leg: what is written is read, and nothing else."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamwitness.gateway.context import LinkedLeg
from streamwitness.gateway.token import TokenError, less, read, write
from streamwitness.semconv import Level
from streamwitness.witness import Identity

LEG = LinkedLeg(Identity("5" * 32, "e" * 16, b"k" * 16, attempt=2, hop=1), 7, "ab" * 8, "digests")
LEVELS: tuple[Level, ...] = ("counters", "rows", "digests")


@given(
    st.binary(min_size=16, max_size=16),
    st.integers(0, 0xFFFF),
    st.integers(0, 0xFFFF),
    st.integers(0, 0xFFFF),
    st.sampled_from(LEVELS),
)
def test_what_is_written_is_read(secret: bytes, number: int, attempt: int, hop: int, level: Level) -> None:
    """All of it, in 84 characters that any queue takes."""
    identity = Identity(secret.hex(), secret[:8].hex(), secret, attempt=attempt, hop=hop)
    leg = LinkedLeg(identity, number, secret[8:].hex(), level)
    token = write(leg)
    assert read(token) == leg
    assert len(token) == 84
    assert token.isascii()


@given(st.integers(0, 83), st.characters())
def test_a_changed_character_is_no_token(at: int, character: str) -> None:
    """Cut, changed, or another's: it is refused without a word of what is in it."""
    token = write(LEG)
    changed = token[:at] + character + token[at + 1 :]
    if changed != token:
        with pytest.raises(TokenError) as refused:
            read(changed)
        assert "k" * 16 not in str(refused.value)


@given(st.one_of(st.text(), st.binary().map(lambda data: "sw1." + base64.urlsafe_b64encode(data).decode())))
def test_garbage_is_no_token(text: str) -> None:
    """Any text gives our error, nothing else."""
    with pytest.raises(TokenError):
        read(text)


def test_numbers_that_do_not_fit_are_refused() -> None:
    """A token that lied would be worse than none."""
    with pytest.raises(TokenError):
        write(LinkedLeg(LEG.identity, 1 << 16, LEG.recorder, "digests"))


def test_the_level_that_says_less() -> None:
    """Of a gateway's and a worker's."""
    assert [less(one, two) for one in LEVELS for two in LEVELS].count("digests") == 1
